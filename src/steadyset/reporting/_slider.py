"""What the slider needs: where labels enter sets and where conflicts end, as steps over epsilon.

Label sets of the inflated argmax and of the fixed margin only grow with epsilon, and a pair of a point and a row
conflicts exactly up to one epsilon. So the page holds the places of the steps and answers every epsilon without
approximation. Where there are too many, they are counted on a grid of epsilons, and the slider moves on that grid.
"""

import base64
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import StabilityAudit
from steadyset.selection import FixedMargin, InflatedArgmax, entry_epsilons

# Steps that a page holds: at most about 400 kB each.
_EXACT_LABELS, _EXACT_CONFLICTS = 15_000, 30_000
_GRID_LABELS, _GRID_CONFLICTS = 50_000, 50_000
_GRIDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
_SLIDER_TOP = 0.5


@dataclass(frozen=True)
class Entries:
    """Where each label enters the sets: (n_points, n_classes) epsilons of the two rules that have one."""

    inflated: NDArray[np.float64]
    margin: NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """Steps over epsilon, point after point; `starts` are the places of each point's first step.

    `step` is the grid's step, None where epsilons are exact. A label is in from its key on (key < epsilon, or key = 0);
    `conflict_counts` pairs conflict up to their key (key >= epsilon).
    """

    step: float | None
    bottom: float
    top: float
    label_starts: NDArray[np.int64]
    labels: NDArray[np.intp]
    inflated: NDArray[np.float64]
    margin: NDArray[np.float64]
    conflict_starts: NDArray[np.int64]
    conflicts: NDArray[np.float64]
    conflict_counts: NDArray[np.int64]


def entries(proba: NDArray[np.float64], epsilon: float) -> Entries:
    """Return the entry points of both rules, which at `epsilon` itself agree with the rules to the last bit."""
    gaps = proba.max(axis=1, keepdims=True) - proba
    return Entries(
        _settle(entry_epsilons(proba), InflatedArgmax(epsilon)(proba), epsilon),
        _settle(math.sqrt(2) * gaps, FixedMargin(epsilon)(proba), epsilon),
    )


def _settle(entry: NDArray[np.float64], mask: NDArray[np.bool_], epsilon: float) -> NDArray[np.float64]:
    """Move the entries that rounding puts on the wrong side of the epsilon at which the rule was asked."""
    if epsilon == 0:
        return entry
    entry = np.where(mask & (entry >= epsilon), np.nextafter(epsilon, 0), entry)
    return np.where(~mask & (entry < epsilon), epsilon, entry)


def last_conflicts(audit: StabilityAudit) -> NDArray[np.float64]:
    """Return the epsilon up to which each kept pair conflicts, which at the audit's own agrees with its counts."""
    last, own = audit.pair_epsilons.copy(), audit.epsilon or 0.0
    if own < audit.epsilon_floor:
        return last
    found = audit.n_conflicts
    for point in np.flatnonzero(audit.pairs_per_point(last >= own) > found):  # ties that the rule rounds outward
        place = np.arange(audit.pair_starts[point], audit.pair_starts[point + 1])
        above = place[last[place] >= own]
        surplus = len(above) - int(found[point])
        last[above[np.argsort(last[above], kind="stable")[:surplus]]] = np.nextafter(own, 0)
    return last


def slider_top(epsilon: float) -> float:
    """Return the largest epsilon of the slider: no two probability vectors are farther apart than sqrt(2)."""
    return min(max(_SLIDER_TOP, 2 * epsilon), 1.4142) if epsilon <= 1.4142 else epsilon


