"""Trees out of a forest's flat arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native


def split_trees(forest: _native.TreesForest) -> list[_native.TreesForest]:
    """Return each tree as a forest of its own."""
    if forest.n_trees == 1:
        return [forest]
    arrays = TreeArrays(forest)
    return [made(arrays.trees(tree, tree + 1), forest) for tree in range(forest.n_trees)]


class TreeArrays:
    """The arrays of a forest, to be cut between trees."""

    def __init__(self, forest: _native.TreesForest) -> None:
        self._arrays = arrays = forest.arrays()
        self._nodes = np.concatenate([[0], np.cumsum(arrays["tree_nodes"])])
        self._leaves = np.concatenate([[0], np.cumsum(arrays["feature"] < 0)])[self._nodes]
        self._entries = np.concatenate([[0], np.cumsum(arrays["leaf_entries"])])[self._leaves]
        self._importances = arrays["importances"].reshape(forest.n_trees, -1)

    def trees(self, first: int, last: int) -> dict[str, Any]:
        """Return the arrays of trees first to last - 1."""
        ends = (self._nodes, self._leaves, self._entries)
        of_nodes, of_leaves, of_entries = (slice(at[first], at[last]) for at in ends)
        part = {"tree_nodes": self._arrays["tree_nodes"][first:last]}
        part |= {name: self._arrays[name][of_nodes] for name in ("feature", "key", "missing_left")}
        part |= {name: self._arrays[name][of_leaves] for name in ("leaf_rows", "leaf_entries")}
        part |= {name: self._arrays[name][of_entries] for name in ("entry_class", "entry_weight")}
        part["importances"] = self._importances[first:last].reshape(-1)
        return part


def made(arrays: dict[str, Any], like: _native.TreesForest) -> _native.TreesForest:
    """Return a forest of these arrays with the features and classes of another."""
    owned: dict[str, Any] = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    return _native.TreesForest.make(**owned, **sizes(like))


def sizes(forest: _native.TreesForest) -> dict[str, Any]:
    """Return what `TreesForest.make` takes besides arrays."""
    return {"n_features": forest.n_features, "n_classes": forest.n_classes, "wide": forest.wide}


def importances(forest: _native.TreesForest) -> NDArray[np.float64]:
    """Return the share of each feature in the decrease of impurity of each tree, (trees, features)."""
    raw = np.asarray(forest.arrays()["importances"]).reshape(forest.n_trees, -1).clip(min=0)
    totals = raw.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(raw, totals, out=np.zeros_like(raw), where=totals > 0))


def children(feature: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the left child of each node of a tree, -1 for leaves; the right child follows it."""
    split = feature >= 0
    return np.where(split, 2 * np.cumsum(split) - 1, -1)
