"""One test for each thing that the paper proves of the selection rules, named after it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steadyset as ss
from helpers.oracle import c_and_t, distances_over_epsilon
from helpers.strategies import close_pairs, epsilons, simplex_pairs, simplex_vectors, vectors


def clear_of_boundary(w, epsilon):
    """Labels whose distance to R_j is not within 1e-9 epsilon of epsilon."""
    return np.abs(distances_over_epsilon(w[None], epsilon)[0] - 1) > 1e-9


@given(vectors(), epsilons)
def test_inflated_argmax_contains_the_argmax(w, epsilon):
    assert np.all(ss.inflated_argmax(w, epsilon) >= ss.argmax_set(w))
    assert np.array_equal(ss.argmax_set(w), w == w.max())


@given(vectors())
def test_intersection_over_epsilon_is_the_argmax(w):
    gaps = w.max() - w
    smallest = gaps[gaps > 0].min() if np.any(gaps > 0) else 1.0
    assume(smallest > 1e-300)
    assert np.array_equal(ss.inflated_argmax(w, smallest * 1.41), w == w.max())
    assert np.array_equal(ss.inflated_argmax(w, 0.0), w == w.max())


@given(vectors(), epsilons, st.floats(1 + 1e-9, 3))
def test_monotone_in_epsilon(w, epsilon, factor):
    assert np.all(ss.inflated_argmax(w, epsilon) <= ss.inflated_argmax(w, epsilon * factor))


@given(vectors(), epsilons)
def test_monotone_in_w(w, epsilon):
    inside = ss.inflated_argmax(w, epsilon)
    assert np.all(inside[w >= w[inside].min()])


@given(vectors(), epsilons, st.randoms(use_true_random=False))
def test_permutation_invariant(w, epsilon, random):
    sigma = list(range(len(w)))
    random.shuffle(sigma)
    assert np.array_equal(ss.inflated_argmax(w[sigma], epsilon), ss.inflated_argmax(w, epsilon)[sigma])
    assert np.array_equal(ss.fixed_margin(w[sigma], epsilon), ss.fixed_margin(w, epsilon)[sigma])


@pytest.mark.parametrize("on_simplex", [True, False])
@pytest.mark.parametrize("rule", [ss.inflated_argmax, ss.fixed_margin])
def test_epsilon_compatible(rule, on_simplex):
    @given(close_pairs(on_simplex))
    def check(case):
        w, v, epsilon = case
        assert np.any(rule(w, epsilon) & rule(v, epsilon))

    check()


@given(vectors(), epsilons, st.floats(1.001, 3), st.data())
def test_t_and_c_of_the_characterisation(w, epsilon, factor, data):
    c, t = c_and_t(w, epsilon)
    slack = 1e-12 * epsilon * factor
    assert t <= c + slack
    wider_c, wider_t = c_and_t(w, epsilon * factor)
    assert wider_c <= c + slack  # nonincreasing in epsilon: the paper once says nondecreasing
    assert wider_t <= t + slack
    higher = w + data.draw(hnp.arrays(np.float64, w.shape, elements=st.floats(0, 1)))
    higher_c, higher_t = c_and_t(higher, epsilon)
    assert higher_c >= c - slack - 1e-15
    assert higher_t >= t - slack - 1e-15
    clear = np.abs(w - t) > 1e-9 * epsilon
    assert np.array_equal((w > t)[clear], ss.inflated_argmax(w, epsilon)[clear])


@given(vectors(2), epsilons)
def test_singleton_exactly_on_R_j(w, epsilon):
    top, runner_up = np.sort(w)[::-1][:2]
    margin = top - runner_up - epsilon / math.sqrt(2)
    assume(abs(margin) > 1e-9 * epsilon)
    assert (ss.inflated_argmax(w, epsilon).sum() == 1) == (margin > 0)


@given(vectors(), epsilons)
def test_definition_by_distance(w, epsilon):
    inside = distances_over_epsilon(w[None], epsilon)[0] < 1
    clear = clear_of_boundary(w, epsilon)
    assert np.array_equal(inside[clear], ss.inflated_argmax(w, epsilon)[clear])


@given(simplex_vectors(2, 6), st.floats(0.01, 0.5))
def test_optimal_singletons(w, epsilon):
    """No compatible, permutation-invariant rule that contains the argmax has a single label where this one has more."""
    n_labels = len(w)
    rivals = [
        ss.FixedMargin(epsilon),
        ss.InflatedArgmax(epsilon * 1.5),
        lambda p: ss.fixed_margin(p, epsilon) | (p >= 0.9 * p.max()),
        lambda p: ss.inflated_argmax(p, epsilon) | ss.mass_threshold(p, 0.6),
        lambda p: np.full(p.shape, True),
    ]
    rivals += (
        [
            rule
            for rule in (ss.MassThreshold(0.5 + 0.25 * epsilon * math.sqrt(n_labels) + 1e-6),)
            if rule.tau <= 1 and rule.compatible_epsilon(n_labels) >= epsilon
        ]
        if 0.5 + 0.25 * epsilon * math.sqrt(n_labels) + 1e-6 <= 1
        else []
    )
    for beta in (1.0, 2.0, 4.0):
        if ss.NDC(beta).compatible_epsilon(n_labels) >= epsilon:
            rivals.append(ss.NDC(beta))
    for rival in rivals:
        if rival(w).sum() == 1:
            assert ss.inflated_argmax(w, epsilon).sum() == 1


@given(vectors(2, 6), epsilons, st.data())
def test_swap_argument(w, epsilon, data):
    """Swapping two entries moves w by sqrt(2) times their gap: the step that makes singletons optimal."""
    j, k = data.draw(st.tuples(st.integers(0, len(w) - 1), st.integers(0, len(w) - 1)))
    v = w.copy()
    v[[j, k]] = v[[k, j]]
    assert np.linalg.norm(v - w) == pytest.approx(math.sqrt(2) * abs(w[j] - w[k]), abs=1e-12)
    if np.linalg.norm(v - w) < epsilon * (1 - 1e-9):
        assert np.any(ss.inflated_argmax(w, epsilon) & ss.inflated_argmax(v, epsilon))


@given(vectors(), epsilons)
def test_fixed_margin_is_a_superset(w, epsilon):
    assert np.all(ss.fixed_margin(w, epsilon) >= ss.inflated_argmax(w, epsilon))


@given(vectors(2, 2), epsilons)
def test_fixed_margin_is_equal_for_two_labels(w, epsilon):
    assert np.array_equal(ss.fixed_margin(w, epsilon), ss.inflated_argmax(w, epsilon))


@given(vectors(2), epsilons)
def test_inflated_argmax_contains_a_smaller_margin(w, epsilon):
    n_labels = len(w)
    kappa = math.sqrt(n_labels / (n_labels - 1)) - 1 / math.sqrt(2)
    inside = w > w.max() - kappa * epsilon * (1 - 1e-12)
    assert np.all(ss.inflated_argmax(w, epsilon) >= inside)


def test_full_set_of_three_labels_is_a_reuleaux_triangle():
    """The region of the full set has the width epsilon in every direction of the simplex's plane."""
    epsilon = 0.3
    angles = np.linspace(0, 2 * np.pi, 48_000, endpoint=False)  # the corners among them
    axes = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    rays = np.cos(angles)[:, None] * axes[0] + np.sin(angles)[:, None] * axes[1]
    # Entry epsilons scale with the distance from the centre, so that one ray gives the boundary without a search.
    radius = epsilon / ss.entry_epsilons(rays).max(axis=1)
    boundary = radius[:, None] * rays
    for inside, scale in ((True, 1 - 1e-9), (False, 1 + 1e-9)):
        sets = ss.inflated_argmax(1 / 3 + boundary[::97] * scale, epsilon)
        assert np.all(sets.all(axis=1) == inside)
    flat = boundary @ axes.T
    for angle in np.linspace(0, np.pi, 181):
        along = flat @ [np.cos(angle), np.sin(angle)]
        assert along.max() - along.min() == pytest.approx(epsilon, rel=1e-8)


