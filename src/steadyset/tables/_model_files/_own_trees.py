"""Trees of this library: the native code checks the arrays of a forest, and here what an estimator says of it."""

from typing import Any

import numpy as np

from steadyset.tables._model_files._plan import Made
from steadyset.tables._model_files._refusal import array, count, insist, within

_CONTRADICTS = "a tree that contradicts its estimator"
_COLUMNS = "steadyset.trees._columns.Columns"
_TREE = "steadyset.trees._tree.TreeClassifier"
_CATEGORY = 3  # the last kind of column, as in native/trees/api.hpp


def check_columns(columns: Made) -> None:
    """Refuse columns of no known kind, or categories of other columns."""
    kinds = array(columns["kinds"], "u", 1, _CONTRADICTS)
    insist(kinds.dtype.itemsize == 1 and len(kinds) >= 1, _CONTRADICTS)
    within(kinds, 0, _CATEGORY + 1, _CONTRADICTS)
    insist(type(columns["wide"]) is bool, _CONTRADICTS)
    orders = columns["categories"]
    insist(isinstance(orders, tuple) and len(orders) == len(kinds), _CONTRADICTS)
    for kind, order in zip(kinds, orders, strict=True):
        insist((kind == _CATEGORY) == isinstance(order, tuple), _CONTRADICTS)
        insist(order is None or isinstance(order, tuple), _CONTRADICTS)


def check_estimator(tree: Made) -> None:
    """Refuse a tree of other columns or classes than its estimator has; the estimator of a group has no tree."""
    if "_forest" in tree.state:
        _check_forest(tree["_forest"], tree, 1)


def check_group(group: Made) -> None:
    """Refuse trees of other columns or classes than their estimator has, or another number of them than bags."""
    numbers, seeds, estimator = group["numbers"], group["seeds"], group["_prototype"]
    insist(isinstance(numbers, tuple) and isinstance(seeds, tuple) and 1 <= len(numbers) == len(seeds), _CONTRADICTS)
    insist(isinstance(estimator, Made) and estimator.type == _TREE, _CONTRADICTS)
    _check_forest(group["_forest"], estimator, len(numbers))
    insist(_same_labels(group["classes_"], estimator["classes_"]), _CONTRADICTS)


def _check_forest(forest: Any, estimator: Made, n_trees: int) -> None:
    columns, classes = estimator["_columns"], estimator["classes_"]
    insist(isinstance(columns, Made) and columns.type == _COLUMNS, _CONTRADICTS)
    n_features = count(estimator["n_features_in_"], _CONTRADICTS)
    insist(n_features == len(columns["kinds"]) == count(forest["n_features"], _CONTRADICTS), _CONTRADICTS)
    insist(isinstance(classes, np.ndarray) and classes.ndim == 1, _CONTRADICTS)
    insist(len(classes) == count(forest["n_classes"], _CONTRADICTS), _CONTRADICTS)
    insist(forest["wide"] is columns["wide"] and len(forest["tree_nodes"]) == n_trees, _CONTRADICTS)


def _same_labels(one: Any, other: Any) -> bool:
    return isinstance(one, np.ndarray) and one.dtype == other.dtype and bool(np.array_equal(one, other))
