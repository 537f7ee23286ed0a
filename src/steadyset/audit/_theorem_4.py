"""Theorem 4: how many rows can conflict with the ideal leave-one-out sets, with a confidence."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadyset.bags import BagPredictions

_CHUNK_BYTES = 64 << 20


@dataclass(frozen=True)
class Bounds:
    """Bounds on sigma^2, on the distance to the limit of infinitely many bags, and on the share of rows."""

    spread: NDArray[np.float64]
    distance: NDArray[np.float64]
    share: NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Mean and variance, at each point, of half the squared distances of pairs of bags."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def bounds(
    predictions: BagPredictions, pairs: Pairs, radius: NDArray[np.float64], influence: float, alpha: float
) -> Bounds:
    """Return the bounds at level alpha; `influence` is the constant K of Lemma 1.

    sigma^2 <= s2 by Maurer and Pontil's empirical Bernstein bound at alpha/2, over k pairs in [0, 1];
    ||p_B - p_inf|| <= r(s2) at alpha/2. Then a row can conflict only if ||p_inf - p_inf^i|| > rho - r, by Lemma 1 a
    share K s2/(rho - r)^2; none where rho is infinite.
    """
    n, n_bags = predictions.bags.n_samples, predictions.n_bags
    k, log, largest = n_bags // 2, math.log(4 / alpha), 1 - 1 / predictions.n_classes
    s2 = np.minimum(pairs.mean + np.sqrt(2 * pairs.variance * log / k) + 7 * log / (3 * (k - 1)), largest)
    r = deviation(s2, n_bags, alpha)
    room = radius * (1 - 1e-12) - r
    with np.errstate(divide="ignore", over="ignore"):
        share = np.where(room > 0, influence * s2 / np.maximum(room, 1e-300) ** 2, np.inf)
    # A share of rows is a whole number of them.
    return Bounds(s2, r, np.minimum(np.floor(np.minimum(share, 1) * n * (1 + 1e-12)) / n, 1.0))


def deviation(s: NDArray[np.float64], n_bags: int, alpha: float) -> NDArray[np.float64]:
    """Return r(s), which the distance to infinitely many bags exceeds with probability at most alpha/2 if sigma^2 = s.

    The smaller of two: by Pinelis' Bennett inequality the least r with B (s/2) H(sqrt(2) r/s) >= ln(4/alpha),
    H(u) = (1+u) ln(1+u) - u, as votes are at most sqrt(2) from their mean; by McDiarmid's inequality
    sqrt(s/B) + sqrt(ln(2/alpha)/B), as one vote moves the mean by at most sqrt(2)/B. Both grow with s. Rounded up.
    """
    mcdiarmid = np.sqrt(s / n_bags) + math.sqrt(math.log(2 / alpha) / n_bags)
    level = 2 * math.log(4 / alpha) / (n_bags * s) * (1 + 1e-14)
    # H(u) >= u^2 / (2 + 2u/3): from there on Newton's steps fall to the root and, H being convex, never pass it.
    u = level / 3 + np.sqrt(level * level / 9 + 2 * level)
    for _ in range(60):
        below = (_h_from_below(u) - level) / np.log1p(u)
        if np.all(below <= 1e-15 * u):
            break
        u = u - np.maximum(below, 0.0)
    return np.minimum(u * (s / math.sqrt(2)), mcdiarmid) * (1 + 1e-13)


def _h_from_below(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return H(u) = (1+u) ln(1+u) - u less its rounding; for small u the alternating series up to a negative term."""
    series = u * u * (1 / 2 - u * (1 / 6 - u * (1 / 12 - u * (1 / 20 - u * (1 / 30 - u * (1 / 42))))))
    return np.where(u < 0.02, series, (1 + u) * np.log1p(u) * (1 - 4e-16) - u) * (1 - 4e-16)


def compared_pairs(predictions: BagPredictions) -> Pairs:
    """Return mean and unbiased variance over b of h_b = ||V_{2b-1} - V_{2b}||^2 / 2, whose expectation is sigma^2."""
    k = predictions.n_bags // 2
    mean, variance = np.empty(predictions.n_points), np.empty(predictions.n_points)
    step = max(1, _CHUNK_BYTES // (8 * k * predictions.n_classes))
    for start in range(0, predictions.n_points, step):
        votes = predictions.proba[: 2 * k, start : start + step]
        h = ((votes[0::2].astype(np.float64) - votes[1::2]) ** 2).sum(axis=2) / 2
        n = h.shape[1]
        if n == 1:  # NumPy adds a lone column in another order than one of several
            h = np.repeat(h, 2, axis=1)
        mean[start : start + step] = h.mean(axis=0)[:n]
        variance[start : start + step] = h.var(axis=0, ddof=1)[:n]
    return Pairs(mean, variance)
