"""Trees out of a forest's flat arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native


def split_trees(forest: _native.TreesForest) -> list[_native.TreesForest]:
    """Return each tree as a forest of its own."""
    if forest.n_trees == 1:
        return [forest]
    return [made(part, forest) for part in tree_arrays(forest)]


def tree_arrays(forest: _native.TreesForest) -> list[dict[str, Any]]:
    """Return the arrays of each tree."""
    arrays = forest.arrays()
    is_leaf = arrays["feature"] < 0
    nodes = np.concatenate([[0], np.cumsum(arrays["tree_nodes"])])
    leaves = np.concatenate([[0], np.cumsum(is_leaf)])[nodes]
    entries = np.concatenate([[0], np.cumsum(arrays["leaf_entries"])])[leaves]
    found = []
    for tree in range(forest.n_trees):
        of_nodes, of_leaves, of_entries = (slice(at[tree], at[tree + 1]) for at in (nodes, leaves, entries))
        part = {"tree_nodes": arrays["tree_nodes"][tree : tree + 1]}
        part |= {name: arrays[name][of_nodes] for name in ("feature", "key", "missing_left")}
        part |= {name: arrays[name][of_leaves] for name in ("leaf_rows", "leaf_entries")}
        part |= {name: arrays[name][of_entries] for name in ("entry_class", "entry_weight")}
        part["importances"] = arrays["importances"].reshape(forest.n_trees, -1)[tree]
        found.append(part)
    return found


def made(arrays: dict[str, Any], like: _native.TreesForest) -> _native.TreesForest:
    """Return a forest of these arrays with the features and classes of another."""
    owned: dict[str, Any] = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    return _native.TreesForest.make(**owned, **_sizes(like))


def state(forest: _native.TreesForest) -> dict[str, Any]:
    """Return all that a forest is made of, by the names of `TreesForest.make`."""
    return {**forest.arrays(), **_sizes(forest)}


def joined_arrays(parts: Sequence[dict[str, Any]], like: _native.TreesForest) -> _native.TreesForest:
    """Return the trees of several forests' arrays as one, with the features and classes of another."""
    return made({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, like)


def _sizes(forest: _native.TreesForest) -> dict[str, Any]:
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
