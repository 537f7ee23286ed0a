"""What `fit` is given, checked and encoded."""

import inspect
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
from steadyset._base.outside_rows import OutsideRows
from steadyset._base.rows import as_rows, is_plain
from steadyset._base.sklearn_doors import check_sample_weight, num_samples
from steadyset.bags import CodedLabels, RowIds, coupling_of
from steadyset.ensemble import _promise, _row_ids
from steadyset.ensemble._promise import BagPlan, Units
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


@dataclass(frozen=True)
class AsBefore:
    """What a refit keeps of a fit: its label space and, unless they break a promise, its bags; and the ids of then."""

    classes: NDArray[Any]
    bags: BagPlan
    ids: RowIds


def check(
    estimator: Any,
    X: Any,
    y: Any,
    before: AsBefore | None = None,
    /,
    *,
    sample_ids: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    **fit_params: Any,
) -> FitInputs:
    """Check everything that can be known to be wrong before the first bag is fitted; a refit keeps what was before."""
    _promise.check_parameters(estimator)
    if not isinstance(estimator.oob_score, bool | np.bool_):
        raise TypeError(f"oob_score must be True or False; got {validation.shown(estimator.oob_score)}.")
    if y is None:
        raise ValueError(
            f"y must be given: {type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    rows = as_rows(X)
    if is_plain(estimator, rows):
        estimator.n_features_in_ = rows.shape[1]
    else:
        rows = validate_data(estimator, rows, skip_check_array=True)
    if estimator.oob_score and isinstance(rows, OutsideRows):
        raise ValueError("oob_score must be False for rows that are not in memory, which every bag would have to read.")
    n = num_samples(rows)
    check_consistent_length(rows, y)
    if n < 2:
        raise ValueError(f"X must have at least 2 rows to draw bags from; got n_samples={n}.")
    codes, labels = encode(y, estimator.classes if before is None else before.classes)
    own = {"sample_ids": sample_ids, "groups": groups}
    params = _params_for_learner(estimator, rows, sample_weight, own, fit_params)
    together = None
    if groups is None:
        earlier = None if before is None else before.ids
        ids = _row_ids.chosen(sample_ids, rows, CodedLabels(labels, codes), params, earlier)
    else:
        found = _row_ids.of_groups(sample_ids, groups, rows, CodedLabels(labels, codes), params)
        ids, together = found.ids, found.rows
        n = together.n_groups
    resampling: Literal["bootstrap", "subbagging"] = "bootstrap" if estimator.bootstrap else "subbagging"
    units = Units(n, len(labels), resampling, coupling_of(resampling, ids), ids.unit)
    if before is None:
        plan = _promise.planned(estimator, units)
    else:
        plan = _promise.kept_or_planned(estimator, units, before.bags)
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
