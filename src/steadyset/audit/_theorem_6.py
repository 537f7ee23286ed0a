"""Theorem 6 and poisoning (Theorem C2): what any votes whatever in the bags that some rows touch can do.

Hash bags without a row differ only in the bags that held it. The votes of those bags become other probability vectors,
about which nothing is assumed; the votes of all others stay as they are.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import validation
from steadyset.audit import _taken_bags
from steadyset.bags import BagPredictions, Bags
from steadyset.selection import KernelArguments, Rule

_SLACK = 2.0**-40  # times the number of bags: far above the rounding of sums of votes
_CHUNK_BYTES = 64 << 20  # of votes that are held at a time
_CHUNK_SUMMANDS = 1 << 36  # in one native call and thread, below a second: between two calls Ctrl-C is answered


@dataclass(frozen=True)
class Certain:
    """What is certain at each point: how many rows are not cleared, and how many rows may go or change at once."""

    unsafe_rows: NDArray[np.int64]
    poisoning_radius: NDArray[np.int64]


@dataclass(frozen=True)
class _Votes:
    """What the votes of a retrained bag may be: they sum to at most `largest`, and sums are compared with a slack."""

    largest: float
    slack: float


@dataclass(frozen=True)
class _FreeBags:
    """For each row that some bag holds, the bags that do not, in how many it is, and how often its id goes."""

    patterns: NDArray[np.uint16]
    counts: NDArray[np.intp]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, bags: Bags) -> "_FreeBags":
        times = np.bincount(bags.ids.dropped(np.arange(bags.n_samples)), minlength=bags.n_samples)
        rows = np.flatnonzero((bags.counts > 0) & (times > 0))  # a row that no bag holds is safe
        patterns = _taken_bags.all_free(bags, rows).patterns
        return cls(patterns, bags.counts[rows], times[rows].astype(np.int64))


@dataclass(frozen=True)
class _Block:
    """What the bags predict at some points, the sets of these points and the rule's radius there."""

    predictions: BagPredictions
    sets: NDArray[np.bool_]
    radius: NDArray[np.float64]


class Theorem6:
    """Theorem 6 and Theorem C2 for these bags and a rule, at points that come block by block."""

    def __init__(self, bags: Bags, rule: Rule, threads: int) -> None:
        self._bags, self._rule, self._threads = bags, rule, threads
        self._compares = _comparing(rule)
        self._touched = np.minimum(np.cumsum(np.sort(bags.counts)[::-1]), bags.n_bags)
        self._free: _FreeBags | None = None  # made where it is first needed

    def at(self, predictions: BagPredictions, sets: NDArray[np.bool_], radius: NDArray[np.float64]) -> Certain:
        """Return what is certain of each point; `radius` is the rule's at the points' means."""
        block, n_points = _Block(predictions, sets, radius), predictions.n_points
        unsafe, robust = np.zeros(n_points, np.int64), np.zeros(n_points, np.int64)
        for votes, points in _votes(predictions, self._rule):
            free = self._free_bags(block, points, votes)
            open_points = points[free < self._bags.counts.max()]
            unsafe[open_points] = self._unsafe_rows(block, open_points, votes)
            robust[points] = np.searchsorted(self._touched, free, side="right")
        return Certain(unsafe, np.maximum(robust, unsafe == 0))

    def _free_bags(self, block: _Block, points: NDArray[np.intp], votes: _Votes) -> NDArray[np.int64]:
        """Return how many bags may vote anything: those that the rows with the largest counts touch are to be fewer."""
        predictions, compares = block.predictions, self._compares
        free = _bags_by_distance(block.radius, predictions.n_bags, predictions)
        if compares is None:
            return free[points]
        for part in _chunks(points, predictions, self._threads, predictions.n_bags):
            found = np.empty(len(part), np.int64)
            _native.hostile_bags(
                _at(predictions, part),
                np.ascontiguousarray(block.sets[part]).view(np.uint8),
                compares.rule,
                compares.parameter,
                votes.largest,
                votes.slack,
                int(self._bags.counts.max()),
                found,
                self._threads,
            )
            free[part] = np.maximum(free[part], found)
        return free[points]

    def _unsafe_rows(self, block: _Block, points: NDArray[np.intp], votes: _Votes) -> NDArray[np.int64]:
        """Return, for each of these points, how many rows Theorem 6 does not clear.

        A row is judged by the id that goes when it is dropped: that of the last row which equals it.
        """
        unsafe = np.zeros(len(points), np.int64)
        if len(points) == 0:
            return unsafe
        if self._free is None:
            self._free = _FreeBags.of(self._bags)
        free, predictions, compares = self._free, block.predictions, self._compares
        n_bags, done = predictions.n_bags, 0
        most = free.counts * votes.largest + votes.slack
        for part in _chunks(points, predictions, self._threads, n_bags * len(most)):
            found = np.empty(len(part), np.int64)
            _native.clear_points(
                _at(predictions, part),
                free.patterns,
                np.ones(len(most)),
                most,
                free.times,
                np.ascontiguousarray(block.sets[part]).view(np.uint8),
                None if compares else block.radius[part] * (n_bags * (1 - _SLACK)),
                compares.rule if compares else 0,
                compares.parameter if compares else 0.0,
                found,
                self._threads,
            )
            unsafe[done : done + len(part)] = found
            done += len(part)
        return unsafe


