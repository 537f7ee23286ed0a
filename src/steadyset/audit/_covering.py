"""Conformal sets without a split: jackknife+ after bagging, from the bags that leave each training row out."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu, validation
from steadyset.audit import _taken_bags
from steadyset.bags import BagPredictions, Bags
from steadyset.guarantees import Guarantee

_ROUNDING = 2.0**-40  # probabilities this close are a tie, which does not count: sets are rounded outward
_CHUNK = 1 << 23  # leave-one-out probabilities that are held at a time


@dataclass(frozen=True)
class CoveringPromise:
    """What is promised of a set that covers and holds steady; two promises, about two kinds of chance.

    Parameters
    ----------
    coverage : float
        The share that was asked for: about that often, in practice, the set holds the true label.
    proved_coverage : float
        1 - 2 alpha, where `coverage` is 1 - alpha: what is proved.
    stability : Guarantee
        Of the set when a training row is dropped.

    Notes
    -----
    Theory: :doc:`/theory/coverage`.

    Examples
    --------
    >>> import steadyset as ss
    >>> from steadyset.audit import CoveringPromise
    >>> steady = ss.selection_stability(n_samples=1000, bag_size=50, epsilon=0.1, n_bags=500, n_classes=10)
    >>> promise = CoveringPromise.of(0.9, steady)
    >>> promise.proved_coverage, promise.stability.delta < 0.02
    (0.8, True)
    """

    coverage: float
    proved_coverage: float
    stability: Guarantee

    @classmethod
    def of(cls, coverage: float, stability: Guarantee) -> "CoveringPromise":
        """Return the promise at a coverage."""
        share = Fraction(repr(validation.level(coverage, "coverage")))
        return cls(float(share), max(float(2 * share - 1), 0.0), stability)

    @property
    def coverage_sentence(self) -> str:
        """The promise about the true label."""
        return (
            f"Coverage: about {self.coverage:g} of the sets hold the true label in practice, and at least "
            f"{self.proved_coverage:g} by theorem, for rows exchangeable with the training rows, on average over them, "
            "where the number of bags is drawn as the theorem asks."
        )

    def __str__(self) -> str:
        return f"{self.coverage_sentence}\nStability: {self.stability}"


class CoveringRun:
    """The sets {y : #{i : s(p^i(x), y) > s(p^i(x_i), y_i)} < coverage (n + 1)}, s = 1 - p_y, block by block of points.

    p^i is the mean over the bags that do not hold row i. A row that every bag holds adds nothing to the count.

    `label_proba` is p^i(x_i) of the row's own label, NaN for such rows.
    """

    def __init__(self, bags: Bags, label_proba: NDArray[np.float64], coverage: float, n_jobs: int | None) -> None:
        share = Fraction(repr(validation.level(coverage, "coverage")))
        self._needed = math.ceil(share * (bags.n_samples + 1))  # labels whose count reaches it are left out
        known = ~np.isnan(label_proba)
        rows = np.flatnonzero(known)
        order = rows[np.argsort(label_proba[rows], kind="stable")]
        self._own = label_proba[order]
        self._taken = _taken_bags.all_free(bags, order)
        self._threads = cpu.threads(n_jobs)

    def sets(self, predictions: BagPredictions) -> NDArray[np.bool_]:
        """Return the sets at the points of a block."""
        n_bags, n_points, n_classes = predictions.proba.shape
        columns = predictions.proba.reshape(n_bags, n_points * n_classes)
        least, most = self._counts_between(columns)
        inside, open_ = most < self._needed, (least < self._needed) & (most >= self._needed)
        unsettled = np.flatnonzero(open_)
        if len(unsettled):
            inside[unsettled] = self._counts(columns[:, unsettled]) < self._needed
        return inside.reshape(n_points, n_classes)

    def _counts_between(self, columns: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return bounds on the counts: p^i_y lies between the means of the smallest and of the largest bags."""
        if not len(self._own):
            nothing = np.zeros(columns.shape[1], np.intp)
            return nothing, nothing
        n_bags = len(columns)
        fewest = int(self._taken.counts.min())
        ordered = np.partition(columns, sorted({fewest - 1, n_bags - fewest}), axis=0)
        slack = _ROUNDING + (n_bags + 64) * 2.0**-49
        low = ordered[:fewest].mean(axis=0, dtype=np.float64) - slack
        high = ordered[n_bags - fewest :].mean(axis=0, dtype=np.float64) + slack
        n = len(self._own)
        return n - np.searchsorted(self._own, high, side="right"), n - np.searchsorted(self._own, low, side="left")

    def _counts(self, columns: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return #{i : p^i_y(x) < p^i(x_i) of the row's own label}, for each column."""
        values = np.ascontiguousarray(columns)[:, :, None]
        counts = np.zeros(values.shape[1], np.intp)
        step = max(1, min(255, _CHUNK // values.shape[1]))
        for start in range(0, len(self._own), step):
            stop = min(start + step, len(self._own))
            means = np.empty((stop - start, values.shape[1], 1))
            taken = self._taken
            _native.leave_out_means(values, taken.patterns, taken.counts, start, stop, means, self._threads)
            below = means[..., 0] < self._own[start:stop, None] - _ROUNDING
            counts += below.view(np.uint8).sum(axis=0, dtype=np.uint8)  # at most 255 of them
        return counts
