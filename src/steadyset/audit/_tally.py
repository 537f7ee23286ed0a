"""Adding up an audit, point by point or model by model, into its one result."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset.audit._kernel import Chunk
from steadyset.audit._models import ModelComparison
from steadyset.audit._stability_audit import SHIFT_LEVELS, StabilityAudit

#: Conflicting pairs of a point and a unit that are kept, 16 bytes each; past it, those at the smallest epsilons go.
PAIR_LIMIT = 32_000_000


@dataclass(frozen=True)
class Subject:
    """What was audited: all that a result says besides what was counted."""

    algorithm: str
    rule: str
    epsilon: float | None
    n_samples: int
    n_bags: int
    left_out: NDArray[Any]
    unanswered: NDArray[Any]
    sampled: bool = False
    unit: str = "row"


@dataclass(frozen=True)
class MonteCarlo:
    """What is known of the noise of finitely many bags: per point its spread, per unit the weights of its bags."""

    spread: NDArray[np.float64]
    settled: NDArray[np.bool_]
    noise: NDArray[np.float64]
    tail: NDArray[np.float64]

    @classmethod
    def unknown(cls, n_points: int, noise: NDArray[np.float64], tail: NDArray[np.float64]) -> "MonteCarlo":
        """Return that of points which nobody has looked at yet."""
        return cls(np.full(n_points, np.nan), np.zeros(n_points, np.bool_), noise, tail)

    @classmethod
    def none(cls, n_points: int, n_units: int) -> "MonteCarlo":
        """Return that of refits, which have no Monte Carlo error to compare with."""
        return cls.unknown(n_points, np.zeros(n_units), np.full(n_units, np.inf))


@dataclass(frozen=True, eq=False)
class NearUnits:
    """What was found at some points for models without one of the few units that each sees, and without any other one.

    `number` is (points, near + 1), the place of each unit's model, the last column for all other units. The models of
    point i are at places starts[i] to starts[i + 1].
    """

    starts: NDArray[np.int64]
    number: NDArray[np.int32]
    conflict: NDArray[np.bool_]
    jaccard: NDArray[np.float64]
    shift: NDArray[np.float32]
    last_conflict: NDArray[np.float64]

    def moved(self, floor: float) -> NDArray[np.intp]:
        """Return the points at which some model gives another set, or might at an epsilon from `floor` on."""
        first = self.starts[:-1]
        other = ~(np.minimum.reduceat(self.jaccard, first) >= 1)
        return np.flatnonzero(
            other
            | np.maximum.reduceat(self.conflict, first)
            | (np.maximum.reduceat(self.last_conflict, first) >= floor)
        )


@dataclass(frozen=True, eq=False)
class NearRows:
    """The rows that each point sees, (points, near), and the unit of every row: -1 for one that is not left out."""

    rows: NDArray[np.int32]
    unit_of: NDArray[np.int32]

    def units(self, points: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the units that some of the points see."""
        return self.unit_of[self.rows[points]]


@dataclass(frozen=True, eq=False)
class ShiftBoard:
    """What shifts at points first, first + 1, ... are ranked into: each unit's largest so far, and where that was.

    `levels` are the places of the quantiles among the shifts of all units.
    """

    first: int
    unit_of: NDArray[np.int32]
    score: NDArray[np.float32]
    leader: NDArray[np.int64]
    levels: NDArray[np.int64]

    def empty_quantiles(self, n_points: int) -> NDArray[np.float32]:
        """Return room for the quantiles of that many points."""
        return np.empty((n_points, len(self.levels)), np.float32)


