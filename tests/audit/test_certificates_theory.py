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


def test_one_label_need_be_tried():
    """Where any label of the set stays selected at all corners, the one with the largest rest does (Theorem 6)."""
    rng = np.random.default_rng(0)
    others_passed = 0
    for _ in range(2000):
        n_labels, n_bags = int(rng.integers(2, 6)), 40
        c = int(rng.integers(1, 12))
        rest = rng.dirichlet(np.full(n_labels, 3.0)) * (n_bags - c)
        mean = (rest + c * rng.dirichlet(np.ones(n_labels))) / n_bags
        epsilon = float(rng.uniform(0.05, 0.9))
        corners = (rest + c * np.eye(n_labels)) / n_bags
        own = ss.inflated_argmax(mean, epsilon)
        stays = ss.inflated_argmax(corners, epsilon * (1 - 1e-9)).all(axis=0) & own
        first = int(np.where(own, rest, -1).argmax())
        if stays.any():
            assert ss.inflated_argmax(corners, epsilon * (1 + 1e-9))[:, first].all()
        others_passed += bool(stays[np.arange(n_labels) != first].any())
    assert others_passed > 50
