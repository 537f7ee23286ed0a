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
from sklearn.utils.validation import check_consistent_length, has_fit_parameter, validate_data

from steadyset._base import validation
from steadyset._base.label_codes import encode
from steadyset._base.rows import as_rows
from steadyset._base.sklearn_doors import check_sample_weight, num_samples
from steadyset.bags import RowIds, coupling_of
from steadyset.ensemble import _promise, _row_ids
from steadyset.ensemble._promise import Units
from steadyset.ensemble._row_groups import RowGroups


@dataclass(frozen=True)
class FitInputs:
    """Checked training data; `codes` are the columns of the labels in `classes`."""

    X: Any
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    ids: RowIds
    fit_params: Mapping[str, Any]
    n_samples: int
    resampling: Literal["bootstrap", "subbagging"]
    bag_size: int
    n_bags: int
    groups: RowGroups | None = None  # where these are dropped together, `n_samples` and `bag_size` count groups


def check(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_ids: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    **fit_params: Any,
) -> FitInputs:
    """Check everything that can be known to be wrong before the first bag is fitted."""
    _promise.check_parameters(estimator)
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
    own = {"sample_ids": sample_ids, "groups": groups}
    params = _params_for_learner(estimator, rows, sample_weight, own, fit_params)
    together = None
    if groups is None:
        ids = _row_ids.chosen(sample_ids, rows, labels[codes], params)
    else:
        found = _row_ids.of_groups(sample_ids, groups, rows, labels[codes], params)
        ids, together = found.ids, found.rows
        n = together.n_groups
    resampling: Literal["bootstrap", "subbagging"] = "bootstrap" if estimator.bootstrap else "subbagging"
    plan = _promise.planned(estimator, Units(n, len(labels), resampling, coupling_of(resampling, ids), ids.unit))
    return FitInputs(rows, codes, labels, ids, params, n, resampling, plan.bag_size, plan.n_bags, together)


def _params_for_learner(
    estimator: Any, X: Any, sample_weight: Any, own: dict[str, Any], fit_params: dict[str, Any]
) -> Mapping[str, Any]:
    given = dict(fit_params)
    if sample_weight is not None:
        given["sample_weight"] = (
            check_sample_weight(sample_weight, X) if len(X.shape) == 2 else np.asarray(sample_weight)
        )
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(estimator, "fit", **own, **given)
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
    own = model._row_groups
    same = same and (own is data.groups is None or (own is not None and own.same_as(data.groups)))
    if not (same and bags.ids == data.ids):
        raise ValueError("warm_start must go on with the rows, ids, classes and bag size of the first fit; got others.")
    if n_bags < bags.n_bags:
        raise ValueError(
            f"n_estimators must be at least the {bags.n_bags} bags there are when warm_start=True; got {n_bags}."
        )
    if n_bags == bags.n_bags:
        warnings.warn("Warm-start fitting without increasing n_estimators does not fit new bags.", stacklevel=4)
    return list(model.groups_)
