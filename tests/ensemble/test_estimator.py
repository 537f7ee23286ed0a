"""StableClassifier: what reaches the learner, what comes out, and that bits do not depend on how it was run."""

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset._base import sklearn_doors
from steadyset.bags._predictions import BLOCK

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def stable(estimator=None, n_estimators=12, **params):
    return ss.StableClassifier(estimator, n_estimators, **{"random_state": 0, **params})


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was given."""

    def fit(self, X, y, **params):
        self.X_, self.y_, self.params_ = X, y, params
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        self.seen_ = X
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


class Votes(ClassifierMixin, BaseEstimator):
    """Has only predict."""

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


class ImageNet(ClassifierMixin, BaseEstimator):
    """A skorch-style learner on images of four axes: float32 in, softmax of a linear map out."""

    def __init__(self, steps=30):
        self.steps = steps

    def fit(self, X, y):
        import torch

        torch.manual_seed(0)
        self.classes_ = np.unique(y)
        self.module_ = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(len(self.classes_)))
        images, codes = torch.as_tensor(X), torch.as_tensor(np.searchsorted(self.classes_, y))
        self.module_(images[:1])
        optimizer = torch.optim.SGD(self.module_.parameters(), lr=0.5)
        for _ in range(self.steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self.module_(images), codes).backward()
            optimizer.step()
        return self

    def predict_proba(self, X):
        import torch

        with torch.no_grad():
            return torch.softmax(self.module_(torch.as_tensor(X)), dim=1).numpy()


def test_bags_are_indexed_rows_in_id_order():
    model = stable(Recorder()).fit(X, Y)
    for rows, member in zip(model.bags_, model.estimators_, strict=True):
        assert np.array_equal(member.X_, X[rows])
        assert np.array_equal(member.y_, Y[rows])
    assert model.bag_size_ == 74
    assert all(np.all(np.diff(model.bags_.sample_ids[rows].astype(object)) > 0) for rows in model.bags_)
    assert all(np.array_equal(a, b) for a, b in zip(model.estimators_samples_, model.bags_, strict=True))


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda x: pl.DataFrame(x, schema=list("abcd"))])
def test_frames_reach_the_learner_as_frames(frame):
    table = frame(X)
    if isinstance(table, pd.DataFrame):
        table.columns = list("abcd")
    model = stable(Recorder(), 3).fit(table, NAMES)
    assert type(model.estimators_[0].X_) is type(table)
    assert list(model.feature_names_in_) == list("abcd")
    model.predict_proba(table)
    assert type(model.estimators_[0].seen_) is type(table)


def test_encoders_inside_the_bag():
    table = pd.DataFrame({"kind": np.array(list("abc"))[Y], "length": X[:, 0]})
    inside = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough"),
        LogisticRegression(max_iter=500),
    )
    assert stable(inside).fit(table, NAMES).score(table, NAMES) > 0.95


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_rows(container):
    dense = stable(LogisticRegression(max_iter=500)).fit(X, Y, sample_ids=range(150)).predict_proba(X)
    fitted = stable(LogisticRegression(max_iter=500)).fit(container(X), Y, sample_ids=range(150))
    sparse = fitted.predict_proba(container(X))
    assert sparse == pytest.approx(dense, abs=1e-3)


@pytest.mark.parametrize(
    "labels", [NAMES, Y == 1, Y * 10 - 5, Y.astype(np.int8), NAMES.astype(object), pd.Series(NAMES, dtype="category")]
)
def test_labels_of_any_kind(labels):
    model = stable().fit(X, labels)
    assert model.predict(X).dtype == np.unique(np.asarray(labels)).dtype
    assert model.score(X, np.asarray(labels)) > 0.95
    assert model.predict_set(X).shape == (150, len(model.classes_))


def test_a_class_missing_from_a_bag_has_probability_zero():
    few = np.where(np.arange(150) == 149, "rare", NAMES)
    model = stable(LogisticRegression(max_iter=1000), 8).fit(X, few)
    proba = model.bag_predictions(X).proba
    held = model.bags_.holds(149)
    assert held.any()
    assert not held.all()
    column = list(model.classes_).index("rare")
    assert np.all(proba[~held][:, :, column] == 0)
    assert np.all(proba[held][:, :, column] > 0)
    assert proba.sum(axis=2) == pytest.approx(1)


def test_a_bag_with_one_class():
    y = np.where(np.arange(150) < 3, "rare", "common")
    model = stable(LogisticRegression(), 20, max_samples=5).fit(X, y)
    assert model.bag_predictions(X).proba.sum(axis=2) == pytest.approx(1)
    assert (model.bag_predictions(X).proba == 1).any()


def test_the_label_space_may_be_larger_than_the_labels_seen():
    model = stable(classes=["virginica", "setosa", "versicolor", "unknown"]).fit(X, NAMES)
    assert model.classes_.tolist() == ["setosa", "unknown", "versicolor", "virginica"]
    assert np.all(model.predict_proba(X)[:, 1] == 0)
    assert model.guarantee().n_classes == 4


def test_learners_without_probabilities_vote():
    proba = stable(Votes(), 10).fit(X, NAMES).bag_predictions(X).proba
    assert set(np.unique(proba)) == {0.0, 1.0}
    assert stable(RidgeClassifier(), 10).fit(X, NAMES).score(X, NAMES) > 0.7


def lightgbm_classifier():
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=5, n_jobs=1, verbose=-1)


def xgboost_classifier():
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1)


LEARNERS = {
    "DecisionTreeClassifier": DecisionTreeClassifier,
    "LogisticRegression": lambda: LogisticRegression(max_iter=500),
    "KNeighborsClassifier": KNeighborsClassifier,
    "HistGradientBoostingClassifier": lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5),
    "RandomForestClassifier": lambda: RandomForestClassifier(5),
    "LGBMClassifier": lightgbm_classifier,
    "XGBClassifier": xgboost_classifier,
}


@pytest.mark.parametrize("name", LEARNERS)
def test_any_base_inside_and_outside_other_tools(name):
    base = LEARNERS[name]()
    model = stable(base, 4)
    assert cross_val_score(model, X, NAMES, cv=3).mean() > 0.85
    search = GridSearchCV(model, {"n_estimators": [2, 4], "epsilon": [0.05, 0.1]}, cv=2).fit(X, NAMES)
    assert search.best_estimator_.predict_set(X).shape == (150, 3)
    outside = make_pipeline(StandardScaler(), model).fit(X, NAMES)
    inside = stable(make_pipeline(StandardScaler(), clone(base)), 4).fit(X, NAMES)
    assert min(outside.score(X, NAMES), inside.score(X, NAMES)) > 0.9
    assert CalibratedClassifierCV(model, cv=2).fit(X, NAMES).score(X, NAMES) > 0.85
    assert set(map(len, ss.to_labels(inside.predict_set(X), inside.classes_))) <= {1, 2, 3}


def test_images_of_four_axes():
    pytest.importorskip("torch")
    digits, labels = load_digits(return_X_y=True)
    images = (digits / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    model = stable(ImageNet(), 4).fit(images[:600], labels[:600])
    assert model.estimators_[0].module_[1].weight.shape == (10, 64)
    assert model.score(images[600:900], labels[600:900]) > 0.8
    assert model.n_features_in_ == 1


def test_weights_reach_the_learner_sliced_and_never_the_draw():
    weights = np.arange(150, dtype=float) + 1
    names = range(150)
    plain = stable(Recorder()).fit(X, Y, sample_ids=names)
    weighted = stable(Recorder()).fit(X, Y, sample_ids=names, sample_weight=weights, tag="t")
    assert plain.bags_ == weighted.bags_
    for rows, member in zip(weighted.bags_, weighted.estimators_, strict=True):
        assert np.array_equal(member.params_["sample_weight"], weights[rows])
        assert member.params_["tag"] == "t"


def test_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        base = DecisionTreeClassifier().set_fit_request(sample_weight=True)
        weights = np.where(Y == 0, 1e-9, 1.0)
        model = stable(base).set_fit_request(sample_weight=True)
        routed = model.fit(X, Y, sample_weight=weights).predict_proba(X)
    direct = stable(DecisionTreeClassifier()).fit(X, Y, sample_weight=weights).predict_proba(X)
    assert np.array_equal(routed, direct)


def test_sets_without_refitting():
    model = stable(n_estimators=40).fit(X, NAMES)
    proba = model.predict_proba(X)
    assert np.array_equal(model.predict_set(X), ss.inflated_argmax(proba, 0.05))
    assert np.array_equal(model.predict_set(X, epsilon=0.6), ss.inflated_argmax(proba, 0.6))
    assert np.array_equal(model.predict_set(X, rule=ss.TopK(2)), ss.top_k(proba, 2))
    margin = stable(n_estimators=40, rule=ss.FixedMargin(0.3)).fit(X, NAMES)
    assert np.array_equal(margin.predict_set(X), ss.fixed_margin(proba, 0.3))
    assert np.array_equal(margin.predict_set(X, epsilon=0.7), ss.fixed_margin(proba, 0.7))
    assert np.array_equal(stable(n_estimators=40, rule=lambda p: p > 0.3).fit(X, NAMES).predict_set(X), proba > 0.3)


def test_the_rule_in_use_is_public():
    assert stable(epsilon=0.2).fit(X, NAMES).rule_ == ss.InflatedArgmax(0.2)
    model = stable(rule=ss.TopK(2), epsilon=0.2).fit(X, NAMES)
    assert model.rule_ is model.rule
    adopted = ss.StableClassifier.from_fitted(RandomForestClassifier(3).fit(X, NAMES), rule=ss.FixedMargin(0.1))
    assert adopted.rule_ == ss.FixedMargin(0.1)
    assert ss.StableClassifier.from_fitted(RandomForestClassifier(3).fit(X, NAMES)).rule_ == ss.InflatedArgmax(0.05)
    assert not hasattr(stable(), "rule_")


def test_the_mean_is_the_same_however_it_is_computed():
    for n_estimators in (1, BLOCK - 1, BLOCK, 3 * BLOCK + 5):
        model = stable(n_estimators=n_estimators).fit(X, NAMES)
        assert np.array_equal(model.predict_proba(X), model.bag_predictions(X).mean())
        streamed = stable(n_estimators=n_estimators).fit_predict_bags(X, NAMES, X)
        assert streamed == model.bag_predictions(X)


BASES = {
    "tree": DecisionTreeClassifier(),
    "logistic": LogisticRegression(max_iter=300),
    "boosting": HistGradientBoostingClassifier(max_iter=8),
}


@pytest.mark.parametrize("base", BASES)
def test_the_same_bits_for_any_jobs_and_backend(base):
    rows, labels = make_classification(600, 20, n_informative=8, n_classes=3, random_state=1)
    expected = stable(BASES[base], 6).fit(rows, labels).predict_proba(rows)
    for backend in ("loky", "threading", "multiprocessing"):
        with joblib.parallel_config(backend=backend):
            model = stable(BASES[base], 6, n_jobs=2).fit(rows, labels)
            assert np.array_equal(model.predict_proba(rows), expected)
            assert np.array_equal(
                stable(BASES[base], 6, n_jobs=2).fit_predict_bags(rows, labels, rows).mean(), expected
            )


def test_a_warm_start_equals_a_straight_run():
    straight = stable(n_estimators=30).fit(X, NAMES)
    warm = stable(n_estimators=10, warm_start=True).fit(X, NAMES)
    kept = warm.groups_
    warm.set_params(n_estimators=30).fit(X, NAMES)
    assert warm.groups_[: len(kept)] == kept
    assert warm.bags_ == straight.bags_
    assert np.array_equal(warm.predict_proba(X), straight.predict_proba(X))
    with pytest.warns(UserWarning, match="does not fit new bags"):
        warm.fit(X, NAMES)
    with pytest.raises(ValueError, match="n_estimators must be at least the 30 bags"):
        warm.set_params(n_estimators=5).fit(X, NAMES)


def test_a_fit_without_random_state_can_be_repeated():
    model = stable(random_state=None).fit(X, NAMES)
    again = stable(random_state=model.seed_).fit(X, NAMES)
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
    other = stable(random_state=None).fit(X, NAMES)
    assert other.seed_ != model.seed_


def test_the_seed_is_drawn_from_a_random_state():
    for make in (np.random.RandomState, np.random.default_rng):
        state = make(3)
        first, second = (stable(random_state=state).fit(X, NAMES) for _ in range(2))
        assert first.seed_ != second.seed_
        assert stable(random_state=make(3)).fit(X, NAMES).seed_ == first.seed_
        again = stable(random_state=second.seed_).fit(X, NAMES)
        assert np.array_equal(again.predict_proba(X), second.predict_proba(X))


def test_global_random_state_is_left_alone():
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    stable(RandomForestClassifier(3), 4, random_state=None).fit(X, NAMES).predict(X)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("dropped", [0, 149])
def test_without_a_row_only_the_bags_that_held_it_change(dropped):
    """The only row of a class included, where the label space is given."""
    labels = np.where(np.arange(150) == 149, "rare", NAMES)
    space = ["rare", "setosa", "versicolor", "virginica"]
    ids = np.arange(150)
    full = stable(DecisionTreeClassifier(), n_estimators=20, classes=space).fit(X, labels, sample_ids=ids)
    keep = np.delete(ids, dropped)
    less = stable(DecisionTreeClassifier(), n_estimators=20, classes=space, max_samples=full.bag_size_).fit(
        X[keep], labels[keep], sample_ids=keep
    )
    held = full.bags_.holds(dropped)
    assert 0 < held.sum() < 20
    before, after = full.bag_predictions(X).proba, less.bag_predictions(X).proba
    assert np.array_equal(before[~held], after[~held])
    for b in np.flatnonzero(~held):
        old, new = full.estimators_[b].tree_, less.estimators_[b].tree_
        assert np.array_equal(old.threshold, new.threshold)
        assert np.array_equal(old.value, new.value)


def test_guarantee_uses_what_was_fitted():
    model = stable(n_estimators=25, epsilon=0.3).fit(X, NAMES)
    expected = ss.selection_stability(n_samples=150, bag_size=74, epsilon=0.3, n_classes=3, n_bags=25, coupling="hash")
    assert model.guarantee() == expected
    paper = ss.selection_stability(n_samples=150, bag_size=74, epsilon=0.3, n_classes=3, n_bags=25, theorem="paper")
    assert model.guarantee("paper") == paper
    assert model.guarantee("paper").vacuous
    bootstrap = stable(bootstrap=True, max_samples=1.0).fit(X, NAMES).guarantee()
    assert (bootstrap.resampling, bootstrap.coupling, bootstrap.bag_size) == ("bootstrap", "any", 150)
    assert stable(rule=ss.TopK(2)).fit(X, NAMES).guarantee().delta == 0
    mass = stable(rule=ss.MassThreshold(0.9)).fit(X, NAMES).guarantee()
    assert mass.epsilon == ss.MassThreshold(0.9).compatible_epsilon(3)
    svbop = stable(rule=ss.SVBOP()).fit(X, NAMES).guarantee()
    assert svbop.epsilon == ss.SVBOP().compatible_epsilon(3)
    for rule in (ss.Argmax(), ss.TopK(1), lambda p: p > 0):
        with pytest.raises(ValueError, match="rule must be one that a theorem makes compatible for 3 labels"):
            stable(rule=rule).fit(X, NAMES).guarantee()


def test_adopted_forest_and_bagging():
    for fitted in (
        RandomForestClassifier(20, random_state=0).fit(X, NAMES),
        BaggingClassifier(n_estimators=20, max_features=2, max_samples=0.5, random_state=0).fit(X, NAMES),
    ):
        model = ss.StableClassifier.from_fitted(fitted)
        assert model.predict_proba(X) == pytest.approx(fitted.predict_proba(X), abs=1e-12)
        assert model.classes_.tolist() == fitted.classes_.tolist()
        assert all(np.array_equal(np.sort(a), b) for a, b in zip(fitted.estimators_samples_, model.bags_, strict=True))
        with pytest.raises(ValueError, match="got adopted ones, which can only be audited"):
            model.guarantee()
    members = [DecisionTreeClassifier(random_state=b).fit(X[rows], NAMES[rows]) for b, rows in enumerate(model.bags_)]
    adopted = ss.StableClassifier.from_fitted(members, rows=list(model.bags_), n_samples=150)
    assert adopted.predict_proba(X) == pytest.approx(np.mean([m.predict_proba(X) for m in members], axis=0))


def test_progress_bar_and_callbacks(capsys):
    stable(verbose=1).fit(X, NAMES)
    assert "StableClassifier" in capsys.readouterr().out
    stable().fit(X, NAMES)
    assert capsys.readouterr().out == ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sklearn_doors, "HAS_CALLBACKS", False)
        stable(verbose=1).fit(X, NAMES)
        assert "StableClassifier - bags" in capsys.readouterr().out
        stable().fit(X, NAMES)
        assert capsys.readouterr().out == ""
    callback = pytest.importorskip("sklearn.callback")
    model = stable(n_estimators=5).set_callbacks(callback.ProgressBar())
    model.fit(X, NAMES)
    assert "100%" in capsys.readouterr().out


def test_persistence_without_pickle(tmp_path):
    skops = pytest.importorskip("skops.io")
    for base in (None, LogisticRegression(max_iter=500)):
        model = stable(base).fit(pd.DataFrame(X, columns=list("abcd")), NAMES, sample_ids=[f"r{i}" for i in range(150)])
        skops.dump(model, tmp_path / "model.skops")
        unknown = skops.get_untrusted_types(file=tmp_path / "model.skops")
        assert set(unknown) <= set(ss.TRUSTED_TYPES)
        again = skops.load(tmp_path / "model.skops", trusted=ss.TRUSTED_TYPES)
        frame = pd.DataFrame(X, columns=list("abcd"))
        assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert again.bags_ == model.bags_
        assert again.guarantee() == model.guarantee()
    joblib.dump(model, tmp_path / "model.joblib")
    assert np.array_equal(joblib.load(tmp_path / "model.joblib").predict_proba(frame), model.predict_proba(frame))


class Broken(ClassifierMixin, BaseEstimator):
    def __init__(self, how="nan"):
        self.how = how

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        proba = np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        if self.how == "nan":
            proba[2, 0] = np.nan
        if self.how == "sum":
            proba[2] = 0.9
        return proba[:-1] if self.how == "shape" else proba


class FailsOnRow(DecisionTreeClassifier):
    def fit(self, X, y):
        if np.any(X[:, 0] == 4.3):
            raise RuntimeError("out of luck")
        return super().fit(X, y)


BAD = {
    "no bags": (lambda: stable(n_estimators=0).fit(X, Y), "n_estimators must be a whole number from 1"),
    "bag of all rows": (lambda: stable(max_samples=150).fit(X, Y), r"max_samples must be .*; got 150\."),
    "share of 1": (lambda: stable(max_samples=1.0).fit(X, Y), r"max_samples must be .*; got 1\.0\."),
    "lengths": (lambda: stable().fit(X, Y[:-1]), "inconsistent numbers of samples"),
    "missing label": (lambda: stable().fit(X, np.where(Y == 0, np.nan, Y)), "y must hold labels only, none missing"),
    "missing name": (lambda: stable().fit(X, [None, *NAMES[1:]]), "Input y contains NaN in row 0"),
    "one class": (lambda: stable().fit(X, np.zeros(150)), "y must have at least 2 classes"),
    "multilabel": (lambda: stable().fit(X, np.eye(3, dtype=int)[Y]), "y should be a 1d array"),
    "continuous": (lambda: stable().fit(X, X[:, 0] + 0.123), "Unknown label type"),
    "nan from a bag": (
        lambda: stable(Broken()).fit(X, Y).predict(X),
        r"predict_proba of bag 0 must return probability vectors, finite; got .* at point 2",
    ),
    "sum from a bag": (
        lambda: stable(Broken("sum")).fit(X, Y).predict(X),
        r"predict_proba of bag 0 must .* a sum of 1 within",
    ),
    "shape from a bag": (
        lambda: stable(Broken("shape")).fit(X, Y).predict(X),
        r"must return numbers of shape \(150, 3\); got shape \(149, 3\)",
    ),
    "columns": (lambda: stable().fit(X, Y).predict(X[:, :2]), "X has 2 features, but StableClassifier is expecting 4"),
    "same ids": (lambda: stable().fit(X, Y, sample_ids=[0] * 150), "sample_ids must be 150 distinct ids"),
    "rule and epsilon": (
        lambda: stable().fit(X, Y).predict_set(X, 0.1, ss.Argmax()),
        "epsilon and rule must not both be given",
    ),
    "rule": (lambda: stable(rule="argmax").fit(X, Y), "rule must be a rule object or a callable; got 'argmax'"),
    "rule's mask": (
        lambda: stable(rule=lambda p: p).fit(X, Y).predict_set(X),
        r"rule must return a bool mask of shape \(150, 3\)",
    ),
    "empty set": (lambda: stable(rule=lambda p: p > 2).fit(X, Y).predict_set(X), "rule must select at least one label"),
    "epsilon": (lambda: stable(epsilon=-1).fit(X, Y), "epsilon must be a number that is at least 0; got -1"),
    "seed": (
        lambda: stable(random_state=-1).fit(X, Y),
        "random_state must be a whole number that is at least 0; got -1",
    ),
    "label outside the space": (lambda: stable(classes=[0, 1]).fit(X, Y), "y must hold labels of classes only; got 2"),
    "weights": (
        lambda: stable(Votes()).fit(X, Y, sample_weight=np.ones(150)),
        "sample_weight must be left out for Votes",
    ),
    "folder": (
        lambda: stable(checkpoint="/dev/null/here").fit(X, Y),
        "checkpoint must be a folder that can be written",
    ),
    "a failing bag": (lambda: stable(FailsOnRow()).fit(X, Y), r"bag \d+ \(learner seed \d+\) failed: out of luck"),
    "no members": (lambda: ss.StableClassifier.from_fitted([]), "fitted must be a fitted forest"),
    "members without rows": (
        lambda: ss.StableClassifier.from_fitted([DecisionTreeClassifier().fit(X, Y)]),
        "rows and n_samples must be given",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError, OSError, RuntimeError), match=sentence):
        call()


def test_unfitted():
    for call in (
        "predict",
        "predict_proba",
        "predict_set",
        "bag_predictions",
        "oob_proba",
        "oob_set",
        "audit",
        "certify",
    ):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            getattr(stable(), call)(X)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        stable().guarantee()
    assert not hasattr(stable(), "estimators_")


def test_feature_names_are_asked_for_once():
    model = stable().fit(pd.DataFrame(X, columns=list("abcd")), NAMES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(X)
    assert len([w for w in caught if "feature names" in str(w.message)]) == 1
