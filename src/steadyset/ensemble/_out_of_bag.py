"""What the bags that do not hold a training row say of it."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.rows import as_rows
from steadyset._base.sklearn_doors import num_samples
from steadyset.ensemble._row_groups import BagRows


def mean_probabilities(
    bag_probabilities: Iterable[tuple[int, NDArray[Any]]], bag_rows: BagRows, n: int, n_classes: int
) -> NDArray[np.float64]:
    """Return for each training row the mean over the bags that do not hold it, NaN where every bag does.

    `bag_probabilities` are pairs of a bag number and its probabilities at the n training rows.
    """
    total, count = np.zeros((n, n_classes)), np.zeros(n)
    for number, proba in bag_probabilities:
        free = np.ones(n, bool)
        free[bag_rows[number]] = False
        total[free] += proba[free]
        count += free
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count[:, None])


def sets(proba: NDArray[np.float64], rule: Any) -> NDArray[np.bool_]:
    """Return the rule's sets; every row must have probabilities."""
    missing = np.flatnonzero(np.isnan(proba).any(axis=1))
    if len(missing):
        raise ValueError(f"every training row must be missing from some bag; got row {missing[0]} in all of them.")
    return validation.rule_mask(rule, proba)


def accuracy(proba: NDArray[np.float64], codes: NDArray[np.intp]) -> float:
    """Return the share of rows whose most probable column is their own, over those that some bag does not hold."""
    known = ~np.isnan(proba).any(axis=1)
    if not known.all():
        warnings.warn(
            "Some inputs do not have OOB scores, because every bag holds them: use more bags or smaller ones.",
            stacklevel=4,
        )
    return float(np.mean(np.argmax(proba[known], axis=1) == codes[known])) if known.any() else float("nan")


def check_training_rows(X: Any, n_rows: int) -> None:
    """Refuse rows that cannot be those of the fit."""
    n = num_samples(as_rows(X))
    if n != n_rows:
        raise ValueError(f"X must be the {n_rows} training rows in the order of the fit; got {n} rows.")


def keep_for_covering(model: Any, proba: NDArray[np.float64], y: Any) -> None:
    """Keep the out-of-bag probabilities of the rows' own labels in a fitted model, as `oob_score=True` does."""
    columns = np.searchsorted(model.classes_, np.asarray(y))
    model.oob_label_proba_ = proba[np.arange(len(proba)), columns]


def label_proba_for_covering(model: Any) -> NDArray[np.float64]:
    """Return what the bags that leave a training row out say of its own label; an error where it was not kept."""
    if "group_rows_" in vars(model):
        raise ValueError("groups must be None in a fit for predict_covering_set; got a fit whose bags hold groups.")
    if "oob_label_proba_" not in vars(model):
        raise ValueError(
            "oob_score must be True in a fit for predict_covering_set, which rests on the out-of-bag probabilities of "
            "the training rows; got False."
        )
    kept, n = np.asarray(model.oob_label_proba_), model.bags_.n_samples
    in_range = kept.shape == (n,) and kept.dtype == np.float64 and not np.any((kept < 0) | (kept > 1 + 1e-6))
    if not in_range or not np.array_equal(np.isnan(kept), model.bags_.counts == model.bags_.n_bags):
        raise ValueError(
            f"oob_label_proba_ must hold a probability for each of the {n} training rows that some bag does not hold, "
            "NaN for the others; got something else."
        )
    return kept
