"""The same sets seen by size, by true class and by pairs of labels."""

from typing import Any

import numpy as np

from steadyset._base import set_validation
from steadyset.metrics._estimate import mean, ratio
from steadyset.metrics._points import points
from steadyset.metrics._score_table import ScoreTable


def by_size(y_true: Any, sets: Any, *, classes: Any = None, sample_weight: Any = None) -> ScoreTable:
    """Return, for each size of set, how common it is and how often such sets hold the true label.

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
    ScoreTable
        Columns size, n_sets, share and coverage; only sizes that occur.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> sets = np.array([[True, False], [True, True], [False, True]])
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
    ScoreTable
        A row for each class: n_samples, correct_single, coverage and size over its own samples; named_wrongly is the
        share of the other classes' samples whose set holds the label. NaN where a class has no samples.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> sets = np.array([[True, False], [True, True], [False, True]])
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
    ScoreTable
        A row for each pair that shares a set, the most common first: pair, n_sets, share (of all samples), and the
        shares of those sets in which the first, the second or neither is the true label.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> sets = np.array([[True, True, False], [True, True, False], [False, True, True]])
    >>> table = ss.metrics.by_pair(["cat", "dog", "cat"], sets, classes=["cat", "dog", "fox"])
    >>> table["pair"]
    (('cat', 'dog'), ('dog', 'fox'))
    >>> table["first_right"], table["second_right"], table["neither_right"]
    ((0.5, 0.0), (0.5, 0.0), (0.0, 1.0))
    """
    found = points(y_true, sets, classes, sample_weight)
    labels = set_validation.class_labels(classes, found.sets.shape[1])
    counts = found.sets.astype(np.int64).T @ found.sets
    first, second = np.nonzero(np.triu(counts, 1))
    order = np.argsort(-counts[first, second], kind="stable")
    rows = []
    for a, b in zip(first[order], second[order], strict=True):
        together = (found.sets[:, a] & found.sets[:, b]).astype(float)
        right = (found.columns == a, found.columns == b, (found.columns != a) & (found.columns != b))
        shares = (ratio(together * value, together, found.weights) for value in right)
        rows.append(((labels[a], labels[b]), int(counts[a, b]), mean(together, found.weights), *shares))
    columns = ("pair", "n_sets", "share", "first_right", "second_right", "neither_right")
    return ScoreTable(columns, tuple(rows), ("",) * len(columns))