class Tally:
    """The running totals of an audit."""

    def __init__(self, noise: MonteCarlo) -> None:
        n_points, n_units = len(noise.settled), len(noise.noise)
        self.done = 0
        self._monte_carlo, self._n_points, self._n_units = noise, n_points, n_units
        self._conflicts = np.zeros(n_points, np.int64)
        self._jaccard = np.where(noise.settled, float(n_units), 0.0)
        self._quantiles = np.full((n_points, len(SHIFT_LEVELS)), np.nan)
        self._influence = np.zeros(n_units, np.int64)
        self._score, self._point = np.zeros(n_units, np.float32), np.full(n_units, -1, np.int64)
        self._error = 0.0
        self._pairs: list[list[NDArray[Any]]] = [
            [np.empty(0, kind)] for kind in (np.int32, np.int32, np.float64, np.float32)
        ]  # points, units, last conflicts, shifts
        self._n_pairs, self._floor, self._by_model = 0, 0.0, False

    def survey(self, first: int, spread: NDArray[np.float64], settled: NDArray[np.bool_]) -> None:
        """Add the noise at points first, first + 1, ..., and which of them are settled: those are done."""
        points = slice(first, first + len(settled))
        self._monte_carlo.spread[points], self._monte_carlo.settled[points] = spread, settled
        self._jaccard[points] = np.where(settled, float(self._n_units), 0.0)
        self.done += int(settled.sum())

    def add(self, chunk: Chunk) -> None:
        """Add some points, compared with every unit."""
        self.add_shifts(chunk.points, chunk.shift, float(chunk.shift_error.max(initial=0.0)))
        self.done += len(chunk.points)
        if chunk.conflict is None:
            return
        self._conflicts[chunk.points] = chunk.conflict.sum(axis=1)
        self._influence += chunk.conflict.sum(axis=0)
        self._jaccard[chunk.points] = chunk.jaccard
        for k, point in enumerate(chunk.points):  # a point's row of pairs stays in the cache
            if chunk.last_conflict is not None:
                units = np.flatnonzero(chunk.last_conflict[k] >= self._floor)
                last = chunk.last_conflict[k][units]
            else:
                units = np.flatnonzero(chunk.conflict[k])
                last = np.full(len(units), np.inf)
            self._keep(np.full(len(units), point), units, last, chunk.shift[k][units])

    def add_model(self, unit: int, found: ModelComparison, first: int = 0) -> None:
        """Add points first, first + 1, ..., compared with the model without one unit; its shifts are added apart."""
        self._by_model = True
        here = slice(first, first + len(found.conflict))
        self._conflicts[here] += found.conflict
        self._influence[unit] += found.conflict.sum()
        self._jaccard[here] += found.jaccard
        points = np.flatnonzero(found.last_conflict >= 0)
        self._keep(first + points, np.full(len(points), unit), found.last_conflict[points], found.shift[points])

    def add_shifts(self, points: NDArray[np.intp], shifts: NDArray[np.float32], error: float) -> None:
        """Add how far every unit moves these points, (points, units), and by how much these distances may be off."""
        ranks = self._shift_ranks()
        for point, shift in zip(points, shifts, strict=True):
            self._score_shifts(int(point), shift)
            self._quantiles[point] = np.sort(shift)[ranks]
        self._error = max(self._error, error)

    def add_near(self, first: int, rows: NearRows, found: NearUnits, error: float, threads: int = 1) -> None:
        """Add points first, first + 1, ..., compared with every unit; only points that see a unit give it a score."""
        board = self.shift_board(first, rows.unit_of)
        quantiles = board.empty_quantiles(len(rows.rows))
        _native.near_shifts(
            rows.rows,
            board.unit_of,
            found.number,
            found.shift,
            first,
            board.score,
            board.leader,
            board.levels,
            quantiles,
            threads,
        )
        self.add_ranked(first, quantiles, error)
        self.add_changes(first + np.arange(len(rows.rows)), rows, found)

    def shift_board(self, first: int, unit_of: NDArray[np.int32]) -> "ShiftBoard":
        """Return what shifts at points first, first + 1, ... are ranked into."""
        return ShiftBoard(first, unit_of, self._score, self._point, np.array(self._shift_ranks(), np.int64))

    def add_ranked(self, first: int, quantiles: NDArray[np.float32], error: float) -> None:
        """Add points first, first + 1, ... whose shifts are ranked, as if no unit changed a set."""
        self._by_model = True
        self._error = max(self._error, error)
        points = slice(first, first + len(quantiles))
        self._quantiles[points], self._jaccard[points] = quantiles, self._n_units

    def add_changes(self, points: NDArray[np.intp], rows: NearRows, found: NearUnits) -> None:
        """Add what units change at these points, whose shifts are ranked."""
        moved = found.moved(self._floor)
        if len(moved):
            self._add_moved(points[moved], rows.units(moved), found, moved)

    def _shift_ranks(self) -> list[int]:
        """Return the places of the quantiles among the shifts of all units."""
        return [max(int(np.ceil(level * self._n_units)) - 1, 0) for level in SHIFT_LEVELS]

    def _add_moved(
        self, points: NDArray[np.intp], units: NDArray[np.int32], found: NearUnits, moved: NDArray[np.intp]
    ) -> None:
        """Add the points at which some model gives another set."""
        number, near, known = found.number[moved], units.shape[1], units >= 0
        others = self._n_units - known.sum(axis=1)  # units that share the last model
        conflict, last, shift = found.conflict[number], found.last_conflict[number], found.shift[number]
        counted = np.column_stack([known, others])
        self._conflicts[points] = (conflict * counted).sum(axis=1)
        self._jaccard[points] = (found.jaccard[number] * counted).sum(axis=1)
        self._influence += np.bincount(units[known & conflict[:, :near]], minlength=self._n_units)
        at, rank = np.nonzero(known & (last[:, :near] >= self._floor))
        self._keep(points[at], units[at, rank], last[at, rank], shift[at, rank])
        for k in np.flatnonzero((others > 0) & (conflict[:, near] | (last[:, near] >= self._floor))):
            rest = np.setdiff1d(np.arange(self._n_units), units[k][known[k]], assume_unique=True)
            self._influence[rest] += conflict[k, near]
            alike = np.full(len(rest), last[k, near]), np.full(len(rest), shift[k, near])
            self._keep(np.full(len(rest), points[k]), rest, *alike)

    def audit(self, subject: Subject) -> StabilityAudit:
        """Return the result."""
        joined = []
        for part in self._pairs:  # one after the other, so that hardly anything is held twice
            joined.append(np.concatenate(part))
            part[:] = [joined[-1]]
        points, units, last, shift = joined
        if self._by_model:  # pairs came unit by unit
            order = np.lexsort((units, points))
            points, units, last, shift = points[order], units[order], last[order], shift[order]
        noise = self._monte_carlo.noise  # a standard error is sigma sqrt(noise)
        return StabilityAudit(
            algorithm=subject.algorithm,
            rule=subject.rule,
            unit=subject.unit,
            epsilon=subject.epsilon,
            n_samples=subject.n_samples,
            n_bags=subject.n_bags,
            sampled=subject.sampled,
            left_out=subject.left_out,
            unanswered=subject.unanswered,
            instability=self._conflicts / self._n_units,
            jaccard=self._jaccard / self._n_units,
            max_shift=self._quantiles[:, -1].copy(),
            shift_error=self._error,
            shift_quantiles=self._quantiles,
            spread=self._monte_carlo.spread,
            settled=self._monte_carlo.settled,
            row_influence=self._influence,
            row_score=np.divide(self._score, np.sqrt(noise), out=np.zeros(self._n_units), where=noise > 0),
            row_point=self._point,
            row_noise=noise,
            row_tail=self._monte_carlo.tail,
            pair_starts=np.searchsorted(points, np.arange(self._n_points + 1)).astype(np.int64),
            pair_units=units,
            pair_epsilons=last,
            pair_shifts=shift,
            epsilon_floor=self._floor,
        )

    def _score_shifts(self, point: int, shift: NDArray[np.float32]) -> None:
        """Keep each unit's largest shift over sigma; where all bags agree, the shift is rounding alone."""
        spread = float(self._monte_carlo.spread[point])
        sigma = 1.0 if np.isnan(spread) else float(np.sqrt(spread))
        if sigma > 1e-6:
            scaled = shift * np.float32(1 / sigma)
            better = np.flatnonzero(scaled > self._score)
            self._score[better], self._point[better] = scaled[better], point

    def _keep(self, points: NDArray[Any], units: NDArray[Any], last: NDArray[np.float64], shift: NDArray[Any]) -> None:
        if self._floor == np.inf:
            return
        kept = last >= self._floor
        if not kept.any():
            return
        for part, values in zip(self._pairs, (points, units, last, shift), strict=True):
            part.append(values[kept].astype(part[0].dtype))
        self._n_pairs += int(kept.sum())
        if self._n_pairs > PAIR_LIMIT:
            self._raise_floor()

    def _raise_floor(self) -> None:
        """Drop about half of the pairs, those whose conflict ends at the smallest epsilons; all, if there is none."""
        everything = np.concatenate(self._pairs[2])
        half = len(everything) // 2
        everything.partition(half)
        self._floor = float(np.nextafter(everything[half], np.inf))
        del everything
        kept = [(last >= self._floor) & (self._floor < np.inf) for last in self._pairs[2]]
        for part in self._pairs:
            part[:] = [values[k] for values, k in zip(part, kept, strict=True)]
        self._n_pairs = sum(len(last) for last in self._pairs[2])
