"""Where a report's numbers come from: bags that were drawn, or all bags there are.

Both give the same answers: what was drawn, predictions block by block, audits and proofs that take these blocks, and
the guarantee.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steadyset._base import cpu
from steadyset.audit import AuditOptions, AuditRun, CertifyRun, NearAuditRun, NearModels, StabilityAudit
from steadyset.bags import POSITIONS, BagPredictions, Bags, RowIds
from steadyset.ensemble import StableClassifier, size_assumption
from steadyset.guarantees import Guarantee
from steadyset.neighbors import StableNeighborsClassifier, audit_run, model_blocks, rounding_of
from steadyset.reporting import _bound
from steadyset.selection import Rule


@dataclass(frozen=True, eq=False)
class DrawnBags:
    """Bags that were drawn: those of a fitted model, or of predictions alone."""

    bags: Bags
    made_by: StableClassifier | BagPredictions

    def blocks(self, rows: Any, positions: NDArray[np.intp], rule: Any, n_given: int) -> Iterator[BagPredictions]:
        """Yield what the bags predict at the points, block by block; at all of them where the rule asks for it."""
        if isinstance(self.made_by, BagPredictions):
            yield self.made_by if len(positions) == n_given else self.made_by.at_points(positions)
        elif isinstance(rule, Rule) and rule.by_row:
            yield from self.made_by.prediction_blocks(rows)
        else:
            yield self.made_by.bag_predictions(rows)

    def audit_run(self, rule: Any, n_points: int, options: AuditOptions) -> AuditRun:
        """Return an audit that takes the blocks."""
        return AuditRun.of_rows(self.bags, rule, n_points, options)

    def certify_run(self, rule: Any, alpha: float, n_points: int) -> CertifyRun | str:
        """Return certificates that take the blocks, or what there is in their place."""
        return CertifyRun(self.bags, rule, alpha, n_points)

    def guarantee(self, rule: Any, n_classes: int, *, limit: bool = False) -> Guarantee | str:
        """Return the guarantee, or in a sentence why there is none; with `limit`, that of infinitely many bags."""
        fitted = isinstance(self.made_by, StableClassifier) and not limit
        return _bound.guarantee(
            self.bags, rule, n_classes, size_assumption(self.made_by) if fitted else (), limit=limit
        )

    def setting(self, n_classes: int) -> dict[str, Any] | None:
        """Return what the page's formulas take."""
        return _bound.setting(self.bags, n_classes)

    def leading_rows(self, audit: StabilityAudit, epsilon: float) -> NDArray[np.intp]:
        """Return the units that stand clear of Monte Carlo noise, the clearest first."""
        return audit.influential()


@dataclass(frozen=True, eq=False)
class AllBags:
    """All bags there are, averaged in closed form: there is no draw, and no Monte Carlo noise."""

    made_by: StableNeighborsClassifier
    n_bags: ClassVar[None] = None
    coupling: ClassVar[str] = "any"
    ids: ClassVar[RowIds] = POSITIONS
    sample_ids: ClassVar[None] = None
    seed: ClassVar[None] = None

    @property
    def bags(self) -> "AllBags":
        """What was drawn, as far as it can be said."""
        return self

    @property
    def n_samples(self) -> int:
        """Number of training rows."""
        return self.made_by.n_samples_fit_

    @property
    def bag_size(self) -> int:
        """Rows per bag."""
        return self.made_by.bag_size_

    @property
    def resampling(self) -> str:
        """How bags are drawn."""
        return "bootstrap" if self.made_by.bootstrap else "subbagging"

    def blocks(self, rows: Any, positions: NDArray[np.intp], rule: Any, n_given: int) -> Iterator[NearModels]:
        """Yield the models at the points, block by block."""
        return model_blocks(self.made_by, rows)

    def audit_run(self, rule: Any, n_points: int, options: AuditOptions) -> NearAuditRun:
        """Return an audit that takes the blocks."""
        return audit_run(self.made_by, rule, n_points, cpu.threads(options.n_jobs))

    def certify_run(self, rule: Any, alpha: float, n_points: int) -> CertifyRun | str:
        """Say what takes the place of certificates."""
        return (
            "All that the audit says is certain, at every point and every epsilon: the model without a row is the one "
            "that a fit without it would be, to the bit, and there is no draw that could have come out otherwise."
        )

    def guarantee(self, rule: Any, n_classes: int, *, limit: bool = False) -> Guarantee | str:
        """Return the guarantee, which is that of infinitely many bags, or in a sentence why there is none."""
        try:
            return self.made_by.guarantee(rule=rule)
        except ValueError as error:
            return f"No guarantee: {error}"

    def setting(self, n_classes: int) -> dict[str, Any] | None:
        """Return what the page's formulas take."""
        return _bound.setting(self, n_classes, rounding_of(self.made_by))

    def leading_rows(self, audit: StabilityAudit, epsilon: float) -> NDArray[np.intp]:
        """Return the rows that contradict a point at some epsilon, those first that do so most often at this one."""
        now = np.bincount(audit.pair_units[audit.pair_epsilons >= epsilon], minlength=audit.n_units)
        ever = np.bincount(audit.pair_units, minlength=audit.n_units)
        ordered = np.lexsort((-ever, -now))
        return ordered[ever[ordered] > 0]
