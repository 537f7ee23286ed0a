"""Adding up an audit from whole models, one left-out row after the other."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit._kernel import Decision
from steadyset.audit._stability_audit import SHIFT_LEVELS
from steadyset.selection import entry_epsilons


def tally(
    reference: NDArray[np.float64], models: Iterable[tuple[int, NDArray[np.float64]]], n_units: int, how: Decision
) -> dict[str, Any]:
    """Return the fields of a StabilityAudit from the model on all rows and (unit, model without it)."""
    n_points = len(reference)
    sets = how.apply(reference)
    entries = entry_epsilons(reference) if how.path else None
    own = 0.0 if how.native is None else how.native[1]
    conflicts, jaccard = np.zeros(n_points, np.int64), np.zeros(n_points)
    shifts, influence = np.zeros((n_units, n_points), np.float32), np.zeros(n_units, np.int64)
    pairs: list[tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]] = []
    for unit, model in models:
        without = how.apply(model)
        both = (sets & without).sum(axis=1)
        conflict = both == 0
        conflicts += conflict
        jaccard += both / (sets | without).sum(axis=1)
        influence[unit] = conflict.sum()
        shifts[unit] = np.sqrt(((model - reference) ** 2).sum(axis=1))
        if entries is None:
            points, last = np.flatnonzero(conflict), np.full(int(conflict.sum()), np.inf)
        else:  # a pair conflicts exactly for epsilon up to min_j max(eps_j(p), eps_j(p^i))
            up_to = _agreeing(np.maximum(entries, entry_epsilons(model)).min(axis=1), conflict, own)
            points = np.flatnonzero((up_to > 0) | conflict)
            last = up_to[points]
        pairs.append((points, np.full(len(points), unit), last))
    points, units, last = (np.concatenate(part) for part in zip(*pairs, strict=True))
    order = np.lexsort((units, points))
    ranks = [max(int(np.ceil(level * n_units)) - 1, 0) for level in SHIFT_LEVELS]
    quantiles = np.sort(shifts, axis=0)[ranks].T.astype(np.float64)
    return {
        "instability": conflicts / n_units,
        "jaccard": jaccard / n_units,
        "max_shift": quantiles[:, -1].copy(),
        "shift_error": float(2.0**-23 * np.sqrt(2)),  # shifts are kept as 32-bit numbers of at most sqrt(2)
        "shift_quantiles": quantiles,
        "spread": np.full(n_points, np.nan),
        "settled": np.zeros(n_points, bool),
        "row_influence": influence,
        "row_score": np.zeros(n_units),
        "row_point": np.where(shifts.max(axis=1) > 0, shifts.argmax(axis=1), -1).astype(np.int64),
        "row_noise": np.zeros(n_units),
        "row_tail": np.full(n_units, np.inf),  # a refit has no Monte Carlo error to compare with
        "pair_starts": np.searchsorted(points[order], np.arange(n_points + 1)).astype(np.int64),
        "pair_units": units[order].astype(np.int32),
        "pair_epsilons": last[order],
        "pair_shifts": shifts[units, points][order],
        "epsilon_floor": 0.0,
    }


def _agreeing(up_to: NDArray[np.float64], conflict: NDArray[np.bool_], epsilon: float) -> NDArray[np.float64]:
    """Return the thresholds on that side of the rule's own epsilon where the rule, rounding outward, put the pair."""
    if epsilon == 0:
        return np.where(conflict, up_to, 0.0)
    return np.where(conflict, np.maximum(up_to, epsilon), np.minimum(up_to, np.nextafter(epsilon, 0.0)))
