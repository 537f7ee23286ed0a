"""Scores of label sets: means and ratios over samples."""

from typing import Any

import numpy as np

from steadyset._base import set_validation, validation
from steadyset.metrics._estimate import Estimate, mean, warned
from steadyset.metrics._points import FORMULAS, points


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
    >>> import steadyset as ss
    >>> sets = [[True, False], [True, True], [False, True]]
    >>> ss.metrics.correct_single_score(["a", "a", "a"], sets, classes=["a", "b"])
    0.3333333333333333
    """
    found = points(y_true, sets, classes, sample_weight)
    return warned(mean(found.correct_single, found.weights), "correct_single_score")


def coverage_score(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> Estimate:
    """Return how often the set holds the true label.

    Parameters
    ----------
    y_true, sets, classes, sample_weight
        As in :func:`correct_single_score`.

    Returns
    -------
    Estimate
        A float from 0 to 1, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import steadyset as ss
    >>> sets = [[True, False], [True, True], [False, True]]
    >>> ss.metrics.coverage_score([0, 0, 0], sets)
    0.6666666666666666
    """
    found = points(y_true, sets, classes, sample_weight)
    return warned(mean(found.covered, found.weights), "coverage_score")


def mean_set_size(sets: Any, *, sample_weight: Any = None) -> Estimate:
    """Return the mean number of labels in a set.

    Parameters
    ----------
    sets, sample_weight
        As in :func:`correct_single_score`.

    Returns
    -------
    Estimate
        A float from 0 to n_classes with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.metrics.mean_set_size([[True, False], [True, True]])
    1.5
    """
    mask = set_validation.sample_sets(sets)
    weights = set_validation.sample_weights(sample_weight, len(mask))
    return warned(mean(mask.sum(axis=1), weights), "mean_set_size")


def utility_score(
    y_true: Any, sets: Any, *, utility: Any = "u65", classes: Any = None, sample_weight: Any = None
) -> Estimate:
    """Return the mean utility-discounted accuracy of the sets.

    A set S that holds the true label earns alpha/abs(S) - beta/abs(S)^2, any other set 0.

    Parameters
    ----------
    y_true, sets, classes, sample_weight
        As in :func:`correct_single_score`; no set may be empty.
    utility : {"u65", "u80"} or pair (alpha, beta), default="u65"
        u65 is (1.6, 0.6), u80 is (2.2, 1.2): a right pair of labels earns 0.65 or 0.80.

    Returns
    -------
    Estimate
        A float, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import steadyset as ss
    >>> sets = [[True, False], [True, True]]
    >>> round(ss.metrics.utility_score([0, 0], sets, utility=(2, 1)), 3)
    0.875
    """
    return warned(_mean_utility(y_true, sets, utility, classes, sample_weight), "utility_score")


def u65_score(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> Estimate:
    """Return the mean u65: 1 for the true label alone, 0.65 for a pair that holds it, less for larger sets.

    Parameters
    ----------
    y_true, sets, classes, sample_weight
        As in :func:`utility_score`.

    Returns
    -------
    Estimate
        A float from 0 to 1, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import steadyset as ss
    >>> round(ss.metrics.u65_score([0, 0], [[True, False], [True, True]]), 3)
    0.825
    """
    return warned(_mean_utility(y_true, sets, "u65", classes, sample_weight), "u65_score")


def u80_score(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> Estimate:
    """Return the mean u80: 1 for the true label alone, 0.80 for a pair that holds it, less for larger sets.

    Parameters
    ----------
    y_true, sets, classes, sample_weight
        As in :func:`utility_score`.

    Returns
    -------
    Estimate
        A float from 0 to 1, higher is better, with its `standard_error`; NaN with a warning where no sample counts.

    Examples
    --------
    >>> import steadyset as ss
    >>> round(ss.metrics.u80_score([0, 0], [[True, False], [True, True]]), 3)
    0.9
    """
    return warned(_mean_utility(y_true, sets, "u80", classes, sample_weight), "u80_score")


def _mean_utility(y_true: Any, sets: Any, utility: Any, classes: Any, sample_weight: Any) -> Estimate:
    pair = validation.utility(utility)
    found = points(y_true, sets, classes, sample_weight)
    set_validation.no_empty_set(found.sets)
    return mean(found.utilities(pair), found.weights)


def conflict_rate(sets_old: Any, sets_new: Any, *, n_common: int = 1, sample_weight: Any = None) -> Estimate:
    """Return how often the new set shares no label with the old one, or fewer than it has to.

    Parameters
    ----------
    sets_old, sets_new : bool arrays of shape (n_samples, n_classes)
        Label sets of the same samples before and after, with the same columns. An empty set, which conformal
        prediction may give, conflicts with every set.
    n_common : int, default=1
        How many labels two sets must have in common not to conflict: the `n_common` of the rule that they come from,
        which is k for the inflated top k.
    sample_weight
        As in :func:`correct_single_score`.

    Returns
    -------
    Estimate
        A float from 0 to 1, lower is better, with its `standard_error`; NaN with a warning where no sample counts.

    Notes
    -----
    Theory: :doc:`/theory/metrics`.

    Examples
    --------
    >>> import steadyset as ss
    >>> old, new = [[0.51, 0.49], [0.9, 0.1]], [[0.49, 0.51], [0.8, 0.2]]
    >>> ss.metrics.conflict_rate(ss.argmax_set(old), ss.argmax_set(new))
    0.5
    >>> ss.metrics.conflict_rate(ss.inflated_argmax(old, epsilon=0.1), ss.inflated_argmax(new, epsilon=0.1))
    0.0
    """
    old, new = set_validation.sample_sets(sets_old, "sets_old"), set_validation.sample_sets(sets_new, "sets_new")
    set_validation.same_shape(new, "sets_new", old.shape, "sets_old")
    weights = set_validation.sample_weights(sample_weight, len(old))
    least = validation.count(n_common, "n_common")
    return warned(mean(np.count_nonzero(old & new, axis=1) < least, weights), "conflict_rate")


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
    y_true, sets, classes, sample_weight
        As in :func:`correct_single_score`.
    proba : array of shape (n_samples, n_classes)
        The probabilities that the sets come from; all their maximisers count as argmax.
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
    larger = (found.sizes >= 2) & (found.weights > 0)
    why = "no set of two labels or more holds its true label" if larger.any() else "no set has two labels"
    return warned(found.superfluous(proba, standard_error), "superfluous_inflation", why)
