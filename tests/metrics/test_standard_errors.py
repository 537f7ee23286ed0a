"""Standard errors against the bootstrap, and the paper's beside the right one."""

import math

import numpy as np
import pytest

import steadyset as ss
from steadyset import metrics

RESAMPLES = 4000  # the bootstrap's own error is about 1/sqrt(2 RESAMPLES), 1.1%


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(5)
    n = 1500
    proba = rng.dirichlet(np.full(4, 0.8), n)
    y = np.array([rng.choice(4, p=row) for row in proba])
    return y, ss.inflated_argmax(proba, 0.4), proba, rng.exponential(size=n)


@pytest.fixture(scope="module")
def counts(points):
    n = len(points[0])
    return np.random.default_rng(6).multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(float)


METRICS = {
    "correct_single": lambda y, sets, proba, w: metrics.correct_single_score(y, sets, sample_weight=w),
    "coverage": lambda y, sets, proba, w: metrics.coverage_score(y, sets, sample_weight=w),
    "size": lambda y, sets, proba, w: metrics.mean_set_size(sets, sample_weight=w),
    "u65": lambda y, sets, proba, w: metrics.u65_score(y, sets, sample_weight=w),
    "u80": lambda y, sets, proba, w: metrics.u80_score(y, sets, sample_weight=w),
    "inflation": lambda y, sets, proba, w: metrics.superfluous_inflation(y, sets, proba, sample_weight=w),
    "conflict": lambda y, sets, proba, w: metrics.conflict_rate(sets, np.roll(sets, 1, axis=0), sample_weight=w),
}


def terms(name, y, sets, proba):
    """Numerator and denominator of each sample, written out again for speed."""
    rows, size = np.arange(len(y)), sets.sum(axis=1)
    covered = sets[rows, y]
    values = {
        "correct_single": covered & (size == 1),
        "coverage": covered,
        "size": size,
        "u65": covered * (1.6 / size - 0.6 / size**2),
        "u80": covered * (2.2 / size - 1.2 / size**2),
        "inflation": (proba.argmax(axis=1) == y) & (size >= 2),
        "conflict": ~(sets & np.roll(sets, 1, axis=0)).any(axis=1),
    }
    return values[name].astype(float), (covered & (size >= 2) if name == "inflation" else np.ones(len(y)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_bootstrap(points, counts, name, weighted):
    y, sets, proba, weights = points
    found = METRICS[name](y, sets, proba, weights if weighted else None)
    w = weights if weighted else np.ones(len(y))
    top, bottom = terms(name, y, sets, proba)
    resampled = counts @ (w * top) / (counts @ (w * bottom))
    assert found == pytest.approx((w * top).sum() / (w * bottom).sum(), rel=1e-12)
    assert found.standard_error == pytest.approx(resampled.std(), rel=0.1)


def test_the_papers_formula_is_too_small_by_the_root_of_n_over_m(points):
    y, sets, proba, _ = points
    right = metrics.superfluous_inflation(y, sets, proba)
    paper = metrics.superfluous_inflation(y, sets, proba, standard_error="paper")
    larger = sets.sum(axis=1) >= 2
    m = (sets[np.arange(len(y)), y] & larger).sum()
    assert right == paper
    assert right.standard_error == pytest.approx(math.sqrt(right * (1 - right) / m), rel=1e-12)
    assert right.standard_error / paper.standard_error == pytest.approx(math.sqrt(len(y) / m), rel=1e-12)


@pytest.mark.parametrize(
    ("inflation", "printed"),
    [(0.496, 0.005), (0.474, 0.005), (0.905, 0.003), (0.918, 0.003), (0.622, 0.005), (0.531, 0.005), (0.690, 0.005)],
)
def test_the_papers_standard_errors_come_out_as_printed(inflation, printed):
    """10,000 points of which only some have two labels: the printed errors are those of sqrt(r (1 - r) / 10,000)."""
    n, larger = 10_000, 1000
    y = np.r_[np.zeros(round(inflation * larger), int), np.ones(n - round(inflation * larger), int)]
    sets = np.zeros((n, 2), bool)
    sets[:larger] = True
    sets[larger:, 1] = True
    proba = np.tile([0.6, 0.4], (n, 1))
    found = metrics.superfluous_inflation(y, sets, proba, standard_error="paper")
    assert (round(found, 3), round(found.standard_error, 3)) == (inflation, printed)


def test_a_ratio_of_sums_is_the_one_behind_superfluous_inflation(points):
    y, sets, proba, weights = points
    expected = metrics.superfluous_inflation(y, sets, proba, sample_weight=weights)
    found = metrics.Estimate.of_ratio(*terms("inflation", y, sets, proba), sample_weight=weights)
    assert (found, found.standard_error) == (expected, expected.standard_error)
    assert math.isnan(metrics.Estimate.of_ratio([0.0, 0.0], [0, 0]))
    with pytest.raises(ValueError, match="denominator must"):
        metrics.Estimate.of_ratio([1, 2], [1, 2, 3])
