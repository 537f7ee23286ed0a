"""The theorems of second moments and of small bags as formulas: a setting in, a bound out, rounded up.

Statements and proofs are in ``docs/theory/guarantees.md``; the exponential and the two-label theorem have files of
their own.
"""

import math
import sys

from scipy.special import betainc

from steadyset._base.inflation import INV_SQRT2
from steadyset.guarantees._setting import Setting, largest_spread

_UP = 1 + 2.0**-49
_TAIL_UP = 1 + 2.0**-37  # betainc keeps 12 digits


def _chebyshev(s: Setting, mean_square_shift: float) -> float:
    return mean_square_shift * _UP / s.eps / s.eps  # not eps**2, which overflows for extreme eps


def paper(s: Setting) -> float | None:
    """Bound of the paper's Theorem "main" (B infinite) and its finite-B form: any coupling, one row dropped."""
    if s.k > 1:
        return None
    noise = 0.0 if s.B is None else 16 * math.e**2 / s.B
    return _chebyshev(s, largest_spread(s.L) * (s.odds / (s.n - 1) + noise))


def influence(s: Setting) -> float:
    """K of Lemma 1, (1/n) sum_i ||p_inf - p_inf^i||^2 <= K sigma^2, and of its drop-k form."""
    if s.resampling == "subbagging":
        return s.k * s.m / ((s.n - s.k) * (s.n - s.m))  # for k = 1 the paper's (1/(n-1)) p/(1-p)
    pairs = 1.0 if s.n == 2 else -math.expm1(s.m * math.log1p(-1 / (s.n - 1) ** 2))  # q/(1-p)^2
    return (s.odds + pairs) / s.n  # K = (1/n)(p/(1-p) + q/(1-p)^2)


def second_moment(s: Setting) -> float:
    """Bound of Theorem 2, eps^-2 sigma^2 (K + c/B); for B infinite of Lemma 1 and its drop-k form."""
    if s.B is None:
        noise = 0.0
    elif s.coupling == "hash":
        noise = _swapped(s) * s.spread / s.B
    else:  # c = 2 for independent bags, 4 for any coupling
        without = s.spread if s.resampling == "subbagging" else spread_without(s)  # n - m rows are out of every bag
        noise = (1 if s.coupling == "independent" else 2) * (s.spread + without) / s.B
    return _chebyshev(s, s.spread * influence(s) + noise)


def _swapped(s: Setting) -> float:
    """Return c = 2 (P(hit) + k p/(n-m)) of hash bags; for k = 1 it is 2p N/(N-1), N = n-m+1."""
    return 2 * (s.hit + s.k * s.m / s.n / (s.n - s.m))


def exact_second_moment(s: Setting) -> float | None:
    """Bound of the exact second moment of hash bags: a maximum where Theorem 2 has a sum; None for other bags."""
    K = influence(s)
    if s.B is None:
        return _chebyshev(s, s.spread * K)
    if s.coupling != "hash":
        return None
    shared = 1 - 1 / s.B
    first = K * shared + 2 * s.k / (s.n - s.m) / s.B  # level 1, and then all others
    one_row = 2 * s.hit * (1 + 1 / max(s.m, s.n - s.m)) / s.B  # (2p/B)(1 + 1/max(m, n-m))
    higher = one_row if s.k == 1 else K * K * shared + _swapped(s) / s.B
    # A bag changes with probability `hit`, by at most sqrt(2): where sigma^2 is not known to be small this may be less.
    at_most = s.spread * K * shared + 2 * s.hit / s.B
    return _chebyshev(s, min(s.spread * max(first, higher), at_most))


def spread_without(s: Setting) -> float:
    """Return a bound on sigma^2 without the dropped rows, whichever they are: E[. | they are out] <= E[.]/(1-p)."""
    return min(s.spread * (1 + s.odds), largest_spread(s.L))


def small_bag_limit(s: Setting) -> float:
    """Return the p below which no row matters with infinitely many bags, rounded down.

    eps (kappa + 1/sqrt(2))/(1 + kappa eps), where a label that the rule leaves out is at least kappa eps below the
    largest; for a rule of which nothing is known but that it is compatible, h.
    """
    h = s.eps * INV_SQRT2
    limit = h if s.gap is None else s.eps * (s.gap + INV_SQRT2) / (1 + s.gap * s.eps)
    return limit * (1 - 8 * sys.float_info.epsilon)


def small_bags_limit(s: Setting) -> float | None:
    """Bound of the small-bag theorem for infinitely many bags, for every row; None where it does not apply."""
    return 0.0 if s.hit * (1 + 4 * sys.float_info.epsilon) < small_bag_limit(s) else None


def small_bag_tail(s: Setting) -> float:
    """Bound of the small-bag theorem for hash bags, for every row: P(Bin(B, p) >= hB)."""
    assert s.B is not None
    held = least_held(s.eps, s.B)
    # betainc keeps 12 digits where bdtrc loses half of its own; a tail that underflows is still not zero.
    tail = float(betainc(held, s.B - held + 1, min(s.hit * (1 + 2.0**-52), 1.0)))
    return min(max(tail * _TAIL_UP, sys.float_info.min), 1.0)


def exceeds_simplex(eps: float) -> bool:
    """Whether eps > sqrt(2): no two probability vectors are that far apart, so nothing can conflict."""
    return least_held(eps, 1) > 1


def least_held(eps: float, B: int) -> int:
    """Return ceil(h B), h = eps/sqrt(2), exactly: in fewer changed bags than that the shift stays below eps."""
    a, b = eps.as_integer_ratio()
    square = -(-(a * a * B * B) // (2 * b * b))  # ceil((hB)^2)
    return math.isqrt(square - 1) + 1
