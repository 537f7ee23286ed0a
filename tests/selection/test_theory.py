"""Claims of docs/theory/selection.md that no other test checks, against maxima over fine grids of the simplex."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steadyset as ss
from helpers.oracle import c_and_t, distances_over_epsilon
from helpers.strategies import epsilons, simplex_vectors, values, vectors

STEPS = 60


def grid(n_labels):
    """All probability vectors whose entries are multiples of 1/STEPS."""
    cuts = np.array(list(itertools.combinations(range(STEPS + n_labels - 1), n_labels - 1)))
    edges = np.hstack([np.full((len(cuts), 1), -1), cuts, np.full((len(cuts), 1), STEPS + n_labels - 1)])
    return (np.diff(edges, axis=1) - 1) / STEPS


GRIDS = {n_labels: grid(n_labels) for n_labels in (2, 3, 4)}


def phi(weights):
    return np.sqrt(1 + (weights**2).sum(axis=-1)) - math.sqrt(0.5)


def maximiser(w, epsilon):
    """lambda of Theorem S3."""
    c, t = c_and_t(w, epsilon)
    above = np.maximum(w - float(c), 0)
    return above / above.sum(), float(t)


@settings(max_examples=40)
@given(vectors(2, 4), st.floats(0.01, 3))
def test_what_keeps_a_label_out(w, epsilon):
    """On the grid no lambda beats the distance, and the best comes close to it (Theorem S2)."""
    distance = np.asarray(distances_over_epsilon(w[None], epsilon)[0], float) * epsilon
    weights = GRIDS[len(w)]
    for j in range(len(w)):
        some = weights[weights[:, j] == 0]
        quotients = (epsilon / math.sqrt(2) - w[j] + some @ w) / np.sqrt(1 + (some**2).sum(axis=1))
        best = max(float(quotients.max()), 0.0)
        assert best <= distance[j] + 1e-9
        assert best >= distance[j] - 2e-3 * (1 + np.ptp(w))
        if best > epsilon * (1 + 1e-9):  # some lambda keeps the label out
            assert not ss.inflated_argmax(w, epsilon)[j]
        if best < epsilon - 2e-3 * (1 + np.ptp(w)):  # none does
            assert ss.inflated_argmax(w, epsilon)[j]


@settings(max_examples=40)
@given(vectors(2, 4), st.floats(0.01, 3), st.data())
def test_the_threshold_is_a_maximum_over_the_simplex(w, epsilon, data):
    weights, (best, t) = GRIDS[len(w)], maximiser(w, epsilon)
    assert (weights @ w - epsilon * phi(weights)).max() <= t + 1e-9
    assert best @ w - epsilon * phi(best) == pytest.approx(t, abs=1e-9)
    clear = np.abs(w - t) > 1e-9 * epsilon
    assert np.array_equal(ss.inflated_argmax(w, epsilon)[clear], (w > t)[clear])
    v = data.draw(hnp.arrays(np.float64, w.shape, elements=values))
    other, s = maximiser(v, epsilon)
    assert abs(s - t) <= np.abs(v - w).max() + 1e-9  # 1-Lipschitz in the sup norm
    assert s >= t + best @ (v - w) - 1e-9  # convex, with gradient lambda
    lower = w.max() - epsilon / math.sqrt(2)
    upper = w.max() - (math.sqrt(1 + 1 / len(w)) - math.sqrt(0.5)) * epsilon
    assert lower - 1e-9 <= t <= upper + 1e-9
    assert other.min() >= 0


@settings(max_examples=40)
@given(vectors(2, 6), vectors(2, 6), st.floats(0.01, 1))
def test_disjoint_sets_lie_epsilon_apart_and_no_farther(w, v, epsilon):
    """The step (X + Y - sqrt 2)^2 >= X^2 + Y^2 - 2 of Theorem S4, and two vectors that attain epsilon."""
    x, y = (math.sqrt(1 + float((maximiser(u, epsilon)[0] ** 2).sum())) for u in (w, v))
    assert 1 <= x <= math.sqrt(2) + 1e-12
    assert x + y - math.sqrt(2) >= math.sqrt(x * x + y * y - 2) - 1e-9
    near = np.zeros(len(w))
    near[0] = epsilon / math.sqrt(2) * (1 + 1e-9)
    far = near[[1, 0, *range(2, len(w))]]
    assert not np.any(ss.inflated_argmax(near, epsilon) & ss.inflated_argmax(far, epsilon))
    assert np.linalg.norm(near - far) == pytest.approx(epsilon, rel=1e-8)


@settings(max_examples=100)
@given(vectors(2, 8), epsilons, st.data())
def test_when_none_of_some_labels_is_selected(w, epsilon, data):
    """Lemma S5 for the sets of the labels below a level, away from where rounding decides."""
    level = data.draw(st.sampled_from(w.tolist()))
    below = w < level
    if not below.any() or below.all():
        return
    outside = w[~below]
    t = float(c_and_t(outside, epsilon)[1])
    gap = w[below].max() - t
    if abs(gap) > 1e-9 * epsilon:
        assert ss.inflated_argmax(w, epsilon)[below].any() == (gap > 0)
        if gap < 0:  # one lambda outside keeps all of them out
            weights, _ = maximiser(outside, epsilon)
            assert w[below].max() <= weights @ outside - epsilon * phi(weights) + 1e-9
    margin = w[below].max() - (outside.max() - epsilon / math.sqrt(2))
    if abs(margin) > 1e-9 * epsilon:
        assert ss.fixed_margin(w, epsilon)[below].any() == (margin > 0)
    assert not ss.argmax_set(w)[below].any()
    assert ss.inflated_argmax(w, epsilon).any()


@settings(max_examples=40)
@given(vectors(2, 4))
def test_entry_epsilons_are_the_maximum_of_a_quotient(w):
    entries, weights = ss.entry_epsilons(w), GRIDS[len(w)]
    for j in range(len(w)):
        some = weights[weights[:, j] == 0]
        best = max(float(((some @ w - w[j]) / phi(some)).max()), 0.0)
        assert best <= entries[j] + 1e-9
        assert best >= entries[j] - 5e-3 * (1 + np.ptp(w))


@settings(max_examples=40)
@given(vectors(3), epsilons)
def test_two_labels_in_the_margin_are_the_set(w, epsilon):
    margin = ss.fixed_margin(w, epsilon)
    if margin.sum() <= 2:
        assert np.array_equal(ss.inflated_argmax(w, epsilon), margin)


@settings(max_examples=40)
@given(vectors(2, 12, st.floats(-1, 0)), st.floats(-0.7, -0.01))
def test_newton_rises_to_the_root(w, start):
    """Theorem S10(c): from the left of the root, no step passes it, and twenty reach it."""
    u = w - w.max()
    root = float(c_and_t(u, 1.0)[0])
    c = min(start, root)
    for _ in range(20):
        above = np.maximum(u - c, 0)
        value = math.sqrt(above.sum() ** 2 + (above**2).sum())
        following = c + (value - 1) * value / (((above > 0).sum() + 1) * above.sum())
        assert c - 1e-12 <= following <= root + 1e-12
        c = following
    assert c == pytest.approx(root, abs=1e-9)
    threshold = c + math.sqrt(0.5) - np.maximum(u - c, 0).sum()
    clear = np.abs(u - threshold) > 1e-8
    assert np.array_equal(ss.inflated_argmax(w, 1.0)[clear], (u > threshold)[clear])


@settings(max_examples=40)
@given(vectors(2), epsilons)
def test_computed_sets_lie_between_two_exact_ones(w, epsilon):
    inside = np.asarray(distances_over_epsilon(w[None], epsilon)[0])
    computed = ss.inflated_argmax(w, epsilon)
    assert np.all(computed[inside < 1 - 1e-15])
    kappa = math.sqrt(1 + 1 / len(w)) - math.sqrt(0.5)
    wider = epsilon * (1 + 2 * 16 * 2.0**-52 / kappa)
    assert np.all(computed <= (distances_over_epsilon(w[None], wider)[0] < 1 + 1e-15))


@pytest.mark.parametrize("eta", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize(
    "rule",
    [
        ss.Argmax(),
        ss.MassThreshold(0.5),
        ss.MassThreshold(0.3),
        ss.NDC(0.0),
        ss.SVBOP((1.0, 0.0)),
        ss.SVBOP((1.0, -1.0)),
    ],
    ids=repr,
)
def test_rules_that_no_epsilon_makes_compatible(rule, eta):
    near = np.array([0.5 + eta, 0.5 - eta, 0.0])
    far = near[[1, 0, 2]]
    assert rule.compatible_epsilon(3) is None
    assert not np.any(rule(near) & rule(far))
    assert np.linalg.norm(near - far) < 3 * eta
    pairs = np.array(
        [[0.25 + eta, 0.25 + eta, 0.25 - eta, 0.25 - eta], [0.25 - eta, 0.25 - eta, 0.25 + eta, 0.25 + eta]]
    )
    assert not np.any(ss.top_k(pairs[0], 2) & ss.top_k(pairs[1], 2))


@settings(max_examples=40)
@given(simplex_vectors(2, 6))
def test_entry_epsilons_on_the_simplex(w):
    """Theorem S16: no entry point is above sqrt(2) (1 - w_j)."""
    assert np.all(ss.entry_epsilons(w) <= math.sqrt(2) * (1 - w) + 1e-12)
