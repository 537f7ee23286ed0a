"""The guarantees, solved for one of their arguments. Apart from the formulas, which do not need it.

Every search evaluates the very function that :func:`steadyset.selection_stability` evaluates, so the answer
reaches delta when it is put back, and its neighbour does not. Where a bound is not monotone in the unknown (the
small-bag tail in the number of bags; a share of the rows, which is rounded, in their number) the answer is the
smallest value from which on every larger one reaches delta: more never hurts. It is found from a monotone upper
envelope, going down until the first value that fails.
"""

import bisect
import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, get_args

from scipy.special import betainc

from steadyset._base import validation
from steadyset.guarantees._formulas import exceeds_simplex, least_held, sharpest
from steadyset.guarantees._setting import Coupling, Resampling, Setting, Theorem

Unknown = Literal["epsilon", "bag_size", "n_samples", "n_bags"]

SMALLEST_EPSILON = 2.0**-500  #: the answer where every epsilon above 0 reaches delta
_LARGEST = 2**53  # whole numbers up to here are exact as floats


class NoSolutionError(ValueError):
    """No value of the unknown reaches delta."""


def solve_stability(
    unknown: Unknown,
    *,
    delta: float,
    n_samples: int | None = None,
    epsilon: float | None = None,
    bag_size: float | None = None,
    n_classes: int | None = None,
    n_bags: int | None = None,
    resampling: Resampling = "subbagging",
    coupling: Coupling | None = None,
    theorem: Theorem = "best",
    sigma2: float | None = None,
    n_dropped: int = 1,
    any_rule: bool = False,
) -> int | float:
    """Find the value of one argument of :func:`selection_stability` that reaches `delta`.

    Parameters
    ----------
    unknown : {"epsilon", "bag_size", "n_samples", "n_bags"}
        The argument to solve for; leave it out below.
    delta : float
        The bound to reach, at least 0 and below 1.
    n_samples, epsilon, bag_size, n_bags : int or float
        As in :func:`selection_stability`; all but the unknown are needed, except `n_bags`, for which None is
        the limit of infinitely many. With `n_samples` unknown, a float `bag_size` stays that share of the rows.
    n_classes, resampling, coupling, theorem, sigma2, n_dropped, any_rule
        As in :func:`selection_stability`.

    Returns
    -------
    int or float
        The smallest epsilon (a float: the next one below does not reach `delta`), the largest bag size, or the
        smallest number of rows or bags. Put back, it reaches `delta`; one row or bag less, or a bag of one row
        more, does not. Every larger epsilon, smaller bag and larger number of rows or bags reaches it too. Where
        every epsilon reaches `delta` (a row is often enough in no bag at all) it is 2**-500.

    Raises
    ------
    ValueError
        Where no value reaches `delta`; the message says what is left.

    Notes
    -----
    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import steadyset as ss
    >>> setting = dict(delta=0.05, n_samples=60_000, bag_size=0.5, epsilon=0.05, n_classes=10)
    >>> ss.solve_stability("n_bags", **setting, theorem="paper")
    967297
    >>> [ss.solve_stability("n_bags", **setting, coupling=c) for c in ("any", "independent", "hash")]
    [32728, 16364, 8183]
    >>> ss.solve_stability("bag_size", delta=0, n_samples=60_000, epsilon=0.05)  # no row can matter
    2448
    """
    validation.choice(unknown, "unknown", get_args(Unknown))
    delta = validation.delta(delta)
    given: dict[str, Any] = {"n_samples": n_samples, "epsilon": epsilon, "bag_size": bag_size, "n_bags": n_bags}
    for name, value in given.items():
        if name == unknown and value is not None:
            raise ValueError(f"{name} must be left out when it is the unknown; got {value!r}.")
        if name not in (unknown, "n_bags") and value is None:
            raise ValueError(f"{name} must be given when the unknown is {unknown}; got None.")
    extreme, words = _EXTREMES[unknown]
    given[unknown] = extreme  # with it everything else can be checked
    s = Setting(
        n=given["n_samples"],
        m=given["bag_size"],
        eps=given["epsilon"],
        L=n_classes,
        B=given["n_bags"],
        k=n_dropped,
        resampling=resampling,
        coupling=coupling,
        sigma2=sigma2,
        any_rule=any_rule,
    ).checked(theorem)

    def reaches(setting: Setting) -> bool:
        return sharpest(setting, theorem)[0] <= delta

    answer: int | float | None
    if unknown == "epsilon":
        answer = _least_epsilon(s, reaches)
    elif unknown == "bag_size":
        most = s.n - s.k if resampling == "subbagging" else _LARGEST
        fails = _first(lambda size: not reaches(replace(s, m=size)), 1, most)
        answer = most if fails is None else fails - 1 or None
    elif unknown == "n_samples":
        answer = _least_samples(s, bag_size, reaches)
    else:
        answer = _least_bags(s, theorem, delta)
    if answer is None:
        bound = sharpest(s, theorem)[0]
        raise NoSolutionError(f"no {unknown} reaches delta={delta:g}: the bound is {bound:.3g} even with {words}.")
    return answer


