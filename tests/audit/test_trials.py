"""The digits: 1,000 bagged trees, what the audit measures beside what was promised."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss


def bagged_trees(n_bags):
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.25, random_state=0)
    bags = ss.draw_bags(len(X_train), n_bags, 0.5, seed=0)
    proba = np.zeros((n_bags, len(X_test), 10))
    for b, rows in enumerate(bags):
        tree = DecisionTreeClassifier(random_state=b).fit(X_train[rows], y_train[rows])
        proba[b][:, tree.classes_] = tree.predict_proba(X_test)
    return ss.BagPredictions(proba, bags, range(10))


@pytest.mark.trial
def test_digits(full_trials):
    """The inflated argmax's maximum is below the guarantee's delta; the plain argmax's is above 0.2."""
    n_bags = 1000 if full_trials else 120
    made, epsilon = bagged_trees(n_bags), 0.15
    promise = ss.selection_stability(
        n_samples=made.bags.n_samples,
        epsilon=epsilon,
        bag_size=made.bags.bag_size,
        n_classes=10,
        n_bags=n_bags,
        theorem="second-moment",
        coupling="hash",
    )
    audit = ss.audit_bags(made, ss.InflatedArgmax(epsilon))
    assert not promise.vacuous
    assert audit.max_instability < promise.delta
    assert audit.at(0).max() > 0.2
    assert np.array_equal(audit.at(0), ss.audit_bags(made, ss.Argmax()).instability)
    if full_trials:
        default = ss.audit_bags(made, ss.InflatedArgmax(0.05))
        delta = ss.selection_stability(
            n_samples=made.bags.n_samples,
            epsilon=0.05,
            bag_size=0.5,
            n_classes=10,
            n_bags=1000,
            theorem="second-moment",
        ).delta
        assert default.max_instability < delta < 1
