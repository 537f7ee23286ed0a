"""From the nearest rows to probabilities: of all rows, without each row, and the spread of the bags."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset.audit import Margin, NearModels, RankedShifts, ShiftBoard
from steadyset.neighbors._weights import NeighborWeights


@dataclass(frozen=True, eq=False)
class Votes:
    """The mean over all bags at each point, (points, classes), and sigma^2 there, rounded up (Theorem N3)."""

    proba: NDArray[np.float64]
    spread: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Labels:
    """The label of each training row, as a column, and how many labels there are."""

    codes: NDArray[np.int64]
    n_classes: int

    def votes(self, rows: NDArray[np.int32], weights: NeighborWeights, threads: int) -> Votes:
        """Return what the nearest rows of each point vote for; `rows` are (points, at least the weights' depth)."""
        found = Votes(np.empty((len(rows), self.n_classes)), np.empty(len(rows)))
        _native.neighbor_votes(
            rows, self.codes, weights.whole, weights.pair, weights.square, found.proba, found.spread, threads
        )
        return found

    def models(self, rows: NDArray[np.int32], own: Votes, fewer: NeighborWeights, threads: int) -> NearModels:
        """Return the models without each of the nearest rows, and the one that all other rows share.

        `own` is the model on all rows, `fewer` are the weights of one row less, `rows` (points, at least their
        depth + 1). Without the r-th neighbour those before it keep their rank and those behind it move up by one; rows
        beyond the depth leave the nearest ones as they are. Neighbours in turn with one label leave the same model
        (Theorem N2).
        """
        depth = fewer.depth
        starts = np.zeros(len(rows) + 1, np.int64)
        _native.neighbor_model_counts(rows, self.codes, depth, self.n_classes, starts[1:], threads)
        np.cumsum(starts, out=starts)
        models = np.empty((int(starts[-1]), self.n_classes))
        number = np.empty((len(rows), depth + 1), np.int32)
        _native.neighbor_models(rows, self.codes, fewer.whole, starts, models, number, threads)
        return NearModels(own.proba, own.spread, rows[:, :depth], models, starts, number)


@dataclass(frozen=True, eq=False)
class NeighborBlock:
    """Some points, their nearest rows and the model on all rows there; `fewer` are the weights of one row less.

    `few` is how many points' models are made at a time.
    """

    labels: Labels
    rows: NDArray[np.int32]
    votes: Votes
    fewer: NeighborWeights
    few: int
    threads: int

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.rows)

    @property
    def spread(self) -> NDArray[np.float64]:
        """sigma^2 of each point."""
        return self.votes.spread

    def parts(self, points: NDArray[np.intp] | None = None) -> Iterator[tuple[NDArray[np.intp], NearModels]]:
        """Yield some of the points at a time, by their numbers in the block, with their models; default: all."""
        chosen = np.arange(self.n_points) if points is None else points
        for first in range(0, len(chosen), self.few):
            some = chosen[first : first + self.few]
            own = Votes(self.votes.proba[some], self.votes.spread[some])
            yield some, self.labels.models(self.rows[some], own, self.fewer, self.threads)

    def ranked(self, board: ShiftBoard, margin: Margin) -> RankedShifts:
        """Rank the shifts of all models, and find where all of them have the same set and the same largest label."""
        found = RankedShifts(board.empty_quantiles(self.n_points), np.empty(self.n_points, np.bool_))
        _native.neighbor_settle(
            self.rows,
            self.labels.codes,
            self.fewer.whole,
            self.votes.proba,
            margin.wide,
            margin.narrow,
            board.unit_of,
            board.first,
            board.score,
            board.leader,
            board.levels,
            found.quantiles,
            found.settled.view(np.uint8),
            self.threads,
        )
        return found
