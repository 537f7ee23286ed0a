"""How many of n rows conflict, from a sample of them drawn without replacement."""

import bisect
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def upper_count(found: int, sample: int, n: int, alpha: float) -> int:
    """Return the largest K such that `found` or fewer in the sample have more than probability alpha, K of n marked."""
    from scipy.stats import hypergeom  # loads slowly, and only intervals need it

    def too_many(marked: int) -> bool:
        return not hypergeom.cdf(found, n, marked, sample) > alpha

    possible = range(found, n - (sample - found) + 1)
    return possible[bisect.bisect_left(possible, True, key=too_many) - 1]


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
