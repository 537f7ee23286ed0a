"""Every metric for several rules side by side."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from steadyset._base import set_validation, validation
from steadyset.metrics._estimate import UNDEFINED, Estimate, mean
from steadyset.metrics._inflation import FORMULAS, of_points
from steadyset.metrics._points import points
from steadyset.metrics._score_table import ScoreTable
from steadyset.selection import Rule, argmax_set

# Column, and which values are better.
_COLUMNS = {
    "rule": "",
    "correct_single": "higher",
    "size": "lower",
    "coverage": "higher",
    "u65": "higher",
    "u80": "higher",
    "superfluous_inflation": "lower",
}


def set_report(
    y_true: Any,
    sets: Any,
    proba: Any = None,
    *,
    classes: Any = None,
    sample_weight: Any = None,
    standard_error: str = "ratio",
) -> ScoreTable:
    """Measure several rules, or the sets of several models, on the same samples.

    Parameters
    ----------
    y_true : sequence of n_samples labels
        True labels: column numbers, or any labels where `classes` names the columns.
    sets : mapping from names to masks or rules, or a sequence of rules
        What to compare: bool masks of shape (n_samples, n_classes), or rules to apply to `proba`.
    proba : array of shape (n_samples, n_classes), or mapping from names to arrays, default=None
        The probabilities: one array for all, or one for each name. Without them rules cannot be applied, and
        superfluous inflation stays undefined.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.
    standard_error : {"ratio", "paper"}, default="ratio"
        The standard error of superfluous inflation; see :func:`superfluous_inflation`.

    Returns
    -------
    ScoreTable
        A row for each name with correct_single, size, coverage, u65, u80 and superfluous_inflation. What is undefined
        is NaN and prints as a dash, without a warning; the utilities are undefined where a set is empty.

    Examples
    --------
    >>> import steadyset as ss
    >>> proba = [[0.5, 0.45, 0.05], [0.45, 0.5, 0.05], [0.9, 0.1, 0.0], [0.1, 0.2, 0.7], [0.2, 0.2, 0.6]]
    >>> rules = {"argmax": ss.Argmax(), "inflated": ss.InflatedArgmax(0.1)}
    >>> table = ss.metrics.set_report(["a", "a", "a", "b", "c"], rules, proba, classes=["a", "b", "c"])
    >>> print(table)
    rule      correct_single ↑         size ↓     coverage ↑          u65 ↑          u80 ↑  superfluous_inflation ↓
    argmax       0.600 (0.219)  1.000 (0.000)  0.600 (0.219)  0.600 (0.219)  0.600 (0.219)                        –
    inflated     0.400 (0.219)  1.400 (0.219)  0.800 (0.179)  0.660 (0.163)  0.720 (0.166)            0.500 (0.354)
    """
    validation.choice(standard_error, "standard_error", FORMULAS)
    named = _named(sets)
    rows = []
    for name, made in named.items():
        scores = proba.get(name) if isinstance(proba, Mapping) else proba
        if isinstance(made, Rule):
            if scores is None:
                raise ValueError(f"proba must be given for rules; got none for {validation.shown(name)}.")
            made = np.asarray(made(scores))
        rows.append((name, *_measured(y_true, made, scores, classes, sample_weight, standard_error)))
    return ScoreTable(tuple(_COLUMNS), tuple(rows), tuple(_COLUMNS.values()))


def _named(sets: Any) -> dict[Any, Any]:
    if isinstance(sets, Mapping):
        return dict(sets)
    if isinstance(sets, Iterable):
        rules = list(sets)
        if all(isinstance(rule, Rule) for rule in rules):
            return {repr(rule): rule for rule in rules}
    raise TypeError(
        f"sets must be a mapping from names to masks or rules, or a sequence of rules; got {validation.shown(sets)}."
    )


def _measured(
    y_true: Any, sets: Any, proba: Any, classes: Any, sample_weight: Any, formula: str
) -> tuple[Estimate, ...]:
    found = points(y_true, sets, classes, sample_weight)
    inflation = UNDEFINED
    if proba is not None:
        top = np.asarray(argmax_set(proba))
        set_validation.same_shape(top, "proba", found.sets.shape, "sets")
        inflation = of_points(found, top, formula)
    values = [found.correct_single, found.sizes, found.covered]
    estimates = [mean(value, found.weights) for value in values]
    if found.sizes.all():
        utilities = [mean(found.utilities(pair), found.weights) for pair in validation.UTILITIES.values()]
    else:
        utilities = [UNDEFINED, UNDEFINED]
    return (*estimates, *utilities, inflation)
