"""Whether a saved audit contradicts itself."""

from typing import Any

import numpy as np

_FLOATS = ("instability", "jaccard", "max_shift", "shift_quantiles", "spread", "row_score", "row_noise", "row_tail")
_TYPES: dict[str, Any] = dict.fromkeys((*_FLOATS, "pair_epsilons"), np.float64) | {
    "settled": np.bool_,
    "row_influence": np.int64,
    "row_point": np.int64,
    "pair_starts": np.int64,
    "pair_units": np.int32,
    "pair_shifts": np.float32,
}


def check_audit(audit: Any, n_levels: int) -> None:
    """Refuse an audit whose parts do not fit together: those of a file may be anything."""
    checks = (_texts_fit, _numbers_fit, _shapes_fit, _counts_fit, _pairs_fit)
    if not all(isinstance(getattr(audit, name), np.ndarray) for name in (*_TYPES, "left_out", "unanswered")) or not all(
        check(audit, n_levels) for check in checks
    ):
        raise ValueError("folder must hold an audit whose arrays fit together; got one whose arrays do not.")


def _texts_fit(audit: Any, _: int) -> bool:
    return isinstance(audit.algorithm, str) and isinstance(audit.rule, str) and audit.unit in ("row", "group")


def _numbers_fit(audit: Any, _: int) -> bool:
    counts = type(audit.n_samples) is int and type(audit.n_bags) is int and audit.n_samples >= 1 and audit.n_bags >= 1
    numbers = [audit.shift_error, audit.epsilon_floor, *([] if audit.epsilon is None else [audit.epsilon])]
    known = all(isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 for value in numbers)
    return counts and known and isinstance(audit.sampled, bool)


def _shapes_fit(audit: Any, n_levels: int) -> bool:
    points, units, pairs = len(audit.instability), len(audit.left_out), len(audit.pair_units)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_TYPES, (points,))
    shapes |= dict.fromkeys([name for name in _TYPES if name.startswith("row_")], (units,))
    shapes |= dict.fromkeys([name for name in _TYPES if name.startswith("pair_")], (pairs,))
    shapes |= {"shift_quantiles": (points, n_levels), "pair_starts": (points + 1,)}
    arrays = {name: getattr(audit, name) for name in _TYPES}
    rows = (audit.left_out, audit.unanswered)
    return (
        all(array.shape == shapes[name] and array.dtype == _TYPES[name] for name, array in arrays.items())
        and all(array.ndim == 1 and array.dtype.kind in "biufU" for array in rows)
        and all(audit.unit == "group" or _are_rows(array, audit.n_samples) for array in rows)
        and len(np.unique(audit.left_out)) == units
    )


def _are_rows(array: Any, n_samples: int) -> bool:
    return array.dtype.kind in "iu" and bool(np.all((array >= 0) & (array < n_samples)))


def _counts_fit(audit: Any, _: int) -> bool:
    points, units = len(audit.instability), len(audit.left_out)
    conflicts = audit.instability * units
    shares = np.all(
        (audit.instability >= 0) & (audit.instability <= 1) & (audit.jaccard >= 0) & (audit.jaccard < 1 + 1e-9)
    )
    whole = np.all(np.abs(conflicts - np.rint(conflicts)) <= 1e-6)
    rows = np.all((audit.row_influence >= 0) & (audit.row_influence <= points))
    places = np.all((audit.row_point >= -1) & (audit.row_point < points))
    settled = not np.any(audit.instability[audit.settled]) and np.all(audit.jaccard[audit.settled] == 1)
    # Each conflict is one of a point and of a unit.
    return bool(shares and whole and rows and places and settled) and int(np.rint(conflicts).sum()) == int(
        audit.row_influence.sum()
    )


def _pairs_fit(audit: Any, _: int) -> bool:
    starts, units = audit.pair_starts, audit.pair_units
    return (
        starts[0] == 0
        and starts[-1] == len(units)
        and bool(np.all(starts[1:] >= starts[:-1]))
        and bool(np.all((units >= 0) & (units < len(audit.left_out))))
    )