@given(vectors(2), epsilons, st.data())
def test_stability_radius_lemma_3(w, epsilon, data):
    for rule in (ss.InflatedArgmax(epsilon), ss.FixedMargin(epsilon), ss.Argmax(), ss.TopK(1 + len(w) // 3)):
        radius = float(ss.stability_radius(w, rule))
        if not 0 < radius < math.inf:
            continue
        step = data.draw(hnp.arrays(np.float64, w.shape, elements=st.floats(-1, 1)))
        norm = np.linalg.norm(step)
        assume(norm > 1e-3)
        moved = w + step / norm * radius * (1 - 1e-9)
        assert np.any(rule(w) & rule(moved)), (rule, radius)


def test_stability_radius_is_attained():
    """Just past the radius some vector has a disjoint set, where one label leads clearly."""
    w = np.array([0.6, 0.3, 0.1])
    towards = np.array([-1, 1, 0]) / math.sqrt(2)
    for rule in (ss.Argmax(), ss.InflatedArgmax(0.2)):
        radius = float(ss.stability_radius(w, rule))
        assert not np.any(rule(w) & rule(w + towards * radius * (1 + 1e-9)))


@given(simplex_pairs(), st.floats(0.51, 1.0))
def test_mass_threshold_compatible(pair, tau):
    rule = ss.MassThreshold(tau)
    w, v = pair
    if not np.any(rule(w) & rule(v)):
        assert np.linalg.norm(v - w) >= rule.compatible_epsilon(len(w)) * (1 - 1e-9)


@pytest.mark.parametrize("tau", [0.6, 0.8, 0.95])
@pytest.mark.parametrize("n_labels", [2, 4, 7, 10])
def test_mass_threshold_compatible_epsilon_is_attained(n_labels, tau):
    """The mass tau on one half of the labels, or on the other: disjoint sets at exactly that distance."""
    half, rest = n_labels // 2, n_labels - n_labels // 2
    most, least = tau + 1e-14, 1 - tau - 1e-14  # past the rounding of tau / half
    w, v = (np.repeat([x / half, y / rest], [half, rest]) for x, y in ((most, least), (least, most)))
    rule = ss.MassThreshold(tau)
    assert not np.any(rule(w) & rule(v))
    assert np.linalg.norm(w - v) == pytest.approx(rule.compatible_epsilon(n_labels), rel=1e-12)


@given(simplex_pairs(), st.floats(0.2, 5.0))
def test_ndc_compatible(pair, beta):
    rule = ss.NDC(beta)
    w, v = pair
    if not np.any(rule(w) & rule(v)):
        assert np.linalg.norm(v - w) >= rule.compatible_epsilon(len(w)) * (1 - 1e-9)


@given(simplex_pairs(), st.data())
def test_top_k_compatible_for_more_than_half(pair, data):
    w, v = pair
    k = data.draw(st.integers(len(w) // 2 + 1, len(w)))
    rule = ss.TopK(k)
    assert rule.compatible_epsilon(len(w)) == math.inf
    assert np.any(rule(w) & rule(v))


def test_rules_without_a_theorem_say_none():
    assert ss.Argmax().compatible_epsilon(3) is None
    assert ss.SVBOP((1.0, 0.0)).compatible_epsilon(3) is None
    assert ss.TopK(2).compatible_epsilon(4) is None
    assert ss.MassThreshold(0.5).compatible_epsilon(4) is None
    assert ss.NDC(0.0).compatible_epsilon(4) is None


@given(simplex_vectors(1, 8), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_ndc_maximises_the_expected_f_measure(w, beta):
    best = max(
        (1 + beta**2) * sum(w[list(labels)]) / (len(labels) + beta**2)
        for size in range(1, len(w) + 1)
        for labels in itertools.combinations(range(len(w)), size)
    )
    inside = ss.ndc(w, beta)
    assert (1 + beta**2) * w[inside].sum() / (inside.sum() + beta**2) == pytest.approx(best, abs=1e-12)


@given(simplex_vectors(1, 8), st.sampled_from(["u65", "u80", (1.0, 0.0), (1.0, -1.0), (3.0, 2.9)]))
def test_svbop_maximises_the_expected_utility_with_the_smallest_set(w, utility):
    alpha, discount = {"u65": (1.6, 0.6), "u80": (2.2, 1.2)}.get(utility, utility)
    ordered = np.sort(w)[::-1]
    sizes = np.arange(1, len(w) + 1)
    worth = (alpha / sizes - discount / sizes**2) * np.cumsum(ordered)
    inside = ss.svbop(w, utility)
    size = int(inside.sum())
    assert worth[size - 1] == pytest.approx(worth.max(), abs=1e-12)
    assert np.all(worth[: size - 1] < worth[size - 1])
    assert sorted(w[inside], reverse=True) == ordered[:size].tolist()


@given(simplex_vectors(1, 10), st.floats(0.01, 1.0))
def test_mass_threshold_is_the_smallest_prefix_with_its_ties(w, tau):
    inside = ss.mass_threshold(w, tau)
    last = w[inside].min()
    assert np.array_equal(inside, w >= last)
    tau, total = Fraction(tau), sum(map(Fraction, w))
    least = tau + max(total - 1, 0)  # what is left out is at most 1 - tau
    assert sum(map(Fraction, w[w > last])) < least
    assert inside.all() or sum(map(Fraction, w[inside])) >= least
