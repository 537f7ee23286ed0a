"""The theorems as formulas: a setting in, a bound out. Statements and proofs are in ``docs/theory/guarantees.md``."""

import math
import sys

from scipy.special import betainc

from steadyset.guarantees._setting import Setting, largest_spread


def _bootstrap_odds(s: Setting) -> float:
    """p/(1 - p) = (1 - 1/n)^-m - 1."""
    try:
        return math.expm1(-s.m * math.log1p(-1 / s.n))
    except OverflowError:  # more than 700 n draws: every bag holds every row
        return sys.float_info.max


def _chebyshev(s: Setting, mean_square_shift: float) -> float:
    return mean_square_shift / s.eps / s.eps  # not eps**2, which overflows for extreme eps


def paper(s: Setting) -> float:
    """Bound of the paper's Theorem "main" (B infinite) and its finite-B form: any coupling, one row dropped."""
    of_a_row = influence(s) if s.resampling == "subbagging" else _bootstrap_odds(s) / (s.n - 1)
    noise = 0.0 if s.B is None else 16 * math.e**2 / s.B
    return _chebyshev(s, largest_spread(s.L) * (of_a_row + noise))


def influence(s: Setting) -> float:
    """K of Lemma 1, (1/n) sum_i ||p_inf - p_inf^i||^2 <= K sigma^2, and of its drop-k form."""
    if s.resampling == "subbagging":
        return s.k * s.m / ((s.n - s.k) * (s.n - s.m))  # for k = 1 the paper's (1/(n-1)) p/(1-p)
    pairs = 1.0 if s.n == 2 else -math.expm1(s.m * math.log1p(-1 / (s.n - 1) ** 2))  # q/(1-p)^2
    return (_bootstrap_odds(s) + pairs) / s.n  # K = (1/n)(p/(1-p) + q/(1-p)^2)


def second_moment(s: Setting) -> float:
    """Bound of Theorem 2, eps^-2 sigma^2 (K + c/B); for B infinite of Lemma 1 and its drop-k form."""
    if s.B is None:
        noise = 0.0
    elif s.coupling == "hash":  # c = 2 (P(hit) + k p/(n-m)); k = 1: 2p N/(N-1), N = n-m+1
        noise = 2 * (s.hit + s.k * s.m / s.n / (s.n - s.m)) * s.spread / s.B
    else:  # c = 2 for independent bags, 4 for any coupling
        noise = (1 if s.coupling == "independent" else 2) * (s.spread + _spread_without(s)) / s.B
    return _chebyshev(s, s.spread * influence(s) + noise)


def _spread_without(s: Setting) -> float:
    """Return sigma^2 without the dropped rows, on average over them."""
    if s.resampling == "subbagging":
        return s.spread  # n - m rows are out of every bag
    # At most n of the n rows are out of a bag, n(1 - p) on average (n - 1 is true too, but then the bound would not
    # fall with n where bags are a share of the rows).
    return min(s.spread * (1 + _bootstrap_odds(s)), largest_spread(s.L))


def small_bags(s: Setting) -> float | None:
    """Bound of the small-bag theorem, for every row; None where it does not apply."""
    if exceeds_simplex(s.eps):
        return 0.0
    if s.B is None:
        # h for any rule, and eps sqrt(2/(3 + eps^2/2)) for the inflated argmax
        limit = s.eps / math.sqrt(2) if s.any_rule else math.sqrt(2 / (3 / s.eps / s.eps + 0.5))
        # p < limit is strict: rounding must not carry p below it
        return 0.0 if s.hit * (1 + 4 * sys.float_info.epsilon) < limit else None
    if s.coupling != "hash":
        return None
    held = least_held(s.eps, s.B)
    # P(Bin(B, p) >= held). betainc keeps 12 digits where bdtrc loses half of its own; a tail that
    # underflows is still not zero.
    return max(float(betainc(held, s.B - held + 1, s.hit)), sys.float_info.min)


def exceeds_simplex(eps: float) -> bool:
    """Whether eps > sqrt(2): no two probability vectors are that far apart, so nothing can conflict."""
    return least_held(eps, 1) > 1


def least_held(eps: float, B: int) -> int:
    """Return ceil(h B), h = eps/sqrt(2), exactly: in fewer changed bags than that the shift stays below eps."""
    a, b = eps.as_integer_ratio()
    square = -(-(a * a * B * B) // (2 * b * b))  # ceil((hB)^2)
    return math.isqrt(square - 1) + 1


def sharpest(s: Setting, theorem: str) -> tuple[float, str]:
    """Return the bound of a theorem and its name; of "best", the smallest bound that applies."""
    if theorem == "paper":
        return paper(s), theorem
    if theorem == "second-moment":
        return second_moment(s), theorem
    small = small_bags(s)
    if theorem == "small-bags":
        return (1.0 if small is None else small), theorem
    bounds = [(second_moment(s), "second-moment")]
    if s.k == 1:
        bounds.insert(0, (paper(s), "paper"))
    if small is not None and small < 1:  # at 1 it says less than the numbers of the others do
        bounds.append((small, "small-bags"))
    return min(bounds, key=lambda bound: bound[0])