def steps(entry: Entries, audit: StabilityAudit, last: NDArray[np.float64], epsilon: float) -> Steps:
    """Return every step up to the slider's top, exact where there are few, else on the finest grid that fits."""
    top = slider_top(epsilon)
    first = np.minimum(entry.margin, entry.inflated)  # the fixed margin's but for rounding: its sets hold the others
    if (first < top).sum() > _GRID_LABELS:
        most = math.floor(1000 * float(np.partition(first.ravel(), _GRID_LABELS)[_GRID_LABELS])) / 1000
        top = max(epsilon, min(top, most))
    inside = first < top
    points, labels = np.nonzero(inside)
    order = np.lexsort((labels, entry.inflated[inside], points))
    points, labels = points[order], labels[order]
    inflated, margin = entry.inflated[points, labels], entry.margin[points, labels]
    label_starts = np.searchsorted(points, np.arange(len(inside) + 1))
    starts, counts = audit.pair_starts, np.ones(len(last), np.int64)
    bottom, step = audit.epsilon_floor, None
    if len(labels) > _EXACT_LABELS or len(last) > _EXACT_CONFLICTS:
        step, (starts, last, counts) = _on_a_grid(audit, last, top)
        grid = grid_points(step, top)
        top, bottom = float(grid[-1]), float(grid[min(int(np.searchsorted(grid, bottom)), len(grid) - 1)])
        inflated, margin = label_keys(inflated, grid), label_keys(margin, grid)
    return Steps(step, bottom, top, label_starts, labels, inflated, margin, starts, last, counts)


def _on_a_grid(audit: StabilityAudit, last: NDArray[np.float64], top: float) -> tuple[float, Any]:
    points = np.repeat(np.arange(audit.n_points), np.diff(audit.pair_starts))
    for step in _GRIDS:
        grid = grid_points(step, top)
        cells, counts = np.unique(points * len(grid) + conflict_keys(last, grid), return_counts=True)
        if len(cells) <= _GRID_CONFLICTS or step == _GRIDS[-1]:
            break
    starts = np.searchsorted(cells // len(grid), np.arange(audit.n_points + 1))
    return step, (starts, (cells % len(grid)).astype(np.float64), counts)


def grid_points(step: float, top: float) -> NDArray[np.float64]:
    """Return the epsilons of a grid as the floats that their decimals stand for."""
    return np.array([float(f"{k * step:.6f}") for k in range(max(1, math.ceil(top / step - 1e-9)) + 1)])


def label_keys(entry: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the number of the first grid point at which a label is in; 0 for maximisers."""
    return np.where(entry == 0, 0, np.searchsorted(grid, entry, side="right")).astype(np.float64)


def conflict_keys(last: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the last grid point at which a pair conflicts."""
    return np.searchsorted(grid, last, side="right") - 1


def unit_steps(units: NDArray[Any], audit: StabilityAudit, last: NDArray[np.float64], step: float | None) -> Any:
    """Return, for some units, up to where each conflict that they make goes on, as lists of [key, count]."""
    found = []
    for unit in units:
        keys = np.sort(last[audit.pair_units == unit])
        if step is not None:
            keys = conflict_keys(keys, grid_points(step, 2.0)).astype(np.float64)
        values, counts = np.unique(keys, return_counts=True)
        found.append([[float(value), int(number)] for value, number in zip(values, counts, strict=True)])
    return found


def as_data(found: Steps) -> dict[str, Any]:
    """Return the steps as what the page reads: little-endian arrays in base64."""
    key = "<f8" if found.step is None else "<u2"
    return {
        "step": found.step,
        "bottom": found.bottom,
        "top": found.top,
        "labelCounts": packed(np.diff(found.label_starts), "<u4"),
        "labels": packed(found.labels, "<u4"),
        "inflated": packed(found.inflated, key),
        "margin": packed(found.margin, key),
        "conflictCounts": packed(np.diff(found.conflict_starts), "<u4"),
        "conflicts": packed(found.conflicts, key),
        "multiplicities": "" if found.step is None else packed(found.conflict_counts, "<u4"),
    }


def packed(values: NDArray[Any], kind: str) -> str:
    """Return an array as base64 text of numbers of this kind; those too large for it become its largest."""
    limit = np.iinfo(kind).max if kind[1] == "u" else np.inf
    return base64.b64encode(np.minimum(values, limit).astype(kind).tobytes()).decode("ascii")
