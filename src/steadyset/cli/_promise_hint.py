"""Which options make a fit promise something, where what was fitted promises little."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from steadyset._base.words import out_of_a_hundred
from steadyset.guarantees import Guarantee, OutOfReachError, Promise, kept, short_above
from steadyset.selection import with_epsilon

_GOAL = 0.05
_USUAL_BAGS = 500  # with fewer, neither their size nor epsilon leads far
_FEWEST_ROWS, _FEWEST_PER_LABEL, _LARGEST_EPSILON = 30, 10, 0.5  # what is still within reason


def hint(guarantee: Guarantee, rule: Any) -> str:
    """Return a sentence with options to add to the command, or one that says that there are none within reason."""
    for options, promise in _ways(guarantee, rule):
        try:
            found = kept(promise)
        except OutOfReachError:
            continue
        if (found.bag_size or 0) >= _least(guarantee):
            return (
                f"this promises little; added to this command, {options} promises at most {out_of_a_hundred(_GOAL)}, "
                f"with {found.n_bags:,} bags of {found.bag_size:,} {guarantee.unit}s"
            )
    epsilon = f" and an epsilon of at most {_LARGEST_EPSILON:g}" if getattr(rule, "has_epsilon", False) else ""
    bags, units = max(guarantee.n_bags or 0, _USUAL_BAGS), f"{guarantee.unit}s"
    return (
        f"{guarantee.n_samples:,} training {units} are too few for a promise of {out_of_a_hundred(_GOAL)} "
        f"with {bags:,} bags of at least {_least(guarantee)} {units}{epsilon}"
    )


def _least(guarantee: Guarantee) -> int:
    """Return the smallest bags within reason: those that were fitted may be smaller themselves."""
    return min(max(_FEWEST_ROWS, _FEWEST_PER_LABEL * (guarantee.n_classes or 2)), guarantee.bag_size or 1)


def _ways(guarantee: Guarantee, rule: Any) -> Iterator[tuple[str, Promise]]:
    """Yield options and what they ask for, the least first: smaller bags, more of them, a larger epsilon."""
    bags = max(guarantee.n_bags or 0, _USUAL_BAGS)
    promise = Promise(
        _GOAL,
        guarantee.n_samples or 0,
        guarantee.bag_size or 0,
        guarantee.n_bags,
        rule,
        guarantee.n_classes,
        guarantee.resampling or "subbagging",
        guarantee.coupling,
        guarantee.unit,
    )
    options = f"--delta {_GOAL:g}"
    yield options, promise
    if bags > (guarantee.n_bags or 0):
        options, promise = f"{options} --n-bags {bags}", replace(promise, n_bags=bags)
        yield options, promise
    if getattr(rule, "has_epsilon", False):
        size = max(_least(guarantee), min(promise.largest_bag, promise.n_samples // 10))
        epsilon = promise.solved("epsilon", bag_size=size)
        if epsilon is not None and (short := short_above(epsilon)) <= _LARGEST_EPSILON:
            yield f"{options} --epsilon {short:g}", replace(promise, rule=with_epsilon(rule, short))
