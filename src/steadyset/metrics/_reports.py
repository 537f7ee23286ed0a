"""Tables: every metric for several rules side by side, and one rule's sets by size, by true class and by pairs."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from steadyset._base import set_validation, validation
from steadyset._base.label_sets import label_pairs
from steadyset.metrics._estimate import UNDEFINED, Estimate, mean, ratio
from steadyset.metrics._points import FORMULAS, Points, points
from steadyset.metrics._score_table import ScoreTable
from steadyset.selection import Rule

# Column, and which values are better.
_COLUMNS = {
    "rule": "",
    "correct_single": "higher",
    "size": "lower",
    "empty": "lower",  # where a rule may leave sets empty
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
    y_true, classes, sample_weight
        As in :func:`correct_single_score`.
    sets : mapping from names to masks or rules, or a sequence of rules
        What to compare: bool masks of shape (n_samples, n_classes), or rules to apply to `proba`.
    proba : array of shape (n_samples, n_classes), or mapping from names to arrays, default=None
        The probabilities: one array for all, or one for each name. Without them rules cannot be applied, and
        superfluous inflation stays undefined.
    standard_error : {"ratio", "paper"}, default="ratio"
        The standard error of superfluous inflation; see :func:`superfluous_inflation`.

    Returns
    -------
    ScoreTable
        A row for each name with correct_single, size, coverage, u65, u80 and superfluous_inflation. What is undefined
        is NaN and prints as a dash, without a warning; the utilities are undefined where a set is empty. Where a rule
        may leave sets empty, or a mask does, there is a column `empty` too: the share of sets without a label.

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

    A conformal rule may say nothing at all; its union with another never does:

    >>> covering = ss.ConformalRule("lac", coverage=0.8, thresholds=(0.45,), n_calibration=(99,))
    >>> both = ss.Union(covering, ss.InflatedArgmax(0.1))
    >>> table = ss.metrics.set_report(["a", "a", "a", "b", "c"], [covering, both], proba, classes=["a", "b", "c"])
    >>> table["empty"]
    (0.4, 0.0)
    """
    validation.choice(standard_error, "standard_error", FORMULAS)
    rows, empty_shown = [], False
    for name, made in _named(sets).items():
        scores = proba.get(name) if isinstance(proba, Mapping) else proba
        if isinstance(made, Rule):
            if scores is None:
                raise ValueError(f"proba must be given for rules; got none for {validation.shown(name)}.")
            empty_shown |= made.may_be_empty
            made = np.asarray(made(scores))
        elif isinstance(made, type):
            raise TypeError(f"sets must be masks or rule objects; got {validation.shown(made)}.")
        found = points(y_true, made, classes, sample_weight)
        empty_shown |= not found.sizes.all()
        rows.append({"rule": name, **_measured(found, scores, standard_error)})
    columns = tuple(column for column in _COLUMNS if empty_shown or column != "empty")
    cells = tuple(tuple(row[column] for column in columns) for row in rows)
    return ScoreTable(columns, cells, tuple(_COLUMNS[column] for column in columns))


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


def _measured(found: Points, proba: Any, formula: str) -> dict[str, Estimate]:
    values = {
        "correct_single": found.correct_single,
        "size": found.sizes,
        "empty": np.equal(found.sizes, 0),
        "coverage": found.covered,
    }
    utilities = {
        name: mean(found.utilities(pair), found.weights) if found.sizes.all() else UNDEFINED
        for name, pair in validation.UTILITIES.items()
    }
    inflation = UNDEFINED if proba is None else found.superfluous(proba, formula)
    means = {name: mean(value, found.weights) for name, value in values.items()}
    return {**means, **utilities, "superfluous_inflation": inflation}


