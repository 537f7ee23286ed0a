"""The promise named first: the bags that keep it, or what would."""

import math
from dataclasses import dataclass, replace
from typing import Any

from steadyset._base import validation
from steadyset.guarantees._guarantee import Guarantee
from steadyset.guarantees._solver import NoSolutionError, solve_stability
from steadyset.guarantees._stability import selection_stability

#: The bags that are taken at most where their number is left to the promise.
MOST_BAGS = 10_000
_MOST_NAMED = 100_000  # no sentence tells anybody to train more bags than these
_LARGEST_NAMED = 0.5  # nor to take a larger epsilon, where something else would do
_USEFUL_ROWS = 30  # bags that a sentence has in mind are no smaller, where there are rows for them


class OutOfReachError(ValueError):
    """No bag size keeps the promise; `epsilon`, `n_bags` or `n_samples` would by itself, where it is not None."""

    def __init__(self, message: str, epsilon: float | None, n_bags: int | None, n_samples: int | None) -> None:
        super().__init__(message)
        self.epsilon, self.n_bags, self.n_samples = epsilon, n_bags, n_samples


@dataclass(frozen=True)
class Promise:
    """A promise to keep, and what is fixed: the rows, the largest bag, the rule; `n_bags` is None where it is not.

    `unit` is what is dropped: a row, or a group of rows. With `limit` there are infinitely many bags.
    `epsilon` is the one that theorems are taken at, None for the rule's own.
    """

    delta: float
    n_samples: int
    largest_bag: int
    n_bags: int | None
    rule: Any
    n_classes: int | None
    resampling: str = "subbagging"
    coupling: str | None = None
    unit: str = "row"
    limit: bool = False
    epsilon: float | None = None

    def of(self, bag_size: int, n_bags: int | None) -> Guarantee:
        """Return the guarantee of these bags."""
        found = selection_stability(
            n_samples=self.n_samples, bag_size=bag_size, n_bags=n_bags, epsilon=self.epsilon, **self._fixed()
        )
        return found.about(self.unit)

    def solved(self, unknown: str, **given: Any) -> Any:
        """Return the value of the unknown that keeps the promise, None where there is none."""
        known = {"n_samples": self.n_samples, "n_bags": self.n_bags, "epsilon": self.epsilon, **given}
        known.pop(unknown, None)
        try:
            return solve_stability(unknown, delta=self.delta, **known, **self._fixed())  # type: ignore[arg-type]
        except NoSolutionError:
            return None

    def _fixed(self) -> dict[str, Any]:
        names = ("n_classes", "resampling", "coupling", "rule")
        return {name: getattr(self, name) for name in names}


def kept(promise: Promise) -> Guarantee:
    """Return the guarantee of the bags to draw: the largest on the grid of sizes, up to the largest bag, that keep it.

    Where the number of bags is open, it is the one that the largest bag needs, rounded up to the grid of sizes; where
    that is more than `MOST_BAGS`, it is `MOST_BAGS`, and bags are as small as these need.
    """
    if promise.n_bags is None and not promise.limit:
        needed = promise.solved("n_bags", bag_size=promise.largest_bag)
        if needed is not None and (n_bags := rounded_up(needed)) <= MOST_BAGS:
            return promise.of(promise.largest_bag, n_bags)
        return kept(replace(promise, n_bags=MOST_BAGS))
    found = promise.solved("bag_size")
    if found is None:
        raise _out_of_reach(promise)
    size = promise.largest_bag
    if found < size:
        size = grid_size(found, promise.n_samples, promise.resampling)
    return promise.of(size, promise.n_bags)


def grid_size(most: int, n_samples: int, resampling: str) -> int:
    """Return the largest bag size on the grid that is at most `most`.

    Examples
    --------
    >>> from steadyset.guarantees import grid_size
    >>> [grid_size(most, 60_000, "subbagging") for most in (30, 33, 199, 3_108)]
    [30, 32, 190, 3100]
    """
    step = validation.grid_step(min(most, n_samples - most) if resampling == "subbagging" else most)
    return most // step * step


def rounded_up(number: int) -> int:
    """Return the least number on the grid of bag sizes that is at least this one."""
    step = validation.grid_step(number)
    return -(-number // step) * step


def _out_of_reach(promise: Promise) -> OutOfReachError:
    n, B, unit = promise.n_samples, None if promise.limit else promise.n_bags or MOST_BAGS, promise.unit
    useful = min(promise.largest_bag, max(_USEFUL_ROWS, 2 * (promise.n_classes or 2), n // 10))
    sizes = [useful >> k for k in range(useful.bit_length())]
    bags = None
    if not promise.limit:
        bags = next((b for s in sizes if (b := promise.solved("n_bags", bag_size=s)) and b <= _MOST_NAMED), None)
    rows = promise.solved("n_samples", bag_size=useful)
    epsilon = _epsilon_for(promise, sizes, bool(bags or rows))
    ways = [
        *([] if epsilon is None else [f"epsilon={epsilon:g}"]),
        *([] if bags is None else [f"{bags:,} bags"]),
        *([] if rows is None else [f"{rows:,} {unit}s"]),
    ]
    would = f"{' or '.join(ways)} would do" if ways else f"neither another epsilon nor more bags or {unit}s would do"
    least = promise.of(1, B)
    return OutOfReachError(
        f"delta must be a promise that bags of up to {promise.largest_bag:,} of {n:,} {unit}s can keep; got "
        f"{promise.delta:g}, while {'infinitely many' if B is None else f'{B:,}'} bags of one {unit} promise "
        f"{least.delta:.3g} at epsilon={least.epsilon:g}: {would}.",
        epsilon,
        bags,
        rows,
    )


def _epsilon_for(promise: Promise, sizes: list[int], others: bool) -> float | None:
    """Return the epsilon at which the largest of these bags keep the promise, None where the rule has none.

    Above 0.5 sets hold nearly every label: such a one is returned only where there are no `others` to name.
    """
    if not getattr(promise.rule, "has_epsilon", False):
        return None
    found = (promise.solved("epsilon", bag_size=size) for size in sizes)
    known = [short_above(epsilon) for epsilon in found if epsilon is not None]
    return next((e for e in known if e <= _LARGEST_NAMED), None if others else next(iter(known), None))


def short_above(value: float) -> float:
    """Return the least number of two digits that is at least this one."""
    digits = 1 - math.floor(math.log10(value))
    short = float(f"{math.ceil(value * 10.0**digits) / 10.0**digits:.{max(digits, 0)}f}")
    return short if short >= value else float(f"{short + 10.0**-digits:.{max(digits, 0)}f}")
