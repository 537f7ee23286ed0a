"""The part of a table that some bags hold: all that a learner of these bags has to read, rank or send about."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.sklearn_doors import params_of_rows, take
from steadyset.bags import BLOCK
from steadyset.ensemble._tasks import RowSets, Task

_SMALL = 0.5  # of the table; a larger part is not worth a copy
_KEPT_ROWS = 1 << 20  # of bags: so few are not worked out twice
_READ_BYTES = 256 << 20  # of a table that is not in memory
_LARGEST_GROUP = 128  # bags that a learner may train together


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
    if not _is_of_numbers(X) or not hasattr(task.learner, "fit_bags"):
        return task, row_sets
    if len(numbers) * len(row_sets[numbers[0]]) <= _KEPT_ROWS:
        row_sets = {number: row_sets[number] for number in numbers}
    held = _held(row_sets, numbers, len(X))
    if np.count_nonzero(held) > _SMALL * len(X):
        return task, row_sets
    return _part(task, row_sets, held)


def runs_that_fit(
    task: Task, row_sets: RowSets, numbers: Sequence[int]
) -> Iterator[tuple[Task, RowSets, Sequence[int]]]:
    """Yield bags of a table that is not in memory, as many at a time as memory holds the rows of, with these rows.

    Every run reads the pieces of the table that hold some of its rows once. Runs are of whole groups of bags.
    """
    X = task.X
    most = max(1, _READ_BYTES // max(1, X.row_bytes))
    start = 0
    while start < len(numbers):
        run: Sequence[int] = numbers[start : start + 1]
        held = _held(row_sets, run, len(X))
        for length in (BLOCK, *range(_LARGEST_GROUP, len(numbers) - start + _LARGEST_GROUP, _LARGEST_GROUP)):
            more = numbers[start : start + length]
            wider = held | _held(row_sets, more[len(run) :], len(X))
            if np.count_nonzero(wider) > most:
                break
            run, held = more, wider
        yield *_part(task, row_sets, held), run
        start += len(run)


def _is_of_numbers(X: Any) -> bool:
    """Return whether X is an array of plain numbers, or a frame of pandas whose columns are such arrays."""
    types = [X.dtype] if isinstance(X, np.ndarray) else list(X.dtypes) if hasattr(X, "iloc") else [None]
    return all(isinstance(each, np.dtype) and each.kind in "biuf" for each in types)


def _held(row_sets: RowSets, numbers: Sequence[int], n: int) -> NDArray[np.bool_]:
    held = np.zeros(n, bool)
    for number in numbers:
        held[row_sets[number]] = True
    return held


def _part(task: Task, row_sets: RowSets, held: NDArray[np.bool_]) -> tuple[Task, RowSets]:
    X, rows = task.X, np.flatnonzero(held)
    params = params_of_rows(X, task.fit_params, rows)
    plain = type(X) is np.ndarray and X.flags.c_contiguous
    held_rows = X.take(rows, axis=0) if plain else take(X, rows)  # in a third of the time
    part = replace(task, X=held_rows, codes=task.codes[rows], fit_params=params)
    return part, _Places(row_sets, np.cumsum(held) - 1)
