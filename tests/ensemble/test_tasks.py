"""Training sets of rows: what a checkpoint has comes first, and is not trained again."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from steadyset.bags import bag_seed
from steadyset.ensemble import AllButOne, Task, open_folder, resume_and_train

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
