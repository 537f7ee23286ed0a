"""Claims of docs/theory/certificates.md that tests/audit/test_certificates.py does not check."""

import numpy as np

import steadyset as ss
from helpers.known_limits import answers, drawn, ideal
from steadyset.audit import anytime_alpha


def test_stopping_at_the_first_certificate_keeps_the_level():
    """Bags are doubled until a point is certified; of 40 runs at alpha = 0.2 more than 18 fail once in 10,000 times."""
    runs, alpha, delta, rule = 40, 0.2, 0.3, ss.InflatedArgmax(0.15)
    vectors = answers()
    _, without = ideal(vectors, "bootstrap")
    wrong, stopped, telling = np.zeros(4), np.zeros(4), np.zeros(4)
    for run in range(runs):
        done = np.zeros(4, bool)
        whole = drawn(vectors, 3200, run, "bootstrap")
        for look, n_bags in enumerate((400, 800, 1600, 3200), start=1):
            made = ss.BagPredictions(whole.proba[:n_bags], whole.bags.with_bags(n_bags), range(3))
            bound = ss.certify(made, rule, anytime_alpha(alpha, look)).bound
            share = np.mean(~(rule(made.mean()) & rule(without)).any(axis=2), axis=0)
            now = ~done & (bound <= delta)
            wrong += now & (share > bound)
            stopped += now
            telling += now & (share > 0)
            done |= now
    assert wrong.max() <= 18
    assert stopped.max() > runs / 2
    assert telling.max() > 0  # where no row conflicts, no certificate can be wrong


def test_the_step_of_bennetts_inequality():
    """Lemma C3: E cosh|y + Y| <= cosh|y| (1 + E[exp|Y| - 1 - |Y|]) for random laws with mean zero."""
    rng, ratios = np.random.default_rng(0), []
    for _ in range(3000):
        n, dimension = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        weights = rng.dirichlet(np.full(n, 0.5))
        points = rng.standard_normal((n, dimension)) * 10 ** rng.uniform(-2, 0.5)
        points -= weights @ points
        y = rng.standard_normal(dimension) * 10 ** rng.uniform(-2, 1)
        lengths = np.linalg.norm(points, axis=1)
        left = weights @ np.cosh(np.linalg.norm(y + points, axis=1))
        right = np.cosh(np.linalg.norm(y)) * (1 + weights @ (np.expm1(lengths) - lengths))
        assert left <= right * (1 + 1e-12)
        ratios.append(left / right)
    assert max(ratios) > 0.99
