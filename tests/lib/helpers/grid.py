"""One grid of inputs and rules, shared by the tests of every implementation."""

import math

import numpy as np

import steadyset as ss


def conformal(score: str, threshold: float) -> ss.ConformalRule:
    """A conformal rule at a threshold, as if calibrated."""
    return ss.ConformalRule(score, 0.9, (threshold,), (99,))


EPSILONS = (1e-300, 1e-9, 0.01, 0.05, 0.3, 1.0, 5.0)

RULES_ON_SCORES = [
    ss.Argmax(),
    *(r(e) for r in (ss.InflatedArgmax, ss.FixedMargin) for e in (0.0, *EPSILONS)),
    ss.TopK(1),
    *(ss.InflatedTopK(1, e) for e in (0.0, 0.05, 5.0)),
]
RULES_ON_PROBABILITIES = [
    *(ss.MassThreshold(t) for t in (0.3, 0.5, 0.8, 0.95, 1.0)),
    *(ss.NDC(b) for b in (0.0, 0.5, 1.0, 2.0)),
    *(ss.SVBOP(u) for u in ("u65", "u80", (1.0, 0.0), (1.0, -0.5), (3.0, 2.5))),
    *(conformal(score, t) for score in ("lac", "aps") for t in (0.0, 0.3, 0.5, 0.95, 1.0, math.inf)),
    ss.Union(conformal("lac", 0.5), ss.InflatedArgmax(0.0)),
    ss.Union(conformal("aps", 0.8), ss.MassThreshold(0.5), ss.TopK(1)),
]
ONE_OF_EACH_RULE = [
    ss.Argmax(),
    ss.InflatedArgmax(0.2),
    ss.FixedMargin(0.2),
    ss.TopK(2),
    ss.MassThreshold(0.7),
    ss.NDC(1.0),
    ss.SVBOP("u65"),
    ss.SVBOP("u80"),
    conformal("lac", 0.75),
    conformal("aps", 0.7),
    ss.Union(conformal("aps", 0.5), ss.InflatedArgmax(0.2)),
]


def probabilities() -> list[np.ndarray]:
    rng = np.random.default_rng(20240)
    grid = [np.ones((1, 1)), np.array([[0.5, 0.5], [1.0, 0.0], [0.7, 0.3]])]
    grid.append(np.array([[0.7, 0.1, 0.15, 0.05], [0.25, 0.25, 0.25, 0.25], [0.6, 0.2, 0.2, 0.0], [0.65, 0.35, 0, 0]]))
    for n_labels in (3, 10, 17, 64, 300):
        grid.append(rng.dirichlet(np.ones(n_labels), 40))
        grid.append(rng.dirichlet(np.full(n_labels, 0.1), 40))
        counts = rng.multinomial(20, np.full(n_labels, 1 / n_labels), 40)
        grid.append(counts / 20)
    grid.append(rng.dirichlet(np.ones(1000), 3))
    return grid


def scores() -> list[np.ndarray]:
    rng = np.random.default_rng(20241)
    grid = probabilities()
    for n_labels in (2, 5, 33, 200):
        z = rng.standard_normal((30, n_labels))
        grid += [z, z * 1e-8, z + 1e6, np.round(z), z * 100]
    return grid
