"""How many of n rows conflict, from a sample of them drawn without replacement."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def upper_count(found: int, sample: int, n: int, alpha: float) -> int:
    """Return the largest K such that `found` or fewer in the sample have more than probability alpha, K of n marked."""
    from scipy.stats import hypergeom  # loads slowly, and only intervals need it

    return _last(lambda k: bool(hypergeom.cdf(found, n, k, sample) > alpha), found, n - (sample - found))


def lower_count(found: int, sample: int, n: int, alpha: float) -> int:
    """Return the smallest K such that `found` or more in the sample have more than probability alpha, K of n marked."""
    unmarked = upper_count(sample - found, sample, n, alpha)
    return n - unmarked


def bounds(
    found: NDArray[np.int64], sample: int, n: int, alpha: float, bound: Callable[[int, int, int, float], int]
) -> NDArray[np.float64]:
    """Return a bound on the share of marked rows for each number found."""
    values, places = np.unique(found, return_inverse=True)
    return np.array([bound(int(k), sample, n, alpha) / n for k in values])[places]


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number from `low` to `high` at which a condition holds that holds at `low` and then stops."""
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
