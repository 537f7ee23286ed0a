"""Anything with rows and features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from steadyset._base.outside_rows import opened
from steadyset._base.validation import shown


def as_rows(X: Any, name: str = "X") -> Any:
    """Return X as something with rows: arrays, sparse matrices and frames as they are, all else as an array.

    Dask arrays become rows that are read as they are needed.
    """
    if issparse(X):
        return X.tocsr()  # not every format can be sliced by rows
    X = opened(X, name)
    rows = X if (hasattr(X, "shape") and hasattr(X, "dtype")) or hasattr(X, "columns") else np.asarray(X)
    if len(rows.shape) < 2:
        raise ValueError(
            f"{name} must have at least two axes, rows and features; got shape {tuple(rows.shape)}. "
            "Reshape your data: X.reshape(1, -1) is one row."
        )
    return rows


def is_plain(estimator: Any, X: Any) -> bool:
    """Return whether X is an array of numbers with rows and features, and the estimator knows no names of features.

    Nothing but the number of features is left to check then, and looking for names takes as long as a small tree.
    """
    plain = type(X) is np.ndarray and X.ndim >= 2 and X.dtype.kind in "biuf" and 0 not in X.shape
    return plain and "feature_names_in_" not in vars(estimator)


def bag_rows(bag: Any, number: int, n: int) -> NDArray[np.int64]:
    """Return the rows of one bag, checked."""
    rows = np.asarray(bag)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0:
        raise ValueError(f"bag {number} must hold at least one row number; got {shown(bag)}.")
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"bag {number} must hold row numbers from 0 to {n - 1}; got {rows.min()} to {rows.max()}.")
    return np.require(rows, np.int64, ["C", "A"])


def are_few(bags: Any, n_bags: int, most: float) -> bool:
    """Return whether some bags hold at most this many rows together."""
    if n_bags and n_bags * np.size(bags[0]) > most:  # most often all have one size, and getting them takes a while
        return False
    return sum(np.size(bags[b]) for b in range(n_bags)) <= most


def label_positions(y: NDArray[Any], classes: Any) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the place of each label among the classes, and these: distinct labels, or else those in y."""
    space = np.unique(y) if classes is None else np.asarray(classes)
    order = np.argsort(space, kind="stable")
    if space.ndim != 1 or len(np.unique(space)) != len(space):
        raise ValueError(f"classes must be different labels in one dimension; got {shown(classes)}.")
    places = order[np.searchsorted(space, y, sorter=order).clip(max=len(order) - 1)]
    unknown = space[places] != y
    if np.any(unknown):
        raise ValueError(f"y must hold labels in classes only; got {shown(y[unknown].tolist()[0])}.")
    return places, space


def known_codes(y: Any, space: Any) -> NDArray[np.intp] | None:
    """Return the place of each label in a sorted array of a few labels, in a fraction of the time that all checks take.

    None where a label is not there, or where labels are no plain array of whole numbers, bools or texts.
    """
    plain = type(y) is np.ndarray and type(space) is np.ndarray and y.ndim == space.ndim == 1
    if not plain or y.dtype.kind != space.dtype.kind or y.dtype.kind not in "biuU":
        return None
    if not 2 <= len(space) <= len(y) // 2 or not (space[1:] > space[:-1]).all():  # more are hardly labels
        return None
    in_a_row = y.dtype == space.dtype == np.intp and int(space[-1]) - int(space[0]) == len(space) - 1
    codes = y - space[0] if in_a_row else np.searchsorted(space, y)  # as 0, 1, ... mostly are
    if codes.min() < 0 or codes.max() >= len(space):
        return None
    return codes if (space[codes] == y).all() else None
