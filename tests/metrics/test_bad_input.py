"""Bad input gets one sentence: the argument, what is allowed, what came."""

import numpy as np
import pytest

import steadyset as ss
from steadyset import metrics

SETS = np.array([[True, False, False], [True, True, False]])
GAPS = np.array([[True, False, False], [False, False, False]])
EMPTY = "{} must hold at least one label in each row; got an empty set in row 1."
BAD = {
    "lengths": (
        lambda: metrics.coverage_score([0, 1, 2], SETS),
        "y_true must have one label for each of the 2 rows of sets; got 3 labels.",
    ),
    "unknown label": (
        lambda: metrics.coverage_score(["a", "z"], SETS, classes=["a", "b", "c"]),
        "y_true must hold labels that classes names; got 'z' in row 1.",
    ),
    "labels without classes": (
        lambda: metrics.u65_score(["a", "b"], SETS),
        "y_true must hold column numbers from 0 to 2, or labels with classes naming the columns; got 'a' in row 0.",
    ),
    "column out of range": (
        lambda: metrics.correct_single_score([0, 3], SETS),
        "y_true must hold column numbers from 0 to 2, or labels with classes naming the columns; got 3 in row 1.",
    ),
    "negative column": (
        lambda: metrics.correct_single_score(np.array([-1, 0]), SETS),
        "y_true must hold column numbers from 0 to 2, or labels with classes naming the columns; got -1 in row 0.",
    ),
    "unhashable label": (
        lambda: metrics.coverage_score([[0], [1]], SETS),
        "y_true must hold column numbers from 0 to 2, or labels with classes naming the columns; got [0] in row 0.",
    ),
    "one label": (lambda: metrics.coverage_score("ab", SETS), "y_true must be a sequence of labels; got 'ab'."),
    "no sequence": (lambda: metrics.coverage_score(3, SETS), "y_true must be a sequence of labels; got 3."),
    "0-d y": (
        lambda: metrics.coverage_score(np.int64(3), SETS),
        "y_true must be a sequence of labels; got np.int64(3).",
    ),
    "too few classes": (
        lambda: metrics.coverage_score([0, 1], SETS, classes=["a"]),
        "classes must name each of the 3 columns; got 1 labels.",
    ),
    "classes twice": (
        lambda: metrics.coverage_score([0, 1], SETS, classes=["a", "b", "a"]),
        "classes must name each label once; got 'a' twice.",
    ),
    "classes unhashable": (
        lambda: metrics.coverage_score([0, 1], SETS, classes=["a", "b", []]),
        "classes must hold hashable labels; got [].",
    ),
    "mask of ints": (
        lambda: metrics.mean_set_size(SETS.astype(int)),
        "sets must be a bool array whose last axis is the labels; got dtype int64 and shape (2, 3).",
    ),
    "mask of labels": (
        lambda: metrics.coverage_score([0], [["a"]]),
        "sets must be a bool array whose last axis is the labels; got dtype <U1 and shape (1, 1).",
    ),
    "one set": (
        lambda: metrics.mean_set_size(SETS[0]),
        "sets must have two axes, samples and labels; got shape (3,).",
    ),
    "no labels": (
        lambda: metrics.mean_set_size(np.empty((2, 0), bool)),
        "sets must be a bool array whose last axis is the labels; got dtype bool and shape (2, 0).",
    ),
    "empty set, utility": (lambda: metrics.u80_score([0, 1], GAPS), EMPTY.format("sets")),
    "conflict shapes": (
        lambda: metrics.conflict_rate(SETS, SETS[:1]),
        "sets_new must have the shape of sets_old, (2, 3); got (1, 3).",
    ),
    "proba shape": (
        lambda: metrics.superfluous_inflation([0, 1], SETS, [[0.5, 0.5], [1, 0]]),
        "proba must have the shape of sets, (2, 3); got (2, 2).",
    ),
    "proba of nan": (
        lambda: metrics.superfluous_inflation([0, 1], SETS, SETS * np.nan),
        "proba must hold finite numbers only; got nan in row 0 of proba.",
    ),
    "standard error": (
        lambda: metrics.superfluous_inflation([0, 1], SETS, SETS * 1.0, standard_error="bootstrap"),
        'standard_error must be "ratio" or "paper"; got \'bootstrap\'.',
    ),
    "utility": (
        lambda: metrics.utility_score([0, 1], SETS, utility=(1, 2)),
        'utility must be "u65", "u80" or a pair (alpha, beta) of finite numbers with alpha > beta and alpha > 0; '
        "got (1, 2).",
    ),
    "negative weight": (
        lambda: metrics.coverage_score([0, 1], SETS, sample_weight=[1, -1]),
        "sample_weight must hold finite numbers that are at least 0; got -1 in row 1.",
    ),
    "nan weight": (
        lambda: metrics.coverage_score([0, 1], SETS, sample_weight=[np.nan, 1]),
        "sample_weight must hold finite numbers that are at least 0; got nan in row 0.",
    ),
    "weights too long": (
        lambda: metrics.mean_set_size(SETS, sample_weight=[1, 1, 1]),
        "sample_weight must hold one number for each of 2 samples; got shape (3,).",
    ),
    "weights of text": (
        lambda: metrics.mean_set_size(SETS, sample_weight=["a", "b"]),
        "sample_weight must hold one number for each of 2 samples; got ['a', 'b'].",
    ),
    "report of a mask": (
        lambda: metrics.set_report([0, 1], SETS[:1, :2]),
        "sets must be a mapping from names to masks or rules, or a sequence of rules; got array([[ True, False]]).",
    ),
    "rule without proba": (
        lambda: metrics.set_report([0, 1], {"a": ss.Argmax()}),
        "proba must be given for rules; got none for 'a'.",
    ),
    "report column": (
        lambda: metrics.by_size([0, 1], SETS)["sizes"],
        'column must be "size", "n_sets", "share" or "coverage"; got \'sizes\'.',
    ),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_one_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert str(caught.value) == sentence
