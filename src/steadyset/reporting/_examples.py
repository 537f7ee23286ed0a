"""The most ambiguous points: what they look like, and which labels come close."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from steadyset._base.sklearn_doors import take
from steadyset.reporting import _png, _slider
from steadyset.reporting._evidence import Evidence

_MOST, _MOST_LABELS, _MOST_FEATURES, _MOST_SIDE = 24, 6, 8, 128


def examples(found: Evidence) -> list[dict[str, Any]]:
    """Return the points whose second label enters at the smallest epsilon, as plain data."""
    entry, inputs = found.entries.inflated, found.inputs
    second = np.partition(entry, 1, axis=1)[:, 1]
    points = np.argsort(second, kind="stable")[:_MOST]
    points = points[second[points] < found.steps.top]
    shown = _shown(found, points)
    classes = inputs.predictions.classes.tolist()
    cards = []
    for point, what in zip(points.tolist(), shown, strict=True):
        order = np.lexsort((-found.proba[point], entry[point]))[:_MOST_LABELS]
        labels = order[entry[point][order] < found.steps.top].tolist()
        cards.append(
            {
                "point": point,
                "position": int(inputs.positions[point]),
                "truth": None if inputs.columns is None else str(classes[int(inputs.columns[point])]),
                "labels": [
                    {
                        "label": str(classes[j]),
                        "probability": float(found.proba[point, j]),
                        "entry": float(entry[point, j]),
                        "key": _key(float(entry[point, j]), found),
                        "in_set": bool(entry[point, j] < inputs.epsilon or entry[point, j] == 0),
                    }
                    for j in labels
                ],
                **what,
            }
        )
    return cards


def _key(entry: float, found: Evidence) -> float:
    """Return a label's entry in the unit of the page's steps."""
    if found.steps.step is None:
        return entry
    return float(_slider.label_keys(np.array([entry]), _slider.grid_points(found.steps.step, found.steps.top))[0])


def _shown(found: Evidence, points: Any) -> list[dict[str, Any]]:
    rows, shape = found.inputs.rows, found.inputs.shape
    if rows is None or not len(points):
        return [{} for _ in points]
    some = take(rows, points)
    if shape is not None:
        return [{"image": _png.data_address(picture)} for picture in _pictures(some, shape)]
    if len(some.shape) != 2:
        return [{} for _ in points]
    names = found.inputs.feature_names or []
    return [_values(row, names) for row in _records(some)]


def _pictures(some: Any, shape: tuple[int, ...]) -> Any:
    """Return images with channels last, of large ones every k-th line and column."""
    values = some.to_numpy() if hasattr(some, "to_numpy") else np.asarray(some)
    pictures = values.reshape(len(values), *shape)
    if len(shape) == 3 and shape[2] not in (1, 3, 4):
        pictures = np.moveaxis(pictures, 1, 3)
    every = -(-max(pictures.shape[1:3]) // _MOST_SIDE)
    return pictures[:, ::every, ::every]


def _records(some: Any) -> list[list[Any]]:
    if issparse(some):
        some = some.toarray()
    if hasattr(some, "columns"):
        columns = [some[name] for name in some.columns]
        lists = [column.tolist() if hasattr(column, "tolist") else column.to_list() for column in columns]
        return [list(row) for row in zip(*lists, strict=True)]
    return [list(row) for row in np.asarray(some).tolist()]


def _values(row: list[Any], names: list[str]) -> dict[str, Any]:
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
