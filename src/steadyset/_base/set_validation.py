"""Checks of label sets, true labels and numbers per sample."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.validation import bool_mask, shown


def sample_sets(sets: Any, name: str = "sets") -> NDArray[np.bool_]:
    """Return label sets as a bool array of shape (n_samples, n_classes)."""
    mask = bool_mask(sets, name)
    if mask.ndim != 2:
        raise ValueError(f"{name} must have two axes, samples and labels; got shape {mask.shape}.")
    return mask


def no_empty_set(sets: NDArray[np.bool_], name: str = "sets") -> NDArray[np.bool_]:
    """Return the sets if each holds a label."""
    empty = np.flatnonzero(~sets.any(axis=1))
    if empty.size:
        raise ValueError(f"{name} must hold at least one label in each row; got an empty set in row {empty[0]}.")
    return sets


def listed(values: Any, name: str) -> list[Any]:
    """Return a sequence or array as a list of Python objects, so that mixed labels keep their types."""
    found = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise TypeError(f"{name} must be a sequence of labels; got {shown(values)}.")
    return list(found)


def class_labels(classes: Any, n_classes: int) -> list[Any]:
    """Return the label of each column; the columns' numbers where `classes` is None."""
    if classes is None:
        return list(range(n_classes))
    labels = listed(classes, "classes")
    if len(labels) != n_classes:
        raise ValueError(f"classes must name each of the {n_classes} columns; got {len(labels)} labels.")
    seen: set[Any] = set()
    for label in labels:
        try:
            twice = label in seen
        except TypeError:
            raise TypeError(f"classes must hold hashable labels; got {shown(label)}.") from None
        if twice:
            raise ValueError(f"classes must name each label once; got {shown(label)} twice.")
        seen.add(label)
    return labels


def label_columns(y_true: Any, n_samples: int, n_classes: int, classes: Any = None) -> NDArray[np.intp]:
    """Return the column of each true label."""
    allowed = f"column numbers from 0 to {n_classes - 1}, or labels with classes naming the columns"
    known = allowed if classes is None else "labels that classes names"
    labels = class_labels(classes, n_classes)
    return columns_of(y_true, labels, n_samples, "y_true", "sets", known)


def columns_of(y: Any, classes: Sequence[Any], n_samples: int, name: str, of: str, known: str) -> NDArray[np.intp]:
    """Return the column of each label: `name` has one for each row of `of`, all among the `known` ones."""
    place = {label: column for column, label in enumerate(classes)}
    values = listed(y, name)
    if len(values) != n_samples:
        raise ValueError(
            f"{name} must have one label for each of the {n_samples} rows of {of}; got {len(values)} labels."
        )
    columns = np.empty(n_samples, np.intp)
    for row, value in enumerate(values):
        try:
            columns[row] = place[value]
        except (KeyError, TypeError):
            raise ValueError(f"{name} must hold {known}; got {shown(value)} in row {row}.") from None
    return columns


def sample_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return a weight for each sample, 1 where none are given."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = per_sample(sample_weight, n_samples, "sample_weight")
    bad = np.flatnonzero(~((weights >= 0) & (weights < math.inf)))
    if bad.size:
        raise ValueError(
            f"sample_weight must hold finite numbers that are at least 0; got {weights[bad[0]]:g} in row {bad[0]}."
        )
    return weights


def per_sample(values: Any, n_samples: int | None, name: str) -> NDArray[np.float64]:
    """Return one number for each sample as a float array; any length where `n_samples` is None."""
    allowed = "one number for each sample" if n_samples is None else f"one number for each of {n_samples} samples"
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold {allowed}; got {shown(values)}.") from None
    if array.ndim != 1 or (n_samples is not None and len(array) != n_samples):
        raise ValueError(f"{name} must hold {allowed}; got shape {array.shape}.")
    return array


def same_shape(array: NDArray[Any], name: str, shape: tuple[int, ...], as_what: str) -> None:
    """Reject an array of another shape."""
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape of {as_what}, {shape}; got {array.shape}.")


def instabilities(values: Any) -> NDArray[np.float64]:
    """Return the instability of each point, shares from 0 to 1, of at least one point."""
    array = per_sample(values, None, "instability")
    if not len(array) or not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"instability must hold numbers from 0 to 1, one for each point; got {shown(values)}.")
    return array


def epsilons(values: Any) -> NDArray[np.float64]:
    """Return epsilons above 0."""
    array = per_sample(values, None, "epsilons")
    if not len(array) or not (array > 0).all():
        raise ValueError(f"epsilons must hold numbers above 0; got {shown(values)}.")
    return array
