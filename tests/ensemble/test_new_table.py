"""Refits: a changed table gives what a fresh fit to it gives, and only the bags whose rows changed are trained."""

import copy
import functools
import json
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import steadyset as ss
from steadyset import lanes
from steadyset.bags import bag_key
from steadyset.ensemble import _tasks

LEARNERS = {
    "trees": lambda: None,
    "lanes": lambda: lanes.NetClassifier([lanes.Linear(4), lanes.ReLU(), lanes.Linear()], epochs=1),
    "logistic": lambda: LogisticRegression(C=0.01),
}


def table(n, seed=0):
    """Return rows of three noisy classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return rng.normal(size=(n, 5)) + labels[:, None] * [1, 0.5, 0, 0, -1], np.array(["low", "mid", "top"])[labels]


X, Y = table(500)
N = 460  # rows of the first fit; the others come later


def changed_table(how, k, n=N, rows=X, labels=Y):
    """Return the table after k rows were dropped, added, or given another label."""
    gone = np.random.default_rng(k).choice(n, k, replace=False)
    if how == "dropped":
        return np.delete(rows[:n], gone, axis=0), np.delete(labels[:n], gone)
    if how == "added":
        return rows[: n + k], labels[: n + k]
    other = labels[:n].copy()
    other[gone] = np.where(other[gone] == "low", "top", "low")
    return rows[:n], other


@functools.cache
def fitted(learner, n_bags=100, size=12):
    return model(learner, n_bags, size).fit(X[:N], Y[:N])


def model(learner="trees", n_bags=100, size=12, **parameters):
    return ss.StableClassifier(LEARNERS[learner](), n_bags, max_samples=size, random_state=5, **parameters)


def held_ids(ids, seed, bag, size):
    """Return the ids of a bag by the hash as it is written down, with no code of the library but the bag's key."""
    words = ids.copy()
    for key in bag_key(seed, bag):
        words = words ^ np.uint64(key)
        for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53), (33, 1)):
            words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return set(ids[np.argsort(words)[:size]].tolist())


def changed_by_hash(before, after, seed, n_bags, size):
    """Return the bags that hold other rows in the second table."""
    ids = [ss.content_ids(*one).values for one in (before, after)]
    return [b for b in range(n_bags) if held_ids(ids[0], seed, b, size) != held_ids(ids[1], seed, b, size)]


@pytest.fixture
def trained(monkeypatch):
    """Give the numbers of the bags that are trained, as they come."""
    found, whole = [], _tasks.resume_and_train

    def train(task, row_sets, numbers, *rest, **more):
        found.extend(numbers)
        return whole(task, row_sets, numbers, *rest, **more)

    monkeypatch.setattr(_tasks, "resume_and_train", train)
    return found


def assert_same_model(one, other, points, tmp_path):
    assert one.bags_ == other.bags_
    assert np.array_equal(one.classes_, other.classes_)
    assert one.seed_ == other.seed_
    assert [tuple(g.numbers) for g in one.groups_] == [tuple(g.numbers) for g in other.groups_]
    assert np.array_equal(one.bag_predictions(points).proba, other.bag_predictions(points).proba)
    assert np.array_equal(one.predict_proba(points), other.predict_proba(points))
    assert one.__getstate__().keys() == other.__getstate__().keys()
    for k, (mine, theirs) in enumerate(zip(one.groups_, other.groups_, strict=True)):
        if hasattr(mine, "save"):
            mine.save(tmp_path / f"one-{k}")
            theirs.save(tmp_path / f"other-{k}")
            assert folder_bytes(tmp_path / f"one-{k}") == folder_bytes(tmp_path / f"other-{k}")
        else:
            assert pickle.dumps(mine) == pickle.dumps(theirs)