def by_size(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> ScoreTable:
    """Return, for each size of set, how common it is and how often such sets hold the true label.

    Parameters
    ----------
    y_true, sets, classes, sample_weight
        As in :func:`correct_single_score`.

    Returns
    -------
    ScoreTable
        Columns size, n_sets, share and coverage; only sizes that occur.

    Examples
    --------
    >>> import steadyset as ss
    >>> sets = [[True, False], [True, True], [False, True]]
    >>> print(ss.metrics.by_size([0, 0, 0], sets))
    size  n_sets          share     coverage ↑
    1          2  0.667 (0.272)  0.500 (0.354)
    2          1  0.333 (0.272)      1.000 (–)
    """
    found = points(y_true, sets, classes, sample_weight)
    rows = []
    for size in np.unique(found.sizes):
        here = (found.sizes == size).astype(float)
        coverage = ratio(here * found.covered, here, found.weights)
        rows.append((int(size), int(here.sum()), mean(here, found.weights), coverage))
    return ScoreTable(("size", "n_sets", "share", "coverage"), tuple(rows), ("", "", "", "higher"))


def by_class(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> ScoreTable:
    """Return, for each true class, how its own samples fare and how often other samples' sets hold its label.

    Parameters
    ----------
    y_true, sets, classes, sample_weight
        As in :func:`correct_single_score`.

    Returns
    -------
    ScoreTable
        A row for each class: n_samples, correct_single, coverage and size over its own samples; named_wrongly is the
        share of the other classes' samples whose set holds the label. NaN where a class has no samples.

    Examples
    --------
    >>> import steadyset as ss
    >>> sets = [[True, False], [True, True], [False, True]]
    >>> table = ss.metrics.by_class(["a", "a", "b"], sets, classes=["a", "b"])
    >>> table["class"], table["coverage"], table["named_wrongly"]
    (('a', 'b'), (1.0, 1.0), (0.0, 0.5))
    """
    found = points(y_true, sets, classes, sample_weight)
    labels = set_validation.class_labels(classes, found.sets.shape[1])
    rows = []
    for column, label in enumerate(labels):
        here = (found.columns == column).astype(float)
        values = (found.correct_single, found.covered, found.sizes)
        own = (ratio(here * value, here, found.weights) for value in values)
        others = ratio((1 - here) * found.sets[:, column], 1 - here, found.weights)
        rows.append((label, int(here.sum()), *own, others))
    return ScoreTable(
        ("class", "n_samples", "correct_single", "coverage", "size", "named_wrongly"),
        tuple(rows),
        ("", "", "higher", "higher", "lower", "lower"),
    )


def by_pair(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> ScoreTable:
    """Return which pairs of labels share sets, and how often each of the two is right there.

    Parameters
    ----------
    y_true, sets, classes, sample_weight
        As in :func:`correct_single_score`.

    Returns
    -------
    ScoreTable
        A row for each pair that shares a set, the most common first: pair, n_sets, share (of all samples), and the
        shares of those sets in which the first, the second or neither is the true label.

    Examples
    --------
    >>> import steadyset as ss
    >>> sets = [[True, True, False], [True, True, False], [False, True, True]]
    >>> table = ss.metrics.by_pair(["cat", "dog", "cat"], sets, classes=["cat", "dog", "fox"])
    >>> table["pair"]
    (('cat', 'dog'), ('dog', 'fox'))
    >>> table["first_right"], table["second_right"], table["neither_right"]
    ((0.5, 0.0), (0.5, 0.0), (0.0, 1.0))
    """
    found = points(y_true, sets, classes, sample_weight)
    labels = set_validation.class_labels(classes, found.sets.shape[1])
    counts, pairs = label_pairs(found.sets)
    rows = []
    for a, b in pairs:
        together = (found.sets[:, a] & found.sets[:, b]).astype(float)
        right = (found.columns == a, found.columns == b, (found.columns != a) & (found.columns != b))
        shares = (ratio(together * value, together, found.weights) for value in right)
        rows.append(((labels[a], labels[b]), int(counts[a, b]), mean(together, found.weights), *shares))
    columns = ("pair", "n_sets", "share", "first_right", "second_right", "neither_right")
    return ScoreTable(columns, tuple(rows), ("",) * len(columns))
