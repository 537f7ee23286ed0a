"""Our trees as scikit-learn's."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from steadyset._base.sklearn_doors import made_tree
from steadyset.trees import _arrays
from steadyset.trees._columns import CATEGORY, FLOAT32, FLOAT64

if TYPE_CHECKING:
    from steadyset.trees._tree import TreeClassifier


def decision_tree(tree: "TreeClassifier") -> DecisionTreeClassifier:
    """Return a fitted DecisionTreeClassifier with the splits and classes of ours."""
    arrays = tree._forest.arrays()
    feature, entropy = arrays["feature"], tree.criterion == "entropy"
    left = _arrays.children(feature)
    rows, weights = _totals(arrays, left, len(tree.classes_))
    nodes = {
        "left_child": left,
        "right_child": np.where(left < 0, -1, left + 1),
        "feature": np.where(left < 0, -2, feature),
        "threshold": np.where(left < 0, -2.0, thresholds(tree, arrays)),
        "impurity": _impurities(weights, entropy),
        "n_node_samples": rows,
        "weighted_n_node_samples": weights.sum(axis=1),
        "missing_go_to_left": arrays["missing_left"],
    }
    made = DecisionTreeClassifier(**{n: v for n, v in tree.get_params(deep=False).items() if n != "random_state"})
    made.classes_, made.n_classes_, made.n_outputs_ = tree.classes_, len(tree.classes_), 1
    made.n_features_in_, made.max_features_ = tree.n_features_in_, tree.n_features_in_
    if hasattr(tree, "feature_names_in_"):
        made.feature_names_in_ = tree.feature_names_in_
    shares = weights / weights.sum(axis=1, keepdims=True)
    made.tree_ = made_tree(tree.n_features_in_, nodes, shares[:, None, :], _depth(left))
    return made


def thresholds(tree: "TreeClassifier", arrays: dict[str, Any]) -> NDArray[np.float64]:
    """Return the threshold of each split as a number: the value that its key stands for."""
    feature, key, wide = arrays["feature"].clip(min=0), arrays["key"], tree._columns.wide
    kinds = tree._columns.kinds[feature]
    bits = 64 if wide else 32
    unsigned: Any = np.uint64 if wide else np.uint32
    half = unsigned(1 << (bits - 1))
    narrow = key.astype(unsigned)
    as_float = np.where(narrow >= half, narrow ^ half, ~narrow).view(np.float64 if wide else np.float32)
    as_whole = (narrow ^ half).view(np.int64 if wide else np.int32)
    is_float = np.isin(kinds, (FLOAT32, FLOAT64, CATEGORY))
    values = np.where(is_float, as_float.astype(np.float64), as_whole.astype(np.float64))
    top = unsigned(2**bits - 2)  # only missing values go right
    return np.where(narrow == top, np.inf, values)


def _totals(arrays: dict[str, Any], left: NDArray[np.int64], n_classes: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows of each node, and their weights by class: children come after their node."""
    leaves = np.flatnonzero(left < 0)
    rows, weights = np.zeros(len(left), np.int64), np.zeros((len(left), n_classes))
    rows[leaves] = arrays["leaf_rows"]
    weights[np.repeat(leaves, arrays["leaf_entries"]), arrays["entry_class"]] = arrays["entry_weight"]
    for node in np.flatnonzero(left >= 0)[::-1]:
        child = left[node]
        rows[node] = rows[child] + rows[child + 1]
        weights[node] = weights[child] + weights[child + 1]
    return rows, weights


def _impurities(weights: NDArray[np.float64], entropy: bool) -> NDArray[np.float64]:
    shares = weights / weights.sum(axis=1, keepdims=True)
    if not entropy:
        return np.asarray(1 - (shares**2).sum(axis=1))
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=1))


def _depth(left: NDArray[np.int64]) -> int:
    depth = np.zeros(len(left), np.int64)
    for node in np.flatnonzero(left >= 0):
        depth[left[node] : left[node] + 2] = depth[node] + 1
    return int(depth.max())
