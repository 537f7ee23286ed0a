"""The way to the native audit: points in chunks, every pair of a point and a left-out unit compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import validation
from steadyset.audit._decision import Decision
from steadyset.audit._taken_bags import TakenBags
from steadyset.selection import entry_epsilons

_CHUNK_BYTES = 64 << 20  # of each of the arrays that a chunk needs


def survey(
    proba: NDArray[Any], mean: NDArray[np.float64], least: int, bound: float, threads: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the spread of the bags at each point, and where no mean of at least `least` bags can change the leader.

    At a settled point the leading label j stays ahead of every other label l by more than `bound`: the mean of the
    `least` smallest values over the bags of V_j - V_l exceeds it.
    """
    n_bags, n_points, n_classes = proba.shape
    squares, settled = np.empty(n_points), np.empty(n_points, np.bool_)
    for start, stop in _chunks(n_points, proba.dtype.itemsize * n_bags * n_classes):
        block = np.ascontiguousarray(proba[:, start:stop])
        _native.survey_points(
            block, mean[start:stop], least, bound, squares[start:stop], settled[start:stop].view(np.uint8), threads
        )
    return squares / max(n_bags - 1, 1), settled & (bound < np.inf)


@dataclass(frozen=True)
class Chunk:
    """What was found at some points: arrays over pairs are (points, units)."""

    points: NDArray[np.intp]
    shift: NDArray[np.float32]
    shift_error: NDArray[np.float64]  # by how much the point's shifts may be off
    conflict: NDArray[np.bool_] | None
    last_conflict: NDArray[np.float64] | None  # the largest epsilon of a conflict; -1 where there is none
    jaccard: NDArray[np.float64]  # sum over units


@dataclass(frozen=True)
class FullModel:
    """What the model on all rows gives to every point: the bags' probabilities, their mean and its sets."""

    proba: NDArray[Any]
    mean: NDArray[np.float64]
    sets: NDArray[np.bool_]
    first: int = 0  # the number of the first of these points among all


def compared(
    full: FullModel, points: NDArray[np.intp], taken: TakenBags, how: Decision, threads: int
) -> Iterator[Chunk]:
    """Compare the given points with every unit left out; for a callable of one's own only the shifts are found."""
    n_bags, _, n_classes = full.proba.shape
    bytes_per_point = max(full.proba.dtype.itemsize * n_bags * n_classes, 8 * taken.n_units)
    on_path = how.path_epsilon is not None
    rules = [kernel.asked() for kernel in how.kernels]
    sum_slack = validation.sum_slack(np.float64)
    for start, stop in _chunks(len(points), bytes_per_point):
        some = points[start:stop]
        shape = (len(some), taken.n_units)
        own = np.ascontiguousarray(full.mean[some])
        shift, conflict = np.empty(shape, np.float32), np.empty(shape, np.bool_)
        error, jaccard = np.empty(len(some)), np.zeros(len(some))
        last = np.empty(shape) if on_path else None
        _native.audit_points(
            np.ascontiguousarray(full.proba[:, some]),
            taken.patterns,
            taken.counts,
            own,
            np.ascontiguousarray(full.sets[some]).view(np.uint8),
            rules,
            sum_slack,
            entry_epsilons(own) if on_path else None,
            shift,
            error,
            conflict.view(np.uint8),
            last,
            jaccard,
            threads,
        )
        yield Chunk(full.first + some, shift, error, conflict if how.kernels else None, last, jaccard)


def models(proba: NDArray[Any], taken: TakenBags, threads: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield (unit, means (n_points, n_classes)) for every unit: the model without it, on all points at once."""
    contiguous = np.ascontiguousarray(proba)
    for start, stop in _chunks(taken.n_units, 8 * int(np.prod(proba.shape[1:]))):
        means = np.empty((stop - start, *proba.shape[1:]))
        _native.leave_out_means(contiguous, taken.patterns, taken.counts, start, stop, means, threads)
        yield from zip(range(start, stop), means, strict=True)


def _chunks(n: int, bytes_each: int) -> Iterator[tuple[int, int]]:
    step = max(1, _CHUNK_BYTES // max(1, bytes_each))
    if step > 64:
        step -= step % 64
    return ((start, min(start + step, n)) for start in range(0, n, step))
