"""Trees on disk: plain arrays and a manifest, each array in the smallest type that holds it, checked when read."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base.saved_folders import labels_from_json, labels_to_json, read_folder, write_folder
from steadyset.trees._columns import CATEGORY, FLOAT64, Columns
from steadyset.trees._settings import settings_of

if TYPE_CHECKING:
    from steadyset.trees._group import TreeGroup
    from steadyset.trees._tree import TreeClassifier

_KIND = "trees"
_ARRAYS = {
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


def write(folder: str | os.PathLike[str], group: "TreeGroup", overwrite: bool) -> None:
    """Write a group; children need no array, because nodes are numbered level by level."""
    tree, forest = group._prototype, group._forest
    arrays = forest.arrays()
    split = arrays["feature"] >= 0
    packed = {**arrays, "key": arrays["key"][split], "missing_left": np.packbits(arrays["missing_left"][split])}
    # A leaf of one class and weight 1 per row, as most are, needs no weight.
    plain = np.array_equal(np.add.reduceat(arrays["entry_weight"], _starts(arrays)), arrays["leaf_rows"])
    whole = plain and np.array_equal(arrays["entry_weight"], np.rint(arrays["entry_weight"]))
    if whole:
        packed["entry_weight"] = _smallest(arrays["entry_weight"].astype(np.int64))
        del packed["leaf_rows"]
    kept = {name: values if values.dtype.kind == "f" else _smallest(values) for name, values in packed.items()}
    write_folder(folder, _KIND, _about(group, tree, whole), kept, overwrite=overwrite)


def read(folder: str | os.PathLike[str]) -> "TreeGroup":
    """Read a group; whatever contradicts itself is refused."""
    from steadyset.trees._group import TreeGroup

    with read_folder(folder, _KIND, mapped=None, auto=False) as saved:
        tree = _prototype(saved.header("tree"))
        numbers, seeds = _whole_numbers(saved.header("numbers")), _whole_numbers(saved.header("seeds"))
        whole = saved.header("whole")
        if type(whole) is not bool or type(tree._columns.wide) is not bool:
            raise ValueError("its flags are not true or false")
        arrays = {name: saved.array(name) for name in _ARRAYS if not (whole and name == "leaf_rows")}
        forest = _native.TreesForest.make(
            **_unpacked(arrays),
            n_features=tree.n_features_in_,
            n_classes=len(tree.classes_),
            wide=tree._columns.wide,
        )
        if not numbers or len(set(numbers)) != len(numbers) or not len(numbers) == len(seeds) == forest.n_trees:
            raise ValueError("its trees are not numbered one by one")
        return TreeGroup(tree, numbers, seeds, forest)


def _starts(arrays: dict[str, Any]) -> NDArray[np.int64]:
    return np.asarray(np.cumsum(arrays["leaf_entries"]) - arrays["leaf_entries"])


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the smallest type that holds all of them."""
    kinds = (np.int8, np.int16, np.int32) if values.dtype.kind == "i" else (np.uint8, np.uint16, np.uint32)
    for kind in kinds:
        limits = np.iinfo(kind)
        if not values.size or (values.min() >= limits.min and values.max() <= limits.max):
            return values.astype(kind)
    return values


def _unpacked(saved: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that a forest is made of, in their types; the native code checks what they say."""
    for name, values in saved.items():
        if values.ndim != 1 or values.dtype.kind not in ("iuf" if name in ("entry_weight", "importances") else "iu"):
            raise ValueError(f"its array {name} is of another kind")
    split = saved["feature"] >= 0
    count = int(np.count_nonzero(split))
    if len(saved["key"]) != count or len(saved["missing_left"]) != (count + 7) // 8:
        raise ValueError("its splits are not those of its nodes")
    arrays = dict(saved)
    for name, values in (("key", saved["key"]), ("missing_left", np.unpackbits(saved["missing_left"], count=count))):
        arrays[name] = np.zeros(len(split), np.uint64)
        arrays[name][split] = values
    if "leaf_rows" not in arrays:
        entries = saved["leaf_entries"].astype(np.int64)
        if not entries.size or entries.min() < 1 or entries.sum() != len(saved["entry_weight"]):
            raise ValueError("its leaves hold other classes")
        arrays["leaf_rows"] = np.add.reduceat(saved["entry_weight"].astype(np.int64), np.cumsum(entries) - entries)
    return {name: np.ascontiguousarray(arrays[name], dtype) for name, dtype in _ARRAYS.items()}


def _about(group: "TreeGroup", tree: "TreeClassifier", whole: bool) -> dict[str, Any]:
    columns, params = tree._columns, tree.get_params(deep=False)
    params.pop("random_state")
    weight = params.pop("class_weight")
    if weight is not None and not isinstance(weight, str):
        weight = [
            [label.item() if isinstance(label, np.generic) else label, float(w)] for label, w in dict(weight).items()
        ]
    return {
        "numbers": list(group.numbers),
        "seeds": list(group.seeds),
        "whole": bool(whole),
        "tree": {
            "params": {
                name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()
            },
            "class_weight": weight,
            "classes": labels_to_json(tree.classes_),
            "kinds": columns.kinds.tolist(),
            "wide": columns.wide,
            "categories": [None if names is None else list(names) for names in columns.categories],
            "names": None if columns.names is None else list(columns.names),
        },
    }


def _prototype(said: Any) -> "TreeClassifier":
    """Return the estimator that a header describes, checked."""
    from steadyset.trees._tree import TreeClassifier

    weight = said["class_weight"]
    if isinstance(weight, list):
        weight = [(label, value) for label, value in weight]
    tree = TreeClassifier(**said["params"], class_weight=weight)
    tree.classes_ = labels_from_json(said["classes"])
    if len(set(tree.classes_.tolist())) != len(tree.classes_) or not 1 <= len(tree.classes_) <= 65_535:
        raise ValueError("its classes are not distinct")
    kinds, categories, names = said["kinds"], said["categories"], said["names"]
    if not isinstance(kinds, list) or not kinds or not all(type(k) is int and 0 <= k <= CATEGORY for k in kinds):
        raise ValueError("its columns are of no known kind")
    if len(categories) != len(kinds) or any(
        (k == CATEGORY) != (c is not None) for k, c in zip(kinds, categories, strict=True)
    ):
        raise ValueError("its categories are not those of its columns")
    if not all(order is None or _are_names(order) for order in categories):
        raise ValueError("its categories are not distinct")
    if names is not None and (len(names) != len(kinds) or not all(isinstance(name, str) for name in names)):
        raise ValueError("its columns have other names")
    tree.n_features_in_ = len(kinds)
    if names is not None:
        tree.feature_names_in_ = np.asarray(names, dtype=object)
    settings_of(tree, len(kinds))
    orders = tuple(None if order is None else tuple(order) for order in categories)
    tree._columns = Columns(np.array(kinds, np.uint8), said["wide"], orders, None if names is None else tuple(names))
    if FLOAT64 in kinds and not tree._columns.wide:
        raise ValueError("its keys are too narrow")
    return tree


def _are_names(order: Any) -> bool:
    plain = isinstance(order, list) and all(isinstance(name, str | int | float) and name == name for name in order)
    return plain and len(set(order)) == len(order)


def _whole_numbers(values: Any) -> list[int]:
    if not isinstance(values, list) or not all(type(value) is int and value >= 0 for value in values):
        raise ValueError("bag numbers and seeds must be whole numbers")
    return values
