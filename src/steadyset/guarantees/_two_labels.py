"""Two labels and infinitely many bags: how many rows can conflict at most. Theorem G14 of the docs."""

import bisect
import math

from steadyset.guarantees._envelope import bennett
from steadyset.guarantees._setting import Setting

_SLACK = 1 + 2.0**-36  # the number of rows may only err upwards


def two_labels(s: Setting) -> float | None:
    """Bound k*/n of the two-label theorem; None where it does not apply."""
    if s.L != 2 or s.B is not None or s.k > 1 or s.resampling != "subbagging" or s.gap is None:
        return None
    h, out = s.eps / math.sqrt(2), 1 - s.m / s.n

    def conflicts_too_few(k: int) -> bool:  # E(J - pk)_+ < h k (1 - p)
        return mean_excess(s.n, k, s.m) * _SLACK < h * k * out

    most = bisect.bisect_left(range(1, s.n + 1), True, key=conflicts_too_few)
    return most / s.n


def mean_excess(n: int, k: int, m: float) -> float:
    """Return E(J - pk)_+, J the number of k marked rows among m of n without replacement, p = m/n.

    (j - pk) P(J = j) = g(j) - g(j+1) with g(j) = j (n-k-m+j) P(J = j)/n, so that the sum is g at the first j > pk. For
    an m that is no whole number J is binomial, which is at least as far from its mean.
    """
    p = m / n
    first = math.floor(k * m / n) + 1
    if first > k:
        return 0.0
    if m != int(m):
        return first * (1 - p) * binomial_term(k, first, p)
    m = int(m)
    first = k * m // n + 1
    if first > m or m - first > n - k:
        return 0.0
    chance = binomial_term(k, first, p) * binomial_term(n - k, m - first, p) / binomial_term(n, m, p)
    return first * ((n - k - m + first) / n) * chance


def binomial_term(n: int, j: int, p: float) -> float:
    """Return P(Bin(n, p) = j) by its deviance: exp of lgamma's would lose a digit for each digit of n."""
    if j == 0:
        return math.exp(n * math.log1p(-p))
    if j == n:
        return math.exp(n * math.log(p))
    mean = n * p
    rest = n - mean
    away = j - mean
    deviance = mean * bennett(away / mean) + rest * bennett(-away / rest)
    correction = _stirling_error(n) - _stirling_error(j) - _stirling_error(n - j)
    return math.exp(correction - deviance) * math.sqrt(n / (2 * math.pi * j * (n - j)))


def _stirling_error(n: int) -> float:
    """log(n!) - log(sqrt(2 pi n) (n/e)^n)."""
    if n > 15:
        x = 1 / (n * n)
        return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188 - 691 / 360360 * x) * x) * x) * x) * x) / n
    return math.log(math.factorial(n)) - (0.5 * math.log(2 * math.pi * n) + n * math.log(n) - n)
