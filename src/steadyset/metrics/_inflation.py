"""Superfluous inflation: were the larger sets needed?"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset.metrics._estimate import Estimate, ratio, warn_undefined
from steadyset.metrics._points import Points, points
from steadyset.selection import argmax_set

FORMULAS = ("ratio", "paper")


def superfluous_inflation(
    y_true: Any,
    sets: Any,
    proba: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
    standard_error: str = "ratio",
) -> Estimate:
    """Return how often the argmax was right where the set had two labels or more, relative to the set itself.

    The share of sets of two labels or more whose argmax holds the true label, over the share of those that hold it.
    Near 1 the further labels bought nothing: the argmax alone was right as often.

    Parameters
    ----------
    y_true : sequence of n_samples labels
        True labels: column numbers, or any labels where `classes` names the columns.
    sets : bool array of shape (n_samples, n_classes)
        Label sets.
    proba : array of shape (n_samples, n_classes)
        The probabilities that the sets come from; all their maximisers count as argmax.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.
    standard_error : {"ratio", "paper"}, default="ratio"
        "ratio" is the standard error of a ratio of sums. "paper" is the formula behind the paper's table,
        sqrt(r (1 - r) / n_samples), which counts all samples instead of those in the denominator and so is too small;
        it is for comparison only, and NaN where r is above 1.

    Returns
    -------
    Estimate
        A float, lower is better, with its `standard_error`. Undefined, which is NaN with a warning, where no set of
        two labels or more holds its true label.

    Notes
    -----
    Theory: :doc:`/theory/metrics`.

    Examples
    --------
    >>> import steadyset as ss
    >>> proba = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.9, 0.1, 0.0]]
    >>> sets = ss.inflated_argmax(proba, epsilon=0.2)
    >>> ss.metrics.superfluous_inflation([0, 0, 0], sets, proba)
    0.5
    """
    validation.choice(standard_error, "standard_error", FORMULAS)
    found = points(y_true, sets, classes, sample_weight)
    top = np.asarray(argmax_set(proba))
    set_validation.same_shape(top, "proba", found.sets.shape, "sets")
    inflation = of_points(found, top, standard_error)
    if math.isnan(inflation):
        larger = (found.sizes >= 2) & (found.weights > 0)
        why = "no set of two labels or more holds its true label" if larger.any() else "no set has two labels"
        warn_undefined("superfluous_inflation", why)
    return inflation


def of_points(found: Points, top: NDArray[np.bool_], formula: str) -> Estimate:
    """Return the ratio for checked points and their argmax sets, NaN where it is undefined."""
    larger = found.sizes >= 2
    right_top = top[np.arange(len(top)), found.columns] & larger
    estimate = ratio(right_top.astype(float), (found.covered & larger).astype(float), found.weights)
    if formula == "ratio" or math.isnan(estimate):
        return estimate
    r, share = float(estimate), np.sum(found.weights**2) / np.sum(found.weights) ** 2  # 1/N for equal weights
    return Estimate(r, math.sqrt(r * (1 - r) * share) if r <= 1 else math.nan)