def _comparing(rule: Rule) -> KernelArguments | None:
    """Return what the kernel takes for a rule that compares labels, for which Theorem 6 is exact; else None."""
    return rule.kernel if rule.lone_margin is not None else None


def _votes(predictions: BagPredictions, rule: Rule) -> Iterator[tuple[_Votes, NDArray[np.intp]]]:
    """Yield what votes may be, and the points at which they may be that."""
    slack, points = _SLACK * predictions.n_bags, np.arange(predictions.n_points)
    if not rule.compares_entries:
        yield _Votes(1 + _off(predictions), slack), points
        return
    # The entries of votes are at most 1, whatever they sum to.
    exactly = _sum_exactly(predictions.proba)
    for off, some in ((0.0, points[exactly]), (slack, points[~exactly])):
        if len(some):
            yield _Votes(1.0, off), some


def _off(predictions: BagPredictions) -> float:
    """Return how far the sum of a vote may lie from 1."""
    return validation.SUM_SLACK[predictions.proba.dtype.itemsize * 8]


def _sum_exactly(proba: NDArray[Any]) -> NDArray[np.bool_]:
    """Return at which points votes are sums of a few powers of 2, labels for example: no sum of them is rounded."""
    exactly = np.full(proba.shape[1], len(proba) <= 2**22)
    step = max(1, (1 << 20) // (8 * max(1, proba[0].size)))  # bags that stay in the cache
    for start in range(0, len(proba), step):
        if not exactly.any():
            break
        scaled = proba[start : start + step] * np.float64(2.0**30)
        exactly &= (scaled == np.rint(scaled)).all(axis=0).all(axis=1)
    return exactly


def _bags_by_distance(radius: NDArray[np.float64], n_bags: int, predictions: BagPredictions) -> NDArray[np.int64]:
    """Return the largest T with sqrt(2) T / B < radius: a vote moves by at most sqrt(2)."""
    step = math.sqrt(2) * (1 + _off(predictions)) * (1 + _SLACK) / n_bags
    bags = np.ceil(np.minimum(radius / step, n_bags + 1)) - 1
    return np.asarray(np.clip(bags, 0, n_bags), np.int64)


def _at(predictions: BagPredictions, points: NDArray[np.intp]) -> NDArray[Any]:
    together = points[-1] - points[0] == len(points) - 1
    return np.ascontiguousarray(predictions.proba[:, slice(points[0], points[-1] + 1) if together else points])


def _chunks(
    points: NDArray[np.intp], predictions: BagPredictions, threads: int, summands: int
) -> Iterator[NDArray[np.intp]]:
    """Yield the points a few at a time; `summands` is what a point has for each label."""
    bytes_each = predictions.proba.dtype.itemsize * predictions.n_bags * predictions.n_classes
    few = min(_CHUNK_BYTES // bytes_each, _CHUNK_SUMMANDS * threads // (summands * predictions.n_classes))
    step = max(1, few)
    return (points[start : start + step] for start in range(0, len(points), step))
