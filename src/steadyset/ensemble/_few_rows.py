"""The part of a table that some bags hold: all that a learner of these bags has to read, rank or send about."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steadyset._base.sklearn_doors import params_of_rows
from steadyset.ensemble._tasks import RowSets, Task

_SMALL = 0.5  # of the table; a larger part is not worth a copy


class _Places:
    """The rows of bags as places in the part of the table that these bags hold."""

    def __init__(self, row_sets: RowSets, place: NDArray[np.intp]) -> None:
        self._row_sets, self._place = row_sets, place

    def __getitem__(self, number: int) -> NDArray[np.intp]:
        return self._place[self._row_sets[number]]


def of_these_bags(task: Task, row_sets: RowSets, numbers: Sequence[int]) -> tuple[Task, RowSets]:
    """Return the task and the bags on the rows that they hold, where these are few and the table is of plain numbers.

    A bag is a function of its own rows, so that nothing else changes. What a learner finds out of all rows of other
    tables, such as the names of categories, is that of the whole table and needs it.
    """
    X = task.X
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf" or not hasattr(task.learner, "fit_bags"):
        return task, row_sets
    held = np.zeros(len(X), bool)
    for number in numbers:
        held[row_sets[number]] = True
    rows = np.flatnonzero(held)
    if len(rows) > _SMALL * len(X):
        return task, row_sets
    params = params_of_rows(X, task.fit_params, rows)
    part = replace(task, X=X[rows], codes=task.codes[rows], fit_params=params)
    return part, _Places(row_sets, np.cumsum(held) - 1)
