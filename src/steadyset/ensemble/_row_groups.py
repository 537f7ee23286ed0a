"""Rows that belong together: what `groups` of `fit` says, and the rows of a bag of groups."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.bags import Bags


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The rows of every group, group after group: those of group g are rows[ends[g-1]:ends[g]], as learners see them.

    A group's place is that of its label among the sorted labels.
    """

    labels: NDArray[Any]
    rows: NDArray[np.intp]
    ends: NDArray[np.intp]

    @property
    def n_groups(self) -> int:
        return len(self.ends)

    def rows_of(self, groups: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of some groups, one group after the other."""
        starts, ends = np.where(groups > 0, self.ends[groups - 1], 0), self.ends[groups]
        sizes = ends - starts
        places = np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        return np.asarray(self.rows[places])

    def same_as(self, other: "RowGroups | None") -> bool:
        """Return whether the same rows belong together, in the same order."""
        return other is not None and np.array_equal(self.rows, other.rows) and np.array_equal(self.ends, other.ends)


class BagRows:
    """The training rows of each bag: the bag itself, or the rows of the groups that it holds."""

    def __init__(self, bags: Bags, groups: RowGroups | None) -> None:
        self._bags, self._groups = bags, groups

    def __len__(self) -> int:
        return len(self._bags)

    def __getitem__(self, bag: int) -> NDArray[np.intp]:
        return self._of(self._bags[bag])

    def without(self, bag: int, unit: int) -> NDArray[np.intp]:
        """Return the rows of a hash bag after deletion of a unit, a row or a group."""
        return self._of(self._bags.without_row(bag, unit))

    def _of(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        return units if self._groups is None else self._groups.rows_of(units)


def codes_of(groups: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels of the groups, sorted, and the place of each row's label among them."""
    allowed = f"a label for each of the {n_rows} rows, all integers or all strings, at least 2 different ones"
    given = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    if len(given) != n_rows:
        raise ValueError(f"groups must be {allowed}; got {len(given)} labels.")
    strings = [isinstance(label, str) for label in given]
    if not all(strings) and (any(strings) or not all(validation.is_whole(label) for label in given)):
        odd = next(
            label for label in given if not (isinstance(label, str) or validation.is_whole(label)) or any(strings)
        )
        raise TypeError(f"groups must be {allowed}; got {validation.shown(odd)}.")
    labels, codes = np.unique(np.array(given, str if all(strings) else np.int64), return_inverse=True)
    if len(labels) < 2:
        raise ValueError(f"groups must be {allowed}; got {validation.shown(given[0])} alone.")
    return labels, codes


def gathered(labels: NDArray[Any], codes: NDArray[np.intp], digests: NDArray[np.uint64] | None) -> RowGroups:
    """Return the groups; within each, rows are in the order of their digests, or of the table where there are none."""
    keys = (codes,) if digests is None else (digests[:, 1], digests[:, 0], codes)
    return RowGroups(labels, np.lexsort(keys), np.cumsum(np.bincount(codes)))
