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
from steadyset.guarantees._formulas import exceeds_simplex, least_held
from steadyset.guarantees._setting import Coupling, Resampling, SelectionRule, Setting, Theorem, epsilon_of_rule
from steadyset.guarantees._sharpest import THEOREMS, sharpest

Unknown = Literal["epsilon", "bag_size", "n_samples", "n_bags"]

SMALLEST_EPSILON = 2.0**-500  #: the answer where every epsilon above 0 reaches delta
_LARGEST = 2**53  # whole numbers up to here are exact as floats
_SOON = 200  # rows within which the count of the two-label theorem settles


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
    n_added: int = 0,
    rule: SelectionRule | None = None,
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
    n_classes, resampling, coupling, theorem, sigma2, n_dropped, n_added, rule, any_rule
        As in :func:`selection_stability`. With `epsilon` unknown a `rule` is taken at the answer, not at its own.

    Returns
    -------
    int or float
        The smallest epsilon (a float: the next one below does not reach `delta`), the largest bag size, or the
        smallest number of rows or bags. Put back, it reaches `delta`; one row or bag less, or a bag of one row
        more, does not. Every larger epsilon, smaller bag and larger number of rows or bags reaches it too. Where
        every epsilon reaches `delta` (a row is often enough in no bag at all) it is 2**-500. A bag size is at most
        ``n_samples - n_dropped`` for subbagging, which leaves the dropped rows out, and `n_samples` for bootstrap,
        whose bags have no largest size of their own.

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
    >>> ss.solve_stability("n_bags", **setting, theorem="second-moment")
    8183
    >>> [ss.solve_stability("n_bags", **setting, coupling=c) for c in ("any", "independent", "hash")]
    [12637, 6319, 3544]
    >>> ss.solve_stability("bag_size", delta=0, n_samples=60_000, epsilon=0.05, n_classes=10)  # no row can matter
    3108
    """
    validation.choice(unknown, "unknown", get_args(Unknown))
    delta = validation.delta(delta)
    L = None if n_classes is None else validation.label_count(n_classes)
    if rule is not None:
        epsilon = _epsilon_given(rule, L, epsilon, unknown)
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
        L=L,
        B=given["n_bags"],
        k=n_dropped,
        added=n_added,
        resampling=resampling,
        coupling=coupling,
        sigma2=sigma2,
        rule=rule,
        any_rule=any_rule,
    ).checked(theorem)

    def reaches(setting: Setting) -> bool:
        names = THEOREMS if theorem == "best" else (theorem,)
        bounds = (THEOREMS[name](setting) for name in names)
        return any(bound is not None and bound <= delta for bound in bounds)

    answer: int | float | None
    if unknown == "epsilon":
        answer = _least_epsilon(s, reaches)
    elif unknown == "bag_size":
        spare = 1 if s.added else s.k  # rows that a bag leaves out
        most = s.fitted_rows - spare if resampling == "subbagging" else s.fitted_rows
        fails = _first(lambda size: not reaches(replace(s, m=size)), 1, most)
        answer = most if fails is None else fails - 1 or None
    elif unknown == "n_samples":
        answer = _least_samples(s, bag_size, reaches)
    else:
        answer = _least_bags(s, theorem, delta)
    if answer is None:
        if unknown == "n_samples" and isinstance(bag_size, float):
            s = replace(s, m=_rounded_up(bag_size, s.n, resampling))
        bound = sharpest(s, theorem)[0]
        raise NoSolutionError(f"no {unknown} reaches delta={delta:g}: the bound is {bound:.3g} even with {words}.")
    return answer


def _epsilon_given(rule: SelectionRule, n_classes: int | None, epsilon: float | None, unknown: str) -> float | None:
    if unknown != "epsilon":
        return epsilon_of_rule(rule, n_classes, epsilon)
    if not getattr(rule, "has_epsilon", False):
        raise ValueError(f"rule must have an epsilon when epsilon is the unknown; got {validation.shown(rule)}.")
    return epsilon


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
    spare = (1 if s.added else s.k) if s.resampling == "subbagging" else 0  # rows that a bag leaves out
    if isinstance(bag_size, numbers.Integral):
        # subbagging needs the rows that are left out, bootstrap none
        least = int(s.m) + spare if s.resampling == "subbagging" else 2
        fixed = _first(lambda n: reaches(s.with_rows(n, s.m)), least, _LARGEST)
        return None if fixed is None else _settled(lambda n: reaches(s.with_rows(n, s.m)), fixed, _LARGEST)

    def resolved(n: int) -> int:
        return validation.resolve_bag_size(bag_size, n, s.resampling)

    def works(n: int, m: float | None = None) -> bool:
        m = resolved(n) if m is None else m
        return (s.resampling == "bootstrap" or n - m >= spare) and reaches(s.with_rows(n, m))

    def envelope(n: int) -> bool:
        # No less than the bag size on its grid, and since this m/n falls with n, so does every bound.
        return works(n, _rounded_up(bag_size, n, s.resampling))

    n = _first(envelope, 2, _LARGEST)
    while n is not None and n > 2 and works(n - 1):
        # Among the numbers of rows with one bag size the bounds fall, so the smallest such number decides.
        m, last = resolved(n - 1), n - 1
        first = bisect.bisect_left(range(last), m, lo=2, key=resolved)
        n = _first(works, first, last)
        if n is not None:
            n = _settled(works, n, last)
        if n != first:
            break
    return n


def _settled(works: Callable[[int], bool], n: int, last: int) -> int:
    """Return n, or the number behind the last one that fails soon after it.

    The two-label theorem counts rows, and its count may go up by one when there is one row more. All other bounds fall.
    """
    soon = range(n + 1, min(last, n + _SOON) + 1)
    return max((number + 1 for number in soon if not works(number)), default=n)


def _rounded_up(share: float, n: int, resampling: str) -> float:
    """Return no less than the grid makes of a share of n rows, and a share of n that falls with n."""
    size = share * n
    spare = n - size if resampling == "subbagging" else size
    return max(1.0, size + max(0.5, min(size, spare) / 32))


def _least_bags(s: Setting, theorem: str, delta: float) -> int | None:
    if theorem in ("best", "small-bags") and exceeds_simplex(s.eps):
        return 1
    saw = s.coupling == "hash" and theorem in ("best", "small-bags")  # the small-bag tail goes up and down with B
    names = [name for name in THEOREMS if theorem in ("best", name) and not (saw and name == "small-bags")]

    def falls(B: int) -> bool:
        bounds = (THEOREMS[name](replace(s, B=B)) for name in names)
        return any(bound is not None and bound <= delta for bound in bounds)

    B = _first(falls, 1, _LARGEST)
    if not saw:
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
    held = _first(lambda t: bool(betainc(t, t / h - t + 1, p) * (1 + 2.0**-36) <= delta), 1, _LARGEST)
    return None if held is None or delta == 0 else _first_with(s.eps, held)


def _first_with(eps: float, held: int) -> int:
    """Return the smallest B with ceil(hB) = held, that is with hB > held - 1, exactly."""
    a, b = eps.as_integer_ratio()
    return math.isqrt(2 * ((held - 1) * b) ** 2 // (a * a)) + 1