def folder_bytes(folder):
    """Return what the files of a saved group hold, by their names without the token of the writer, which they share."""
    token = re.compile(r"-?\b[0-9a-f]{16}\b")
    found = {token.sub("", path.name): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if "steadyset.json" in found:
        told = json.loads(found["steadyset.json"])
        del told["digest"]
        found["steadyset.json"] = token.sub("", json.dumps(told))
    if "group.safetensors" in found:  # its header is in no order
        data = found["group.safetensors"]
        end = 8 + int.from_bytes(data[:8], "little")
        found["group.safetensors"] = json.loads(data[8:end]), data[end:]
    return found


@pytest.mark.parametrize("how", ["dropped", "added", "relabelled"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_refit_is_a_fresh_fit_to_the_bit(learner, how, tmp_path, trained):
    n_bags = 30 if learner == "logistic" else 150  # groups of 128 trees, or of 16 networks
    for k in (1, 4, 40):
        after = changed_table(how, k)
        first = copy.deepcopy(fitted(learner, n_bags))
        trained.clear()
        one = first.refit(*after)
        again = sorted(trained)
        fresh = model(learner, n_bags, classes=fitted(learner, n_bags).classes_).fit(*after)
        one.classes = fresh.classes
        assert_same_model(one, fresh, X, tmp_path / str(k))
        expected = changed_by_hash((X[:N], Y[:N]), after, 5, n_bags, 12)
        assert again == expected
        assert one.changes_.n_trained == len(expected) > 0
        kept = N - k if how != "added" else N
        assert (one.changes_.n_kept, one.changes_.n_bags) == (kept, n_bags)
        assert one.changes_.n_dropped == (0 if how == "added" else k)
        assert one.changes_.n_added == (0 if how == "dropped" else k)


@pytest.mark.trial
@pytest.mark.parametrize("how", ["dropped", "added", "relabelled"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_refit_of_a_large_table_is_a_fresh_fit(learner, how, tmp_path, full_trials, trained):
    n, size, n_bags = (20_000, 400, 500) if full_trials else (1_000, 20, 20)
    rows, labels = table(n + n // 20, seed=1)
    first = model(learner, n_bags, size).fit(rows[:n], labels[:n])
    for k in (1, 10, n // 20):
        after = changed_table(how, k, n, rows, labels)
        trained.clear()
        one = copy.deepcopy(first).refit(*after)
        again = sorted(trained)
        fresh = model(learner, n_bags, size, classes=first.classes_).fit(*after)
        one.classes = fresh.classes
        assert_same_model(one, fresh, rows[:200], tmp_path / str(k))
        assert again == changed_by_hash((rows[:n], labels[:n]), after, 5, n_bags, size)
        assert one.changes_.n_trained == len(again)


def test_a_model_that_comes_out_of_a_file_knows_no_fingerprints(trained):
    first = pickle.loads(pickle.dumps(fitted("trees")))
    assert first.bags_.ids.known_rows is None
    trained.clear()
    first.refit(X[4:N], Y[4:N])
    assert sorted(trained) == changed_by_hash((X[:N], Y[:N]), (X[4:N], Y[4:N]), 5, 100, 12)
    assert first.bags_.ids.known_rows is not None
    second = copy.deepcopy(fitted("trees")).refit(X[4:N], Y[4:N])
    assert first.bags_ == second.bags_
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


TABLES = {
    "array": lambda rows: rows,
    "frame of numbers": lambda rows: pd.DataFrame(rows, columns=list("abcde")).astype({"b": np.float32}),
    "frame with texts": lambda rows: pd.DataFrame(rows, columns=list("abcde")).assign(
        f=np.where(rows[:, 0] > 0, "up", "down")
    ),
    "list": lambda rows: rows.tolist(),
}


@pytest.mark.parametrize("how", ["dropped", "added", "relabelled"])
@pytest.mark.parametrize("ids", [None, "given"])
@pytest.mark.parametrize(("learner", "kind"), [*(("trees", kind) for kind in TABLES), ("lanes", "frame of numbers")])
def test_a_refit_of_any_table_after_predictions_is_a_fresh_fit(learner, kind, ids, how, trained):
    as_table, (rows, labels) = TABLES[kind], changed_table(how, 7)
    kept = np.delete(np.arange(N), np.random.default_rng(7).choice(N, 7, replace=False))
    places = kept if how == "dropped" else np.arange(len(rows))
    names = {} if ids is None else {"sample_ids": 3 * places - 400}
    first = model(learner).fit(
        as_table(X[:N]), Y[:N], **({} if ids is None else {"sample_ids": 3 * np.arange(N) - 400})
    )
    first.predict_proba(as_table(X))  # which may put trees in another form
    fresh = model(learner).fit(as_table(rows), labels, **names)
    trained.clear()
    one = first.refit(as_table(rows), labels, **names)
    assert np.array_equal(one.bag_predictions(as_table(X)).proba, fresh.bag_predictions(as_table(X)).proba)
    assert one.bags_ == fresh.bags_
    assert 0 < one.changes_.n_trained == len(trained) < 100
    assert one.changes_.n_changed == (7 if (ids, how) == ("given", "relabelled") else 0)


def test_another_order_of_the_rows_trains_nothing(tmp_path):
    order = np.random.default_rng(0).permutation(N)
    moved = copy.deepcopy(fitted("trees")).refit(X[:N][order], Y[:N][order])
    assert str(moved.changes_) == "0 of 100 bags were trained again: 460 rows kept."
    assert np.array_equal(moved.predict_proba(X), fitted("trees").predict_proba(X))
    assert np.array_equal(moved.bags_[0], np.argsort(order)[fitted("trees").bags_[0]])


def test_half_bags_bootstrap_and_positions():
    for parameters in ({"size": 0.5}, {"size": 0.5, "bootstrap": True}):
        first = model("logistic", 10, **parameters).fit(X[:N], Y[:N])
        fresh = model("logistic", 10, **{**parameters, "size": first.bag_size_}).fit(X[1:N], Y[1:N])
        assert np.array_equal(first.refit(X[1:N], Y[1:N]).predict_proba(X), fresh.predict_proba(X))
    first = model("logistic", 10, 40).fit(X[:N], Y[:N], sample_ids="position")
    fresh = model("logistic", 10, 40).fit(X[: N + 3], Y[: N + 3], sample_ids="position")
    first.refit(X[: N + 3], Y[: N + 3], sample_ids="position")
    assert first.changes_.n_added == 3
    assert first.changes_.n_trained < 10  # rows behind all others move no position
    assert np.array_equal(first.predict_proba(X), fresh.predict_proba(X))


def test_rows_that_changed_under_ids_that_were_given():
    names = [f"person {k}" for k in range(N)]
    first = model(n_bags=60).fit(X[:N], Y[:N], sample_ids=names)
    changed, weights = X[:N].copy(), np.ones(N)
    row = int(np.argmax(first.bags_.counts))
    changed[row, 2] += 1e-9
    holding = int(first.bags_.holds(row).sum())
    assert 0 < holding < 30
    one = copy.deepcopy(first).refit(changed, Y[:N], sample_ids=names)
    assert (one.changes_.n_changed, one.changes_.n_added, one.changes_.n_dropped) == (1, 0, 0)
    assert one.changes_.n_trained == holding
    assert "1 row changed, 459 rows kept" in str(one.changes_)
    fresh = model(n_bags=60).fit(changed, Y[:N], sample_ids=names)
    assert np.array_equal(one.predict_proba(X), fresh.predict_proba(X))
    back = one.refit(X[1:N], Y[1:N], sample_ids=names[1:])
    assert np.array_equal(
        back.predict_proba(X), model(n_bags=60).fit(X[1:N], Y[1:N], sample_ids=names[1:]).predict_proba(X)
    )
    weighted = model("logistic", 60).fit(X[:N], Y[:N], sample_ids=names, sample_weight=weights)
    weights = weights.copy()
    weights[row] = 3
    weighted.refit(X[:N], Y[:N], sample_ids=names, sample_weight=weights)
    assert weighted.changes_.n_trained == holding
    again = model("logistic", 60).fit(X[:N], Y[:N], sample_ids=names, sample_weight=weights)
    assert np.array_equal(weighted.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("ids", [None, "group", "rows"])
def test_groups_that_are_dropped_grow_or_change(ids):
    groups = np.arange(N) // 5

    def given(rows):
        names = [f"row {row}" for row in rows] if ids == "rows" else ids
        return {"groups": groups[rows], "sample_ids": names}

    everything = np.arange(N)
    first = model("logistic", 40, 9).fit(X[:N], Y[:N], **given(everything))
    without = np.flatnonzero(groups != 3)
    part = np.delete(everything, 17)  # one row of group 3
    for rows in (without, part):
        one = copy.deepcopy(first).refit(X[rows], Y[rows], **given(rows))
        fresh = model("logistic", 40, 9).fit(X[rows], Y[rows], **given(rows))
        assert np.array_equal(one.bag_predictions(X).proba, fresh.bag_predictions(X).proba)
        assert np.array_equal(one.group_labels_, fresh.group_labels_)
        assert one.changes_.unit == "group"
        assert 0 < one.changes_.n_trained < 30
    swapped = X[:N].copy()
    swapped[[15, 16]] = swapped[[16, 15]]  # within a group, whose rows stand in the order of their ids
    labels = Y[:N].copy()
    labels[[15, 16]] = labels[[16, 15]]
    one = copy.deepcopy(first).refit(swapped, labels, **given(everything))
    fresh = model("logistic", 40, 9).fit(swapped, labels, **given(everything))
    assert np.array_equal(one.bag_predictions(X).proba, fresh.bag_predictions(X).proba)
    assert (one.changes_.n_trained > 0) == (ids == "rows")


def test_another_learner_or_other_types_train_every_bag():
    first = fitted("logistic", 20)
    other = copy.deepcopy(first).set_params(estimator__C=0.1)
    assert other.refit(X[:N], Y[:N]).changes_.n_trained == 20
    assert copy.deepcopy(first).refit(X[:N].astype(object).astype(float), Y[:N]).changes_.n_trained == 0
    single = X[:N].astype(np.float32).astype(float)
    kept = model("logistic", 20).fit(single, Y[:N])
    assert kept.refit(single.astype(np.float32), Y[:N]).changes_.n_trained == 20
    lambdas = FunctionTransformer(lambda rows: rows)  # cannot be pickled
    piped = ss.StableClassifier(
        make_pipeline(lambdas, LogisticRegression(C=0.01)), 5, max_samples=12, random_state=0
    ).fit(X[:N], Y[:N])
    assert piped.refit(X[:N], Y[:N]).changes_.n_trained == 0


def test_categories_of_rows_that_are_gone_are_forgotten(tmp_path):
    frame = pd.DataFrame(X[:N], columns=list("abcde"))
    frame["town"] = np.random.default_rng(0).choice(["Aix", "Bonn", "Cork"], N)
    frame.loc[11, "town"] = "Zwolle-17"
    first = model(n_bags=70).fit(frame, Y[:N])
    assert b"Zwolle-17" in pickle.dumps(first)
    rest, labels = frame.drop(index=11), np.delete(Y[:N], 11)
    first.refit(rest, labels)
    fresh = model(n_bags=70, classes=first.classes_).fit(rest, labels)
    first.classes = fresh.classes
    assert b"Zwolle-17" not in pickle.dumps(first)
    assert_same_model(first, fresh, rest, tmp_path)
    assert copy.deepcopy(first).refit(rest.drop(index=12), np.delete(labels, 11)).changes_.n_trained < 20


def test_out_of_bag_scores_and_covering_sets_are_those_of_the_new_table():
    first = model(n_bags=60, oob_score=True).fit(X[:N], Y[:N])
    first.refit(X[5:N], Y[5:N])
    fresh = model(n_bags=60, oob_score=True).fit(X[5:N], Y[5:N])
    assert first.oob_score_ == fresh.oob_score_
    assert np.array_equal(first.oob_label_proba_, fresh.oob_label_proba_)
    assert np.array_equal(first.predict_covering_set(X), fresh.predict_covering_set(X))
    assert len(first.estimators_) == 60


class Stops(LogisticRegression):
    """Raises at the fits of its choice."""

    fits, stop_at, error = 0, None, KeyboardInterrupt

    def fit(self, X, y):
        Stops.fits += 1
        if Stops.fits == Stops.stop_at:
            raise Stops.error("stopped")
        return super().fit(X, y)


@pytest.fixture
def stops():
    Stops.fits, Stops.stop_at = 0, None
    yield Stops
    Stops.stop_at = None


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interruption_leaves_the_model_as_it_was(error, stops, tmp_path):
    # A word in the values counts as a refusal of labels: only the first fit of a bag is to fail.
    stops.error = error if error is KeyboardInterrupt else OSError
    first = ss.StableClassifier(Stops(C=0.01), 30, max_samples=12, random_state=0, oob_score=True).fit(X[:N], Y[:N])
    before = pickle.dumps(first)
    stops.fits, stops.stop_at = 0, 3
    with pytest.raises(stops.error):
        first.refit(X[60:N], Y[60:N])
    assert stops.fits == 3
    assert pickle.dumps(first) == before
    first.set_params(warm_start=True)
    before, stops.fits = pickle.dumps(first), 0
    with pytest.raises(stops.error):
        first.fit(X[60:N], Y[60:N])
    assert pickle.dumps(first) == before


def test_an_interrupted_refit_goes_on_from_its_checkpoint_and_old_bags_are_removed(stops, tmp_path):
    stops.error = KeyboardInterrupt
    first = ss.StableClassifier(Stops(C=0.01), 40, max_samples=12, random_state=0, checkpoint=tmp_path)
    first.fit(X[:N], Y[:N])
    (old,) = tmp_path.iterdir()
    (tmp_path / "notes.txt").write_text("not ours")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "bags-0-0.joblib").write_bytes(b"of another fit")
    for rows in (slice(80, N), slice(100, N)):  # the first of these refits is given up
        stops.fits, stops.stop_at = 0, 6
        with pytest.raises(KeyboardInterrupt):
            first.refit(X[rows], Y[rows])
    stops.fits, stops.stop_at = 0, None
    first.refit(X[100:N], Y[100:N])
    assert stops.fits == first.changes_.n_trained - 5
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"notes.txt", "other", first.checkpoint_name_}
    assert old.name not in left
    fresh = ss.StableClassifier(LogisticRegression(C=0.01), 40, max_samples=12, random_state=0)
    assert np.array_equal(first.predict_proba(X), fresh.fit(X[100:N], Y[100:N]).predict_proba(X))


@pytest.mark.parametrize("learner", ["trees", "lanes"])
def test_groups_of_many_bags_apart_are_found_in_the_checkpoint(learner, tmp_path):
    """A file is named by its bags; a hundred numbers would be no file name."""
    first = model(learner, 400, 40, checkpoint=tmp_path).fit(X[:N], Y[:N])
    lost = copy.deepcopy(first)
    first.refit(X[4:N], Y[4:N])
    assert 100 < first.changes_.n_trained < 300
    names = [path.name for path in (tmp_path / first.checkpoint_name_).glob("bags-*")]
    assert any(name.startswith("bags-list-") for name in names) == (learner == "trees")
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / first.checkpoint_name_).glob("bags-*")}
    lost.refit(X[4:N], Y[4:N])
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert np.array_equal(lost.predict_proba(X), first.predict_proba(X))


@pytest.mark.parametrize("names", [None, "given"])
def test_nothing_of_a_forgotten_row_is_left(names, tmp_path):
    """Members of nearest neighbours hold the very rows: the model, its checkpoint and its file are searched."""
    rows, secret = X[:N].copy(), np.array([0.123456789012345, 1.23456789012345, 2.3456789012345, 3.456789012345, 4.56])
    rows[33] = secret
    ids = None if names is None else [f"name-{k:03}" for k in range(N)]
    first = ss.StableClassifier(KNeighborsClassifier(1), 60, max_samples=50, random_state=0, checkpoint=tmp_path / "c")
    first.fit(rows, Y[:N], sample_ids=ids)
    word = ss.content_ids(rows, Y[:N]).values[33:34].tobytes()
    traces = [secret[:1].tobytes(), word, b"name-033", "name-033".encode("utf-32-le")]

    def found(model):
        joblib.dump(model, tmp_path / "model.joblib")
        everything = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        return [any(trace in content for content in everything) for trace in traces]

    assert found(first) == [True, True, False, names is not None]
    kept = np.delete(np.arange(N), 33)
    first.refit(rows[kept], Y[kept], sample_ids=None if ids is None else [ids[k] for k in kept])
    assert 0 < first.changes_.n_trained < 60
    assert found(first) == [False] * 4


def test_a_bag_size_that_is_kept_is_told():
    first = model("logistic", 6, 0.5).fit(X[:N], Y[:N])
    assert first.bag_size_ == 230
    first.refit(X[: N - 100], Y[: N - 100])
    assert first.bag_size_ == 230
    assert first.changes_.note == (
        "Bags keep their 230 rows; max_samples=0.5 of 360 rows would be 180, which takes a new fit."
    )
    with pytest.raises(
        ValueError, match="X must have more rows than a bag of the fit, 230; got 200: smaller bags take"
    ):
        first.refit(X[:200], Y[:200])


def test_a_promise_is_kept_or_bags_are_planned_anew():
    wanted = {"n_estimators": 100, "epsilon": 0.2, "delta": 0.05, "random_state": 0}
    first = ss.StableClassifier(GaussianNB(), **wanted).fit(X, Y)
    size = first.bag_size_
    same = copy.deepcopy(first).refit(X[1:], Y[1:])
    assert same.bag_size_ == size
    assert same.guarantee().delta <= 0.05
    with pytest.warns(UserWarning, match=f"100 bags of {size} rows do not keep delta=0.05 with 250 rows: 100 bags of"):
        first.refit(X[:250], Y[:250])
    assert first.bag_size_ < size
    assert first.guarantee().delta <= 0.05
    fresh = ss.StableClassifier(GaussianNB(), **wanted).fit(X[:250], Y[:250])
    assert np.array_equal(first.predict_proba(X), fresh.predict_proba(X))


def test_hardly_any_row_is_known():
    with pytest.warns(UserWarning, match="hardly any row is known: 0 of the 460 rows of X and y were in the fit"):
        assert copy.deepcopy(fitted("logistic", 10)).refit(X[:N] * 2, Y[:N]).changes_.n_trained == 10


def test_what_a_refit_refuses():
    first = fitted("logistic", 10)
    before = pickle.dumps(first)
    with pytest.raises(
        ValueError, match=r'sample_ids must be of the kind of those of the fit, None for ids .*; got "pos'
    ):
        first.refit(X[:N], Y[:N], sample_ids="position")
    with pytest.raises(ValueError, match="groups must be None, as in the fit; got some"):
        first.refit(X[:N], Y[:N], groups=np.arange(N) // 2)
    with pytest.raises(ValueError, match="y must hold labels of classes only; got 'new'"):
        first.refit(X[:N], np.where(np.arange(N) == 3, "new", Y[:N]))
    with pytest.raises(ValueError, match="X has 4 features, but StableClassifier is expecting 5 features"):
        first.refit(X[:N, :4], Y[:N])
    assert pickle.dumps(first) == before
    adopted = ss.StableClassifier.from_fitted(first.estimators_, rows=first.estimators_samples_, n_samples=N)
    with pytest.raises(ValueError, match="a refit is for bags that steadyset drew; got a model whose members were"):
        adopted.refit(X[:N], Y[:N])
    bare = copy.deepcopy(first)
    bare.bags_ = bare.bags_.without_ids()
    with pytest.raises(ValueError, match="a refit must know the ids of the rows of the fit; got a model whose ids"):
        bare.refit(X[:N], Y[:N])


def test_a_warm_start_on_another_table_adds_bags_and_trains_changed_ones():
    first = model("logistic", 20, warm_start=True).fit(X[:N], Y[:N])
    first.set_params(n_estimators=50).fit(X[3:N], Y[3:N])
    assert 30 < first.changes_.n_trained < 50
    fresh = model("logistic", 50, classes=first.classes_).fit(X[3:N], Y[3:N])
    assert np.array_equal(first.predict_proba(X), fresh.predict_proba(X))
