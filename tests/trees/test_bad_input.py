"""Bad input: one sentence, never a crash."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from steadyset import _native
from steadyset.trees import TreeClassifier

X, Y = np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "mse"}, 'criterion must be "gini" or "entropy"; got \'mse\'.'),
        ({"splitter": None}, 'splitter must be "best" or "random"; got None.'),
        ({"max_depth": 0}, "max_depth must be None or a whole number that is at least 1; got 0."),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be None or a whole number that is at least 2; got 1."),
        ({"min_samples_split": 1}, "min_samples_split must be a whole number from 2 to 2**53; got 1."),
        (
            {"min_samples_leaf": 1.0},
            "min_samples_leaf must be a whole number that is at least 1 or a share above 0 and at most 1; got 1.0.",
        ),
        (
            {"min_impurity_decrease": -1},
            "min_impurity_decrease must be a finite number that is at least 0; got -1.",
        ),
        (
            {"max_features": "all"},
            'max_features must be None, "sqrt", "log2", a whole number that is at least 1 or a share above 0 and at '
            "most 1; got 'all'.",
        ),
        ({"class_weight": "heavy"}, "class_weight must be None, \"balanced\" or a weight for each label; got 'heavy'."),
        ({"class_weight": {7: 2.0}}, "class_weight must name labels of y; got 7."),
        ({"random_state": -1}, "random_state must be a whole number from 0 to 2^64 - 1; got -1."),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError)) as error:
        TreeClassifier(**parameters).fit(X, Y)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinite_values(value, dtype):
    bad = X.astype(dtype)
    bad[3, 1] = value
    words = f"X must hold finite numbers or NaN; got {value} in row 3, column 1: Input X contains infinity."
    with pytest.raises(ValueError) as error:  # noqa: PT011
        TreeClassifier().fit(bad, Y)
    assert str(error.value) == words
    with pytest.raises(ValueError) as error:  # noqa: PT011
        TreeClassifier().fit(X, Y).predict(bad)
    assert str(error.value) == words


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("value", [[1], [1, 2], {"a": 1}, b"a"])
def test_columns_of_neither_numbers_nor_strings(frame, value):
    message = f"X must hold numbers, strings or categories in column 'x'; got {value}."
    with pytest.raises(ValueError, match=re.escape(message)):
        TreeClassifier().fit(frame({"x": [value] * len(Y)}), Y)


def test_a_column_that_is_all_missing_is_constant():
    bad = X.copy()
    bad[:, 0] = np.nan
    tree = TreeClassifier().fit(bad, Y)
    assert tree.score(bad, Y) == 1
    assert tree.feature_importances_.tolist() == [0.0, 1.0]


def test_weights_that_sum_to_zero():
    with pytest.raises(ValueError, match=r"^Sample weights must contain at least one non-zero number\.$"):
        TreeClassifier().fit(X, Y, sample_weight=np.zeros(6))
    with pytest.raises(ValueError, match=r"^sample_weight must have a sum above 0 in every bag; got 0 in bag 1\.$"):
        list(TreeClassifier().fit_bags(X, Y, [[0, 1], [1, 2]], [0, 1], sample_weight=[1, 0, 0, 1, 1, 1]))
    with pytest.raises(ValueError, match="Negative values"):
        TreeClassifier().fit(X, Y, sample_weight=-np.ones(6))


def test_wrong_columns():
    pd = pytest.importorskip("pandas")
    tree = TreeClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but TreeClassifier is expecting 2 features"):
        tree.predict(np.zeros((1, 3)))
    named = TreeClassifier().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(pd.DataFrame(X, columns=["a", "c"]))
    with pytest.raises(ValueError, match=r"^X must hold numbers, strings or categories in column 'b'; got 1j\.$"):
        TreeClassifier().fit(pd.DataFrame({"a": [1, 2], "b": [1j, 2j]}), [0, 1])
    with pytest.raises(ValueError, match=r"^X must hold numbers, as in fit, in column 'b'; got 'x'\.$"):
        named.predict(pd.DataFrame({"a": [1.0, 2.0], "b": [None, "x"]}))
    with pytest.raises(ValueError, match=r"^X must hold whole numbers below 2\^63"):
        TreeClassifier().fit(np.array([[2**64 - 1], [0]], np.uint64), [0, 1])
    with pytest.raises(ValueError, match=r"column 0, which had whole numbers in fit; got NaN\.$"):
        TreeClassifier().fit(np.array([[1], [2]]), [0, 1]).predict([[np.nan]])


@pytest.mark.parametrize("bags", [[[0, 9]], [[]], [[0.5]], [[-1]], [[[0]]]])
def test_wrong_bags(bags):
    with pytest.raises(ValueError, match=r"^bag 0 must hold "):
        list(TreeClassifier().fit_bags(X, Y, bags, [0]))
    with pytest.raises(ValueError, match=r"^seeds must hold one seed for each of the 1 bags; got 2\.$"):
        list(TreeClassifier().fit_bags(X, Y, bags, [0, 1]))


def test_wrong_classes():
    with pytest.raises(ValueError, match=r"^y must hold labels in classes only; got 1\.$"):
        list(TreeClassifier().fit_bags(X, Y, [[0]], [0], classes=[0, 2]))


def test_the_native_code_refuses_what_does_not_fit():
    keys, kinds = np.arange(12, dtype=np.uint64).reshape(2, 6), np.zeros(2, np.uint8)
    table = _native.TreesTable(keys, kinds, 1)
    settings = {
        "entropy": False,
        "random": False,
        "max_features": 2,
        "max_depth": 0,
        "max_leaf_nodes": 0,
        "min_split": 2.0,
        "min_leaf": 1.0,
        "split_is_share": False,
        "leaf_is_share": False,
        "min_decrease": 0.0,
    }
    labels, rows, stop = np.array([0, 1, 0, 1, 1, 0], np.uint16), np.arange(6), _native.TreesStop()
    assert table.grow(labels, 2, [rows], None, [], [1], settings, stop).n_trees == 1
    for wrong in (
        (labels[:5], 2, [rows], None, [], [1], settings, stop),
        (labels, 1, [rows], None, [], [1], settings, stop),
        (labels, 2, [rows + 1], None, [], [1], settings, stop),
        (labels, 2, [rows], None, [], [1, 2], settings, stop),
        (labels, 2, [rows[:0]], None, [], [1], settings, stop),
        (labels, 2, [rows], [np.full(6, 2**62)], [0], [1], settings, stop),
        (labels, 2, [rows], [np.zeros(6, np.int64)], [0], [1], settings, stop),
        (labels, 2, [rows], None, [], [1], {**settings, "max_features": 3}, stop),
    ):
        with pytest.raises(ValueError, match=r"must|every|bag"):
            table.grow(*wrong)
    stop.stop()
    assert table.grow(np.tile(labels, 1), 2, [rows] * 5000, None, [], list(range(5000)), settings, stop) is None
