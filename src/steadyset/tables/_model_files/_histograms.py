"""Boosted histograms: their compiled code follows children, features and sets of categories without looking."""

from typing import Any

import numpy as np

from steadyset.tables._model_files._plan import Made
from steadyset.tables._model_files._refusal import UnknownError, array, count, insist
from steadyset.tables._model_files._trees import tree_depth

_OUTSIDE = "a tree whose nodes lead outside of it"
_CONTRADICTS = "a tree that contradicts its estimator"
_PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
_BINS = "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper"
_COLUMNS = "sklearn.compose._column_transformer.ColumnTransformer"
_FUNCTION = "sklearn.preprocessing._function_transformer.FunctionTransformer"
_STEPS = (_FUNCTION, "sklearn.preprocessing._encoders.OrdinalEncoder")
_FIELDS = ("left", "right", "feature_idx", "is_leaf", "is_categorical", "bitset_idx")
_WORDS = 8  # of a set of up to 256 categories


def check_predictor(predictor: Made) -> None:
    """Refuse a TreePredictor whose nodes are not one tree, root first, or name a set that it does not hold."""
    nodes = predictor["nodes"]
    insist(isinstance(nodes, np.ndarray) and nodes.ndim == 1 and nodes.dtype.names is not None, _OUTSIDE)
    insist(all(name in nodes.dtype.names for name in _FIELDS) and len(nodes) >= 1, _OUTSIDE)
    insist(bool(np.isin(nodes["is_leaf"], (0, 1)).all()), _OUTSIDE)
    inner = nodes["is_leaf"] == 0
    tree_depth(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), inner)
    insist(bool((nodes["feature_idx"][inner] >= 0).all()), _OUTSIDE)
    chosen = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)].astype(np.int64)
    for name in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
        sets = array(predictor[name], "u", 2, _OUTSIDE)
        insist(sets.shape[1] == _WORDS and sets.dtype.itemsize == 4, _OUTSIDE)
        insist(bool((chosen < len(sets)).all()), _OUTSIDE)


def check_bins(bins: Made) -> None:
    """Refuse a mapper of bins that knows other features than it has categories for."""
    categorical = array(bins["is_categorical_"], "bu", 1, _CONTRADICTS)
    thresholds = bins["bin_thresholds_"]
    insist(isinstance(thresholds, list | tuple) and len(thresholds) == len(categorical), _CONTRADICTS)
    for feature in np.flatnonzero(categorical):
        known = array(thresholds[feature], "fiu", 1, _CONTRADICTS)
        insist(bool(((known >= 0) & (known < 32 * _WORDS)).all()), _CONTRADICTS)


def check_boosting(ensemble: Made) -> None:
    """Refuse trees that read features, or categories of features, that the ensemble does not have."""
    n_features = count(ensemble["n_features_in_"], _CONTRADICTS)
    columns = count(ensemble["n_trees_per_iteration_"], _CONTRADICTS)
    n_classes = len(ensemble["classes_"])
    insist(columns == (1 if n_classes == 2 else n_classes), _CONTRADICTS)
    insist(ensemble.get("_in_fit", False) is False, _CONTRADICTS)  # else it would take rows for bins
    if ensemble["_preprocessor"] is not None:
        _check_preprocessor(ensemble["_preprocessor"], n_features)
    bins, stages = ensemble["_bin_mapper"], ensemble["_predictors"]
    insist(isinstance(bins, Made) and bins.type == _BINS and isinstance(stages, list), _CONTRADICTS)
    categorical = bins["is_categorical_"] != 0
    insist(len(categorical) == n_features, _CONTRADICTS)
    for stage in stages:
        insist(isinstance(stage, list) and len(stage) == columns, _CONTRADICTS)
        for predictor in stage:
            insist(isinstance(predictor, Made) and predictor.type == _PREDICTOR, _CONTRADICTS)
            _check_features(predictor, categorical)


def _check_preprocessor(columns: Any, n_features: int) -> None:
    """Refuse a preparation of rows that gives another number of columns: trees get its rows unchecked.

    It encodes some columns and checks the others, as fitting leaves it; other forms are not known here.
    """
    if not isinstance(columns, Made) or columns.type != _COLUMNS:
        raise UnknownError
    width = 0
    for _, step, chosen in columns["transformers_"]:
        if step == "drop":
            continue
        if not isinstance(step, Made) or step.type not in _STEPS:
            raise UnknownError
        if step.type == _FUNCTION and not _is_check(step["func"]):
            raise UnknownError
        width += int(array(chosen, "b", 1, _CONTRADICTS).sum())
    insist(width == n_features, _CONTRADICTS)


def _is_check(function: Any) -> bool:
    """Return whether a function is scikit-learn's check of arrays, which keeps their columns."""
    inner = function["func"] if isinstance(function, Made) and function.loader == "PartialNode" else function
    return isinstance(inner, Made) and inner.type == "sklearn.utils.validation.check_array"


def _check_features(predictor: Made, categorical: np.ndarray) -> None:
    nodes = predictor["nodes"]
    inner = nodes["is_leaf"] == 0
    features = nodes["feature_idx"][inner].astype(np.int64)
    insist(bool(((features >= 0) & (features < len(categorical))).all()), _CONTRADICTS)
    by_category = nodes["is_categorical"][inner] != 0
    insist(bool(categorical[features[by_category]].all()), _CONTRADICTS)
