"""What `fit` is given, checked and encoded."""

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, has_fit_parameter, validate_data

from steadyset._base import validation
from steadyset._base.rows import as_rows
from steadyset._base.sklearn_doors import check_sample_weight, num_samples


@dataclass(frozen=True)
class FitInputs:
    """Checked training data; `codes` are the columns of the labels in `classes`."""

    X: Any
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    sample_ids: NDArray[Any] | None
    fit_params: Mapping[str, Any]
    n_samples: int
    resampling: Literal["bootstrap", "subbagging"]
    bag_size: int


def check(
    estimator: Any, X: Any, y: Any, *, sample_ids: Any = None, sample_weight: Any = None, **fit_params: Any
) -> FitInputs:
    """Check everything that can be known to be wrong before the first bag is fitted."""
    validation.count(estimator.n_estimators, "n_estimators")
    if not isinstance(estimator.oob_score, bool | np.bool_):
        raise TypeError(f"oob_score must be True or False; got {validation.shown(estimator.oob_score)}.")
    if y is None:
        raise ValueError(
            f"y must be given: {type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    rows = validate_data(estimator, as_rows(X), skip_check_array=True)
    n = num_samples(rows)
    check_consistent_length(rows, y)
    if n < 2:
        raise ValueError(f"X must have at least 2 rows to draw bags from; got n_samples={n}.")
    codes, labels = encode(y, estimator.classes)
    ids = None if sample_ids is None else validation.sample_ids(sample_ids, n)
    params = _params_for_learner(estimator, rows, sample_weight, sample_ids, fit_params)
    resampling: Literal["bootstrap", "subbagging"] = "bootstrap" if estimator.bootstrap else "subbagging"
    bag_size = validation.resolve_bag_size(estimator.max_samples, n, resampling, "max_samples")
    return FitInputs(rows, codes, labels, ids, params, n, resampling, bag_size)


def encode(y: Any, classes: Any) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the labels as columns of the label space, and that space, sorted."""
    labels = column_or_1d(y, warn=True)
    _reject_missing(labels)
    check_classification_targets(labels)
    seen = np.unique(labels)
    if classes is None:
        if len(seen) < 2:
            raise ValueError(
                "y must have at least 2 classes, or classes must name the label space; "
                f"got 1 class, {validation.shown(seen.tolist()[0])}."
            )
        space = seen
    else:
        space = np.unique(validation.classes(classes))
        unknown = seen[~np.isin(seen, space)]
        if len(unknown):
            raise ValueError(f"y must hold labels of classes only; got {validation.shown(unknown.tolist()[0])}.")
        if len(space) < 2:
            raise ValueError(f"classes must name at least 2 labels; got {validation.shown(list(space))}.")
    return np.searchsorted(space, labels).astype(np.intp), space


def _reject_missing(labels: NDArray[Any]) -> None:
    if labels.dtype.kind not in "fO":
        return
    floats = labels.dtype.kind == "f"
    bad = ~np.isfinite(labels) if floats else np.array([label is None or label != label for label in labels], bool)
    if bad.any():
        row = int(np.argmax(bad))
        kind = "infinity" if floats and np.isinf(labels[row]) else "NaN"
        raise ValueError(f"y must hold labels only, none missing: Input y contains {kind} in row {row}.")


def _params_for_learner(
    estimator: Any, X: Any, sample_weight: Any, sample_ids: Any, fit_params: dict[str, Any]
) -> Mapping[str, Any]:
    given = dict(fit_params)
    if sample_weight is not None:
        given["sample_weight"] = (
            check_sample_weight(sample_weight, X) if len(X.shape) == 2 else np.asarray(sample_weight)
        )
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(estimator, "fit", sample_ids=sample_ids, **given)
        return dict(routed.estimator.fit)
    learner = estimator._learner()
    if "sample_weight" in given and not _takes_weights(learner):
        raise ValueError(f"sample_weight must be left out for {type(learner).__name__}, whose fit does not take it.")
    return given


def _takes_weights(learner: Any) -> bool:
    if has_fit_parameter(learner, "sample_weight"):
        return True
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(learner.fit).parameters.values())


def groups_to_keep(model: Any, data: FitInputs, n_bags: int) -> list[Any]:
    """Return the groups that a fit to this many bags starts from: none, unless it is a warm start of the same fit."""
    if not model.warm_start or not hasattr(model, "groups_"):
        return []
    bags = model.bags_
    same = (bags.n_samples, bags.bag_size, bags.resampling) == (data.n_samples, data.bag_size, data.resampling)
    same = same and np.array_equal(model.classes_, data.classes)
    same = same and (bags.sample_ids is None) == (data.sample_ids is None)
    same = same and (data.sample_ids is None or np.array_equal(bags.sample_ids, data.sample_ids))
    if not same:
        raise ValueError("warm_start must go on with the rows, ids, classes and bag size of the first fit; got others.")
    if n_bags < bags.n_bags:
        raise ValueError(
            f"n_estimators must be at least the {bags.n_bags} bags there are when warm_start=True; got {n_bags}."
        )
    if n_bags == bags.n_bags:
        warnings.warn("Warm-start fitting without increasing n_estimators does not fit new bags.", stacklevel=4)
    return list(model.groups_)
