"""Many bags at once: every member is the tree of its rows alone, whatever other rows hold."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset import _native, trees
from steadyset.trees import TreeClassifier, _arrays, _grow, _packed


def assert_same_trees(found, expected):
    a, b = found._forest.arrays(), expected._forest.arrays()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@st.composite
def problems(draw):
    """A table, bags of it, and the same table with every value outside the first bag replaced."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, features = draw(st.integers(4, 700) | st.integers(1100, 1500)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["continuous", "few", "many", "missing", "float32", "int"]))
    table = {
        "continuous": lambda: rng.normal(size=(n, features)),
        "few": lambda: rng.integers(0, 5, (n, features)).astype(float),
        "many": lambda: np.round(rng.normal(size=(n, features)), 2),
        "missing": lambda: np.where(rng.random((n, features)) < 0.1, np.nan, rng.normal(size=(n, features))),
        "float32": lambda: rng.normal(size=(n, features)).astype(np.float32),
        "int": lambda: rng.integers(-(2**62), 2**62, (n, features)),
    }[kind]
    X, y = table(), rng.integers(0, 4, n)
    size = draw(st.integers(1, n))
    bag = rng.choice(n, size, replace=draw(st.booleans()))
    others = table() if kind == "int" else (table() * draw(st.sampled_from([1, 1e-3, 1e6]))).astype(X.dtype)
    others[bag] = X[bag]
    return X, others, y, bag


SETTINGS = st.sampled_from(
    [
        {},
        {"max_features": "sqrt"},
        {"max_features": 1},
        {"criterion": "entropy"},
        {"splitter": "random"},
        {"max_leaf_nodes": 6},
        {"min_samples_leaf": 0.05, "min_samples_split": 0.1},
        {"class_weight": "balanced", "max_depth": 5},
    ]
)


@settings(max_examples=60, deadline=None)
@given(problems(), SETTINGS, st.integers(0, 2**64 - 1))
def test_no_value_outside_a_bag_is_learned(problem, parameters, seed):
    X, others, y, bag = problem
    tree = TreeClassifier(**parameters)
    labels = np.arange(4)
    (alone,) = tree.fit_bags(X[bag], y[bag], [np.arange(len(bag))], [seed], classes=labels)
    for table in (X, others):
        rest = np.arange(len(X))[::-1]
        group = next(tree.fit_bags(table, y, [rest, bag], [1, seed], classes=labels, n_jobs=2))
        assert_same_trees(group.members()[1], alone.members()[0])
    moved = np.random.default_rng(0).permutation(len(X))
    (group,) = tree.fit_bags(X[moved], y[moved], [np.argsort(moved)[bag]], [seed], classes=labels)
    assert_same_trees(group.members()[0], alone.members()[0])
    ours = TreeClassifier(**parameters, random_state=seed).fit(X[bag], y[bag])
    proba = np.zeros((len(X), 4))
    proba[:, ours.classes_] = ours.predict_proba(X)
    np.testing.assert_array_equal(proba, alone.predict_proba(X)[0])


def test_the_order_of_a_bags_rows_does_not_matter():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(600, 4)).round(1), rng.integers(0, 3, 600), rng.random(600)
    bag = rng.choice(600, 400)
    for parameters in ({}, {"class_weight": "balanced"}):
        for chosen in (None, weights):
            tree = TreeClassifier(**parameters)
            group = next(tree.fit_bags(X, y, [bag, np.sort(bag), bag[::-1]], [7, 7, 7], sample_weight=chosen))
            first, second, third = group.members()
            assert_same_trees(first, second)
            assert_same_trees(first, third)


def test_groups_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 5)), rng.integers(0, 3, 500)
    bags, seeds = [rng.choice(500, 300, replace=False) for _ in range(140)], list(range(140))
    tree = TreeClassifier(max_features=2)
    groups = list(tree.fit_bags(X, y, bags, seeds))
    assert [len(group.numbers) for group in groups] == [128, 12]
    monkeypatch.setattr(trees._grow, "GROUP", 8)
    others = list(tree.fit_bags(X, y, bags, seeds, n_jobs=2))
    assert [len(group.numbers) for group in others] == [8] * 17 + [4]
    expected = [member for group in groups for member in group.members()]
    found = [member for group in others for member in group.members()]
    for a, b in zip(found, expected, strict=True):
        assert_same_trees(a, b)
        assert a.random_state == b.random_state
    proba = np.concatenate([group.predict_proba(X) for group in groups])
    np.testing.assert_array_equal(np.concatenate([group.predict_proba(X, n_jobs=2) for group in others]), proba)
    np.testing.assert_array_equal(proba, [member.predict_proba(X) for member in expected])


