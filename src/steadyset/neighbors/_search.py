"""The nearest rows of each point, in an order that depends on two rows and their ids alone, to the bit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import validation
from steadyset._base.one_thread import one_thread
from steadyset._base.workers import workers
from steadyset.neighbors._bounds import CosineBounds, EuclideanBounds, PointBounds, RowBounds, can_bound
from steadyset.neighbors._tables import Table

#: The metrics by name, in the order of `Metric` in native/neighbors/api.hpp.
METRICS = ("euclidean", "cosine", "manhattan")

_ROW_BYTES = 16 << 20  # of the rows that are multiplied at a time
_POINTS_AT_A_TIME = 512
_OFFERED_AT_A_TIME = 64  # points: where all rows are at the same distance, each is a candidate
_CANDIDATE_BYTES = 24  # of one candidate
_SEARCH_BYTES = 256 << 20  # of the candidates of all points of a search


@dataclass(frozen=True, eq=False)
class Index:
    """The training rows as the search sees them; `words` order rows at the same distance.

    `bounds` finds candidates by products; None where every distance is found.
    """

    table: Table
    words: NDArray[np.uint64]
    metric: str | Callable[[Any, Any], float]
    bounds: EuclideanBounds | CosineBounds | None = None


def bounds_of(table: Table, metric: Any) -> EuclideanBounds | CosineBounds | None:
    """Return the bounds that suit these rows."""
    if table.is_sparse or not can_bound(table.width) or metric not in ("euclidean", "cosine"):
        return None
    return EuclideanBounds.of(table.values) if metric == "euclidean" else CosineBounds()


def points_at_a_time(depth: int) -> int:
    """Return for how many points a search to this depth has room."""
    return int(np.clip(_SEARCH_BYTES // (_CANDIDATE_BYTES * (4 * depth + 1024)), 1, 8192))


def nearest(index: Index, points: Table, depth: int, threads: int) -> NDArray[np.int32]:
    """Return the positions of the nearest rows of each point, the nearest first, as (points, depth)."""
    rows = index.table
    asked = points.as_points(sparse=rows.is_sparse)
    metric = METRICS.index(index.metric) if isinstance(index.metric, str) else 0
    search = _native.NeighborSearch(
        rows.values,
        rows.columns,
        rows.ends,
        index.words,
        asked.values,
        asked.columns,
        asked.ends,
        rows.width,
        metric,
        depth,
    )
    if not isinstance(index.metric, str):
        _offer_calls(search, index, asked, threads)
    elif index.bounds is None:
        search.measure_all(threads)
    else:
        _offer_products(search, index, asked, threads)
    found = np.empty((asked.n_rows, depth), np.int32)
    search.finish(found, threads)
    return found


def _offer_products(search: Any, index: Index, points: Table, threads: int) -> None:
    """Offer bounds by products, each thread for points of its own.

    Products on several threads of BLAS would leave these spinning beside ours, and take turns with them.
    """
    assert index.bounds is not None
    asked = index.bounds.points(points.values)
    parts = list(_pieces(points.n_rows, max(1, min(_POINTS_AT_A_TIME, -(-points.n_rows // threads)))))
    with one_thread(), workers(min(threads, len(parts))) as over:
        for start, stop in _pieces(index.table.n_rows, max(256, _ROW_BYTES // (4 * max(1, index.table.width)))):
            rows = index.bounds.rows(index.table.values[start:stop])
            over(partial(_offer_part, search, asked, rows, start), parts)


def _offer_part(search: Any, asked: PointBounds, rows: RowBounds, start: int, part: tuple[int, int]) -> Iterator[None]:
    """Offer the rows to some of the points, step by step: between two of them it can be left."""
    first, last = part
    products = asked.points[first:last] @ rows.rows.T
    yield
    for begin, end in _pieces(last - first, _OFFERED_AT_A_TIME):
        own = asked.own[first + begin : first + end]
        search.offer_products(products[begin:end], rows.base, rows.slack, own, first + begin, start, 1)
        yield


def _offer_calls(search: Any, index: Index, points: Table, threads: int) -> None:
    """Offer the distances of a callable, which gets one point and one row at a time."""
    assert callable(index.metric)
    asked = _read_only(points.dense_rows())
    for start, stop in _pieces(index.table.n_rows, 4096):
        rows = _read_only(index.table.part(start, stop).dense_rows())
        for number, point in enumerate(asked):
            distances = np.array([[_number(index.metric(point, row)) for row in rows]], np.float64)
            search.offer_distances(distances, number, start, threads)


def _read_only(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same rows, which may be those of the model, for a callable to read."""
    seen = rows.view()
    seen.flags.writeable = False
    return seen


def _number(value: Any) -> float:
    return validation.number(value, "metric", "a callable that returns numbers, none of them NaN", lambda x: x == x)


def _pieces(n: int, step: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + step, n)) for start in range(0, n, step))
