"""Weights of a bag's rows: those of the rows times those of their classes, which may follow from the bag."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.validation import number, shown


def weigher(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[np.uint16], given: NDArray[np.float64] | None
) -> Callable[[NDArray[np.int64]], NDArray[np.float64]] | None:
    """Return a function from a bag's rows to their weights; None where all weigh the same."""
    fixed = _by_class(class_weight, classes)
    if class_weight is None and given is None:
        return None

    def weights(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.ones(len(rows)) if given is None else given[rows]
        if fixed is not None:
            return found * fixed[labels[rows]]
        if class_weight is None:
            return found
        counts = np.bincount(labels[rows], minlength=len(classes))  # "balanced", as scikit-learn has it
        balanced = len(rows) / (np.count_nonzero(counts) * np.maximum(counts, 1))
        return found * balanced[labels[rows]]

    return weights


def _by_class(class_weight: Any, classes: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the weight of each class, 1 for those that are not named; None where the bag decides."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return None
    try:
        if isinstance(class_weight, str):
            raise TypeError
        named = dict(class_weight)
    except (TypeError, ValueError):
        raise ValueError(
            f'class_weight must be None, "balanced" or a weight for each label; got {shown(class_weight)}.'
        ) from None
    places = {label: place for place, label in enumerate(classes.tolist())}
    weights, unknown = np.ones(len(classes)), []
    for label, weight in named.items():
        plain = label.item() if isinstance(label, np.generic) else label
        checked = number(weight, "class_weight", "finite numbers that are at least 0", lambda x: 0 <= x < math.inf)
        if plain in places:
            weights[places.pop(plain)] = checked
        else:
            unknown.append(label)
    if unknown and places:  # a bag may lack a label, but then all that it has are named
        raise ValueError(f"class_weight must name labels of y; got {shown(unknown[0])}.")
    return weights
