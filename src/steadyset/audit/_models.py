"""Whole models compared: the model on all rows and one without a unit, at all points."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadyset.audit._decision import Decision
from steadyset.selection import entry_epsilons


@dataclass(frozen=True)
class ModelComparison:
    """What one model without a unit changes at each point."""

    conflict: NDArray[np.bool_]
    jaccard: NDArray[np.float64]
    shift: NDArray[np.float64]
    last_conflict: NDArray[np.float64]  # the largest epsilon of a conflict, -1 where there is none


class ReferenceModel:
    """The model on all rows, with which those without a unit are compared."""

    def __init__(self, proba: NDArray[np.float64], how: Decision) -> None:
        self._proba, self._how = proba, how
        self._sets = how.apply(proba)
        self._entries = None if how.path_epsilon is None else entry_epsilons(proba)

    def compared(self, model: NDArray[np.float64]) -> ModelComparison:
        """Compare with the probabilities of another model at the same points."""
        without = self._how.apply(model)
        both = (self._sets & without).sum(axis=1)
        conflict = both < self._how.n_common
        shift = np.sqrt(((model - self._proba) ** 2).sum(axis=1))
        last = np.where(conflict, np.inf, -1.0)
        if self._entries is not None and self._how.path_epsilon is not None:
            # a pair conflicts exactly for epsilon up to min_j max(eps_j(p), eps_j(p^i))
            up_to = np.maximum(self._entries, entry_epsilons(model)).min(axis=1)
            up_to = _agreeing(up_to, conflict, self._how.path_epsilon)
            last = np.where((up_to > 0) | conflict, up_to, -1.0)
        either = (self._sets | without).sum(axis=1)
        alike = np.where(
            either, both / np.maximum(either, 1), 1.0
        )  # two empty sets are alike, and conflict all the same
        return ModelComparison(conflict, alike, shift, last)


def _agreeing(up_to: NDArray[np.float64], conflict: NDArray[np.bool_], epsilon: float) -> NDArray[np.float64]:
    """Return the thresholds on that side of the rule's own epsilon where the rule, rounding outward, put the pair."""
    if epsilon == 0:
        return np.where(conflict, up_to, 0.0)
    return np.where(conflict, np.maximum(up_to, epsilon), np.minimum(up_to, np.nextafter(epsilon, 0.0)))
