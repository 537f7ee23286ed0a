"""A fit without a row is tied to the fit with it, with nothing said about ids: what "certain" rests on."""

import io
import itertools
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import resample

import steadyset as ss
from steadyset._base.validation import resolve_bag_size
from steadyset.bags import content_ids

N = 120
RNG = np.random.default_rng(7)
NUMBERS = RNG.normal(size=(N, 4))
LABELS = np.where(NUMBERS[:, 0] + RNG.normal(size=N) > 0, "yes", "no")
FRAME = pd.DataFrame({"a": NUMBERS[:, 0], "b": RNG.integers(0, 5, N), "c": NUMBERS[:, 2] > 0}).iloc[::-1]


def from_csv(frame):
    text = io.StringIO(frame.to_csv(index=False))
    return pd.read_csv(text, converters={"a": float})  # older parsers of pandas round


def shuffled(frame):
    return frame.sample(frac=1, random_state=1)


CONTAINERS = {
    "float64": (NUMBERS, lambda X: X),
    "float32": (NUMBERS.astype(np.float32), lambda X: X),
    "float32, then float64": (NUMBERS.astype(np.float32), lambda X: X.astype(np.float64)),
    "whole numbers with equal rows": (NUMBERS.round().astype(int)[:, :1], lambda X: X),
    "frame, filtered": (FRAME, lambda X: X),
    "frame, reset_index": (FRAME, lambda X: X.reset_index(drop=True)),
    "frame, read again": (FRAME, from_csv),
    "frame, shuffled": (FRAME, shuffled),
    "frame, index of floats": (FRAME.set_index(NUMBERS[:, 3]), lambda X: X),
    "polars": (pl.DataFrame(NUMBERS), lambda X: X.reverse().reverse()),
    "arrow": (pa.table(dict(zip("abcd", NUMBERS.T, strict=True))), lambda X: X),
    "sparse": (sp.csr_array(np.where(NUMBERS > 0, NUMBERS, 0)), lambda X: X),
    "sparse, then other format": (sp.csr_array(np.where(NUMBERS > 0, NUMBERS, 0)), lambda X: sp.coo_array(X)),
    "images": (RNG.integers(0, 256, (N, 5, 5)).astype(np.uint8), lambda X: X),
}


class Line(ClassifierMixin, BaseEstimator):
    """Class means along a random line: a seed, and sums whose last bits depend on the order of the rows."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        rows = flat(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.line_ = np.random.default_rng(self.random_state).normal(size=rows.shape[1])
        along = rows @ self.line_
        self.means_ = np.array([along[codes == k].sum() / (codes == k).sum() for k in range(len(self.classes_))])
        return self

    def predict_proba(self, X):
        nearness = 1 / (1 + np.abs((flat(X) @ self.line_)[:, None] - self.means_))
        return nearness / nearness.sum(axis=1, keepdims=True)


def flat(X):
    """The numbers of any kind of table, a row for each row."""
    if sp.issparse(X):
        return X.toarray()
    if isinstance(X, pa.Table):
        X = X.to_pandas()
    return np.asarray(X, dtype=np.float64).reshape(len(X), -1)


def takes_rows_of_arrow_tables():
    try:
        resample(CONTAINERS["arrow"][0], n_samples=2, random_state=0)
    except TypeError:
        return False
    return True


def without(X, row):
    keep = np.delete(np.arange(N), row)
    if hasattr(X, "take") and hasattr(X, "columns") and not hasattr(X, "iloc"):
        return X.take(keep)
    return X.iloc[keep] if hasattr(X, "iloc") else X[keep]


@pytest.mark.trial
@pytest.mark.parametrize("kind", CONTAINERS)
def test_bags_that_did_not_hold_the_row_are_the_same_to_the_bit(kind, full_trials):
    """2 seeds by 3 rows; 300 by 10 at full size. Sets of cleared points never turn disjoint."""
    X, later = CONTAINERS[kind]
    if kind == "arrow" and not takes_rows_of_arrow_tables():
        pytest.skip("this release of scikit-learn takes no rows of Arrow tables")
    labels = pd.Series(LABELS, index=X.index) if hasattr(X, "iloc") else LABELS
    n_seeds, n_rows = (300, 10) if full_trials else (2, 3)
    changed = 0
    for seed in range(n_seeds):
        model = ss.StableClassifier(Line(), 30, epsilon=0.2, random_state=seed).fit(X, labels)
        assert model.bags_.ids.kind == "content"
        predictions = model.bag_predictions(X)
        votes, sets, cleared = predictions.proba, model.predict_set(X), model.certify(X).unsafe_rows == 0
        for row in np.random.default_rng(seed).choice(N, n_rows, replace=False):
            fewer = later(without(X, row))
            y = without(labels, row)
            if kind == "frame, shuffled":
                y = y.loc[fewer.index]
            refit = ss.StableClassifier(Line(), 30, epsilon=0.2, random_state=seed).fit(fewer, np.asarray(y))
            gone = model.bags_.ids.dropped(np.array([row]))[0]
            held = model.bags_.holds(gone)
            other = refit.bag_predictions(X).proba
            assert np.array_equal(votes[~held], other[~held])
            assert (sets & refit.predict_set(X)).any(axis=1)[cleared].all()
            changed += int((votes[held] != other[held]).any(axis=(1, 2)).sum())
            ids = [set(np.delete(model.bags_.sample_ids, gone).tolist()), set(refit.bags_.sample_ids.tolist())]
            assert ids[0] == ids[1]
    assert changed > 5 * n_seeds * n_rows


@pytest.mark.parametrize("base", [SGDClassifier(), ExtraTreesClassifier(3)])
def test_learners_that_care_for_order_and_seed(base):
    """They see rows in id order, and take the seed from the bag's number."""
    model = ss.StableClassifier(base, 12, random_state=0).fit(NUMBERS, LABELS)
    order = np.random.default_rng(0).permutation(N)
    moved = ss.StableClassifier(base, 12, random_state=0).fit(NUMBERS[order], LABELS[order])
    assert np.array_equal(moved.predict_proba(NUMBERS), model.predict_proba(NUMBERS))


