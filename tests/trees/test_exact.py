"""Every split is the best one, by brute force, and trees predict as scikit-learn's where the best split is unique."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.tree import DecisionTreeClassifier

from helpers.slow_splits import (
    best_decrease,
    best_decrease_of_many,
    decrease,
    nodes_of,
    splits,
    weighted_impurity,
)
from steadyset import _native
from steadyset.trees import TreeClassifier


def random_table(rng, n=None):
    """A table with ties, constant features, duplicated rows and missing values, and weights, some of them zero."""
    n = int(rng.integers(2, 60) if rng.random() < 0.95 else rng.integers(60, 150)) if n is None else n
    features = int(rng.integers(1, 5))
    values = int(rng.choice([1, 2, 3, 8, 1000]))
    X = rng.integers(0, values, (n, features)).astype(rng.choice([np.float32, np.float64]))
    if rng.random() < 0.5:
        X = X + rng.normal(size=X.shape).astype(X.dtype)
    X[rng.random(n) < 0.3] = X[0]
    if rng.random() < 0.4:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, rng.integers(2, 6) if rng.random() < 0.8 else n // 3 + 2, n)
    weights = rng.choice([None, "whole", "any"])
    if weights == "whole":
        weights = rng.integers(1, 5, n).astype(float)
    elif weights == "any":
        weights = rng.random(n) + 0.01
    return X, y, weights


def check_nodes(tree, X, y, weights):
    """Assert that every split is the best and every leaf has to be one; return the number of nodes."""
    entropy, least = tree.criterion == "entropy", tree.min_samples_leaf
    w = np.ones(len(X)) if weights is None else weights
    exact, found = X.astype(np.float64), 0
    for _, rows, left in nodes_of(tree.to_sklearn(), exact):
        impurity = weighted_impurity(y[rows], w[rows], entropy)
        best = best_decrease(exact[rows], y[rows], w[rows], entropy, least)
        if left is None:
            assert impurity < 1e-9 or best is None or len(rows) < tree.min_samples_split
        else:
            assert least <= left.sum() <= len(left) - least
            assert decrease(y[rows], w[rows], left, entropy) == pytest.approx(best, abs=1e-9 * w.sum())
        found += 1
    return found


@pytest.mark.trial
def test_every_split_is_the_best(full_trials):
    rng = np.random.default_rng(0)
    wanted, nodes = (10_000 if full_trials else 700), 0
    while nodes < wanted:
        X, y, weights = random_table(rng)
        tree = TreeClassifier(
            criterion=rng.choice(["gini", "entropy"]),
            min_samples_leaf=int(rng.choice([1, 1, 2, 5])),
            min_samples_split=int(rng.choice([2, 2, 9])),
            max_leaf_nodes=rng.choice([None, 10**6]),
            random_state=int(rng.integers(2**32)),
        )
        nodes += check_nodes(tree.fit(X, y, sample_weight=weights), X, y, weights)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("values", [3, 40, 2000, 10**9])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("classes", [2, 7, 40])
def test_every_large_split_is_the_best(criterion, values, missing, classes):
    """Bags too large for a block: counted by value, by bits of the classes, and walked through; ties and none."""
    rng = np.random.default_rng(values + classes)
    n = 3000
    X = rng.integers(0, values, (n, 3)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    y = ((np.nan_to_num(X[:, 0]) > values / 2) + rng.integers(0, classes, n)) % classes
    tree = TreeClassifier(criterion=criterion, max_depth=3, random_state=0).fit(X, y)
    for _, rows, left in nodes_of(tree.to_sklearn(), X):
        if left is not None:
            best = best_decrease_of_many(X[rows], y[rows], criterion == "entropy")
            assert decrease(y[rows], np.ones(len(rows)), left, criterion == "entropy") == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("n", [32_767, 32_768, 46_340, 46_341])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_splits_of_as_many_rows_as_counts_have_bits_for(n, classes):
    """Counts of 16 bits go in pairs up to 2^15 rows, sums of their squares fit into 32 bits up to the root of 2^31."""
    rng = np.random.default_rng(n + classes)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 5_000, n)])
    y = np.where(X[:, 0] + rng.normal(size=n) > 2, rng.integers(0, classes, n), 0)  # nearly all are of one class
    tree = TreeClassifier(max_depth=2, random_state=0).fit(X, y)
    checked = 0
    for _, rows, left in nodes_of(tree.to_sklearn(), X):
        if left is not None:
            best = best_decrease_of_many(X[rows], y[rows], entropy=False)
            assert decrease(y[rows], np.ones(len(rows)), left, False) == pytest.approx(best, abs=1e-7)
            checked += 1
    assert checked == 3


def test_the_count_of_many_splits_is_right():
    rng = np.random.default_rng(3)
    for entropy in (False, True):
        for _ in range(20):
            X, y, _ = random_table(rng)
            best = best_decrease(X.astype(float), y, np.ones(len(y)), entropy)
            assert best_decrease_of_many(X.astype(float), y, entropy) == pytest.approx(max(best or 0, 0), abs=1e-9)


def unique_splits(tree, X, y):
    """Whether at each node only one split is best."""
    for _, rows, left in nodes_of(tree.to_sklearn(), X):
        if left is None:
            continue
        ones = np.ones(len(rows))
        gains = sorted(decrease(y[rows], ones, side, False) for column in X[rows].T for side in splits(column))
        if len(gains) > 1 and gains[-1] - gains[-2] < 1e-9:
            return False
    return True


def test_predicts_as_scikit_learn_where_splits_are_unique():
    rng, compared = np.random.default_rng(1), 0
    points = rng.normal(size=(300, 6)).astype(np.float32)
    for seed in range(30):
        X, y = make_classification(60, 6, n_informative=4, n_classes=3, random_state=seed)
        X = X.astype(np.float32)
        ours = TreeClassifier(max_depth=2, random_state=seed).fit(X, y)
        if not unique_splits(ours, X, y):
            continue
        theirs = DecisionTreeClassifier(max_depth=2, random_state=seed).fit(X, y)
        np.testing.assert_array_equal(ours.predict_proba(points), theirs.predict_proba(points))
        compared += 1
    assert compared >= 10


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"criterion": "entropy"},
        {"max_depth": 4},
        {"max_leaf_nodes": 9},
        {"min_samples_leaf": 4, "min_samples_split": 10},
        {"min_impurity_decrease": 0.01},
        {"max_features": "sqrt"},
        {"class_weight": "balanced", "max_depth": 6},
    ],
)
def test_to_sklearn_is_the_same_tree(load, settings):
    X, y = load(return_X_y=True)
    X = X.astype(np.float32)
    tree = TreeClassifier(random_state=0, **settings).fit(X[::2], y[::2])
    same = tree.to_sklearn()
    np.testing.assert_allclose(same.predict_proba(X), tree.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(same.predict(X), tree.predict(X))
    np.testing.assert_array_equal(same.apply(X), tree.apply(X))
    np.testing.assert_allclose(same.feature_importances_, tree.feature_importances_, atol=1e-9)
    assert same.get_depth() <= (settings.get("max_depth") or 99)
    assert same.get_n_leaves() <= (settings.get("max_leaf_nodes") or 10**6)
    theirs = DecisionTreeClassifier(random_state=0, **settings).fit(X[::2], y[::2])
    assert abs(tree.score(X[1::2], y[1::2]) - theirs.score(X[1::2], y[1::2])) < 0.08


def test_best_first_splits_the_largest_decrease_first():
    X, y = load_digits(return_X_y=True)
    for leaves in (2, 5, 17):
        ours = TreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y)
        theirs = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y)
        assert ours.to_sklearn().get_n_leaves() == leaves
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


def test_whole_weights_are_repeated_rows():
    X, y = load_wine(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    for criterion in ("gini", "entropy"):
        tree = TreeClassifier(criterion=criterion, max_depth=4, random_state=3)
        weighted = tree.fit(X, y, sample_weight=weights).predict_proba(X)
        np.testing.assert_allclose(weighted, tree.fit(np.repeat(X, weights, 0), np.repeat(y, weights)).predict_proba(X))


def test_random_splits_stay_between_the_extremes():
    X, y = load_wine(return_X_y=True)
    X[::7, 3] = np.nan
    tree = TreeClassifier(splitter="random", random_state=0).fit(X, y)
    assert tree.score(X, y) == 1
    for _, rows, left in nodes_of(tree.to_sklearn(), X):
        assert left is None or 0 < left.sum() < len(rows)
    seeds = [TreeClassifier(splitter="random", random_state=s).fit(X, y).apply(X).tolist() for s in range(4)]
    assert len({tuple(leaves) for leaves in seeds}) == 4


@pytest.mark.parametrize("level", _native.isa_levels())
def test_all_levels_grow_the_same_trees(level):
    rng = np.random.default_rng(5)
    rounded = rng.normal(size=(2500, 2)).round(2)
    X = np.hstack([rng.normal(size=(2500, 4)), rng.integers(0, 9, (2500, 3)), rng.integers(0, 30, (2500, 2)), rounded])
    X[rng.random(X.shape) < 0.02] = np.nan
    X[:, [4, 7]] = np.nan_to_num(X[:, [4, 7]])
    labels = [rng.integers(0, 11, 2500), (X[:, 7] > 12) + rng.integers(0, 2, 2500)]
    best = _native.isa()
    varied = ({}, {"max_features": 2}, {"criterion": "entropy"}, {"class_weight": "balanced", "max_depth": 6})
    for settings, y in itertools.product((*varied, {"max_leaf_nodes": 40}, {"min_samples_leaf": 5}), labels):
        tree = TreeClassifier(random_state=2, **settings)
        expected = tree.fit(X, y)._forest.arrays()
        proba = tree.predict_proba(X)
        try:
            _native.use_isa(level)
            found = tree.fit(X, y)._forest.arrays()
            np.testing.assert_array_equal(tree.predict_proba(X), proba)
        finally:
            _native.use_isa(best)
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values)
