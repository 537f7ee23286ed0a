"""Predictions in fixed point, as the kernels of audits and certificates sum them."""

import numpy as np
import pytest

from steadyset import _native


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 1e300, -1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_no_prediction_counts_as_none(odd, dtype, isa):
    """Another thread may change an array after it was checked: no integer holds such numbers in fixed point."""
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(3), (32, 4)).astype(dtype)
    patterns = rng.integers(1, 2**16, (2, 20), dtype=np.uint16)
    bounds = np.full(20, 0.5)

    def counted(odd):
        spoilt = values.copy()
        with np.errstate(over="ignore"):
            spoilt[7, 2, 1] = odd
        below = np.empty((2, 12), np.int64)
        _native.count_below(spoilt, patterns, np.full(20, 16.0), bounds, *below, 1)
        return below

    assert np.array_equal(counted(odd), counted(0.0))


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_a_bound_that_is_no_number_clears_nothing(odd, isa):
    """The most votes of a row, NaN or beyond the integers: the row counts as one that could change the set."""
    rng = np.random.default_rng(1)
    values = rng.dirichlet(np.ones(3), (32, 4))
    patterns = rng.integers(1, 2**16, (2, 20), dtype=np.uint16)
    sets = (values.mean(axis=0) == values.mean(axis=0).max(axis=1, keepdims=True)).astype(np.uint8)

    def uncleared(most_of_one):
        found, most = np.empty(4, np.int64), np.zeros(20)
        most[3] = most_of_one
        times = np.ones(20, np.int64)
        _native.clear_points(values, patterns, np.full(20, 16.0), most, times, sets, None, 0, 0.0, found, 1)
        return found

    assert np.array_equal(uncleared(odd), uncleared(0.0) + 1)
