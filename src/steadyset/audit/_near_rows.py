"""Models of which a point sees a few training rows: those without one of them, and one that all other rows share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset.audit._decision import Decision, decision
from steadyset.audit._left_out import LeftOut
from steadyset.audit._models import ReferenceModel
from steadyset.audit._stability_audit import StabilityAudit
from steadyset.audit._tally import MonteCarlo, NearRows, NearUnits, ShiftBoard, Subject, Tally
from steadyset.selection import rule_name

_SHIFT_ERROR = float(2.0**-23 * np.sqrt(2))  # shifts are kept as 32-bit numbers of at most sqrt(2)


@dataclass(frozen=True, eq=False)
class NearModels:
    """The models of some consecutive points.

    `rows` are the training rows that a point sees, (n_points, n_near), no row twice. `models` is (n_models, n_classes),
    those of point i at places starts[i] to starts[i + 1]. `number` is (n_points, n_near + 1): the place of the model
    without each of the rows, and last of the one without any other row.
    """

    proba: NDArray[np.float64]
    spread: NDArray[np.float64]
    rows: NDArray[np.int32]
    models: NDArray[np.float64]
    starts: NDArray[np.int64]
    number: NDArray[np.int32]

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.proba)

    def mean(self) -> NDArray[np.float64]:
        """Return the model on all rows."""
        return self.proba


@dataclass(frozen=True, eq=False)
class RankedShifts:
    """Quantiles of all units' shifts, (points, levels), and where every model has the same set and largest label."""

    quantiles: NDArray[np.float32]
    settled: NDArray[np.bool_]


@dataclass(frozen=True)
class Margin:
    """How far a label must trail the largest to be left out for certain, and the runner-up at most to be selected.

    Rules that keep to a margin select the runner-up within it, whatever the others, and no label beyond it.
    """

    wide: float
    narrow: float

    @classmethod
    def of(cls, margin: float) -> "Margin":
        """Return the margin blurred by more than the rounding of a difference and of rules, which is outward."""
        blur = margin * 2.0**-46 + 2.0**-43
        return cls(margin + blur, margin - blur)


class NearBlock(Protocol):
    """Some consecutive points, whose models are made when they are asked for."""

    @property
    def n_points(self) -> int:
        """Number of points."""

    @property
    def spread(self) -> NDArray[np.float64]:
        """sigma^2 of each point."""

    def parts(self, points: NDArray[np.intp] | None = None) -> Iterator[tuple[NDArray[np.intp], NearModels]]:
        """Yield some of the points at a time, by their numbers in the block, with their models; default: all."""

    def ranked(self, board: ShiftBoard, margin: Margin) -> RankedShifts:
        """Rank the shifts of all models, and find where all of them have the same set and the same largest label."""


@dataclass(frozen=True)
class NearAudit:
    """What is audited: how many points, which rows to leave out of `n_samples`, and in words which models these are."""

    n_points: int
    n_samples: int
    left_out: LeftOut
    algorithm: str
    seed: int = 0
    threads: int = 1


class NearAuditRun:
    """An audit that takes models some points at a time, in the order of the points."""

    def __init__(self, rule: Any, asked: NearAudit) -> None:
        self._rule, self._asked, self._how = rule, asked, decision(rule, asked.seed)
        rows = asked.left_out.rows
        self._unit_of = np.full(asked.n_samples, -1, np.int32)
        self._unit_of[rows] = np.arange(len(rows), dtype=np.int32)
        self._spread = np.full(asked.n_points, np.nan)
        nothing = MonteCarlo.none(asked.n_points, len(rows))
        self._tally = Tally(MonteCarlo(self._spread, nothing.settled, nothing.noise, nothing.tail))
        self.done = 0

    def add(self, part: NearModels) -> None:
        """Add the next points."""
        self._spread[self.done : self.done + part.n_points] = part.spread
        compare = _at_once if self._how.kernels else _one_by_one
        found = compare(part, self._how, self._asked.threads)
        self._tally.add_near(self.done, NearRows(part.rows, self._unit_of), found, _SHIFT_ERROR, self._asked.threads)
        self.done += part.n_points

    def add_block(self, block: NearBlock) -> None:
        """Add the next points; where no model can have another set, they are only ranked."""
        if self._how.lone_margin is None or not self._how.kernels:
            for _, part in block.parts():
                self.add(part)
            return
        first = self.done
        self._spread[first : first + block.n_points] = block.spread
        ranked = block.ranked(self._tally.shift_board(first, self._unit_of), Margin.of(self._how.lone_margin))
        self._tally.add_ranked(first, ranked.quantiles, _SHIFT_ERROR)
        for points, part in block.parts(np.flatnonzero(~ranked.settled)):
            found = _at_once(part, self._how, self._asked.threads)
            self._tally.add_changes(first + points, NearRows(part.rows, self._unit_of), found)
        self.done += block.n_points

    def result(self) -> StabilityAudit:
        """Return the audit of all points."""
        asked, rows = self._asked, self._asked.left_out.rows
        return self._tally.audit(
            Subject(
                asked.algorithm,
                rule_name(self._rule),
                self._how.path_epsilon,
                asked.n_samples,
                1,
                rows,
                rows[:0],
                asked.left_out.sampled,
            )
        )


def audit_near_rows(
    blocks: Iterable[NearBlock], rule: Any, asked: NearAudit, progress: Callable[[int, int], object] | None = None
) -> StabilityAudit:
    """Measure, at each point, how many training rows turn its label set into a disjoint one when left out, exactly."""
    run = NearAuditRun(rule, asked)
    for block in blocks:
        run.add_block(block)
        if progress is not None:
            progress(run.done, asked.n_points)
    return run.result()


def _at_once(part: NearModels, how: Decision, threads: int) -> NearUnits:
    """Compare the models natively; a rule of the library treats each row of probabilities by itself."""
    n = len(part.models)
    shift, jaccard = np.empty(n, np.float32), np.empty(n)
    conflict, apart = np.empty(n, np.bool_), np.empty(n, np.bool_)
    _native.near_points(
        part.starts,
        part.proba,
        how.apply(part.proba).view(np.uint8),
        part.models,
        how.apply(part.models).view(np.uint8),
        how.n_common,
        shift,
        conflict.view(np.uint8),
        apart.view(np.uint8),
        jaccard,
        threads,
    )
    if how.path_epsilon is None:
        last = np.where(conflict, np.inf, -1.0)
    else:
        last = np.full(n, -1.0)
        places = np.flatnonzero(apart)  # a largest label of both is in both sets at every epsilon
        if len(places):
            point = np.searchsorted(part.starts, places, side="right") - 1
            last[places] = ReferenceModel(part.proba[point], how).compared(part.models[places]).last_conflict
    return NearUnits(part.starts, part.number, conflict, jaccard, shift, last)


def _one_by_one(part: NearModels, how: Decision, threads: int) -> NearUnits:
    """Call a rule of one's own on all points of one model at a time: it may look at them together."""
    own = ReferenceModel(part.proba, how)
    found = [own.compared(part.models[places]) for places in part.number.T]
    n_points, n_models = part.number.shape
    return NearUnits(
        np.arange(n_points + 1, dtype=np.int64) * n_models,
        np.arange(part.number.size, dtype=np.int32).reshape(part.number.shape),
        conflict=np.stack([one.conflict for one in found], axis=1).ravel(),
        jaccard=np.stack([one.jaccard for one in found], axis=1).ravel(),
        shift=np.stack([one.shift for one in found], axis=1).astype(np.float32).ravel(),
        last_conflict=np.stack([one.last_conflict for one in found], axis=1).ravel(),
    )
