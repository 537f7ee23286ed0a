"""Covering sets without a split: the definition by brute force, and coverage where the truth is known."""

import math

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import steadyset as ss
from steadyset.audit import CoveringRun
from steadyset.trees import TreeClassifier


def drawn(rng, n, n_classes):
    y = rng.integers(0, n_classes, n)
    x = rng.normal(size=(n, 3))
    x[:, 0] += y
    return x, y


def fitted(x, y, learner=None, **options):
    given = {"n_estimators": 40, "max_samples": 0.5, "epsilon": 0.05, "oob_score": True, "random_state": 0} | options
    return ss.StableClassifier(GaussianNB() if learner is None else learner, **given).fit(x, y)


def sets_by_definition(model, points, y, coverage):
    made = model.bag_predictions(points)
    rows = [set(bag.tolist()) for bag in model.estimators_samples_]
    n, count = len(y), np.zeros((len(points), len(model.classes_)), int)
    for i in range(n):
        free = [b for b in range(len(rows)) if i not in rows[b]]
        if free:
            own = model.oob_decision_function_[i, np.searchsorted(model.classes_, y[i])]
            count += made.proba[free].mean(axis=0) < own - 1e-12
    return count < coverage * (n + 1) - 1e-9


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("learner", [GaussianNB(), TreeClassifier(max_depth=2), TreeClassifier()])
@pytest.mark.parametrize("max_samples", [0.5, 0.95])  # few bags are left without a row, or none
def test_equals_brute_force(learner, max_samples):
    rng = np.random.default_rng(0)
    x, y = drawn(rng, 60, 3)
    points = drawn(rng, 80, 3)[0]
    model = fitted(x, y, learner, max_samples=max_samples, n_estimators=12)
    for coverage in (0.5, 0.8, 0.95):
        found = model.predict_covering_set(points, coverage)
        expected = sets_by_definition(model, points, y, coverage) | model.predict_set(points)
        np.testing.assert_array_equal(found, expected)


def test_blocks_of_points_give_the_same_sets(monkeypatch):
    x, y = drawn(np.random.default_rng(1), 80, 3)
    model = fitted(x, y)
    whole = model.predict_covering_set(x)
    monkeypatch.setattr("steadyset.ensemble._prediction._BLOCK_BYTES", 1 << 14)
    np.testing.assert_array_equal(model.predict_covering_set(x), whole)
    monkeypatch.setattr("steadyset.audit._covering._CHUNK_BYTES", 2400)
    np.testing.assert_array_equal(model.predict_covering_set(x), whole)


@pytest.mark.parametrize("votes", ["zero or one", "thirds", "float32"])
def test_counts_in_fixed_point_enclose_the_exact_ones(votes, isa):
    rng = np.random.default_rng(4)
    bags = ss.draw_bags(5_000, 90, 0.4)
    made = {
        "zero or one": rng.integers(0, 2, (90, 37)).astype(float),
        "thirds": rng.integers(0, 4, (90, 37)) / 3,
        "float32": rng.beta(0.3, 0.3, (90, 37)).astype(np.float32),
    }[votes]
    run = CoveringRun(bags, rng.permutation(5_000) % 60 / 54, 0.9, 2)  # ties with means of 54 votes
    least, most = run._counts_by_sums(made)
    exact, _ = run._counts_by_means(made)
    assert ((least <= exact) & (exact <= most)).all()
    assert len(np.unique(exact)) > 5
    # what is a multiple of the fixed point's unit is counted exactly, ties among it
    assert (most - least).max() == 0 if votes == "zero or one" else (most - least).max() < 100


@pytest.mark.trial
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("good", [True, False])
def test_simulated_coverage_without_a_split(n_classes, good, full_trials):
    """The number of bags is drawn as the theorem asks; a false alarm at three standard errors has chance 0.0014."""
    n_sets, n, m = (2_000 if full_trials else 30), 60, 30
    alpha, covered = 0.1, []
    rng = np.random.default_rng([n_classes, good])
    for trial in range(n_sets):
        n_bags = max(int(rng.binomial(40, 1 - m / (n + 1))), 2)
        x, y = drawn(rng, n + 50, n_classes)
        if not good:
            x[:, 0] = rng.normal(size=len(x))
        learner = TreeClassifier(max_depth=None if good else 1)
        model = fitted(
            x[:n], y[:n], learner, n_estimators=n_bags, max_samples=m, classes=range(n_classes), random_state=trial
        )
        run = CoveringRun(model.bags_, model.oob_label_proba_, 1 - alpha, 1)
        sets = run.sets(model.bag_predictions(x[n:]))
        covered.append(sets[np.arange(50), y[n:]].mean())
    error = np.std(covered) / math.sqrt(n_sets)
    assert np.mean(covered) >= 1 - 2 * alpha - 3 * error
    assert np.mean(covered) >= 1 - alpha - 0.05


def test_the_promise_names_both_numbers():
    x, y = drawn(np.random.default_rng(2), 80, 3)
    promise = fitted(x, y, epsilon=0.3).covering_promise(0.95)
    assert (promise.coverage, promise.proved_coverage) == (0.95, 0.9)
    assert promise.stability.delta == fitted(x, y, epsilon=0.3).guarantee().delta
    text = str(promise)
    assert "about 0.95 of the sets hold the true label" in text
    assert "at least 0.9 by theorem" in text
    assert f"{promise.stability}" in text


def test_what_it_needs():
    x, y = drawn(np.random.default_rng(3), 40, 2)
    with pytest.raises(ValueError, match=r"oob_score must be True in a fit for predict_covering_set.*got False"):
        fitted(x, y, oob_score=False).predict_covering_set(x)
    with pytest.raises(ValueError, match="coverage must be"):
        fitted(x, y).predict_covering_set(x, coverage=1.5)
    with_groups = ss.StableClassifier(GaussianNB(), 10, oob_score=True, random_state=0)
    with_groups.fit(x, y, groups=np.arange(40) // 4)
    with pytest.raises(ValueError, match="groups must be None in a fit for predict_covering_set"):
        with_groups.predict_covering_set(x)


@pytest.mark.parametrize(
    "change", [lambda p: p[:-1], lambda p: np.append(p, 0.5), lambda p: p - 1, lambda p: p * np.nan]
)
def test_out_of_bag_probabilities_of_other_rows_are_refused(change):
    """Those of a model file may be anything."""
    x, y = drawn(np.random.default_rng(4), 40, 2)
    model = fitted(x, y)
    model.oob_label_proba_ = change(model.oob_label_proba_)
    with pytest.raises(ValueError, match=r"^oob_label_proba_ must hold a probability for each of the 40 training rows"):
        model.predict_covering_set(x)
