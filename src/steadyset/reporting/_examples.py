"""The most ambiguous points: what they look like, and which labels come close."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from steadyset._base.sklearn_doors import take
from steadyset.reporting import _png, _slider
from steadyset.reporting._evidence import Evidence

_MOST, _MOST_LABELS, _MOST_FEATURES, _MOST_SIDE = 24, 6, 8, 128


def examples(found: Evidence) -> list[dict[str, Any]]:
    """Return the points whose second label enters at the smallest epsilon, as plain data."""
    inputs, steps = found.inputs, found.steps
    second = np.partition(found.entries.inflated, 1, axis=1)[:, 1]
    points = np.argsort(second, kind="stable")[:_MOST]
    points = points[second[points] < steps.top]
    classes = inputs.classes.tolist()
    cards = []
    for point, what in zip(points.tolist(), _shown(found, points), strict=True):
        entry, proba = found.entries.inflated[point], found.proba[point]
        order = np.lexsort((-proba, entry))[:_MOST_LABELS]
        # In the unit of the page's steps.
        keys = entry if steps.step is None else _slider.label_keys(entry, _slider.grid_points(steps.step, steps.top))
        cards.append(
            {
                "point": point,
                "position": int(inputs.positions[point]),
                "truth": None if inputs.columns is None else str(classes[int(inputs.columns[point])]),
                "labels": [
                    {
                        "label": str(classes[j]),
                        "probability": float(proba[j]),
                        "entry": float(entry[j]),
                        "key": float(keys[j]),
                        "in_set": bool(entry[j] < inputs.epsilon or entry[j] == 0),
                    }
                    for j in order[entry[order] < steps.top].tolist()
                ],
                **what,
            }
        )
    return cards


def _shown(found: Evidence, points: Any) -> list[dict[str, Any]]:
    rows, shape = found.inputs.rows, found.inputs.shape
    if rows is not None and shape is not None:
        return [{"image": _png.data_address(picture)} for picture in _pictures(take(rows, points), shape)]
    if rows is not None and len(rows.shape) == 2:
        return [_values(row, found.inputs.feature_names or []) for row in _records(take(rows, points))]
    return [{} for _ in points]


def _pictures(some: Any, shape: tuple[int, ...]) -> Any:
    """Return images with channels last, of large ones every k-th line and column."""
    values = some.to_numpy() if hasattr(some, "to_numpy") else np.asarray(some)
    pictures = values.reshape(len(values), *shape)
    if len(shape) == 3 and shape[2] not in (1, 3, 4):
        pictures = np.moveaxis(pictures, 1, 3)
    every = -(-max(pictures.shape[1:3]) // _MOST_SIDE)
    return pictures[:, ::every, ::every]


def _records(some: Any) -> Iterable[Sequence[Any]]:
    if hasattr(some, "columns"):
        columns = [some[name] for name in some.columns]
        lists = [column.tolist() if hasattr(column, "tolist") else column.to_list() for column in columns]
        return zip(*lists, strict=True)
    rows: list[list[Any]] = (some.toarray() if issparse(some) else np.asarray(some)).tolist()
    return rows


def _values(row: Sequence[Any], names: list[str]) -> dict[str, Any]:
    pairs = [[name, shown_value(value)] for name, value in zip(names, row, strict=True)]
    return {"features": pairs[:_MOST_FEATURES], "n_more": max(0, len(pairs) - _MOST_FEATURES)}


def shown_value(value: Any) -> str:
    """Return a feature's value in short."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return "missing"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