@pytest.mark.trial
@pytest.mark.parametrize("columns", ["noise", "nothing"])
def test_certain_is_certain_in_the_plain_workflow(columns, full_trials):
    """Ids by position redrew all bags, and the sets were disjoint in one of eleven trials."""
    y = np.arange(1000) % 2
    X = np.zeros((1000, 1)) if columns == "nothing" else np.random.default_rng(0).normal(size=(1000, 2))

    def fit(seed, rows):
        base = DummyClassifier(strategy="most_frequent")
        model = ss.StableClassifier(base, 201, max_samples=9, epsilon=0.08, classes=[0, 1], random_state=seed)
        return model.fit(X[rows], y[rows])

    n_seeds, n_rows = (300, 10) if full_trials else (6, 4)
    for seed in range(n_seeds):
        model = fit(seed, np.arange(1000))
        sets, certificates = model.predict_set(X[:1]), model.certify(X[:1])
        assert model.guarantee().delta < 1e-6
        assert certificates.unsafe_rows.tolist() == [0]
        assert certificates.status(0).startswith("Deleting any one row cannot make the refitted set disjoint")
        for row in np.random.default_rng(seed).integers(0, 1000, n_rows):
            assert (sets & fit(seed, np.delete(np.arange(1000), row)).predict_set(X[:1])).any()


def test_a_certificate_of_equal_rows_is_that_of_the_last():
    """Rows of one group are dropped by the id of the last: all are safe, or none."""
    X = np.repeat(np.arange(4.0), 10)[:, None]
    y = np.tile([0, 1], 20)
    groups = X[:, 0].astype(int) * 2 + y
    found = set()
    for seed in range(20):
        model = ss.StableClassifier(n_estimators=40, max_samples=4, epsilon=0.01, random_state=seed).fit(X, y)
        assert np.array_equal(model.bags_.ids.last_equal, [np.flatnonzero(groups == g)[-1] for g in groups])
        predictions, rule = model.bag_predictions(X[:1]), ss.InflatedArgmax(0.01)
        unsafe = int(ss.certify(predictions, rule).unsafe_rows[0])
        found.add(unsafe)
        named = ss.draw_bags(40, 40, 4, seed=model.seed_, sample_ids=model.bags_.sample_ids.astype(np.int64))
        last_rows = np.unique(model.bags_.ids.last_equal)
        assert unsafe % 5 == 0
        assert all(np.array_equal(named.holds(row), model.bags_.holds(row)) for row in last_rows)
        if seed < 3:
            row, last = 1, int(model.bags_.ids.last_equal[1])
            refit = ss.audit_refit(model, X, y, X[:4], ss.Argmax(), left_out=[row, last])
            fresh = ss.StableClassifier(n_estimators=40, max_samples=4, epsilon=0.01, random_state=seed)
            less = fresh.fit(np.delete(X, row, axis=0), np.delete(y, row)).predict_proba(X[:4])
            shift = np.linalg.norm(model.predict_proba(X[:4]) - less, axis=1)
            assert refit.max_shift == pytest.approx(shift, abs=1e-6)
    assert len(found) > 2


