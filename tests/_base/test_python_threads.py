"""Several Python threads at once; where the Python has no global lock, nothing holds them apart."""

import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset.lanes import NetClassifier
from steadyset.trees import TreeClassifier

N_THREADS = 4
X, Y = load_iris(return_X_y=True)
PROBA = np.random.default_rng(0).dirichlet(np.ones(30), 4000)
LEARNERS = {
    "trees": TreeClassifier(),
    "networks": NetClassifier(epochs=2),
    "scikit-learn": DecisionTreeClassifier(max_depth=2),
}


def fitted(name):
    learner = LEARNERS[name]
    return ss.StableClassifier(learner, n_estimators=20, epsilon=0.2, random_state=0).fit(X, Y)


def answers(model):
    return model.predict_proba(X), model.predict_set(X), model.audit(X).instability


CALLS = {
    "sets": lambda: (ss.inflated_argmax(PROBA, 0.05), ss.entry_epsilons(PROBA)),
    "bags": lambda: (ss.draw_bags(5000, 50, 500, seed=1).membership(),),
    "neighbours": lambda: answers(ss.StableNeighborsClassifier(3, max_samples=0.1, epsilon=0.2).fit(X, Y)),
    **{name: lambda name=name: answers(fitted(name)) for name in LEARNERS},
}


def together(call):
    """What several threads get from a call that all of them begin at once."""
    gate = threading.Barrier(N_THREADS)

    def one(_):
        gate.wait()
        return call()

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(one, range(N_THREADS)))


def assert_same(found, expected):
    for one in found:
        for part, alone in zip(one, expected, strict=True):
            np.testing.assert_array_equal(part, alone, strict=True)


@pytest.mark.parametrize("name", CALLS)
def test_every_thread_gets_what_one_alone_gets(name):
    assert_same(together(CALLS[name]), CALLS[name]())


@pytest.mark.parametrize("name", LEARNERS)
def test_threads_share_a_model_from_its_first_prediction_on(name):
    model = fitted(name)  # trees are made ready for predictions by whoever comes first
    assert_same(together(lambda: answers(model)), answers(fitted(name)))


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock")
def test_no_import_turns_the_global_lock_on():
    assert not sys._is_gil_enabled()
