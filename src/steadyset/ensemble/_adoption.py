"""Members trained elsewhere: their rows and labels are known, how their bags were drawn is not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.utils.validation import check_is_fitted

from steadyset._base import validation
from steadyset._base.sklearn_doors import n_training_rows
from steadyset.bags import Bags
from steadyset.ensemble._members import Member


@dataclass(frozen=True)
class Adopted:
    """Members, their bags, the label space, and an unfitted estimator that stands for them, where there is one."""

    members: list[Member]
    bags: Bags
    classes: NDArray[Any]
    template: Any = None


def adopt(fitted: Any, rows: Any, n_samples: int | None, classes: Any) -> Adopted:
    """Return what is known of members that were trained elsewhere."""
    if isinstance(fitted, RandomForestClassifier | ExtraTreesClassifier | BaggingClassifier):
        for name, value in (("rows", rows), ("n_samples", n_samples), ("classes", classes)):
            if value is not None:
                came = validation.shown(value)
                raise ValueError(f"{name} must be left out for a fitted ensemble, which knows it; got {came}.")
        check_is_fitted(fitted)
        return _adopt_ensemble(fitted)
    if not isinstance(fitted, list | tuple) or not fitted:
        raise TypeError(
            "fitted must be a fitted forest, a fitted BaggingClassifier or a list of fitted classifiers; "
            f"got {validation.shown(fitted)}."
        )
    return _adopt_list(list(fitted), rows, n_samples, classes)


def _adopt_ensemble(fitted: Any) -> Adopted:
    labels = np.asarray(fitted.classes_)
    if labels.dtype == object and any(np.ndim(c) for c in labels):
        raise ValueError("fitted must predict one label per point; got a multi-output ensemble.")
    bags = Bags.from_rows(fitted.estimators_samples_, n_training_rows(fitted))
    all_columns = np.arange(len(labels))
    features = getattr(fitted, "estimators_features_", [None] * len(fitted.estimators_))
    members = []
    for number, (estimator, seen) in enumerate(zip(fitted.estimators_, features, strict=True)):
        everything = seen is None or np.array_equal(seen, np.arange(fitted.n_features_in_))
        own = None if everything else np.asarray(seen)
        codes = np.asarray(getattr(estimator, "classes_", all_columns)).astype(np.intp)  # what it was trained on
        members.append(Member(estimator, codes, len(labels), (number,), own, codes))
    return Adopted(members, bags, labels, getattr(fitted, "estimator_", None))


def _adopt_list(fitted: list[Any], rows: Any, n_samples: int | None, classes: Any) -> Adopted:
    if rows is None or n_samples is None:
        raise ValueError("rows and n_samples must be given with a list of members; got None.")
    if len(rows) != len(fitted):
        raise ValueError(f"rows must name the rows of each of the {len(fitted)} members; got {len(rows)} of them.")
    for number, member in enumerate(fitted):
        if not hasattr(member, "classes_"):
            raise ValueError(
                f"fitted must hold fitted classifiers with classes_; got {validation.shown(member)} as member {number}."
            )
    known = np.unique(np.concatenate([np.asarray(m.classes_) for m in fitted]))
    space = known if classes is None else np.unique(validation.classes(classes))
    unknown = known[~np.isin(known, space)]
    if len(unknown):
        raise ValueError(f"classes must hold every label that a member knows; got none for {unknown[0]!r}.")
    bags = Bags.from_rows(rows, n_samples)
    members = []
    for number, member in enumerate(fitted):
        columns = np.searchsorted(space, np.asarray(member.classes_))
        members.append(Member(member, columns, len(space), (number,)))
    return Adopted(members, bags, space)