def test_where_ids_come_from():
    frame = pd.DataFrame(NUMBERS, index=[f"r{i}" for i in range(N)]).rename(columns=str)

    def ids(X, **more):
        return ss.StableClassifier(n_estimators=3, random_state=0).fit(X, LABELS, **more).bags_

    assert ids(frame).ids == content_ids(NUMBERS, LABELS)
    assert ids(frame, sample_ids="index").sample_ids.tolist() == frame.index.tolist()
    assert ids(frame, sample_ids="index").ids.kind == "given"
    assert ids(frame, sample_ids=range(N)).ids.kind == "given"
    position = ids(frame, sample_ids="position")
    assert (position.ids.kind, position.coupling, position.sample_ids) == ("position", "any", None)
    with pytest.raises(TypeError, match='sample_ids="index" is for frames with an index; got X of type ndarray'):
        ids(NUMBERS, sample_ids="index")
    with pytest.raises(ValueError, match='sample_ids must be None, "index", "position" or a sequence of distinct ids'):
        ids(NUMBERS, sample_ids="rows")
    with pytest.raises(TypeError, match="or a sequence of distinct ids; got RowIds, which None makes of all that"):
        ids(NUMBERS, sample_ids=content_ids(NUMBERS))  # without the labels: rows that are not equal would count as such
    with pytest.raises(ValueError, match="more than once"):
        ids(frame.set_index(pd.Index(["a"] * N)), sample_ids="index")


def test_weights_and_parameters_are_part_of_a_row():
    weights = np.ones(N)

    def ids(**more):
        return ss.StableClassifier(DecisionTreeClassifier(), 3, random_state=0).fit(NUMBERS, LABELS, **more).bags_.ids

    plain, weighted = ids(), ids(sample_weight=weights)
    weights[5] = 2
    other = ids(sample_weight=weights.tolist())
    assert plain != weighted
    assert np.flatnonzero(weighted.values != other.values).tolist() == [5]
    assert ids(check_input=True) == plain


class Unhashable(DecisionTreeClassifier):
    """A learner of rows that hold a list each."""

    def fit(self, X, y):
        return super().fit([cell[0] for cell in X], y)

    def predict_proba(self, X):
        return super().predict_proba([cell[0] for cell in X])


def test_rows_that_cannot_be_hashed_fall_back_to_positions_and_say_so():
    X = np.empty((N, 1), object)
    X[:, 0] = [list(row) for row in NUMBERS]
    with pytest.warns(UserWarning, match=r"a value of type list in X\. Positions are used: a dropped row redraws"):
        model = ss.StableClassifier(Unhashable(), 40, random_state=0).fit(X, LABELS)
    assert model.bags_.coupling == "any"
    assert "however the two sets are coupled" in str(model.guarantee())
    certificates = model.certify(X[:3])
    assert certificates.unsafe_rows is None
    assert "known by their positions, which a dropped row changes" in certificates.summary()
    assert "certain" not in certificates.summary() + certificates.status(0)
    with pytest.raises(ValueError, match="subbags of rows with ids"):
        ss.audit_refit(model, X, LABELS, X, ss.Argmax())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ss.StableClassifier(Unhashable(), 3).fit(X, LABELS, sample_ids=range(N))


def test_statements_about_changed_rows_need_given_ids():
    def words(**more):
        model = ss.StableClassifier(n_estimators=60, max_samples=3, epsilon=0.6, random_state=0)
        found = model.fit(NUMBERS, LABELS, **more).certify(NUMBERS[:20])
        return " ".join([found.summary(), *(found.status(k) for k in range(20))])

    content, given = words(), words(sample_ids=range(N))
    assert "eleting or changing" in given
    assert "row ids are given" in given
    assert "chang" not in content.replace("a changed row is another row", "")
    assert "row ids are made of the rows' content: a changed row is another row" in content
    for text in (content, given):
        assert "the same row ids, bag size, label space, seed and learner, with independent randomness per bag" in text


