"""`ss.plan`: the choices are those that a fit with delta draws, and the trial is honest."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import steadyset as ss
from steadyset.ensemble._plan import _trial_seed

RNG = np.random.default_rng(6)
X = RNG.normal(size=(300, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=300) > 0, "b", "a")


def test_every_choice_is_what_a_fit_draws():
    plan = ss.plan(300, 2, delta=0.1, epsilon=[0.2, 0.4], n_bags=[20, 60])
    assert [(c.epsilon, c.n_bags) for c in plan.choices] == [(0.2, 20), (0.2, 60), (0.4, 20), (0.4, 60)]
    for choice in plan.choices:
        fitted = ss.StableClassifier(GaussianNB(), choice.n_bags, epsilon=choice.epsilon, delta=0.1).fit(X, Y)
        assert fitted.bag_size_ == choice.bag_size
        assert choice.row_fits == choice.bag_size * choice.n_bags
        assert fitted.guarantee().delta == choice.guarantee.delta <= 0.1
        assert choice.accuracy is None


def test_the_table_prints_and_becomes_a_frame():
    plan = ss.plan(300, 2, delta=0.1, epsilon=0.2, n_bags=60)
    assert plan.table.columns == ("epsilon", "bags", "bag size", "row-fits", "promise")
    assert str(plan).startswith("A promise of at most 0.1 with 300 rows and 2 labels:\nepsilon  bags")
    assert plan.table.to_frame().loc["0.2", "bag size"] == plan.choices[0].bag_size


def test_what_cannot_be_kept_says_what_would():
    plan = ss.plan(60, 3, delta=0.01, epsilon=[0.02, 0.9], n_bags=30)
    poor, rich = plan.choices
    assert poor.bag_size is poor.row_fits is poor.guarantee is None
    assert poor.reason.endswith("would do.")
    assert poor.reason in str(plan)
    assert rich.guarantee.delta <= 0.01


def test_the_trial_measures_rows_outside_the_bag_with_bags_of_its_own():
    plan = ss.plan(delta=0.1, epsilon=[0.2, 0.4], n_bags=[20, 60], X=X, y=Y, estimator=GaussianNB(), trial_bags=8)
    assert (plan.n_samples, plan.n_classes, plan.trial_bags) == (300, 2, 8)
    assert "which no model gets: a fit draws its own." in str(plan)
    for choice in plan.choices:
        trial = ss.StableClassifier(GaussianNB(), 8, max_samples=choice.bag_size, random_state=_trial_seed(0)).fit(X, Y)
        final = ss.StableClassifier(GaussianNB(), 8, max_samples=choice.bag_size, random_state=0).fit(X, Y)
        proba = trial.oob_proba(X)
        known = ~np.isnan(proba).any(axis=1)
        assert choice.accuracy == np.mean(trial.classes_[proba[known].argmax(axis=1)] == Y[known])
        assert choice.set_size == ss.InflatedArgmax(choice.epsilon)(proba[known]).sum(axis=1).mean()
        assert not any(np.array_equal(a, b) for a in trial.bags_ for b in final.bags_)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_samples": 10}, "n_classes must be a whole number"),
        ({"n_classes": 10}, "n_samples must be a whole number"),
        ({"X": X, "y": Y, "n_samples": 5}, "n_samples must be left out or 300, that of the data; got 5"),
        ({"n_samples": 10, "n_classes": 2, "delta": 2}, "delta must be a number"),
        ({"n_samples": 10, "n_classes": 2, "epsilon": 0}, "epsilon must be"),
        ({"X": X, "y": Y, "trial_bags": 1}, "trial_bags must be a whole number from 2"),
        ({"X": [[0.0], [1.0]]}, "X and y must be given together; got X alone"),
        ({"n_samples": 9, "n_classes": 2, "y": [0, 1]}, "X and y must be given together; got y alone"),
        ({"n_samples": 9, "n_classes": 2, "n_bags": []}, "n_bags must have at least one value to choose from; got no"),
        ({"n_samples": 9, "n_classes": 2, "epsilon": ()}, "epsilon must have at least one value to choose from; got"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ss.plan(**given)


def test_the_picture_has_a_line_for_each_epsilon():
    plan = ss.plan(4_800, 6, delta=0.05)
    ax = ss.plot.plan_tradeoff(plan)
    assert len(ax.lines) == 3
    drawn = np.array([line.get_xydata() for line in ax.lines]).reshape(-1, 2)
    assert drawn.tolist() == [[c.row_fits, c.bag_size] for c in plan.choices]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    with pytest.raises(TypeError, match=r"plan must be a steadyset\.Plan"):
        ss.plot.plan_tradeoff([1])
