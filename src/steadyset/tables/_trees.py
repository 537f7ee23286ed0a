"""Trees from a file, checked before they are followed: a child that is not there would lead outside the array."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.sklearn_doors import boosted_trees


def check(ensemble: Any) -> None:
    """Refuse an ensemble with a tree of scikit-learn whose nodes do not lead downwards to leaves."""
    for group in ensemble.groups_:
        for part in _parts(getattr(group, "estimator", None), 0):
            _check_part(part)


def _parts(thing: Any, depth: int) -> Iterator[Any]:
    """Yield whatever a fitted estimator is made of, as deep as ensembles of pipelines go."""
    if thing is None or depth > 8:
        return
    yield thing
    inner: Iterable[Any]
    if isinstance(thing, np.ndarray):
        inner = thing.flat if thing.dtype == object else ()
    elif isinstance(thing, dict):
        inner = thing.values()
    elif isinstance(thing, list | tuple):
        inner = thing
    elif type(thing).__module__.startswith(("sklearn.", "steadyset.")):
        inner = getattr(thing, "__dict__", {}).values()
    else:
        return
    for part in inner:
        holds = isinstance(part, list | tuple | dict | np.ndarray)
        if holds or hasattr(part, "__dict__") or hasattr(part, "node_count"):
            yield from _parts(part, depth + 1)


def _check_part(part: Any) -> None:
    kind = type(part).__name__
    if hasattr(part, "n_features_in_"):
        _check_width(part)
    if kind == "Tree":
        inside = part.children_left >= 0
        _check_children((part.children_left, part.children_right), inside, part.node_count)
        features = part.feature[inside]
        _require(bool(((features >= 0) & (features < part.n_features)).all()))
    elif kind == "TreePredictor":
        nodes = part.nodes
        inside = nodes["is_leaf"] == 0
        _check_children((nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)), inside, len(nodes))
        categorical = inside & (nodes["is_categorical"] != 0)
        _require(bool((nodes["bitset_idx"][categorical] < len(part.raw_left_cat_bitsets)).all()))


def _check_width(estimator: Any) -> None:
    """Refuse trees that ask for other features than the rows that will be handed to them."""
    width = int(estimator.n_features_in_)
    if hasattr(estimator, "tree_"):
        _require(estimator.tree_.n_features == width)
    trees = boosted_trees(estimator)
    _require(all(int(tree.nodes["feature_idx"].max(initial=0)) < width for tree in trees))
    if hasattr(estimator, "estimators_") and not hasattr(estimator, "estimators_features_"):
        inner = np.ravel(np.asarray(estimator.estimators_, object))
        _require(all(getattr(tree, "n_features_in_", width) == width for tree in inner))


def _check_children(sides: tuple[NDArray[Any], NDArray[Any]], inside: NDArray[np.bool_], n_nodes: int) -> None:
    places = np.arange(n_nodes)[inside]
    for children in sides:
        _require(len(children) == n_nodes and n_nodes > 0)
        _require(bool(((children[inside] > places) & (children[inside] < n_nodes)).all()))


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("it holds a tree whose nodes lead outside of it")
