"""Models of which a point sees a few training rows: those without one of them, and one that all other rows share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit._decision import Decision, decision
from steadyset.audit._left_out import LeftOut
from steadyset.audit._models import ReferenceModel
from steadyset.audit._stability_audit import StabilityAudit
from steadyset.audit._tally import MonteCarlo, NearUnits, Subject, Tally
from steadyset.selection import rule_name

_SHIFT_ERROR = float(2.0**-23 * np.sqrt(2))  # shifts are kept as 32-bit numbers of at most sqrt(2)


@dataclass(frozen=True, eq=False)
class NearModels:
    """The models of some consecutive points.

    `rows` are the training rows that a point sees, (n_points, n_near), no row twice; `without` is (n_near + 1,
    n_points, n_classes): the model without each of them, and last the one without any other row.
    """

    proba: NDArray[np.float64]
    spread: NDArray[np.float64]
    rows: NDArray[np.integer[Any]]
    without: NDArray[np.float64]


@dataclass(frozen=True)
class NearAudit:
    """What is audited: how many points, which rows to leave out of `n_samples`, and in words which models these are."""

    n_points: int
    n_samples: int
    left_out: LeftOut
    algorithm: str
    seed: int = 0


def audit_near_rows(
    parts: Iterable[NearModels], rule: Any, asked: NearAudit, progress: Callable[[int, int], object] | None = None
) -> StabilityAudit:
    """Measure, at each point, how many training rows turn its label set into a disjoint one when left out, exactly."""
    rows, how = asked.left_out.rows, decision(rule, asked.seed)
    unit_of = np.full(asked.n_samples, -1, np.int32)
    unit_of[rows] = np.arange(len(rows), dtype=np.int32)
    spread = np.full(asked.n_points, np.nan)
    nothing = MonteCarlo.none(asked.n_points, len(rows))
    tally = Tally(MonteCarlo(spread, nothing.settled, nothing.noise, nothing.tail))
    done = 0
    for part in parts:
        points = np.arange(done, done + len(part.proba))
        spread[points] = part.spread
        tally.add_near(_compared(part, points, unit_of, how), _SHIFT_ERROR)
        done += len(points)
        if progress is not None:
            progress(done, asked.n_points)
    subject = Subject(
        asked.algorithm, rule_name(rule), how.path_epsilon, asked.n_samples, 1, rows, rows[:0], asked.left_out.sampled
    )
    return tally.audit(subject)


def _compared(part: NearModels, points: NDArray[np.intp], unit_of: NDArray[np.int32], how: Decision) -> NearUnits:
    own = ReferenceModel(part.proba, how)
    found = [own.compared(model) for model in part.without]
    return NearUnits(
        points,
        unit_of[part.rows],
        conflict=np.stack([one.conflict for one in found], axis=1),
        jaccard=np.stack([one.jaccard for one in found], axis=1),
        shift=np.stack([one.shift for one in found], axis=1).astype(np.float32),
        last_conflict=np.stack([one.last_conflict for one in found], axis=1),
    )
