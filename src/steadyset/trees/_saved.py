"""Trees on disk: plain arrays and a manifest, each array in the smallest type that holds it, checked when read."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from steadyset import _native
from steadyset._base.saved_folders import labels_from_json, labels_to_json, read_folder, write_folder
from steadyset.trees import _packed
from steadyset.trees._columns import CATEGORY, FLOAT64, Columns
from steadyset.trees._settings import settings_of

if TYPE_CHECKING:
    from steadyset.trees._group import TreeGroup
    from steadyset.trees._tree import TreeClassifier

_KIND = "trees"


def write(folder: str | os.PathLike[str], group: "TreeGroup", overwrite: bool) -> None:
    """Write a group."""
    arrays = _packed.packed(group._forest)
    about = _about(group, group._prototype, whole="leaf_rows" not in arrays)
    write_folder(folder, _KIND, about, arrays, overwrite=overwrite)


def read(folder: str | os.PathLike[str]) -> "TreeGroup":
    """Read a group; whatever contradicts itself is refused."""
    from steadyset.trees._group import TreeGroup

    with read_folder(folder, _KIND, mapped=None, auto=False) as saved:
        tree = _prototype(saved.header("tree"))
        numbers, seeds = _whole_numbers(saved.header("numbers")), _whole_numbers(saved.header("seeds"))
        whole = saved.header("whole")
        if type(whole) is not bool or type(tree._columns.wide) is not bool:
            raise ValueError("its flags are not true or false")
        arrays = {name: saved.array(name) for name in _packed.ARRAYS if not (whole and name == "leaf_rows")}
        forest = _native.TreesForest.make(
            **_packed.unpacked(arrays),
            n_features=tree.n_features_in_,
            n_classes=len(tree.classes_),
            wide=tree._columns.wide,
        )
        if not numbers or len(set(numbers)) != len(numbers) or not len(numbers) == len(seeds) == forest.n_trees:
            raise ValueError("its trees are not numbered one by one")
        return TreeGroup(tree, numbers, seeds, forest)


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
        "whole": whole,
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
