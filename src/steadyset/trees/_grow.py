"""Trees of many bags over threads: the caller's thread only waits, so that Ctrl-C still works."""

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base.rows import are_few, bag_rows
from steadyset._base.workers import AtOnce
from steadyset.trees._columns import Columns
from steadyset.trees._settings import Settings

#: Bags of one group; fewer where bags are large, but whole blocks of the mean's order of summation.
GROUP = 128
_LEAST = 16
_GROUP_ROWS, _CALL_ROWS = 4_000_000, 400_000  # of a group, and of one native call
_CALLS = 8  # of each thread at least, so that all end at about the same time
_POLL_SECONDS = 0.1  # how long Ctrl-C may wait
_AT_ONCE = 1 << 18  # values of the rows of few bags, whose trees take milliseconds: no thread is worth starting

Progress = Callable[[tuple[int, ...], int, int], object]
Weigh = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Training rows of which every column is ranked; `names` are those of the columns, where they had names."""

    table: _native.TreesTable
    columns: Columns
    names: NDArray[Any] | None

    def __len__(self) -> int:
        return self.table.n


@dataclass(frozen=True)
class TrainingData:
    """A ranked table with its labels, and the bags of it to grow trees on, one seed per bag."""

    table: _native.TreesTable
    labels: NDArray[np.uint16]
    n_classes: int
    bags: Any
    seeds: Sequence[int]
    weigh: Weigh | None  # gives the weights of a bag's rows


@dataclass(frozen=True)
class _Running:
    numbers: range
    future: "Future[_native.TreesForest | None]"


def grow_groups(
    data: TrainingData, settings: Settings, n_jobs: int | None, progress: Progress | None
) -> Iterator[tuple[tuple[int, ...], _native.TreesForest]]:
    """Grow a tree on each bag and yield them in order, a group at a time."""
    threads, total = effective_n_jobs(n_jobs), len(data.seeds)
    group, call = _sizes(max(1, np.size(data.bags[0])) if total else 1, total, threads)
    names = getattr(data.bags, "bag_numbers", range(total))  # of some of the bags, their numbers among all
    stop = _native.TreesStop()
    waiting = iter([range(first, min(first + call, total)) for first in range(0, total, call)])
    running: deque[_Running] = deque()
    few = are_few(data.bags, total, _AT_ONCE / settings.max_features)
    pool = AtOnce() if few else ThreadPoolExecutor(threads, thread_name_prefix="steadyset-trees")
    try:
        for first in range(0, total, group):
            numbers = tuple(range(first, min(first + group, total)))
            done: list[_native.TreesForest] = []
            grown = 0
            while grown < len(numbers):
                while len(running) < 2 * threads and (part := next(waiting, None)) is not None:
                    running.append(_Running(part, _submitted(pool, data, part, names, settings, stop)))
                wait([running[0].future], timeout=_POLL_SECONDS)
                if running[0].future.done():
                    finished = running.popleft()
                    forest = finished.future.result()
                    if forest is None:
                        raise RuntimeError("growing trees was stopped")
                    done.append(forest)
                    grown += len(finished.numbers)
                    if progress is not None:
                        progress(numbers, grown, len(numbers))
            yield numbers, done[0] if len(done) == 1 else _native.TreesForest.joined(done)
    finally:
        stop.stop()
        for left in running:
            left.future.cancel()
        with contextlib.suppress(KeyboardInterrupt):
            pool.shutdown(wait=True)


def _sizes(bag_size: int, total: int, threads: int) -> tuple[int, int]:
    """Return how many bags a group holds, and one native call, a divisor of it."""
    group = GROUP if GROUP * bag_size <= _GROUP_ROWS else min(GROUP, _LEAST)
    share = total if threads == 1 else total // (_CALLS * threads)
    call = 1 << max(0, min(group, _CALL_ROWS // bag_size, share).bit_length() - 1)
    return group, call


def _submitted(
    pool: ThreadPoolExecutor | AtOnce,
    data: TrainingData,
    part: range,
    names: Sequence[int],
    settings: Settings,
    stop: _native.TreesStop,
) -> "Future[_native.TreesForest | None]":
    rows = [bag_rows(data.bags[b], names[b], data.table.n) for b in part]
    seeds = [data.seeds[b] for b in part]
    weights, scales = None, []
    if data.weigh is not None:
        scaled = [_whole_weights(data.weigh(some), names[b]) for b, some in zip(part, rows, strict=True)]
        weights, scales = [w for w, _ in scaled], [scale for _, scale in scaled]
    return pool.submit(
        data.table.grow, data.labels, data.n_classes, rows, weights, scales, seeds, settings.native(), stop
    )


def _whole_weights(weights: NDArray[np.float64], bag: int) -> tuple[NDArray[np.int64], int]:
    """Return weights as whole numbers of 2^-scale, as fine as 62 bits allow: sums of them are exact in any order."""
    total = math.fsum(weights)
    if not total > 0:
        raise ValueError(f"sample_weight must have a sum above 0 in every bag; got {total:g} in bag {bag}.")
    scale = 60 - math.frexp(total)[1]
    whole = np.rint(np.ldexp(weights, scale)).astype(np.int64)
    return np.where(weights > 0, np.maximum(whole, 1), 0), scale