def test_progress_names_every_bag():
    rng = np.random.default_rng(0)
    X, y, seen = rng.normal(size=(300, 2)), rng.integers(0, 2, 300), []
    bags = [np.arange(300)] * 144
    list(TreeClassifier().fit_bags(X, y, bags, range(144), progress=lambda *news: seen.append(news)))
    assert {numbers for numbers, _, _ in seen} == {tuple(range(128)), tuple(range(128, 144))}
    assert [done for numbers, done, total in seen if done == total] == [128, 16]


@pytest.mark.parametrize("settings", [{}, {"max_depth": 3}, {"max_features": "sqrt"}])
def test_stable_classifier_grows_them_together(settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.choice(["a", "b", "c"], 300)
    model = ss.StableClassifier(TreeClassifier(**settings), 140, random_state=0).fit(X, y)
    assert [type(group) for group in model.groups_] == [trees.TreeGroup] * 2
    proba = np.array([member.predict_proba(X) for member in model.estimators_])
    predictions = model.bag_predictions(X)
    np.testing.assert_array_equal(predictions.proba, proba)
    np.testing.assert_array_equal(model.predict_proba(X), predictions.mean())
    for bag, member in zip(model.estimators_samples_[:5], model.estimators_, strict=False):
        alone = TreeClassifier(**settings, random_state=member.random_state).fit(X[bag], y[bag])
        np.testing.assert_array_equal(alone.predict_proba(X), member.predict_proba(X))
    other = ss.StableClassifier(TreeClassifier(**settings), 140, random_state=0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    fresh = ss.StableClassifier(TreeClassifier(**settings), 140, random_state=0).fit_predict_bags(X, y, X)
    np.testing.assert_array_equal(fresh.proba, proba)


def test_a_checkpoint_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    model = ss.StableClassifier(TreeClassifier(), 20, random_state=0, checkpoint=tmp_path).fit(X, y)
    again = ss.StableClassifier(TreeClassifier(), 20, random_state=0, checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    more = again.set_params(n_estimators=90, warm_start=True).fit(X, y)
    straight = ss.StableClassifier(TreeClassifier(), 90, random_state=0).fit(X, y)
    np.testing.assert_array_equal(more.predict_proba(X), straight.predict_proba(X))
    np.testing.assert_array_equal(more.bag_predictions(X).proba, straight.bag_predictions(X).proba)


def test_importances_are_the_mean_over_the_bags():
    X, y = load_iris(return_X_y=True)
    for learner in (TreeClassifier(max_depth=2), DecisionTreeClassifier(max_depth=2)):
        model = ss.StableClassifier(learner, 70, random_state=0).fit(X, y)
        mean = np.mean([member.feature_importances_ for member in model.estimators_], axis=0)
        np.testing.assert_allclose(model.feature_importances_, mean)
    linear = ss.StableClassifier(LogisticRegression(max_iter=500), 5, random_state=0).fit(X, y)
    assert not hasattr(linear, "feature_importances_")
    with pytest.raises(AttributeError, match=r"^LogisticRegression has no feature_importances_"):
        linear.feature_importances_  # noqa: B018


def test_skops_files(tmp_path):
    skops = pytest.importorskip("skops.io")
    X, y = load_iris(return_X_y=True)
    model = ss.StableClassifier(TreeClassifier(max_depth=3), 20, random_state=0).fit(X, y)
    skops.dump(model, tmp_path / "model.skops")
    same = skops.load(tmp_path / "model.skops", trusted=ss.TRUSTED_TYPES)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(same.bag_predictions(X).proba, model.bag_predictions(X).proba)


@pytest.mark.parametrize("predicted", [False, True])  # which may put trees in another form
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_groups_of_trees_of_several_groups(dtype, predicted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)).astype(dtype), rng.integers(3, size=300)
    X[rng.random(X.shape) < 0.1] = np.nan
    bags = [rng.choice(300, 40) for _ in range(8)]
    one, other = (next(TreeClassifier().fit_bags(X, y, bags, range(first, first + 8))) for first in (0, 8))
    chosen = [(one, 0), (one, 1), (other, 5), (one, 3), (other, 6), (other, 7), (other, 0)]
    expected = np.stack([group.predict_proba(X)[place] for group, place in chosen])
    if not predicted:
        one, other = copy.deepcopy((one, other))
        chosen = [({0: one, 8: other}[group.seeds[0]], place) for group, place in chosen]
    assert one._forest.is_coded == other._forest.is_coded == predicted
    found = one.gathered([(group, place, place + 1) for group, place in chosen])
    assert found.seeds == (0, 1, 13, 3, 14, 15, 8)
    assert np.array_equal(found.predict_proba(X), expected)
    for tree, (group, place) in zip(_arrays.split_trees(found._forest), chosen, strict=True):
        alone, theirs = tree.arrays(), _arrays.split_trees(group._forest)[place].arrays()
        assert all(np.array_equal(alone[name], theirs[name]) for name in theirs)
    together = one.gathered([(one, 0, 2), (other, 5, 6), (one, 3, 4), (other, 6, 8), (other, 0, 1)])
    assert (together.seeds, together.numbers) == (found.seeds, found.numbers)
    assert np.array_equal(together.predict_proba(X), expected)


def test_trees_are_joined_while_another_thread_first_predicts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 6)), rng.integers(3, size=2_000)
    group = next(TreeClassifier().fit_bags(X, y, [rng.choice(2_000, 1_000) for _ in range(60)], range(60)))
    expected = _packed.state(group._forest)
    for _ in range(20):
        one = copy.deepcopy(group)
        with ThreadPoolExecutor(1) as pool:
            predicting = pool.submit(one.predict_proba, X[:1])
            joined = [one.gathered([(one, 0, 20), (one, 20, 60)]) for _ in range(3)]
            predicting.result()
        for each in joined:
            assert all(np.array_equal(values, expected[name]) for name, values in _packed.state(each._forest).items())


