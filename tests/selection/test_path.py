"""Entry epsilons: one pass that answers every epsilon."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from helpers.oracle import random_problem
from helpers.strategies import epsilons, vectors


@given(vectors(), epsilons)
def test_a_label_is_selected_exactly_beyond_its_entry(w, epsilon):
    entries = ss.entry_epsilons(w)
    clear = np.abs(entries - epsilon) > 1e-12 * epsilon
    assert np.array_equal((entries < epsilon)[clear], ss.inflated_argmax(w, epsilon)[clear])


@given(vectors(2))
def test_maximisers_runner_up_and_bounds(w):
    entries, gaps, n_labels = ss.entry_epsilons(w), w.max() - w, len(w)
    assert np.all(entries[gaps == 0] == 0)
    second = np.argsort(-w, kind="stable")[1]
    assert entries[second] == pytest.approx(math.sqrt(2) * gaps[second], rel=1e-14)
    kappa = math.sqrt(n_labels / (n_labels - 1)) - 1 / math.sqrt(2)
    assert np.all(entries >= math.sqrt(2) * gaps * (1 - 1e-12))
    assert np.all(entries <= gaps / kappa * (1 + 1e-12))


@given(vectors())
def test_a_lower_score_never_enters_first(w):
    order = np.argsort(-w, kind="stable")
    assert np.all(np.diff(ss.entry_epsilons(w)[order]) >= 0)


def entry_by_bisection(w, j):
    """The epsilon at which dist(w, R_j) = epsilon, in 40 digits."""
    with mpmath.workdps(40):
        w = [mpmath.mpf(float(x)) for x in w]
        gap = max(w) - w[j]
        if gap == 0:
            return 0.0

        def outside(eps):
            h = eps / mpmath.sqrt(2)
            low, high = min(w) - eps * 2 - gap, max(w) + eps
            for _ in range(150):
                a = (low + high) / 2
                if a + h - sum(max(x - a, 0) for i, x in enumerate(w) if i != j) > w[j]:
                    high = a
                else:
                    low = a
            return (w[j] - a - h) ** 2 + sum(max(x - a, 0) ** 2 for i, x in enumerate(w) if i != j) >= eps**2

        low, high = gap, gap * 10 * len(w)
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if outside(middle) else (low, middle)
        return float((low + high) / 2)


@pytest.mark.parametrize("seed", range(4))
def test_against_forty_digits(seed):
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.ones(3 + 2 * seed))
    assert [entry_by_bisection(w, j) for j in range(len(w))] == pytest.approx(ss.entry_epsilons(w).tolist(), rel=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-80, 1.0, 1e80, 1e300])
def test_scales_with_the_scores(scale):
    w = np.array([[0.0, -0.1, -0.25, -0.3, -0.9]] * 9)
    assert ss.entry_epsilons(w * scale) / scale == pytest.approx(ss.entry_epsilons(w), rel=1e-12)


def test_gaps_far_below_the_range():
    """Squares of these gaps underflow beside the row's range; each label is then solved on its own scale."""
    near = np.array([0.0, -1.0, -2.0, -2.5])
    expected = ss.entry_epsilons(near) * 1e-200
    w = np.append(near * 1e-200, -1.0)
    assert ss.entry_epsilons(w)[:4] == pytest.approx(expected, rel=1e-12)


def test_entries_past_the_floats_range_are_infinite():
    w = np.array([1.7e308, -1.7e308, 0.0])
    assert ss.entry_epsilons(w).tolist() == [0, math.inf, math.inf]
    assert ss.entry_epsilons(w / 2) == pytest.approx([0, math.inf, math.sqrt(2) * 0.85e308], rel=1e-12)


@given(st.integers(0, 2**32))
def test_agrees_with_the_sets_on_hard_shapes(seed):
    w, epsilon = random_problem(np.random.default_rng(seed), 9, max_labels=200)
    entries = ss.entry_epsilons(w)
    clear = np.abs(entries - epsilon) > 1e-12 * epsilon
    assert np.array_equal((entries < epsilon)[clear], ss.inflated_argmax(w, epsilon)[clear])


def test_levels_agree_to_the_bit(isa):
    from steadyset import _native

    rng = np.random.default_rng(5)
    for n_rows, n_labels in ((100, 10), (100, 48), (20, 49), (5, 700)):
        w = rng.dirichlet(np.ones(n_labels), n_rows)
        for scores in (w, w.astype(np.float32), np.round(w, 2)):
            here = ss.entry_epsilons(scores)
            _native.use_isa("baseline")
            assert np.array_equal(here, ss.entry_epsilons(scores))
            _native.use_isa(isa)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 7, 10, 48])
def test_entries_depend_on_their_own_row_alone(n_labels, dtype, isa):
    w = np.random.default_rng(n_labels).dirichlet(np.ones(n_labels), 37).astype(dtype)
    w[::3] = np.round(w[::3], 1)  # with ties
    w[5] *= dtype(1e-38)  # solved by itself
    together = ss.entry_epsilons(w)
    assert np.array_equal(together, [ss.entry_epsilons(row) for row in w])
    for other in (np.asfortranarray(w), np.repeat(w, 2, axis=0)[::2], np.pad(w, ((0, 0), (1, 2)))[:, 1:-2]):
        assert np.array_equal(together, ss.entry_epsilons(other))
    assert np.array_equal(together[::-1, ::-1], ss.entry_epsilons(w[::-1, ::-1]))