def test_a_guarantee_names_what_it_compares():
    model = ss.StableClassifier(n_estimators=500, random_state=0).fit(NUMBERS, LABELS)
    assert "the same row ids, bag size, label space, seed and learner, with independent randomness" in str(
        model.guarantee()
    )


@pytest.mark.parametrize("n", [90, 95, 97, 98, 99, 100])
def test_a_bag_size_that_a_dropped_row_moves_is_said(n):
    model = ss.StableClassifier(n_estimators=4, random_state=0).fit(NUMBERS[:n], LABELS[:n])
    fewer = resolve_bag_size(0.5, n - 1, "subbagging")
    said = re.search(r"pass max_samples=(\d+) \(0.5 of (\d+) rows are (\d+)\)", str(model.guarantee()))
    assert (said is None) == (fewer == model.bag_size_)
    if said is not None:
        assert [int(number) for number in said.groups()] == [model.bag_size_, n - 1, fewer]
    exact = ss.StableClassifier(n_estimators=4, max_samples=model.bag_size_).fit(NUMBERS[:n], LABELS[:n])
    assert "max_samples=" not in str(exact.guarantee())


def test_both_cases_are_among_those_numbers_of_rows():
    sizes = {n: resolve_bag_size(0.5, n, "subbagging") for n in range(89, 101)}
    assert {sizes[n] == sizes[n - 1] for n in (90, 95, 97, 98, 99, 100)} == {True, False}


@pytest.mark.parametrize("share", [0.5, 0.2, 0.1])
def test_shares_survive_a_dropped_row(share):
    sizes = [resolve_bag_size(share, n, "subbagging") for n in range(49, 5001)]
    moved = [n for n, (before, after) in enumerate(itertools.pairwise(sizes), 50) if before != after]
    assert len(moved) <= 0.03 * (5000 - 49)
    assert not set(moved) & {100, 150, 200, 500, 1000, 1500, 2000, 2500, 3000, 4000, 5000}
    for n, size in enumerate(sizes, 49):
        assert abs(size - share * n) <= max(0.5, share * n / 32)


@pytest.mark.parametrize("share", [0.6, 0.75, 0.9, 0.99])
def test_shares_of_most_rows_keep_what_they_leave_out(share):
    sizes = [resolve_bag_size(share, n, "subbagging") for n in range(49, 3001)]
    assert sizes == sorted(sizes)
    for n, size in enumerate(sizes, 49):
        assert size < n
        assert abs(size - share * n) <= max(1, (1 - share) * n / 16)


def test_a_warm_start_knows_its_rows():
    model = ss.StableClassifier(n_estimators=3, warm_start=True, random_state=0).fit(NUMBERS, LABELS)
    model.set_params(n_estimators=6).fit(NUMBERS.copy(), LABELS)
    other = NUMBERS.copy()
    other[3, 2] += 1e-9
    model.set_params(n_estimators=9).fit(other, LABELS)
    assert (model.changes_.n_added, model.changes_.n_dropped) == (1, 1)


def test_a_refit_audit_knows_its_rows():
    model = ss.StableClassifier(n_estimators=8, random_state=0).fit(NUMBERS, LABELS)
    other = NUMBERS.copy()
    other[3, 2] += 1e-9
    with pytest.raises(
        ValueError, match=r"must be those of the fit, in the same order; got others.* in row 3 at first"
    ):
        ss.audit_refit(model, other, LABELS, NUMBERS[:4], ss.Argmax(), left_out=3)
    with pytest.raises(ValueError, match="in row 0 at first"):
        ss.audit_refit(model, NUMBERS[::-1], LABELS[::-1], NUMBERS[:4], ss.Argmax(), left_out=3)
    model.bags_ = model.bags_.without_ids()
    assert model.certify(NUMBERS).unsafe_rows is not None
    with pytest.raises(ValueError, match="subbags of rows with ids; got others"):
        ss.audit_refit(model, NUMBERS, LABELS, NUMBERS[:4], ss.Argmax(), left_out=3)
