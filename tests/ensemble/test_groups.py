"""Rows that are dropped together: bags, promise, audit and certificates all speak of groups."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset import lanes
from steadyset.bags import BagPredictions, group_ids

FULL = os.environ.get("STEADYSET_TRIALS") == "full"
N_GROUPS = 200
RNG = np.random.default_rng(11)
SIZES = RNG.integers(1, 51, N_GROUPS)
GROUPS = RNG.permutation(np.repeat(np.arange(N_GROUPS) * 7 + 3, SIZES))
X = RNG.normal(size=(len(GROUPS), 3))
Y = np.where(X[:, 0] + RNG.normal(size=len(GROUPS)) + 0.5 * RNG.normal(size=2000)[GROUPS] > 0, "ill", "well")
POINTS = RNG.normal(size=(40, 3))
NAMES = np.unique(GROUPS)


def model(**given):
    tree = DecisionTreeClassifier(max_depth=3, splitter="random")
    settings = {"n_estimators": 30, "max_samples": 40, "epsilon": 0.1, "random_state": 5}
    return ss.StableClassifier(tree, **{**settings, **given})


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, Y, groups=GROUPS)


def without(group):
    kept = group != GROUPS
    return X[kept], Y[kept], GROUPS[kept]


def some_groups(n):
    return NAMES if FULL else NAMES[RNG.choice(N_GROUPS, n, replace=False)]


def test_bags_hold_whole_groups_and_count_them(fitted):
    assert (fitted.bags_.n_samples, fitted.bag_size_) == (N_GROUPS, 40)
    assert fitted.bags_.ids.unit == "group"
    assert np.array_equal(fitted.group_labels_, NAMES)
    for bag, rows in enumerate(fitted.estimators_samples_):
        held = NAMES[fitted.bags_[bag]]
        assert sorted(rows) == np.flatnonzero(np.isin(GROUPS, held)).tolist()
        assert len(np.unique(rows)) == len(rows)
        changes = np.flatnonzero(np.diff(GROUPS[rows])) + 1
        assert np.array_equal(GROUPS[rows][np.append(0, changes)], held)  # one group after the other, in id order


@pytest.mark.trial
@pytest.mark.parametrize("ids", [None, "group", "rows"])
def test_without_a_group_the_bags_that_did_not_hold_it_are_the_same_to_the_bit(ids):
    named = np.arange(len(GROUPS)) * 3 if ids == "rows" else ids
    whole = model().fit(X, Y, groups=GROUPS, sample_ids=named)
    before, n_held = whole.bag_predictions(POINTS).proba, 0
    for group in some_groups(3):
        fewer = named[group != GROUPS] if ids == "rows" else named
        X_less, Y_less, left = without(group)
        again = model().fit(X_less, Y_less, groups=left, sample_ids=fewer)
        same = (again.bag_predictions(POINTS).proba == before).all(axis=(1, 2))
        held = whole.bags_.holds(int(np.searchsorted(NAMES, group)))
        assert held.sum() < len(held)
        assert same[~held].all()
        assert not (held.any() and same[held].all())  # one of 200 groups may be in none of 30 bags
        n_held += held.any()
    assert n_held


def test_the_order_of_the_rows_does_not_matter(fitted):
    order = RNG.permutation(len(GROUPS))
    moved = model().fit(pd.DataFrame(X).iloc[order], Y[order], groups=pd.Series(GROUPS).iloc[order])
    assert np.array_equal(moved.predict_proba(pd.DataFrame(POINTS)), fitted.predict_proba(POINTS))
    renamed = model().fit(X, Y, groups=[f"g{-label}" for label in GROUPS])  # ids are made of the rows, not of labels
    assert np.array_equal(renamed.predict_proba(POINTS), fitted.predict_proba(POINTS))


def brute_force(fitted, rule):
    """Conflicts of each group at each point: the mean of the bags none of whose rows belong to it."""
    proba = fitted.bag_predictions(POINTS).proba
    sets = rule(proba.mean(axis=0))
    held = [set(GROUPS[rows].tolist()) for rows in fitted.estimators_samples_]
    found = np.zeros((len(NAMES), len(POINTS)), bool)
    for place, group in enumerate(NAMES.tolist()):
        free = [group not in groups for groups in held]
        found[place] = ~(rule(proba[free].mean(axis=0)) & sets).any(axis=1)
    return found


@pytest.mark.parametrize("rule", [ss.Argmax(), ss.InflatedArgmax(0.02)])
def test_the_audit_equals_brute_force(fitted, rule):
    audit = fitted.audit(POINTS, rule)
    expected = brute_force(fitted, rule)
    assert expected.any()
    assert audit.unit == "group"
    assert np.array_equal(audit.left_out, NAMES)
    assert np.array_equal(audit.instability, expected.mean(axis=0))
    assert np.array_equal(audit.row_influence, expected.sum(axis=1))
    assert "200 groups left out" in audit.summary()
    some = fitted.audit(POINTS, rule, left_out=[5, 0])
    assert some.left_out.tolist() == NAMES[[5, 0]].tolist()
    assert np.array_equal(some.instability, expected[[5, 0]].mean(axis=0))


def test_a_coupled_refit_is_the_fit_without_the_group(fitted):
    places = [3, 77]
    found = ss.audit_refit(fitted, X, Y, POINTS, ss.Argmax(), left_out=places)
    assert found.left_out.tolist() == NAMES[places].tolist()
    flips = [model().fit(*without(NAMES[p])[:2], groups=without(NAMES[p])[2]).predict(POINTS) for p in places]
    assert np.array_equal(found.instability, np.mean([flip != fitted.predict(POINTS) for flip in flips], axis=0))
    with pytest.raises(ValueError, match="X, y and fit_params must be those of the fit, in the same order"):
        ss.audit_refit(fitted, X + 1, Y, POINTS, ss.Argmax(), left_out=1)


def test_certificates_hold_for_every_group_that_is_dropped(fitted):
    certificates = fitted.certify(POINTS)
    assert (certificates.unit, certificates.n_samples, certificates.bag_size) == ("group", N_GROUPS, 40)
    assert "any one group cannot" in certificates.status(int(np.argmin(certificates.unsafe_rows)))
    assert "The refit has the same group ids" in certificates.summary()
    sets, safe = fitted.predict_set(POINTS), certificates.unsafe_rows == 0
    assert safe.any()
    for group in some_groups(3):
        X_less, Y_less, left = without(group)
        refitted = model().fit(X_less, Y_less, groups=left).predict_set(POINTS)
        assert (refitted & sets).any(axis=1)[safe].all()


def test_the_promise_counts_groups():
    promised = model(max_samples=0.5, epsilon=0.4, delta=0.05).fit(X, Y, groups=GROUPS)
    guarantee = promised.guarantee()
    assert guarantee.delta <= 0.05
    assert (guarantee.n_samples, guarantee.bag_size, guarantee.unit) == (N_GROUPS, promised.bag_size_, "group")
    assert str(guarantee).startswith("Dropping one of 200 training groups gives a disjoint label set")
    assert "the same group ids" in str(guarantee)
    with pytest.raises(ValueError, match=r"of up to 100 of 200 groups can keep.* or [\d,]+ groups would do"):
        model(max_samples=0.49, n_estimators=5, epsilon=0.01, delta=0.001).fit(X, Y, groups=GROUPS)


@pytest.mark.trial
@pytest.mark.parametrize(("n", "size"), [(30, 1), (200, 4)] if FULL else [(30, 1)])
def test_simulated_conflicts_are_at_most_the_promise(n, size):
    """A random group dropped from random data and the ensemble fitted again, many times: known truth.

    Labels are coins, one per group, so that bags drawn anew contradict each other far more often than promised; those
    that only lose the group do not. The rate is to be below the promise with room for 3 standard errors.
    """
    setting = {"n_estimators": 12, "max_samples": size, "epsilon": 0.35}
    rng, kept_bags, new_bags = np.random.default_rng(1), [], []
    for seed in range(300 if FULL else 100):
        groups = np.repeat(np.arange(n), rng.integers(1, 51, n))
        rows, labels = rng.normal(size=(len(groups), 1)), rng.integers(0, 2, n)[groups]
        points, kept = rng.normal(size=(20, 1)), groups != rng.integers(n)
        made = ss.StableClassifier(DecisionTreeClassifier(max_depth=2), **setting, classes=[0, 1], random_state=seed)
        whole = clone(made).fit(rows, labels, groups=groups)
        sets = whole.predict_set(points)
        for rates, other_seed in ((kept_bags, seed), (new_bags, seed + 10**6)):
            less = clone(made).set_params(random_state=other_seed).fit(rows[kept], labels[kept], groups=groups[kept])
            rates.append((~(sets & less.predict_set(points)).any(axis=1)).mean())
    promise = whole.guarantee()
    assert (promise.n_samples, promise.unit) == (n, "group")
    assert promise.delta < 0.01
    assert np.mean(kept_bags) + 3 * np.std(kept_bags) / np.sqrt(len(kept_bags)) <= promise.delta
    assert np.mean(new_bags) > 2 * promise.delta


def test_equal_groups_are_interchangeable():
    groups = np.repeat([0, 1, 2, 3, 4], 2)
    rows, labels = np.repeat([[0.0], [1.0], [0.0], [1.0], [2.0]], 2, axis=0), np.arange(10) % 2
    made = model(max_samples=2).fit(rows, labels, groups=groups)
    assert made.bags_.ids.last_equal.tolist() == [2, 3, 2, 3, 4]
    assert len(np.unique(made.bags_.ids.values)) == 5
    assert made.certify(rows).n_samples == 5


def test_ids_of_groups_know_nothing_of_other_groups():
    digests = RNG.integers(0, 2**63, (12, 2)).astype(np.uint64)
    codes = np.array([0, 1, 2] * 4)
    whole, fewer = group_ids(digests, codes, "content"), group_ids(digests[codes > 0], codes[codes > 0] - 1, "content")
    assert np.array_equal(whole.values[1:], fewer.values)
    order = RNG.permutation(12)
    assert np.array_equal(group_ids(digests[order], codes[order], "content").values, whole.values)


def test_out_of_bag_rows_are_those_of_groups_outside(fitted):
    proba, rows = fitted.oob_proba(X), fitted.estimators_samples_
    row = 17
    free = [b for b in range(30) if row not in rows[b]]
    assert np.allclose(proba[row], fitted.bag_predictions(X[[row]]).proba[free].mean(axis=(0, 1)), atol=1e-12)


def test_learners_that_train_together_warm_starts_and_saved_predictions(tmp_path):
    net = lanes.NetClassifier([lanes.Linear()], epochs=1, random_state=0)
    made = ss.StableClassifier(net, 5, max_samples=20, random_state=0).fit(X, Y, groups=GROUPS)
    made.bag_predictions(POINTS).save(tmp_path / "saved")
    loaded = BagPredictions.load(tmp_path / "saved")
    assert loaded == made.bag_predictions(POINTS)
    assert loaded.bags.ids.unit == "group"
    assert ss.certify(loaded, made.rule_).unit == "group"
    first = model(n_estimators=10, warm_start=True).fit(X, Y, groups=GROUPS)
    grown = first.set_params(n_estimators=30).fit(X, Y, groups=GROUPS)
    assert np.array_equal(grown.predict_proba(POINTS), model().fit(X, Y, groups=GROUPS).predict_proba(POINTS))
    with pytest.raises(ValueError, match="groups must be given, as in the fit; got None"):
        grown.set_params(n_estimators=31).fit(X, Y)
    streamed = model().fit_predict_bags(X, Y, POINTS, groups=GROUPS)
    assert streamed == model(checkpoint=tmp_path / "bags").fit(X, Y, groups=GROUPS).bag_predictions(POINTS)


def test_a_fit_without_groups_forgets_those_of_the_last(fitted):
    again = clone(fitted).fit(X, Y, groups=GROUPS).fit(X, Y)
    assert not hasattr(again, "group_labels_")
    assert again.bags_.n_samples == len(X)


@pytest.mark.parametrize(
    ("groups", "given", "error", "words"),
    [
        (GROUPS[1:], {}, ValueError, r"groups must be a label for each of the \d+ rows.*; got \d+ labels"),
        (np.zeros(len(X), int), {}, ValueError, "at least 2 different ones; got 0 alone"),
        (GROUPS + 0.5, {}, TypeError, r"groups must be .*; got \d+\.5"),
        ([None] * len(X), {}, TypeError, "groups must be .*; got None"),
        (GROUPS, {"sample_ids": "index"}, ValueError, "sample_ids must be None, \"group\".*; got 'index'"),
        (GROUPS, {"sample_ids": [1] * len(X)}, ValueError, "sample_ids must be .* distinct"),
    ],
)
def test_groups_that_are_refused(groups, given, error, words):
    with pytest.raises(error, match=words):
        model().fit(X, Y, groups=groups, **given)
