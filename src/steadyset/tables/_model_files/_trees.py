"""Trees of scikit-learn: its compiled code follows children and features without looking."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.tables._model_files._plan import Made
from steadyset.tables._model_files._refusal import UnknownError, array, count, insist

_LEAF = -1
_OUTSIDE = "a tree whose nodes lead outside of it"
_CONTRADICTS = "a tree that contradicts its estimator"
_TREE = "sklearn.tree._tree.Tree"
_PRIOR = "sklearn.dummy.DummyClassifier"
_LOSSES = {True: ("HalfBinomialLoss", "ExponentialLoss"), False: ("HalfMultinomialLoss",)}  # by whether classes are two
_FIELDS = ("left_child", "right_child", "feature", "threshold")


def check_tree(tree: Made) -> None:
    """Refuse a Tree whose nodes are not one tree, root first, over its own features and classes."""
    insist(isinstance(tree.args, tuple) and len(tree.args) == 3 and isinstance(tree.state, dict), _OUTSIDE)
    n_features, n_outputs = count(tree.args[0], _OUTSIDE), count(tree.args[2], _OUTSIDE)
    n_classes = array(tree.args[1], "i", 1, _OUTSIDE)
    insist(len(n_classes) == n_outputs and bool((n_classes >= 1).all()), _OUTSIDE)
    nodes = tree["nodes"]
    insist(isinstance(nodes, np.ndarray) and nodes.ndim == 1 and nodes.dtype.names is not None, _OUTSIDE)
    insist(all(name in nodes.dtype.names for name in _FIELDS) and len(nodes) >= 1, _OUTSIDE)
    insist(count(tree["node_count"], _OUTSIDE) == len(nodes), _OUTSIDE)
    values = array(tree["values"], "f", 3, _OUTSIDE)
    insist(values.shape == (len(nodes), n_outputs, int(n_classes.max())), _OUTSIDE)
    left, right = nodes["left_child"].astype(np.int64), nodes["right_child"].astype(np.int64)
    leaf = left == _LEAF
    insist(bool(((right == _LEAF) == leaf).all()), _OUTSIDE)
    features = nodes["feature"][~leaf]
    insist(bool(((features >= 0) & (features < n_features)).all()), _OUTSIDE)
    insist(count(tree["max_depth"], _OUTSIDE, 0) == tree_depth(left, right, ~leaf), _OUTSIDE)


def tree_depth(left: NDArray[np.int64], right: NDArray[np.int64], inner: NDArray[np.bool_]) -> int:
    """Return the depth of a tree, given the children of its inner nodes; refuse what is none.

    Children come after their parent, and each node but the first is the child of exactly one.
    """
    n = len(inner)
    places = np.flatnonzero(inner)
    children = np.concatenate([left[places], right[places]])
    insist(bool((children > np.concatenate([places, places])).all() and (children < n).all()), _OUTSIDE)
    insist(len(children) == n - 1 and len(np.unique(children)) == n - 1, _OUTSIDE)
    depth, level = 0, places[:1] if n > 1 else places
    while level.size:
        depth += 1
        below = np.concatenate([left[level], right[level]])
        level = below[inner[below]]
    return depth


def check_estimator(estimator: Made) -> None:
    """Refuse a decision tree that reads other features, or gives other classes, than its estimator says."""
    tree = estimator["tree_"]
    insist(isinstance(tree, Made) and tree.type == _TREE, _CONTRADICTS)
    insist(count(estimator["n_features_in_"], _CONTRADICTS) == count(tree.args[0], _CONTRADICTS), _CONTRADICTS)
    n_outputs = count(estimator["n_outputs_"], _CONTRADICTS)
    insist(n_outputs == count(tree.args[2], _CONTRADICTS), _CONTRADICTS)
    if "classes_" not in estimator.state:  # a regressor
        insist(bool((tree.args[1] == 1).all()), _CONTRADICTS)
    elif n_outputs == 1:
        classes = count(estimator["n_classes_"], _CONTRADICTS)
        same = len(estimator["classes_"]) == classes == int(tree.args[1][0])
        insist(same and estimator["classes_"].ndim == 1, _CONTRADICTS)


def check_forest(forest: Made) -> None:
    """Refuse a forest whose trees read other features or give other classes than it says: they get rows unchecked."""
    members = forest["estimators_"]
    insist(isinstance(members, list) and len(members) >= 1, _CONTRADICTS)
    for member in members:
        _check_member(member, forest)
        insist(_same_count(member, forest, "n_classes_"), _CONTRADICTS)
    insist(len(forest["classes_"]) == count(forest["n_classes_"], _CONTRADICTS), _CONTRADICTS)


def check_boosting(ensemble: Made) -> None:
    """Refuse stages of gradient boosting that are not one regression tree per column of the scores."""
    stages = ensemble["estimators_"]
    columns = count(ensemble.get("n_trees_per_iteration_", stages.shape[-1]), _CONTRADICTS)
    insist(isinstance(stages, np.ndarray) and stages.dtype == object and stages.ndim == 2, _CONTRADICTS)
    n_classes = count(ensemble["n_classes_"], _CONTRADICTS)
    insist(stages.shape[1] == columns == (1 if n_classes == 2 else n_classes), _CONTRADICTS)
    insist(len(ensemble["classes_"]) == n_classes and len(stages) >= 1, _CONTRADICTS)
    _check_start(ensemble, n_classes)
    for member in stages.flat:
        _check_member(member, ensemble)
        tree = member["tree_"]
        insist(count(tree.args[2], _CONTRADICTS) == 1 and int(tree.args[1][0]) == 1, _CONTRADICTS)


def _check_start(ensemble: Made, n_classes: int) -> None:
    """Refuse first scores of other columns than the trees add to: compiled code does not look whether they are there.

    They are zeros or the shares of the classes; other estimators to begin with are not known here.
    """
    start, loss = ensemble["init_"], ensemble["_loss"]
    names = [f"sklearn._loss.loss.{name}" for name in _LOSSES[n_classes == 2]]
    insist(isinstance(loss, Made) and loss.type in names, _CONTRADICTS)
    if start == "zero":
        return
    if not isinstance(start, Made) or start.type != _PRIOR or start["_strategy"] != "prior":
        raise UnknownError
    insist(count(start["n_outputs_"], _CONTRADICTS) == 1, _CONTRADICTS)
    insist(array(start["class_prior_"], "f", 1, _CONTRADICTS).shape == (n_classes,), _CONTRADICTS)


def _check_member(member: Any, ensemble: Made) -> None:
    inside = isinstance(member, Made) and member.type.startswith("sklearn.tree._classes.")
    insist(inside and isinstance(member.get("tree_"), Made), _CONTRADICTS)
    insist(_same_count(member, ensemble, "n_features_in_"), _CONTRADICTS)
    insist(count(member["n_outputs_"], _CONTRADICTS) == 1, _CONTRADICTS)


def _same_count(one: Made, other: Made, name: str) -> bool:
    return count(one[name], _CONTRADICTS) == count(other[name], _CONTRADICTS)
