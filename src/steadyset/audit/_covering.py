"""Conformal sets without a split: jackknife+ after bagging, from the bags that leave each training row out."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu, validation
from steadyset.audit import _taken_bags
from steadyset.bags import BagPredictions, Bags
from steadyset.guarantees import Guarantee

_ROUNDING = 2.0**-40  # probabilities this close are a tie, which does not count: sets are rounded outward
_CHUNK_BYTES = 64 << 20  # of predictions, or of leave-one-out probabilities, that are held at a time

_Between = tuple[NDArray[np.int64], NDArray[np.int64]]  # the least and the most that a count may be


@dataclass(frozen=True)
class CoveragePromise:
    """What is promised of covering sets about the true label alone: the share asked for, and the one that is proved."""

    coverage: float
    proved_coverage: float

    @classmethod
    def of(cls, coverage: float) -> "CoveragePromise":
        """Return the promise at a coverage 1 - alpha: 1 - 2 alpha is proved."""
        share = Fraction(repr(validation.level(coverage, "coverage")))
        return cls(float(share), max(float(2 * share - 1), 0.0))

    def __str__(self) -> str:
        return (
            f"Coverage: about {self.coverage:g} of the sets hold the true label in practice, and at least "
            f"{self.proved_coverage:g} by theorem, for rows exchangeable with the training rows, on average over them, "
            "where the number of bags is drawn as the theorem asks."
        )


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
        about = CoveragePromise.of(coverage)
        return cls(about.coverage, about.proved_coverage, stability)

    @property
    def coverage_sentence(self) -> str:
        """The promise about the true label."""
        return str(CoveragePromise(self.coverage, self.proved_coverage))

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
        inside = np.empty(columns.shape[1], np.bool_)
        step = max(1, _CHUNK_BYTES // (columns.itemsize * n_bags))
        for start in range(0, len(inside), step):
            inside[start : start + step] = self._inside(columns[:, start : start + step])
        return inside.reshape(n_points, n_classes)

    def _inside(self, columns: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether the count of each column is below what leaves a label out; each bound settles what it can."""
        inside, open_ = np.ones(columns.shape[1], np.bool_), np.arange(columns.shape[1])
        if not len(self._own):
            return inside
        for between in (self._counts_by_order, self._counts_by_sums, self._counts_by_means):
            least, most = between(columns[:, open_])
            inside[open_] = most < self._needed
            open_ = open_[(least < self._needed) & (most >= self._needed)]
            if not len(open_):
                break
        return inside

    def _counts_by_order(self, columns: NDArray[Any]) -> _Between:
        """Return bounds: p^i_y lies between the means of the smallest and of the largest bags."""
        n_bags = len(columns)
        fewest = int(self._taken.counts.min())
        ordered = np.partition(columns, sorted({fewest - 1, n_bags - fewest}), axis=0)
        slack = _ROUNDING + (n_bags + 64) * 2.0**-49
        low = ordered[:fewest].mean(axis=0, dtype=np.float64) - slack
        high = ordered[n_bags - fewest :].mean(axis=0, dtype=np.float64) + slack
        n = len(self._own)
        return n - np.searchsorted(self._own, high, side="right"), n - np.searchsorted(self._own, low, side="left")

    def _counts_by_sums(self, columns: NDArray[Any]) -> _Between:
        """Return bounds, nearly always equal, from the means in fixed point."""
        least, most = np.empty((2, columns.shape[1]), np.int64)
        values, taken = np.ascontiguousarray(columns)[:, :, None], self._taken
        _native.count_below(values, taken.patterns, taken.counts, self._own - _ROUNDING, least, most, self._threads)
        return least, most

    def _counts_by_means(self, columns: NDArray[Any]) -> _Between:
        """Return #{i : p^i_y(x) < p^i(x_i) of the row's own label} twice, for each column."""
        values, taken = np.ascontiguousarray(columns)[:, :, None], self._taken
        counts = np.zeros(values.shape[1], np.int64)
        step = max(1, _CHUNK_BYTES // (8 * values.shape[1]))
        for start in range(0, len(self._own), step):
            stop = min(start + step, len(self._own))
            means = np.empty((stop - start, values.shape[1], 1))
            _native.leave_out_means(values, taken.patterns, taken.counts, start, stop, means, self._threads)
            counts += np.count_nonzero(means[..., 0] < self._own[start:stop, None] - _ROUNDING, axis=0)
        return counts, counts
