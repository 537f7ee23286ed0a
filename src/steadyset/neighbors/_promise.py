"""The bags that are averaged over, how large they are, and what is promised of their mean."""

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

from steadyset._base import validation
from steadyset.guarantees import Guarantee, Promise, kept, selection_stability
from steadyset.neighbors._weights import rounding


@dataclass(frozen=True)
class Bagging:
    """What decides the size of the bags: as `max_samples` says, or at most that and as small as `delta` needs."""

    max_samples: Any
    delta: Any
    rule: Any
    n_classes: int
    n_neighbors: int
    resampling: str

    def size(self, n_samples: int) -> int:
        """Return the rows per bag for so many rows."""
        largest = validation.resolve_bag_size(self.max_samples, n_samples, self.resampling, "max_samples")
        if self.delta is None:
            return largest
        epsilon = self.epsilon(n_samples)  # no bags have weights for more neighbours than there are rows
        promise = Promise(
            validation.delta(self.delta),
            n_samples,
            largest,
            None,
            self.rule,
            self.n_classes,
            self.resampling,
            limit=True,
            epsilon=epsilon,
        )
        return kept(promise).bag_size or 0

    def epsilon(self, depth: int) -> float | None:
        """Return the epsilon at which theorems are taken, None for a rule that is compatible at every one.

        Probabilities from weights of `depth` neighbours are off by rounding. Their sets hold those that exact ones have
        at an epsilon which is smaller by four times that (Theorem N5).
        """
        rule = self.rule
        compatible = rule.compatible_epsilon(self.n_classes) if hasattr(rule, "compatible_epsilon") else None
        if not compatible:
            raise ValueError(
                f"rule must be one that a theorem makes compatible for {self.n_classes} labels; got "
                f"{validation.shown(rule)}."
            )
        if math.isinf(compatible):
            return None
        less = compatible - 4 * rounding(depth, self.n_neighbors)
        if less <= 0:
            raise ValueError(f"epsilon must exceed the rounding of probabilities for a promise; got {compatible:g}.")
        return float(less)

    def assumption(self, n_samples: int, bag_size: int) -> tuple[str, ...]:
        """Return what a guarantee has to assume of the bag size, where one row less would have another."""
        fixed = self.delta is None and isinstance(self.max_samples, numbers.Integral)
        if fixed or n_samples < 3:
            return ()
        try:
            if self.size(n_samples - 1) == bag_size:
                return ()
        except ValueError:
            pass
        also = "" if self.delta is None else " and delta=None"
        return (f"the fit without the row has bags of {bag_size:,} rows too: pass max_samples={bag_size}{also}",)


def guarantee(bagging: Bagging, n_samples: int, bag_size: int, depth: int, theorem: str) -> Guarantee:
    """Return the guarantee of infinitely many bags, in which `depth` neighbours have a weight."""
    epsilon = bagging.epsilon(depth)
    found = selection_stability(
        n_samples=n_samples,
        bag_size=bag_size,
        epsilon=epsilon,
        n_classes=bagging.n_classes,
        resampling=bagging.resampling,  # type: ignore[arg-type]
        theorem=theorem,  # type: ignore[arg-type]
        rule=bagging.rule,
    )
    told = found.epsilon if epsilon is None else float(bagging.rule.compatible_epsilon(bagging.n_classes))
    return replace(found, epsilon=told, assumptions=found.assumptions + bagging.assumption(n_samples, bag_size))
