"""Threads or processes, and that neither can be told from the result."""

import os
import threading
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from threadpoolctl import ThreadpoolController, threadpool_info

import steadyset as ss
from steadyset._base.one_thread import one_thread
from steadyset.ensemble import _workers

X, Y = load_iris(return_X_y=True)
LARGE = np.zeros((2**18, 8))
SCALED = make_pipeline(StandardScaler(), "passthrough", LogisticRegression())


@pytest.mark.parametrize(
    ("learner", "x", "place"),
    [
        (DecisionTreeClassifier(), X, "threads"),
        (ExtraTreeClassifier(), X, "threads"),
        (LogisticRegression(), X, "processes"),
        (LogisticRegression(), LARGE, "threads"),
        (LogisticRegression(), LARGE.astype(object), "processes"),
        (SCALED, X, "processes"),
        (SCALED, LARGE, "threads"),
        (make_pipeline(FunctionTransformer(), LogisticRegression()), LARGE, "processes"),
        (RandomForestClassifier(), LARGE, "processes"),
    ],
    ids=str,
)
def test_where_a_learner_is_fitted(learner, x, place):
    assert _workers.preferred(learner, x) == place


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(), SCALED], ids=["tree", "linear"])
def test_the_same_bits_in_threads_and_processes(monkeypatch, learner):
    monkeypatch.setattr(_workers, "LARGE_X", 0)
    monkeypatch.setattr(_workers, "_LARGE_BAG", 0)  # memory is given back after every bag
    assert _workers.preferred(learner, X) == "threads"
    model = ss.StableClassifier(learner, 12, random_state=0)
    expected = model.fit(X, Y).bag_predictions(X).proba
    model.n_jobs = 2
    assert np.array_equal(model.fit(X, Y).bag_predictions(X).proba, expected)
    with joblib.parallel_config(backend="loky"):
        assert np.array_equal(model.fit(X, Y).bag_predictions(X).proba, expected)


class Tells(ClassifierMixin, BaseEstimator):
    """Keeps where it was fitted, under which configuration of scikit-learn, and with how many threads of BLAS."""

    def fit(self, X, y):
        self.place_ = (os.getpid(), threading.get_ident())
        self.working_memory_ = sklearn.get_config()["working_memory"]
        self.blas_threads_ = set(threads_of("blas"))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        self.seen_ = (threading.get_ident(), sklearn.get_config()["working_memory"])
        return np.zeros(len(X), int)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_have_scikit_learns_configuration_and_one_thread_each(backend):
    with sklearn.config_context(working_memory=77), joblib.parallel_config(backend=backend):
        model = ss.StableClassifier(Tells(), 4, n_jobs=2, random_state=0).fit(X, Y)
    assert all(member.place_ != (os.getpid(), threading.get_ident()) for member in model.estimators_)
    assert all(member.working_memory_ == 77 for member in model.estimators_)
    assert all(member.blas_threads_ == {1} for member in model.estimators_)
    assert set(threads_of("blas")) == {2}


def test_prediction_in_threads_has_scikit_learns_configuration():
    model = ss.StableClassifier(Tells(), 8, n_jobs=2, random_state=0).fit(X, Y)
    with sklearn.config_context(working_memory=77):
        model.predict_proba(X)
    seen = {member.seen_ for member in model.estimators_}
    assert threading.get_ident() not in {thread for thread, _ in seen}
    assert {memory for _, memory in seen} == {77}


@pytest.fixture(autouse=True)
def two_threads():
    """Numerical libraries as on a machine of two cores, set by the main thread."""
    with ThreadpoolController().limit(limits=2):
        yield


def threads_of(api):
    return [lib.num_threads for lib in ThreadpoolController().lib_controllers if lib.user_api == api]


def test_one_thread_inside_and_as_before_after():
    before = threads_of("blas"), threads_of("openmp")
    assert 2 in before[0] + before[1]
    with one_thread(), one_thread():
        assert set(threads_of("blas") + threads_of("openmp")) == {1}
    assert (threads_of("blas"), threads_of("openmp")) == before


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not say what is loaded")
def test_no_blas_is_overlooked():
    """NumPy and SciPy bring libraries of their own, whose names older releases of threadpoolctl do not know."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    loaded = {Path(path).resolve() for path in mapped if "openblas" in Path(path).name}
    if not loaded:
        pytest.skip("NumPy and SciPy use another BLAS here")
    with one_thread():
        found = {Path(each["filepath"]).resolve(): each["num_threads"] for each in threadpool_info()}
    assert {path: found.get(path) for path in loaded} == dict.fromkeys(loaded, 1)


def test_one_thread_from_several_threads():
    """The last thread to leave puts the limit of BLAS back."""
    before = threads_of("blas")
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with one_thread():
            entered.set()
            leave.wait(30)
            seen.extend(threads_of("blas"))

    thread = threading.Thread(target=other)
    with one_thread():
        thread.start()
        assert entered.wait(30)
    assert set(threads_of("blas")) == {1}
    leave.set()
    thread.join()
    assert set(seen) == {1}
    assert threads_of("blas") == before


def test_fitting_in_threads_leaves_the_filters_of_warnings_alone():
    before = list(warnings.filters)
    for _ in range(5):
        ss.StableClassifier(DecisionTreeClassifier(), 40, n_jobs=2).fit(X, Y)
    assert warnings.filters == before


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("n_bags", [1, 16, 17, 100, 1600, 5000])
def test_tasks_of_a_cluster_are_whole_blocks_and_end_together(monkeypatch, kept, n_bags):
    monkeypatch.setattr(_workers._clusters, "keeps_what_is_shared", lambda: kept)
    turns, n_blocks = 8 if kept else 4, -(-n_bags // 16)
    runs = _workers.task_runs(range(n_bags), 2)
    lengths = [len(run) for run in runs]
    assert [bag for run in runs for bag in run] == list(range(n_bags))
    assert all(length % 16 == 0 for length in lengths[:-1])
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] <= 16 * -(-n_blocks // (2 * turns))
    assert len(runs) <= 2 * turns + (12 if kept else 0)
    if kept:
        assert len(runs) >= min(2 * turns, n_blocks)
        assert lengths[-1] <= 16
        # Dealt out in turn, as by a scheduler that knows nothing of their lengths.
        assert abs(sum(lengths[::2]) - sum(lengths[1::2])) <= 0.15 * n_bags + 16
