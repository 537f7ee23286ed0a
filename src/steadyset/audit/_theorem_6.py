"""Theorem 6 and poisoning: what any votes whatever in the bags that a row touches can do, by plain geometry.

Hash bags without a row differ only in the bags that held it. Their c votes, of sum s, become c other probability
vectors, so that the mean moves from p to somewhere in p + (c simplex - s)/B.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import _kernel, _taken_bags
from steadyset.bags import BagPredictions, sum_bags
from steadyset.selection import Rule

_SLACK = 2.0**-40  # times the number of bags: far above the rounding of sums of votes


def poisoning_radius(counts: NDArray[np.intp], n_bags: int, radius: NDArray[Any], off: float) -> NDArray[np.int64]:
    """Return the largest k with sqrt(2) (sum of the k largest counts) / B < radius at each point.

    `off` is how far the sum of a vote may lie from 1.
    """
    reach = np.cumsum(np.sort(counts)[::-1]) * (math.sqrt(2) * (1 + off) * (1 + _SLACK) / n_bags)
    return np.searchsorted(reach, radius, side="left").astype(np.int64)


def unsafe_rows(
    predictions: BagPredictions, rule: Rule, sets: NDArray[np.bool_], radius: NDArray[Any], off: float, threads: int
) -> NDArray[np.int64]:
    """Return, for each point, how many rows Theorem 6 and its stronger test cannot clear of causing a conflict."""
    counts, n_bags = predictions.bags.counts, predictions.n_bags
    unsafe = np.zeros(predictions.n_points, np.int64)
    reach = math.sqrt(2) * (1 + off) * (1 + _SLACK) * int(counts.max()) / n_bags
    points = np.flatnonzero(reach >= radius)  # elsewhere no row can reach the boundary
    rows = np.flatnonzero(counts > 0)  # a row that no bag holds is safe
    if len(points) == 0:
        return unsafe
    free = _taken_bags.all_free(predictions.bags, rows)
    largest = counts[rows] * (1 + off) + _SLACK * n_bags

    interrupted = Event()

    def of_points(part: NDArray[np.intp]) -> None:
        proba = np.ascontiguousarray(predictions.proba[:, part])
        total, own, away = sum_bags(proba), sets[part], radius[part]
        for unit, without in _kernel.sums(proba, free, 1):
            if interrupted.is_set():
                return
            safe = _within_radius(total - without, float(largest[unit]), n_bags, away)
            if not safe.all():
                safe |= _shares_a_label(rule, without, own, float(largest[unit]), n_bags)
            unsafe[part] += ~safe

    parts = np.array_split(points, min(threads, len(points)))
    with ThreadPoolExecutor(len(parts)) as pool:  # each has points of its own, so that the counts do not meet
        try:
            list(pool.map(of_points, parts))
        except BaseException:
            interrupted.set()
            raise
    return unsafe


def _within_radius(votes: NDArray[np.float64], c: float, n_bags: int, radius: NDArray[Any]) -> NDArray[np.bool_]:
    """Theorem 6: sqrt(c^2 - 2 c min_l s_l + ||s||^2) / B < rho(p), the distance to the farthest vertex c e_l."""
    square = c * c - 2 * c * votes.min(axis=1) + (votes * votes).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(square, 0)) / n_bags + _SLACK < radius)


def _shares_a_label(
    rule: Rule, without: NDArray[np.float64], sets: NDArray[np.bool_], c: float, n_bags: int
) -> NDArray[np.bool_]:
    """The stronger test: some label of the set stays selected at all corners (F + c e_l)/B, F the sum without the row.

    Of the labels in the set only the one with the largest F need be tried: rules that treat labels alike select it
    wherever another one passes.
    """
    labels = np.where(sets, without, -1.0).argmax(axis=1)
    return rule.stays_selected(without, labels, c, n_bags)