#: The value of the unknown at which every bound is smallest, and what it is in words.
_EXTREMES = {
    "epsilon": (1 / SMALLEST_EPSILON, "the largest epsilon"),
    "bag_size": (1, "bags of one row"),
    "n_samples": (_LARGEST, "2**53 rows (what is left is the noise of a finite number of bags)"),
    "n_bags": (
        _LARGEST,
        "2**53 bags (what is left is the influence of a row, which smaller bags or more rows bring down)",
    ),
}


def _first(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the first whole number in [low, high] where a condition holds that, once true, stays true."""
    numbers = range(low, high + 1)
    place = bisect.bisect_left(numbers, True, key=holds)
    return None if place == len(numbers) else numbers[place]


def _least_epsilon(s: Setting, reaches: Callable[[Setting], bool]) -> float | None:
    if reaches(replace(s, eps=SMALLEST_EPSILON)):
        return SMALLEST_EPSILON
    low = high = 1.0
    while not reaches(replace(s, eps=high)):
        low, high = high, 2 * high
        if high > 1 / SMALLEST_EPSILON:
            return None
    while low == high or reaches(replace(s, eps=low)):
        low, high = low / 2, low
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if reaches(replace(s, eps=middle)) else (middle, high)
    return high


def _least_samples(s: Setting, bag_size: Any, reaches: Callable[[Setting], bool]) -> int | None:
    if isinstance(bag_size, numbers.Integral):
        least = s.m + s.k if s.resampling == "subbagging" else 2
        return _first(lambda n: reaches(replace(s, n=n)), int(least), _LARGEST)

    def resolved(n: int) -> int:
        return validation.resolve_bag_size(bag_size, n, s.resampling)

    def works(n: int, m: float | None = None) -> bool:
        m = resolved(n) if m is None else m
        # k rows must be left outside a bag
        return (s.resampling == "bootstrap" or n - m >= s.k) and reaches(replace(s, n=n, m=m))

    def envelope(n: int) -> bool:
        # No less than the rounded bag size, and with m = max(1, share n) every bound falls with n.
        return works(n, max(1.0, bag_size * n * (1 + 2**-50)))

    n = _first(envelope, 2, _LARGEST)
    while n is not None and n > 2 and works(n - 1):
        # Among the numbers of rows with one bag size the bounds fall, so the smallest such number decides.
        m, last = resolved(n - 1), n - 1
        first = bisect.bisect_left(range(last), m, lo=2, key=resolved)
        n = _first(works, first, last)
        if n != first:
            break
    return n


def _least_bags(s: Setting, theorem: str, delta: float) -> int | None:
    if theorem in ("best", "small-bags") and exceeds_simplex(s.eps):
        return 1
    # The theorems whose bounds fall with B.
    falling = {"best": ["second-moment"] if s.k > 1 else ["paper", "second-moment"], "small-bags": []}
    names = falling.get(theorem, [theorem])
    B = _first(lambda B: any(sharpest(replace(s, B=B), name)[0] <= delta for name in names), 1, _LARGEST)
    if theorem in ("paper", "second-moment") or s.coupling != "hash":
        return B
    B = min((b for b in (B, _least_bags_envelope(s, delta)) if b is not None), default=None)
    while B is not None and B > 1 and sharpest(replace(s, B=B - 1), theorem)[0] <= delta:
        # While ceil(hB) stays the same the tail grows with B, so every number down to the first with this
        # ceil(hB) reaches delta too.
        B = _first_with(s.eps, least_held(s.eps, B - 1))
    return B


def _least_bags_envelope(s: Setting, delta: float) -> int | None:
    """Return a number of bags from which on the small-bag tail is at most delta, or None.

    Among the B with ceil(hB) = t, P(Bin(B, p) >= t) = I_p(t, B-t+1) is largest at the last, B <= t/h. So it is
    at most I_p(t, t/h-t+1), which falls with t when p < h (see the theory page, "The small-bag tail").
    """
    h, p = s.eps / math.sqrt(2), s.hit
    if p >= h:
        return None
    held = _first(lambda t: bool(betainc(t, t / h - t + 1, p) <= delta), 1, _LARGEST)
    return None if held is None or delta == 0 else _first_with(s.eps, held)


def _first_with(eps: float, held: int) -> int:
    """Return the smallest B with ceil(hB) = held, that is with hB > held - 1, exactly."""
    a, b = eps.as_integer_ratio()
    return math.isqrt(2 * ((held - 1) * b) ** 2 // (a * a)) + 1