@pytest.mark.parametrize(("first", "last"), [(-1, 1), (1, 1), (2, 1), (0, 3)])
def test_runs_of_trees_that_a_forest_does_not_have_are_refused(first, last):
    group = next(TreeClassifier().fit_bags(np.eye(3), [0, 1, 1], [np.arange(3)] * 2, [1, 2]))
    with pytest.raises(ValueError, match="a part holds trees of its forest"):
        _native.TreesForest.joined_runs([(group._forest, first, last)])
    with pytest.raises(ValueError, match="a forest is joined of at least one"):
        _native.TreesForest.joined_runs([])


@pytest.mark.parametrize(("sizes", "threads"), [([40] * 5, 0), ([1, 2**19], 2)])
def test_few_rows_are_grown_without_a_thread_and_with_the_same_bits(monkeypatch, sizes, threads):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(3, size=300)
    bags, made = [rng.integers(0, 300, size) for size in sizes], []
    executor = _grow.ThreadPoolExecutor
    monkeypatch.setattr(_grow, "ThreadPoolExecutor", lambda *a, **k: made.append(a[0]) or executor(*a, **k))

    def grown():
        return next(TreeClassifier(max_features="sqrt").fit_bags(X, y, bags, range(len(bags)), n_jobs=2))

    found = grown()
    assert made == [threads] * (threads > 0)
    monkeypatch.setattr(_grow, "_AT_ONCE", 0)
    assert_same_trees(found, grown())
    assert made[-1] == 2


@pytest.mark.parametrize("kind", ["numbers", "frame"])
def test_rows_that_were_prepared_once_give_the_same_trees(kind):
    X, y = load_iris(return_X_y=True)
    if kind == "frame":
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(X, columns=list("abcd")).assign(e=pandas.Categorical(np.where(X[:, 0] > 5.5, "x", "y")))
    bags, learner = [np.arange(0, 150, 2), np.arange(1, 150, 2)], TreeClassifier()
    [expected] = learner.fit_bags(X, y, bags, [1, 2])
    prepared = learner.prepared_rows(X, n_jobs=2)
    assert not vars(learner).keys() & {"n_features_in_", "feature_names_in_"}
    points = X.copy()
    X[:] = points[::-1]  # what was prepared stays
    for _ in range(2):
        [found] = learner.fit_bags(prepared, y, bags, [1, 2])
        assert_same_trees(found, expected)
        assert np.array_equal(found.predict_proba(points), expected.predict_proba(points))
        for member, other in zip(found.members(), expected.members(), strict=True):
            assert member.n_features_in_ == other.n_features_in_
            assert list(getattr(member, "feature_names_in_", ())) == list(getattr(other, "feature_names_in_", ()))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        learner.fit_bags(prepared, y[:-1], bags, [1, 2])
