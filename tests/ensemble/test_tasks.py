"""Training sets of rows: what a checkpoint has comes first, and is not trained again."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset.bags import bag_seed
from steadyset.ensemble import AllButOne, Task, _tasks, open_folder, resume_and_train
from steadyset.trees import TreeClassifier

X, Y = load_iris(return_X_y=True)


def test_all_rows_but_one():
    sets = AllButOne(4)
    assert [sets[number].tolist() for number in range(5)] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2, 3]]


@pytest.mark.parametrize("points", [None, X[::10]], ids=["models", "predictions"])
def test_the_checkpoint_comes_first_and_the_rest_is_trained(tmp_path, points):
    task = Task(DecisionTreeClassifier(), X, Y, np.arange(3), {}, points, open_folder(tmp_path, "run"))
    told = []

    def run(numbers):
        del told[:]
        results = resume_and_train(
            task,
            AllButOne(150),
            numbers,
            lambda n: bag_seed(0, n),
            None,
            advance=told.append,
            before_training=lambda: told.append("training"),
        )
        return dict(results)

    first = run([2, 7])
    assert told == ["training", 1, 1]
    again = run([1, 2, 7, 150])
    assert told == [1, 1, "training", 1, 1]
    assert list(again) == [(2,), (7,), (1,), (150,)]
    run([7, 2])
    assert told == [1, 1]
    for done, kept in first.items():
        if points is None:
            assert np.array_equal(kept.predict_proba(X), again[done].predict_proba(X))
            assert kept.estimator.tree_.n_node_samples[0] == 149
        else:
            assert kept.shape == (1, 15, 3)
            assert np.array_equal(kept, again[done])


class Told(TreeClassifier):
    """Notes every table that it prepares, and for how many bags it is used."""

    prepared, trained = [], []

    def prepared_rows(self, X, n_jobs=None):
        self.prepared.append(X.copy())
        return super().prepared_rows(X, n_jobs)

    def fit_bags(self, X, y, bags, seeds, **more):
        self.trained.append(len(bags))
        return super().fit_bags(X, y, bags, seeds, **more)


def test_tasks_of_a_fit_share_what_its_worker_has_prepared():
    """Workers that are threads have the very table of the user, who may change it between two fits."""
    distributed = pytest.importorskip("distributed")
    table, model = X.copy(), ss.StableClassifier(Told(), 100, random_state=0, n_jobs=2)
    sizes = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with distributed.LocalCluster(**sizes, dashboard_address=None) as cluster, distributed.Client(cluster):
        for _ in range(2):
            Told.prepared.clear()
            Told.trained.clear()
            with joblib.parallel_config(backend="dask"):
                found = model.fit(table, Y).bag_predictions(X).proba
            assert sorted(Told.trained) == [4, 16, 16, 16, 16, 16, 16]
            assert len(Told.prepared) == 1
            assert np.array_equal(Told.prepared[0], table)
            assert np.array_equal(found, model.fit(table, Y).bag_predictions(X).proba)
            table[:] = X[:, ::-1]


def test_what_is_prepared_stays_in_its_process():
    once, learner = _tasks._PreparedOnce(), Told()
    Told.prepared.clear()
    assert once.rows(learner, X) is once.rows(learner, X)
    assert len(Told.prepared) == 1
    pickle.loads(pickle.dumps(once)).rows(learner, X)
    assert len(Told.prepared) == 2
    assert once.rows(DecisionTreeClassifier(), X) is X
