"""scikit-learn's private doors: the same answers with and without its callbacks, a sentence where a door is gone."""

import builtins
import importlib.util

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from steadyset._base import sklearn_doors

X, Y = load_iris(return_X_y=True)
ROWS = np.array([3, 0, 149, 3])


def doors_without(hidden):
    """The module as it is in a scikit-learn that lacks the names or modules that are hidden."""
    true_import = builtins.__import__

    def without_hidden(name, globals=None, locals=None, fromlist=(), level=0):
        own = globals is not None and globals.get("__name__") == "doors_by_hand"
        if own and name.startswith("sklearn") and hidden & {name, *(fromlist or ())}:
            raise ImportError(f"cannot import {name}")
        return true_import(name, globals, locals, fromlist, level)

    spec = importlib.util.spec_from_file_location("doors_by_hand", sklearn_doors.__file__)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "__import__", without_hidden)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def by_hand():
    """The module as it is before scikit-learn 1.9, which brought the callbacks."""
    return doors_without({"sklearn.callback"})


DOORS = ["LinearClassifierMixin", "_safe_indexing", "_check_method_params", "_check_sample_weight", "_num_samples"]


@pytest.mark.parametrize("door", DOORS)
def test_a_missing_door_is_a_sentence(door):
    with pytest.raises(ImportError, match=rf"^scikit-learn must be .* 1\.6 to 1\.9; got {sklearn.__version__}: cannot"):
        doors_without({door})


def dense(table):
    if sp.issparse(table):
        return table.toarray()
    return table.to_numpy() if hasattr(table, "to_numpy") else np.asarray(table)


TABLES = {
    "array": X,
    "sparse": sp.csr_array(X),
    "pandas": pd.DataFrame(X, columns=list("abcd"), index=np.arange(150)[::-1]),
    "polars": pl.DataFrame(X, schema=list("abcd")),
}


@pytest.mark.parametrize("kind", TABLES)
def test_rows_and_columns_of_any_table(by_hand, kind):
    table = TABLES[kind]
    for doors in (sklearn_doors, by_hand):
        assert doors.num_samples(table) == 150
        rows, columns = doors.take(table, ROWS), doors.take(table, np.array([2, 0]), axis=1)
        assert type(rows) is type(columns) is type(table)
        assert np.array_equal(dense(rows), X[ROWS])
        assert np.array_equal(dense(columns), X[:, [2, 0]])


def test_parameters_with_one_value_per_row_are_sliced(by_hand):
    given = {
        "weight": np.arange(150.0),
        "names": [f"r{i}" for i in range(150)],
        "series": pd.Series(np.arange(150)),
        "sparse": sp.csr_array(X),
        "short": np.arange(3),
        "tag": "t",
        "number": 7,
        "nothing": None,
    }
    for doors in (sklearn_doors, by_hand):
        sliced = doors.params_of_rows(X, given, ROWS)
        assert sliced["weight"].tolist() == [3, 0, 149, 3]
        assert list(sliced["names"]) == ["r3", "r0", "r149", "r3"]
        assert sliced["series"].tolist() == [3, 0, 149, 3]
        assert np.array_equal(sliced["sparse"].toarray(), X[ROWS])
        assert all(sliced[name] is given[name] for name in ("short", "tag", "number", "nothing"))


def test_weights(by_hand):
    for doors in (sklearn_doors, by_hand):
        assert doors.check_sample_weight(np.arange(150), X).dtype == np.float64
        assert doors.check_sample_weight([1] * 150, X, dtype=np.float32).dtype == np.float32
        assert doors.check_sample_weight(2, X).tolist() == [2.0] * 150
        for bad in (np.ones(149), np.ones((150, 2)), np.full(150, np.nan)):
            with pytest.raises(ValueError, match=r"(?i)sample[ _]weight"):
                doors.check_sample_weight(bad, X)
        assert doors.check_sample_weight(-np.ones(150), X).sum() == -150
        with pytest.raises(ValueError, match=r"(?i)negative"):
            doors.check_sample_weight(-np.ones(150), X, ensure_non_negative=True)


def test_linear_classifiers(by_hand):
    for doors in (sklearn_doors, by_hand):
        for learner in (LogisticRegression(), RidgeClassifier(), SGDClassifier(), LinearSVC()):
            assert doors.is_linear_classifier(learner)
        assert not doors.is_linear_classifier(DecisionTreeClassifier())


def test_the_training_rows_of_an_ensemble(by_hand):
    forest = RandomForestClassifier(2).fit(X, Y)
    for doors in (sklearn_doors, by_hand):
        assert doors.n_training_rows(forest) == 150
    del forest._n_samples
    with pytest.raises(ValueError, match="give its estimators_ as a list, with rows and n_samples"):
        sklearn_doors.n_training_rows(forest)


def test_without_callbacks_there_is_a_stand_in(by_hand):
    assert not by_hand.HAS_CALLBACKS

    class Fitted(by_hand.CallbackSupportMixin):
        @by_hand.with_callbacks
        def fit(self, word):
            return word

    assert Fitted().fit("done") == "done"
