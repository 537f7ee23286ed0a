"""Scores that are means over samples."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset.metrics._estimate import Estimate, mean, warn_undefined
from steadyset.metrics._points import points


def correct_single_score(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> Estimate:
    """Return how often the set is the true label alone.

    Parameters
    ----------
    y_true : sequence of n_samples labels
        True labels: column numbers, or any labels where `classes` names the columns.
    sets : bool array of shape (n_samples, n_classes)
        Label sets.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.

    Returns
    -------
    Estimate
        A float from 0 to 1, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> sets = np.array([[True, False], [True, True], [False, True]])
    >>> ss.metrics.correct_single_score(["a", "a", "a"], sets, classes=["a", "b"])
    0.3333333333333333
    """
    found = points(y_true, sets, classes, sample_weight)
    return _mean_or_warn("correct_single_score", found.correct_single, found.weights)


def coverage_score(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> Estimate:
    """Return how often the set holds the true label.

    Parameters
    ----------
    y_true : sequence of n_samples labels
        True labels: column numbers, or any labels where `classes` names the columns.
    sets : bool array of shape (n_samples, n_classes)
        Label sets.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.

    Returns
    -------
    Estimate
        A float from 0 to 1, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> sets = np.array([[True, False], [True, True], [False, True]])
    >>> ss.metrics.coverage_score([0, 0, 0], sets)
    0.6666666666666666
    """
    found = points(y_true, sets, classes, sample_weight)
    return _mean_or_warn("coverage_score", found.covered, found.weights)


def mean_set_size(sets: Any, *, sample_weight: Any = None) -> Estimate:
    """Return the mean number of labels in a set.

    Parameters
    ----------
    sets : bool array of shape (n_samples, n_classes)
        Label sets.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.

    Returns
    -------
    Estimate
        A float from 0 to n_classes with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> ss.metrics.mean_set_size(np.array([[True, False], [True, True]]))
    1.5
    """
    mask = set_validation.sample_sets(sets)
    weights = set_validation.sample_weights(sample_weight, len(mask))
    return _mean_or_warn("mean_set_size", mask.sum(axis=1), weights)


def utility_score(
    y_true: Any, sets: Any, *, utility: Any = "u65", classes: Any = None, sample_weight: Any = None
) -> Estimate:
    """Return the mean utility-discounted accuracy of the sets.

    A set S that holds the true label earns alpha/abs(S) - beta/abs(S)^2, any other set 0.

    Parameters
    ----------
    y_true : sequence of n_samples labels
        True labels: column numbers, or any labels where `classes` names the columns.
    sets : bool array of shape (n_samples, n_classes)
        Label sets, none empty.
    utility : {"u65", "u80"} or pair (alpha, beta), default="u65"
        u65 is (1.6, 0.6), u80 is (2.2, 1.2): a right pair of labels earns 0.65 or 0.80.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.

    Returns
    -------
    Estimate
        A float, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> sets = np.array([[True, False], [True, True]])
    >>> round(ss.metrics.utility_score([0, 0], sets, utility=(2, 1)), 3)
    0.875
    """
    return _utility("utility_score", y_true, sets, utility, classes, sample_weight)


def u65_score(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> Estimate:
    """Return the mean u65: 1 for the true label alone, 0.65 for a pair that holds it, less for larger sets.

    Parameters
    ----------
    y_true : sequence of n_samples labels
        True labels: column numbers, or any labels where `classes` names the columns.
    sets : bool array of shape (n_samples, n_classes)
        Label sets, none empty.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.

    Returns
    -------
    Estimate
        A float from 0 to 1, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> round(ss.metrics.u65_score([0, 0], np.array([[True, False], [True, True]])), 3)
    0.825
    """
    return _utility("u65_score", y_true, sets, "u65", classes, sample_weight)


def u80_score(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> Estimate:
    """Return the mean u80: 1 for the true label alone, 0.80 for a pair that holds it, less for larger sets.

    Parameters
    ----------
    y_true : sequence of n_samples labels
        True labels: column numbers, or any labels where `classes` names the columns.
    sets : bool array of shape (n_samples, n_classes)
        Label sets, none empty.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.

    Returns
    -------
    Estimate
        A float from 0 to 1, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> round(ss.metrics.u80_score([0, 0], np.array([[True, False], [True, True]])), 3)
    0.9
    """
    return _utility("u80_score", y_true, sets, "u80", classes, sample_weight)


def _utility(name: str, y_true: Any, sets: Any, utility: Any, classes: Any, sample_weight: Any) -> Estimate:
    pair = validation.utility(utility)
    found = points(y_true, sets, classes, sample_weight)
    set_validation.no_empty_set(found.sets)
    return _mean_or_warn(name, found.utilities(pair), found.weights, depth=1)


def _mean_or_warn(name: str, values: NDArray[Any], weights: NDArray[np.float64], depth: int = 0) -> Estimate:
    found = mean(values, weights)
    if math.isnan(found):
        warn_undefined(name, "no sample has a weight above 0", depth=depth + 1)
    return found
