"""NetClassifier as a scikit-learn estimator."""

import copy

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import steadyset as ss
from steadyset import lanes
from steadyset.lanes import Dropout, Linear, NetClassifier, ReLU, Tanh

# Weights multiply the loss of a row; a row given twice is a different sequence of steps than a row with weight 2.
WEIGHTS = {"check_sample_weight_equivalence_on_dense_data": "a row given twice is seen in two steps of the descent"}


@parametrize_with_checks(
    [
        NetClassifier(),
        NetClassifier([Linear()], optimizer="adam", learning_rate=0.05),
        NetClassifier([Linear(16), Tanh(), Dropout(0.1), Linear()], schedule="cosine", nesterov=True),
        ss.StableClassifier(NetClassifier(), n_estimators=10, random_state=0),
    ],
    expected_failed_checks=lambda _: WEIGHTS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_public_name_is_documented_with_an_example():
    for name in lanes.__all__:
        assert ">>>" in getattr(lanes, name).__doc__, name
    for owner in (lanes.NetClassifier, lanes.LaneGroup):
        for name, method in vars(owner).items():
            if not name.startswith("_") and callable(getattr(method, "__func__", method)):
                assert getattr(owner, name).__doc__, name


def test_weights_multiply_the_loss():
    X, y = load_iris(return_X_y=True)
    settings = {"scale": None, "random_state": 0, "epochs": 2, "momentum": 0.0}
    doubled = NetClassifier(learning_rate=0.01, **settings).fit(X, y, sample_weight=np.full(150, 2.0))
    faster = NetClassifier(learning_rate=0.02, **settings).fit(X, y)
    np.testing.assert_allclose(doubled.parameters_, faster.parameters_, rtol=1e-5, atol=1e-6)
    weights = (np.arange(150) % 3 > 0).astype(float)
    wrong = np.where(weights > 0, y, (y + 1) % 3)
    a, b = (NetClassifier(**settings).fit(X, labels, sample_weight=weights).parameters_ for labels in (y, wrong))
    np.testing.assert_array_equal(a, b)


def test_works_in_a_grid_search_and_a_pipeline():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        NetClassifier(batch_size=16, random_state=0),
        {"layers": [[Linear()], [Linear(8), ReLU(), Linear()]], "learning_rate": [0.02, 0.05]},
        cv=3,
        n_jobs=2,
    )
    with parallel_config(backend="threading"):  # new processes would import for longer than the search takes
        assert search.fit(X, y).best_score_ > 0.9
    pipeline = make_pipeline(StandardScaler(), NetClassifier(scale=None, random_state=0, learning_rate=0.05))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9


def test_the_same_random_state_gives_the_same_network_and_another_does_not():
    X, y = load_iris(return_X_y=True)
    a, b = (NetClassifier(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.parameters_, b.parameters_)
    assert not np.array_equal(a.parameters_, NetClassifier(random_state=4).fit(X, y).parameters_)
    state = np.random.RandomState(0)
    c = NetClassifier(random_state=state).fit(X, y)
    assert not np.array_equal(c.parameters_, NetClassifier(random_state=state).fit(X, y).parameters_)


def test_fitting_leaves_the_arguments_and_global_state_alone():
    X, y = load_iris(return_X_y=True)
    layers = [Linear(4), ReLU(), Linear()]
    net = NetClassifier(layers, random_state=0)
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    net.fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert net.layers is layers
    assert clone(net).layers == layers
    assert copy.deepcopy(net).get_params() == net.get_params()


def test_images_learn():
    X, y = load_digits(return_X_y=True)
    images = (X * 15).astype(np.uint8).reshape(-1, 8, 8)
    layers = [lanes.Conv2d(8, 3, padding=1), ReLU(), lanes.MaxPool2d(2), lanes.Flatten(), Linear(32), ReLU(), Linear()]
    net = NetClassifier(layers, epochs=10, scale="minus_one_one", learning_rate=0.02, random_state=0)
    assert net.fit(images[:1400], y[:1400]).score(images[1400:], y[1400:]) > 0.9
    four = NetClassifier(layers, epochs=10, scale="minus_one_one", learning_rate=0.02, random_state=0)
    four.fit(images[:1400, None], y[:1400])
    np.testing.assert_array_equal(four.parameters_, net.parameters_)


@pytest.mark.parametrize("schedule", ["cosine", "linear", [1.0, 0.0, 0.0]])
def test_schedules_change_the_training(schedule):
    X, y = load_iris(return_X_y=True)

    def trained(schedule):
        return NetClassifier(epochs=3, schedule=schedule, random_state=0).fit(X, y).parameters_

    factors = {"cosine": [1.0, 0.75, 0.25], "linear": [1.0, 2 / 3, 1 / 3]}.get(str(schedule), schedule)
    assert not np.array_equal(trained(schedule), trained(None))
    np.testing.assert_allclose(trained(schedule), trained(factors), rtol=1e-5, atol=1e-7)


def test_a_schedule_is_one_factor_per_epoch():
    X, y = load_iris(return_X_y=True)
    settings = {"random_state": 0, "momentum": 0.0}
    one = NetClassifier(epochs=1, **settings).fit(X, y).parameters_
    stopped = NetClassifier(epochs=3, schedule=[1.0, 0.0, 0.0], **settings).fit(X, y).parameters_
    np.testing.assert_array_equal(stopped, one)


def test_a_learning_rate_of_zero_changes_nothing():
    X, y = load_iris(return_X_y=True)
    one = NetClassifier(epochs=1, schedule=[0.0], random_state=0).fit(X, y)
    two = NetClassifier(epochs=2, schedule=[0.0, 0.0], random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.parameters_, two.parameters_)


@pytest.mark.parametrize("steps", [{"epochs": 2, "batch_size": 5}, {"epochs": 1, "batch_size": 20}])
def test_a_late_group_that_diverges_names_its_bag_and_loses_no_other(tmp_path, steps):
    """Bag 37 alone holds a huge row; the bag is named by its own number, also where only the rest is trained.

    It diverges in the middle of its training, or in the only step that it takes.
    """
    x, y = load_digits(return_X_y=True)
    bags = ss.draw_bags(len(x), 40, 20, seed=3)
    held = bags.membership()
    row = next(r for r in range(len(x)) if held[:, r].sum() == 1 and held[37, r])
    x[row] = 1e30
    net = NetClassifier([Linear()], scale=None, **steps)
    model = ss.StableClassifier(net, 40, max_samples=20, random_state=3, checkpoint=tmp_path)
    for _ in range(2):  # straight, and with the first two groups from the checkpoint
        with pytest.raises(FloatingPointError, match=r"training of bag 37 \(seed \d+\) diverged"):
            model.fit(x, y, sample_ids=range(len(x)))
        files = sorted(path.name for path in tmp_path.glob("*/bags-*"))
        assert files == ["bags-0000000-0000015.joblib", "bags-0000016-0000031.joblib"]
