"""What is certain of each prediction of stable neighbours: which rows matter, by name."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import notebook, validation
from steadyset.audit import StabilityAudit
from steadyset.guarantees import row_influence


@dataclass(frozen=True, eq=False, repr=False)
class NeighborCertificates:
    """Which training rows can turn the label set of each point into a disjoint one when dropped. No probability.

    Made by :meth:`steadyset.StableNeighborsClassifier.certify`. The model without a row is the one that a fit without
    it would be, to the bit, with the same bag size and label space.

    Attributes
    ----------
    rule : str
    n_samples, bag_size : int
    resampling : {"subbagging", "bootstrap"}
    unsafe_rows : ndarray of int, shape (n_points,)
        How many rows do so: dropping any other row leaves a set that shares a label with this one.
    starts, positions : ndarrays of int
        Those rows: of point k at starts[k] to starts[k + 1] of `positions`.
    spread : ndarray of shape (n_points,)
        sigma^2, how far the votes of one bag lie from their mean over all bags, in mean square.
    influence : float
        The constant K of Lemma 1: dropping a row moves the probabilities by at most K sigma^2 in mean square.
    bound : ndarray of shape (n_points,)
        What Lemma 1 alone says of the share of such rows, K sigma^2 / rho^2, in whole rows; 1 where the rule has no
        radius rho. Never below ``unsafe_rows / n_samples``.

    Notes
    -----
    Theory: :doc:`/theory/neighbors`.

    Examples
    --------
    >>> import steadyset as ss
    >>> model = ss.StableNeighborsClassifier(1, max_samples=2, epsilon=0.1).fit([[0], [1], [3], [4]], list("aabb"))
    >>> found = model.certify([[1.9], [0]])
    >>> found.unsafe_rows, found.rows(0)
    (array([1, 0]), array([1]))
    >>> print(found.status(1))
    Dropping any one of the 4 rows leaves a set that shares a label with this one (certain).
    """

    rule: str
    n_samples: int
    bag_size: int
    resampling: str
    unsafe_rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    positions: NDArray[np.intp]
    spread: NDArray[np.float64]
    influence: float
    bound: NDArray[np.float64]

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.unsafe_rows)

    def rows(self, point: int) -> NDArray[np.intp]:
        """Return the positions of the rows that make the point's set disjoint when dropped, one at a time."""
        k = validation.row_position(point, self.n_points, "point")
        return self.positions[self.starts[k] : self.starts[k + 1]]

    def status(self, point: int) -> str:
        """Return in words what is certain at a point."""
        rows = self.rows(point)
        shares = "leaves a set that shares a label with this one (certain)"
        if len(rows) == 0:
            return f"Dropping any one of the {self.n_samples:,} rows {shares}."
        named = ", ".join(str(row) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
        which = f"row {named}" if len(rows) == 1 else f"any one of the {len(rows):,} rows {named}"
        return f"Dropping {which} turns this set into a disjoint one; dropping any other row {shares}."

    def summary(self) -> str:
        """Return what is certain of all points, in words."""
        safe, worst = int((self.unsafe_rows == 0).sum()), int(self.unsafe_rows.max(initial=0))
        return (
            f"Certificates of {self.n_points:,} points under {self.rule}: infinitely many bags of {self.bag_size:,} of "
            f"{self.n_samples:,} rows ({self.resampling}), exactly.\n"
            f"At {safe:,} points no row can turn the set into a disjoint one; at the others at most {worst:,} rows "
            f"can.\nThe mean spread of the bags is {float(self.spread.mean()):.3g}."
        )

    def _repr_html_(self) -> str:
        heading, *sentences = self.summary().split("\n")
        return notebook.card(heading, sentences)

    def __repr__(self) -> str:
        most = int(self.unsafe_rows.max(initial=0))
        return f"NeighborCertificates(rule={self.rule}, n_points={self.n_points}, at most {most} unsafe rows)"


def certified(
    audit: StabilityAudit, proba: NDArray[np.float64], rule: Any, bag_size: int, resampling: str
) -> NeighborCertificates:
    """Return what an exact audit of all rows proves."""
    n = audit.n_samples
    points, units = audit.conflicts()
    influence = row_influence(n_samples=n, bag_size=bag_size, resampling=resampling)
    share = _lemma_1(rule, proba, influence * audit.spread)
    return NeighborCertificates(
        rule=audit.rule,
        n_samples=n,
        bag_size=bag_size,
        resampling=resampling,
        unsafe_rows=audit.n_conflicts,
        starts=np.searchsorted(points, np.arange(audit.n_points + 1)),
        positions=audit.left_out[units],
        spread=audit.spread,
        influence=influence,
        bound=np.floor(share * n) / n,
    )


def _lemma_1(rule: Any, proba: NDArray[np.float64], mean_square_shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the rows that may conflict: those that move probabilities by the rule's radius or more."""
    try:
        radius = np.asarray(rule.stability_radius(proba), np.float64)
    except (AttributeError, ValueError):  # a callable, or a rule that no theorem covers
        return np.ones(len(proba))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = mean_square_shift * (1 + 2.0**-40) / (radius * radius)
    return np.asarray(np.where(radius > 0, np.minimum(share, 1.0), 1.0))
