"""Claims of docs/theory/metrics.md."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steadyset as ss


def test_intervals_of_a_ratio_cover_the_truth():
    """Intervals of 1.96 standard errors cover a known ratio in 95% of 600 runs, within 4.5 standard errors of it.

    Those of the paper's formula, which divides by all samples, do not.
    """
    rng = np.random.default_rng(0)
    proba = np.array([[0.5, 0.45, 0.05], [0.9, 0.05, 0.05]])
    sets = ss.inflated_argmax(proba, 0.2)
    assert sets.sum(axis=1).tolist() == [2, 1]
    truth = 0.5 / 0.95  # of the samples of the first kind, half have label 0 and 0.95 one of the first two
    hits = {"ratio": 0, "paper": 0}
    for _ in range(600):
        kind = (rng.random(400) < 0.75).astype(int)
        y = np.array([0, 1, 2])[(rng.random(400)[:, None] > proba[kind].cumsum(axis=1)[:, :2]).sum(axis=1)]
        for formula in hits:
            found = ss.metrics.superfluous_inflation(y, sets[kind], proba[kind], standard_error=formula)
            hits[formula] += abs(found - truth) <= 1.96 * found.standard_error
    assert abs(hits["ratio"] / 600 - 0.95) < 4.5 * math.sqrt(0.05 * 0.95 / 600)
    assert hits["paper"] / 600 < 0.8


@settings(max_examples=60)
@given(hnp.arrays(np.bool_, (12, 3)), st.data())
def test_order_of_the_scores(sets, data):
    sets[~sets.any(axis=1), 0] = True
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=12, max_size=12)))
    m = ss.metrics
    single, coverage = m.correct_single_score(y, sets), m.coverage_score(y, sets)
    for utility in (m.u65_score(y, sets), m.u80_score(y, sets)):
        assert single <= utility + 1e-12
        assert utility <= coverage + 1e-12
    larger = sets | data.draw(hnp.arrays(np.bool_, (12, 3)))
    other = np.roll(sets, 1, axis=0)
    assert m.coverage_score(y, larger) >= coverage
    assert m.conflict_rate(larger, other) <= m.conflict_rate(sets, other)
    one, two = np.eye(3, dtype=bool)[y], np.eye(3, dtype=bool)[np.roll(y, 1)]
    assert m.conflict_rate(one, two) == np.mean(y != np.roll(y, 1))
    assert m.u65_score(y, two) == m.coverage_score(y, two) == m.correct_single_score(y, two)
