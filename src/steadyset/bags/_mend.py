"""What to ask for where a fit promises little."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from steadyset.guarantees import Guarantee, OutOfReachError, Promise, kept, short_above
from steadyset.selection import with_epsilon

#: A bound above it promises so little that a way to a better one is worth naming.
WEAK = 0.1
#: The promise that is named.
GOAL = 0.05
_USUAL_BAGS = 500  # with fewer, neither their size nor epsilon leads far
_FEWEST_ROWS, _FEWEST_PER_LABEL, _LARGEST_EPSILON = 30, 10, 0.5  # what is still within reason


@dataclass(frozen=True)
class Mend:
    """What keeps a promise of `delta`: more bags and a larger epsilon, each None where it stays as it was.

    `guarantee` is what is promised then. `small` says that its bags are smaller than is reasonable: no larger ones
    keep the promise with so few rows.
    """

    delta: float
    n_bags: int | None
    epsilon: float | None
    guarantee: Guarantee
    small: bool = False


def mend(guarantee: Guarantee, rule: Any) -> Mend | None:
    """Return what to change of a fit that promises little, the least first; None where nothing would do.

    Examples
    --------
    >>> import steadyset as ss
    >>> from steadyset.bags import mend
    >>> half = ss.selection_stability(n_samples=1_797, n_classes=10, n_bags=500, bag_size=0.5, epsilon=0.05)
    >>> found = mend(half, ss.InflatedArgmax(0.05))
    >>> f"{half.delta:.2f}", found.epsilon, found.guarantee.bag_size
    ('0.72', 0.067, 180)
    """
    least = _least(guarantee)
    for n_bags, epsilon, promise in _ways(guarantee, rule, least):
        try:
            found = kept(promise)
        except OutOfReachError:
            continue
        small = (found.bag_size or 0) < least
        if not small or epsilon is not None:
            return Mend(GOAL, n_bags, epsilon, found, small)
    return None


def _least(guarantee: Guarantee) -> int:
    """Return the smallest bags within reason: those that were fitted may be smaller themselves."""
    return min(max(_FEWEST_ROWS, _FEWEST_PER_LABEL * (guarantee.n_classes or 2)), guarantee.bag_size or 1)


def _ways(guarantee: Guarantee, rule: Any, least: int) -> Iterator[tuple[int | None, float | None, Promise]]:
    """Yield bags, epsilon and what they ask for: smaller bags, more of them, a larger epsilon, then tiny bags."""
    had = guarantee.n_bags
    promise = Promise(
        GOAL,
        guarantee.n_samples or 0,
        guarantee.bag_size or 0,
        had,
        rule,
        guarantee.n_classes,
        guarantee.resampling or "subbagging",
        guarantee.coupling,
        guarantee.unit,
        limit=had is None,
    )
    yield None, None, promise
    more = None
    if had is not None and had < _USUAL_BAGS:
        more, promise = _USUAL_BAGS, replace(promise, n_bags=_USUAL_BAGS)
        yield more, None, promise
    if not getattr(rule, "has_epsilon", False):
        return
    sizes = [max(least, min(promise.largest_bag, promise.n_samples // 10))]
    sizes += [least >> k for k in range(1, least.bit_length())]
    for size in sizes:
        epsilon = promise.solved("epsilon", bag_size=size)
        if epsilon is not None and ((short := short_above(epsilon)) <= _LARGEST_EPSILON or size == 1):
            yield more, short, replace(promise, rule=with_epsilon(rule, short))
