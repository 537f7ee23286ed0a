"""Trees that predict together, by codes, give the bits of trees that predict alone, by keys."""

import pickle

import numpy as np
import pytest

import steadyset as ss
from steadyset.bags import BLOCK
from steadyset.trees import TreeClassifier

N, TREES = 240, 40


def table(kind, rng):
    """Return rows with labels, and points."""
    X, points = rng.normal(size=(N, 5)), rng.normal(size=(77, 5))  # 77: the last rows are no whole flight
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    if kind == "float32":
        return X.astype(np.float32), y, points.astype(np.float32)
    if kind == "few values":
        return np.round(X), y, np.round(points)
    if kind == "whole":
        return np.round(3 * X).astype(np.int8), y, np.round(3 * points).astype(np.int8)
    if kind == "missing":
        for values in (X, points):
            values[rng.random(values.shape) < 0.3] = np.nan
    if kind == "many classes":  # more than a leaf can name itself
        return X[:, :2], np.arange(N) % 90, points[:, :2]
    return X, y, points


@pytest.mark.parametrize("kind", ["float64", "float32", "few values", "whole", "missing", "many classes"])
@pytest.mark.parametrize("settings", [{}, {"max_depth": 3, "max_features": "sqrt"}], ids=["pure", "mixed"])
def test_together_as_alone(kind, settings, isa):
    rng = np.random.default_rng(0)
    X, y, points = table(kind, rng)
    bags = [rng.choice(N, N // 2, replace=False) for _ in range(TREES)]
    (group,) = TreeClassifier(**settings).fit_bags(X, y, bags, range(TREES))
    before = group._forest.arrays()
    alone = np.stack([member.predict_proba(points) for member in group.members()])
    leaves = np.stack([member.apply(points) for member in group.members()], axis=1)
    for n_jobs in (1, 3):
        assert np.array_equal(group.predict_proba(points, n_jobs), alone)
        assert np.array_equal(group.apply(points, n_jobs), leaves)
        sums = np.zeros(alone.shape[1:])
        group.add_proba(group.prepared(points, n_jobs), sums, BLOCK, n_jobs)
        expected = np.zeros(alone.shape[1:])
        for start in range(0, TREES, BLOCK):
            block = np.zeros(alone.shape[1:])
            for proba in alone[start : start + BLOCK]:
                block += proba
            expected += block
        assert np.array_equal(sums, expected)
    after = group._forest.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert np.array_equal(pickle.loads(pickle.dumps(group)).predict_proba(points[:3]), alone[:, :3])


def test_rows_are_read_once_for_all_groups_of_a_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 3)), np.arange(N) % 3
    model = ss.StableClassifier(n_estimators=150, random_state=0).fit(X, y)
    first, second = pickle.loads(pickle.dumps(model.groups_[:2]))
    rows = first.prepared(X)
    assert second.prepared(X, last=rows) is rows
    other = ss.StableClassifier(n_estimators=8, random_state=0).fit(X.astype(np.float32), y).groups_[0]
    assert other.prepared(X, last=rows) is not rows
    assert np.array_equal(model.predict_proba(X), model.bag_predictions(X).mean())
