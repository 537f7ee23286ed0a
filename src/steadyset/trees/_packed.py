"""The arrays of a forest in few bytes, as files and pickles have them, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset.trees._arrays import sizes

ARRAYS = {
    "tree_nodes": np.int64,
    "feature": np.int32,
    "key": np.uint64,
    "missing_left": np.uint8,
    "leaf_rows": np.int64,
    "leaf_entries": np.int64,
    "entry_class": np.int32,
    "entry_weight": np.float64,
    "importances": np.float64,
}


def packed(forest: _native.TreesForest) -> dict[str, NDArray[Any]]:
    """Return the arrays of a forest: keys of splits alone, bits, and each array in the smallest type that holds it.

    Children need no array, because nodes are numbered level by level, and rows of leaves none where weights tell them.
    """
    arrays = forest.arrays()
    split = np.flatnonzero(arrays["feature"] >= 0)
    arrays["key"], arrays["missing_left"] = arrays["key"][split], np.packbits(arrays["missing_left"][split])
    # A leaf of weight 1 per row, as most are, needs no number of rows.
    rows = np.add.reduceat(arrays["entry_weight"], _starts(arrays["leaf_entries"]))
    if np.array_equal(rows, arrays["leaf_rows"]):
        weight = arrays["entry_weight"].astype(np.int64)
        if np.array_equal(weight, arrays["entry_weight"]):
            arrays["entry_weight"] = weight
            del arrays["leaf_rows"]
    return {name: values if values.dtype.kind == "f" else _smallest(values) for name, values in arrays.items()}


def unpacked(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that a forest is made of, in their types; the native code checks what they say."""
    of_forest = {name: values for name, values in arrays.items() if name in ARRAYS}
    for name, values in of_forest.items():
        kinds = "iuf" if name in ("entry_weight", "importances") else "iu"
        if values.ndim != 1 or values.dtype.kind not in kinds or (name == "missing_left" and values.dtype != np.uint8):
            raise ValueError(f"its array {name} is of another kind")
    n_nodes, split = len(of_forest["feature"]), np.flatnonzero(of_forest["feature"] >= 0)
    if len(of_forest["key"]) != len(split) or len(of_forest["missing_left"]) != (len(split) + 7) // 8:
        raise ValueError("its splits are not those of its nodes")
    bits = np.unpackbits(of_forest["missing_left"], count=len(split))
    for name, values in (("key", of_forest["key"]), ("missing_left", bits)):
        of_forest[name] = np.zeros(n_nodes, ARRAYS[name])
        of_forest[name][split] = values
    if "leaf_rows" not in of_forest:
        entries, weight = of_forest["leaf_entries"].astype(np.int64), of_forest["entry_weight"].astype(np.int64)
        if not entries.size or entries.min() < 1 or entries.sum() != len(weight):
            raise ValueError("its leaves hold other classes")
        of_forest["leaf_rows"] = np.add.reduceat(weight, _starts(entries))
    return {name: np.ascontiguousarray(of_forest[name], dtype) for name, dtype in ARRAYS.items()}


def state(forest: _native.TreesForest) -> dict[str, Any]:
    """Return a forest as pickles have it."""
    return {**packed(forest), **sizes(forest)}


def forest_of(state: dict[str, Any]) -> _native.TreesForest:
    """Return the forest of a pickle; before arrays were packed, it had them as they are."""
    is_packed = len(state["key"]) != len(state["feature"])  # every tree has a leaf, which has no key
    return _native.TreesForest.make(**{**state, **unpacked(state)} if is_packed else state)


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.cumsum(counts) - counts)


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the smallest type that holds all of them."""
    kinds = (np.int8, np.int16, np.int32) if values.dtype.kind == "i" else (np.uint8, np.uint16, np.uint32)
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    for kind in kinds:
        limits = np.iinfo(kind)
        if low >= limits.min and high <= limits.max:
            return values.astype(kind)
    return values
