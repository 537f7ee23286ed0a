"""What docs/theory/corrections.md says, by the arithmetic that shows it."""

import math

import numpy as np
import pytest

import steadyset as ss
from helpers.oracle import c_and_t

FASHION = {"n_samples": 60_000, "bag_size": 0.5, "epsilon": 0.05, "n_classes": 10}


def test_the_threshold_falls_with_epsilon():
    w = np.array([0.5, 0.3, 0.2])
    (c, t), (wider_c, wider_t) = c_and_t(w, 0.1), c_and_t(w, 0.4)
    assert wider_c < c
    assert wider_t < t
    assert float(t) == pytest.approx(0.5 - 0.1 / math.sqrt(2), abs=1e-12)
    assert float(wider_t) == pytest.approx(0.225, abs=5e-4)
    for epsilon, threshold in ((0.1, t), (0.4, wider_t)):
        assert np.array_equal(ss.inflated_argmax(w, epsilon), w > float(threshold))


def test_the_step_with_the_other_vector():
    """t'' of w at the root of w' is not the threshold of w', and lies on the wrong side of it."""
    w, higher, epsilon = np.array([0.5, 0.4]), np.array([0.5, 0.5]), 0.3
    c, t = (float(x) for x in c_and_t(higher, epsilon))
    step = c + epsilon / math.sqrt(2) - np.maximum(w - c, 0).sum()
    assert (step, t) == (pytest.approx(0.445, abs=5e-4), pytest.approx(0.345, abs=5e-4))
    assert float(c_and_t(w, epsilon)[1]) < t < step
    assert ss.inflated_argmax(w, epsilon).tolist() == [True, True]
    assert (w > step).tolist() == [True, False]  # what the step would select


def test_a_constant_rule_is_compatible():
    """Always {1}: any two sets share a label, and no rule has fewer labels; but it lacks the argmax."""
    w = np.random.default_rng(0).dirichlet([1, 1, 1], 200)
    constant = np.tile([True, False, False], (200, 1))
    assert np.all((constant[:, None] & constant[None]).any(axis=-1))
    assert np.all(constant.sum(axis=1) == 1)
    assert not np.all(constant >= ss.argmax_set(w))
    assert np.any(ss.inflated_argmax(w, 0.1).sum(axis=1) > 1)


def test_what_a_thousand_bags_are_worth():
    infinite = ss.selection_stability(**FASHION, theorem="paper")
    finite = ss.selection_stability(**FASHION, n_bags=1000, theorem="paper")
    ours = ss.selection_stability(**FASHION, n_bags=1000)
    assert (round(infinite.delta, 3), round(finite.delta, 1), round(ours.delta, 3)) == (0.006, 42.6, 0.36)
    assert finite.vacuous
    assert not ours.vacuous


@pytest.mark.parametrize(
    ("theorem", "coupling", "times"),
    [("paper", "any", 118.2), ("second-moment", "any", 4), ("second-moment", "hash", 1)],
)
def test_how_many_bags_are_many(theorem, coupling, times):
    """With that many bags per row the noise doubles the bound of infinitely many."""
    n_bags = round(times * FASHION["n_samples"])
    infinite = ss.selection_stability(**FASHION, theorem=theorem).delta
    finite = ss.selection_stability(**FASHION, theorem=theorem, coupling=coupling, n_bags=n_bags).delta
    assert finite == pytest.approx(2 * infinite, rel=1e-3)


def test_the_error_in_the_table():
    r, n = 0.474, 10_000
    most = round(0.0175 * n)  # sets have 1.017 labels on average, to three digits
    assert round(math.sqrt(r * (1 - r) / n), 3) == 0.005
    assert math.sqrt(r * (1 - r) / most) > 0.037
    assert math.sqrt(n / most) > 7.5
    two = np.arange(n) < most
    proba = np.where(two[:, None], [0.51, 0.49], [0.9, 0.1])
    sets = ss.inflated_argmax(proba, 0.1)
    assert np.array_equal(sets.sum(axis=1) == 2, two)
    y = np.where(np.arange(n) < round(r * most), 0, np.where(two, 1, 0))
    ours = ss.metrics.superfluous_inflation(y, sets, proba)
    papers = ss.metrics.superfluous_inflation(y, sets, proba, standard_error="paper")
    assert float(ours) == float(papers) == pytest.approx(r, abs=5e-4)
    assert ours.standard_error > 0.037
    assert round(papers.standard_error, 3) == 0.005


def test_an_argmax_with_ties_is_a_set():
    proba = np.array([[0.4, 0.4, 0.2], [0.1, 0.8, 0.1]])
    sets = ss.argmax_set(proba)
    assert sets.sum(axis=1).tolist() == [2, 1]
    assert ss.metrics.superfluous_inflation([0, 1], sets, proba) == 1


def test_a_bag_leaves_a_row_out():
    with pytest.raises(ValueError, match="bag_size"):
        ss.draw_bags(10, 5, 10)
    with pytest.raises(ValueError, match="bag_size"):
        ss.selection_stability(n_samples=10, bag_size=10, epsilon=0.1)
    assert ss.selection_stability(n_samples=10, bag_size=9, epsilon=0.1).delta > 0
    with pytest.raises(ValueError, match="n_dropped"):
        ss.selection_stability(n_samples=10, bag_size=9, epsilon=0.1, n_dropped=2)


def printed(w, epsilon):
    """Proposition 11 as it is printed."""
    ordered = np.sort(w)[::-1]

    def f(k):
        return (ordered[:k] - ordered[k - 1]).sum() ** 2 + ((ordered[:k] - ordered[k - 1]) ** 2).sum()

    k = max(k for k in range(1, len(w) + 1) if f(k) <= epsilon**2)
    first, second = ordered[:k].mean(), (ordered[:k] ** 2).mean()
    inside = epsilon**2 / k + first**2 - second
    return epsilon / math.sqrt(2) + first - math.sqrt(k + 1) * math.sqrt(inside) if inside >= 0 else math.nan


@pytest.mark.parametrize(
    ("w", "epsilon"),
    [([1, 1 - 1e-9], 1e-12), ([0.7, 0.2, 0.1], 1e-9), ([0.5, 0.5], 1e-10), ([0.3, 0.3, 0.3, 0.1], 1e-9)],
)
def test_the_printed_formula_cancels(w, epsilon):
    scores = np.array(w)
    assert not np.any(scores > printed(scores, epsilon))  # the empty set, or no number at all
    assert np.array_equal(ss.inflated_argmax(scores, epsilon), scores == scores.max())
