"""How close two vectors with disjoint sets can be: NDC, SVBOP and the mass threshold against quadratic programs.

For given sizes of the two sets a rule's optimality conditions are linear, so that the closest pair is a quadratic
program: no pair may be closer than the claim, and the closest one shows how much of it is lost.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import steadyset as ss

UTILITIES = {"u65": (1.6, 0.6), "u80": (2.2, 1.2)}


def conditions(rule, n_labels, first, size):
    """Rows c with c.w >= 0, and rows with least values, where the set of w is the labels first, ..., first+size-1."""
    inside = np.zeros(n_labels)
    inside[first : first + size] = 1
    outside = np.flatnonzero(inside == 0)
    rows, eye = [], np.eye(n_labels)
    rows += [eye[j] - eye[k] for j in np.flatnonzero(inside) for k in outside]  # a prefix of the order
    if isinstance(rule, ss.MassThreshold):
        return rows, [(inside, rule.tau)]
    worth = {k: value(rule, k) for k in range(1, n_labels + 1)}
    for k in range(1, n_labels + 1):  # no other prefix is better, whichever labels it has
        for labels in itertools.combinations(range(n_labels), k):
            other = eye[list(labels)].sum(axis=0)
            rows.append(worth[size] * inside - worth[k] * other)
    return rows, []


def value(rule, k):
    if isinstance(rule, ss.NDC):
        return 1 / (k + rule.beta**2)
    alpha, beta = UTILITIES.get(rule.utility, rule.utility)
    return alpha / k - beta / k**2


def closest(rule, n_labels, a, b):
    """The smallest distance of a vector with the set of the first a labels to one with that of the next b."""
    constraints = [LinearConstraint(np.kron(np.eye(2), np.ones(n_labels)), 1, 1)]
    for place, (first, size) in enumerate([(0, a), (a, b)]):
        rows, masses = conditions(rule, n_labels, first, size)
        for row, least in [(row, 0.0) for row in rows] + masses:
            wide = np.zeros(2 * n_labels)
            wide[place * n_labels : (place + 1) * n_labels] = row
            constraints.append(LinearConstraint(wide, least, np.inf))
    best = math.inf
    for seed in range(3):
        start = np.random.default_rng(seed).dirichlet(np.ones(n_labels), 2).ravel()
        found = minimize(
            lambda z: ((z[:n_labels] - z[n_labels:]) ** 2).sum(),
            start,
            jac=lambda z: 2 * np.concatenate([z[:n_labels] - z[n_labels:], z[n_labels:] - z[:n_labels]]),
            bounds=[(0, 1)] * (2 * n_labels),
            constraints=constraints,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        if found.success:
            best = min(best, math.sqrt(max(found.fun, 0.0)))
    return best


RULES = [
    ss.MassThreshold(0.6),
    ss.MassThreshold(0.9),
    ss.NDC(0.5),
    ss.NDC(1.0),
    ss.NDC(2.0),
    ss.SVBOP("u65"),
    ss.SVBOP("u80"),
    ss.SVBOP((1.0, 0.8)),
]


@pytest.mark.parametrize("n_labels", [2, 3, 4])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_no_two_disjoint_sets_are_closer_than_the_claim(rule, n_labels):
    """Theorems S12, S13 and S14; attained for two labels, and by the mass threshold for four."""
    pairs = [(a, b) for a in range(1, n_labels) for b in range(a, n_labels) if a + b <= n_labels]
    nearest, claim = min(closest(rule, n_labels, a, b) for a, b in pairs), rule.compatible_epsilon(n_labels)
    if claim == math.inf:  # u(1, .8): no single label is ever the best set, so that two sets of three labels meet
        assert nearest == math.inf
        return
    assert claim <= nearest * (1 + 1e-6)
    if n_labels == 2 or (n_labels == 4 and isinstance(rule, ss.MassThreshold)):
        assert claim == pytest.approx(nearest, rel=1e-6)
    assert claim > 0.5 * nearest


def svbop_minimum(utility, n_labels):
    """The minimum of Theorem S14 over all pairs of sizes, T_a as defined there."""
    alpha, beta = UTILITIES.get(utility, utility)

    def g(k):
        return alpha / k - beta / k**2

    rho = {k: k * (g(k) / g(k + 1) - 1) for k in range(1, n_labels)}
    assert all((r >= 0) == (alpha * k * (k + 1) >= beta * (2 * k + 1)) for k, r in rho.items())
    lead = {k: (1 - r) / (k + (n_labels - k) * r) for k, r in rho.items() if r >= 0}
    pairs = [(a, b) for a, b in itertools.product(lead, repeat=2) if a + b <= n_labels]
    return min(((lead[a] + lead[b]) / math.sqrt(1 / a + 1 / b) for a, b in pairs), default=math.inf)


@pytest.mark.parametrize("utility", ["u65", "u80", (1.0, 0.01), (1.0, 0.5), (1.0, 0.7), (3.0, 2.9)], ids=str)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 11, 40, 101])
def test_the_claim_of_svbop_is_the_minimum_over_the_sizes_that_occur(n_labels, utility):
    claim, smallest = ss.SVBOP(utility).compatible_epsilon(n_labels), svbop_minimum(utility, n_labels)
    assert claim == pytest.approx(smallest, rel=1e-9)
    assert claim <= smallest * (1 + 1e-10)  # 1 - rho cancels
    alpha, beta = UTILITIES.get(utility, utility)
    if n_labels > 1:  # the simpler bound that the page gives
        half, gamma = n_labels // 2, beta / alpha
        assert claim >= gamma / (n_labels + gamma) * math.sqrt(1 / half + 1 / (n_labels - half)) * (1 - 1e-9)


def test_svbop_attains_its_epsilon():
    near = np.array([0.65 + 1e-12, 0.35 - 1e-12])
    rule = ss.SVBOP("u65")
    assert not np.any(rule(near) & rule(near[::-1]))
    assert rule.compatible_epsilon(2) == pytest.approx(0.3 * math.sqrt(2), rel=1e-11)
    assert np.linalg.norm(near - near[::-1]) == pytest.approx(0.3 * math.sqrt(2), rel=1e-11)


@pytest.mark.parametrize("utility", ["u65", "u80", (1.0, 0.5), (1.0, 0.8), (3.0, 2.9)], ids=str)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_svbop_is_compatible_with_a_small_epsilon(n_labels, utility):
    """Theorem S14(c), on pairs of close vectors of which many have disjoint sets, unless no two sizes fit."""
    epsilon = ss.SVBOP(utility).compatible_epsilon(n_labels)
    rng = np.random.default_rng(0)
    w, v = rng.dirichlet(np.full(n_labels, 0.5), (2, 20_000))
    v = w + rng.random((20_000, 1)) * (v - w)
    disjoint = ~np.any(ss.svbop(w, utility) & ss.svbop(v, utility), axis=1)
    if epsilon == math.inf:
        assert not disjoint.any()
        return
    assert disjoint.sum() > 100
    assert np.linalg.norm(v - w, axis=1)[disjoint].min() >= epsilon


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_claims_fall_with_the_number_of_labels(rule):
    """None of them is compatible for an unknown number of labels: all claims tend to 0."""
    claims = [rule.compatible_epsilon(n_labels) for n_labels in (2, 3, 5, 10, 100, 10_000, 1_000_000)]
    assert claims == sorted(claims, reverse=True)
    assert claims[0] > 0
    assert 0 < claims[-1] < 2e-3
    assert rule.compatible_epsilon(1) == math.inf
    assert rule.compatible_epsilon(None) is None
