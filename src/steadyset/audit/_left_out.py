"""Which rows an audit leaves out, one at a time."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation


@dataclass(frozen=True)
class LeftOut:
    """The rows to leave out, and whether they were drawn at random from all rows."""

    rows: NDArray[np.intp]
    sampled: bool
    unanswered: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))

    def answered(self, places: NDArray[np.intp]) -> "LeftOut":
        """Return the rows at these places only; the others have no answer."""
        return LeftOut(self.rows[places], self.sampled, np.delete(self.rows, places))


def drawn_rows(left_out: Any, n: int, seed: int) -> LeftOut:
    """Return the rows to leave out, and whether they were drawn at random."""
    if isinstance(left_out, str):
        if left_out != "all":
            raise ValueError(
                f'left_out must be "all", a number of rows or row positions; got {validation.shown(left_out)}.'
            )
        return LeftOut(np.arange(n), False)
    if np.ndim(left_out) == 0:
        number = validation.whole(left_out, "left_out", f'"all", a number from 1 to {n} or row positions', 1, n)
        drawn = np.random.default_rng([seed, 2]).choice(n, number, replace=False)
        return LeftOut(np.sort(drawn), number < n)
    rows = validation.row_positions(left_out, n, "left_out")
    if len(np.unique(rows)) != len(rows):
        values, times = np.unique(rows, return_counts=True)
        raise ValueError(f"left_out must name each row once; got row {values[np.argmax(times)]} more than once.")
    return LeftOut(rows, False)
