"""Two versions of a model: what became of their sets, and which promise covers it."""

import numpy as np
import pytest

import steadyset as ss

RNG = np.random.default_rng(0)
Y = RNG.integers(3, size=200)
X = RNG.normal(size=(200, 3)) + Y[:, None]


def fitted(rows, labels=Y, **parameters):
    given = {"n_estimators": 60, "max_samples": 15, "epsilon": 0.2, "random_state": 0, **parameters}
    return ss.StableClassifier(**given).fit(X[rows], labels[rows])


ALL, LESS = np.arange(200), np.arange(4, 200)


def test_sets_are_told_apart_point_by_point():
    other = np.where(RNG.random(200) < 0.5, RNG.integers(3, size=200), Y)
    old, new = fitted(ALL), fitted(ALL, other)
    found = ss.compare(old, new, X)
    for point, (a, b) in enumerate(zip(old.predict_set(X), new.predict_set(X), strict=True)):
        kinds = [not set(np.flatnonzero(a)) & set(np.flatnonzero(b)), bool((a == b).all())]
        assert [found.disjoint[point], found.stayed[point]] == kinds
        assert found.changed[point] == (not any(kinds))
    assert found.disjoint.any()
    assert found.changed.any()
    n = int((other != Y).sum())
    assert (found.n_added, found.n_dropped) == (n, n)
    assert found.promise == "No promise: no theorem covers rows that come and rows that go at once."
    assert f"{int(found.disjoint.sum())} (" in found.summary()


def test_promises_are_those_of_the_theorem_for_added_and_dropped_rows():
    setting = {"bag_size": 15, "n_bags": 60, "n_classes": 3, "epsilon": 0.2}
    added = ss.compare(fitted(LESS), fitted(ALL), X)
    assert (added.n_added, added.n_dropped) == (4, 0)
    assert added.promise.delta == ss.selection_stability(n_samples=196, n_added=4, **setting).delta
    dropped = ss.compare(fitted(ALL), fitted(ALL).refit(X[LESS], Y[LESS]), X)
    assert (dropped.n_added, dropped.n_dropped) == (0, 4)
    assert dropped.promise.delta == ss.selection_stability(n_samples=200, n_dropped=4, **setting).delta
    assert "Between the models 0 rows came and 4 rows went. Promised: Dropping" in dropped.summary()


def test_where_nothing_is_promised_the_reason_is_said():
    old = fitted(ALL)
    assert ss.compare(old, fitted(ALL), X).promise == "The models have the same rows."
    reasons = {
        "No promise: the models differ in learner, bag size, number of bags or seed.": fitted(LESS, max_samples=16),
        "No promise: the models have different label spaces or rules.": fitted(LESS, epsilon=0.3),
    }
    for words, new in reasons.items():
        assert ss.compare(old, new, X).promise == words
    forest = ss.StableClassifier.from_fitted(old.estimators_, rows=old.estimators_samples_, n_samples=200)
    assert ss.compare(old, forest, X).promise == "No promise: which rows the models were fitted to is not known."
    with pytest.raises(TypeError, match="new must be a fitted StableClassifier; got 3"):
        ss.compare(old, 3, X)


def test_label_spaces_are_put_side_by_side_and_names_count():
    names = [f"n{k}" for k in range(200)]
    model = ss.StableClassifier(n_estimators=20, max_samples=15, random_state=0)
    old = model.fit(X, Y, sample_ids=names)
    changed = X.copy()
    changed[3] += 1
    new = ss.StableClassifier(n_estimators=20, max_samples=15, random_state=0, classes=[0, 1, 2, 7])
    found = ss.compare(old, new.fit(changed, Y, sample_ids=names), X)
    assert found.classes.tolist() == [0, 1, 2, 7]
    assert (found.n_added, found.n_dropped) == (1, 1)


def test_the_picture_shows_the_shares_and_the_promise():
    found = ss.compare(fitted(LESS), fitted(ALL), X)
    numbers = ss.plot.compute_comparison(found)
    assert numbers.stayed + numbers.changed + numbers.disjoint == pytest.approx(1)
    assert numbers.promised == found.promise.delta
    ax = ss.plot.comparison(found)
    assert [bar.get_width() for bar in ax.patches] == [numbers.stayed, numbers.changed, numbers.disjoint]
    assert any(f"at most {numbers.promised:.3g}" in text.get_text() for text in ax.texts)
    with pytest.raises(TypeError, match=r"found must be what steadyset\.compare returns; got 3"):
        ss.plot.comparison(3)
