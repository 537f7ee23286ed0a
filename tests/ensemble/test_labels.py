"""Labels as learners see them: the user's own, so that weights by label reach the label they name."""

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset.ensemble._tasks import seeded

X, CODES = make_classification(120, 5, flip_y=0.5, random_state=0)
ROWS = range(120)  # names that do not change with the labels, as digests of the rows do
KINDS = {
    "integers": np.array([1, 2]),
    "bytes": np.array([7, 200], np.uint8),
    "strings": np.array(["a", "b"]),
    "objects": np.array(["a", "b"], object),
    "bools": np.array([False, True]),
    "floats": np.array([-0.5, 1.5]).round(),
}


def stable(estimator=None, n_estimators=4, **params):
    return ss.StableClassifier(estimator, n_estimators, **{"random_state": 0, **params})


def tree(weights):
    return DecisionTreeClassifier(max_depth=2, class_weight=weights)


def lightgbm(weights=None):
    package = pytest.importorskip("lightgbm")
    return package.LGBMClassifier(n_estimators=5, class_weight=weights, verbose=-1)


def xgboost(**params):
    package = pytest.importorskip("xgboost")
    return package.XGBClassifier(n_estimators=4, max_depth=3, **params)


WEIGHTED = {
    "logistic": lambda w: LogisticRegression(class_weight=w, max_iter=1000),
    "pipeline": lambda w: make_pipeline(StandardScaler(), LogisticRegression(class_weight=w)),
    "tree": tree,
    "forest": lambda w: RandomForestClassifier(3, max_depth=2, class_weight=w),
    "boosting": lambda w: HistGradientBoostingClassifier(max_iter=3, class_weight=w),
    "votes": lambda w: RidgeClassifier(class_weight=w),
    "support vectors": lambda w: SVC(class_weight=w),
    "calibrated": lambda w: CalibratedClassifierCV(LogisticRegression(class_weight=w), cv=2),
    "search": lambda w: GridSearchCV(tree(w), {"max_depth": [1, 2]}, cv=2),
    "weights searched": lambda w: GridSearchCV(tree(None), {"class_weight": [w]}, cv=2),
    "bagging": lambda w: BaggingClassifier(tree(w), 3),
    "voting": lambda w: VotingClassifier(
        [("tree", tree(w)), ("line", LogisticRegression(max_iter=1000))], voting="soft"
    ),
    "stacking": lambda w: StackingClassifier([("tree", tree(None))], LogisticRegression(class_weight=w), cv=2),
    "LightGBM": lightgbm,
}


@pytest.mark.parametrize("learner", WEIGHTED)
def test_weights_by_label_weigh_the_label_they_name(learner):
    """To the bit what codes 0 and 1 give, for labels of any kind."""
    make = WEIGHTED[learner]
    coded = stable(make({0: 50.0})).fit(X, CODES, sample_ids=ROWS).bag_predictions(X).proba
    assert not np.array_equal(coded, stable(make(None)).fit(X, CODES, sample_ids=ROWS).bag_predictions(X).proba)
    for labels in KINDS.values():
        first = labels.tolist()[0]
        model = stable(make({first: 50.0})).fit(X, labels[CODES], sample_ids=ROWS)
        assert np.array_equal(model.bag_predictions(X).proba, coded), first
        assert all(member.classes_.tolist() == labels.tolist() for member in model.estimators_)


def test_the_weighted_class_is_the_likely_one():
    weighted = stable(LogisticRegression(class_weight={1: 50})).fit(X, CODES + 1)
    assert weighted.predict_proba(X)[:, 0].mean() > 0.8


RARE = np.where(np.arange(150) % 50 == 7, "rare", np.array(["x", "y", "z"])[load_iris().target])
IRIS = load_iris().data


@pytest.mark.parametrize("learner", ["logistic", "pipeline", "tree", "boosting", "votes", "LightGBM", "voting"])
def test_a_weight_of_a_class_that_a_bag_does_not_hold(learner):
    """Such a bag's member is a fit without that weight, to the bit."""
    base = WEIGHTED[learner]({"rare": 20.0})
    model = stable(base, 8, max_samples=20).fit(IRIS, RARE)
    alone = 0
    for bag, (rows, member) in enumerate(zip(model.bags_, model.estimators_, strict=True)):
        assert set(member.classes_) == set(RARE[rows])
        if "rare" not in RARE[rows]:
            plain = seeded(WEIGHTED[learner](None), ss.bag_seed(model.seed_, bag)).fit(IRIS[rows], RARE[rows])
            assert np.array_equal(plain.predict(IRIS), member.predict(IRIS))
            alone += 1
    assert 0 < alone < 8
    assert str(base) == str(WEIGHTED[learner]({"rare": 20.0}))


def test_a_key_that_is_no_label_is_left_to_the_learner():
    """Not taken for a code: 0 would be the class 1."""
    for base in (LogisticRegression(class_weight={0: 50}), HistGradientBoostingClassifier(class_weight={0: 50})):
        with pytest.raises(ValueError, match=r"bag 0 \(learner seed \d+\) failed: .*class_weight"):
            stable(base).fit(X, CODES + 1)


@pytest.mark.parametrize("labels", [*KINDS.values(), np.array([0, 1]), np.array([0.0, 1.0])], ids=str)
def test_a_learner_that_refuses_labels_gets_codes(labels):
    for base in (
        xgboost(),
        make_pipeline(StandardScaler(copy=False), xgboost()),
        CalibratedClassifierCV(xgboost(), cv=2),
        GridSearchCV(xgboost(), {"max_depth": [1, 2]}, cv=2),
    ):
        expected = stable(base, 2).fit(X.copy(), CODES, sample_ids=ROWS).predict_proba(X.copy())
        model = stable(base, 2).fit(X.copy(), labels[CODES], sample_ids=ROWS)
        assert np.array_equal(model.predict_proba(X.copy()), expected)
        assert model.estimators_[0].classes_.tolist() == [0, 1]
        assert model.predict(X.copy()).dtype == labels.dtype


def test_codes_where_a_class_in_the_middle_is_missing():
    model = stable(xgboost(), 8, max_samples=20).fit(IRIS, RARE)
    column = model.classes_.tolist().index("rare")
    for rows, member, proba in zip(model.bags_, model.estimators_, model.bag_predictions(IRIS).proba, strict=True):
        held = np.unique(RARE[rows])
        assert member.classes_.tolist() == list(range(len(held)))
        assert np.array_equal(proba[:, np.isin(model.classes_, held)], member.predict_proba(IRIS).astype(float))
        assert (proba[:, column] == 0).all() == ("rare" not in held)


class Sampled(ClassifierMixin, BaseEstimator):
    """Keeps some rows of each label by a dict, and takes codes only, as a sampler in front of XGBoost does."""

    def __init__(self, sampling_strategy=None):
        self.sampling_strategy = sampling_strategy

    def fit(self, X, y):
        if not np.array_equal(np.unique(y), np.arange(len(set(y)))):
            raise ValueError("labels must be 0, 1, ...")
        kept = np.concatenate([np.flatnonzero(y == k)[:n] for k, n in self.sampling_strategy.items()])
        self.classes_ = np.unique(y)
        self.counts_ = np.bincount(y[kept], minlength=len(self.classes_))
        return self

    def predict_proba(self, X):
        return np.tile(self.counts_ / self.counts_.sum(), (len(X), 1))


def test_weights_by_label_follow_the_labels_into_codes():
    model = stable(Sampled({"x": 2, "rare": 1, "z": 3, "y": 4}), 8, max_samples=30).fit(IRIS, RARE)
    for rows, proba in zip(model.bags_, model.bag_predictions(IRIS[:1]).proba[:, 0], strict=True):
        wanted = {"rare": 1, "x": 2, "y": 4, "z": 3}
        counts = [min(np.sum(RARE[rows] == label), wanted[label]) for label in model.classes_]
        assert np.array_equal(proba, np.array(counts) / np.sum(counts))


class Impatience(Exception):
    def __init__(self):
        super().__init__("enough")


class Stops(DecisionTreeClassifier):
    fits = 0

    def fit(self, X, y):
        Stops.fits += 1
        raise Impatience


def test_weights_in_a_grid_are_not_taken_for_weights_of_codes():
    search = GridSearchCV(Sampled(), {"sampling_strategy": [{1: 2, 2: 4}]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="labels must be 0, 1"):
        stable(search).fit(X, CODES + 1)


def test_other_failures_are_not_tried_again():
    Stops.fits = 0
    with pytest.raises(RuntimeError, match=r"bag 0 .* failed: enough"):
        stable(Stops()).fit(X, np.array(["a", "b"])[CODES])
    assert Stops.fits == 1


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_labels_of_eval_set_are_the_users_own():
    names = np.array(["no", "yes"])[CODES]
    model = stable(lightgbm()).fit(X, names, eval_set=[(X, names)])
    assert model.estimators_[0].evals_result_
    with pytest.raises(ValueError, match="Invalid classes inferred from unique values of `y`"):
        stable(xgboost()).fit(X, names, eval_set=[(X, names)], verbose=False)
    stable(xgboost()).fit(X, CODES, eval_set=[(X, CODES)], verbose=False)


def test_a_scorer_may_name_a_label():
    search = GridSearchCV(tree(None), {"max_depth": [1, 2]}, cv=2, scoring=make_scorer(f1_score, pos_label="yes"))
    member = stable(search).fit(X, np.array(["no", "yes"])[CODES]).estimators_[0]
    assert np.isfinite(member.best_score_)


def test_votes_are_labels_and_bags_may_lack_some():
    model = stable(RidgeClassifier(), 8, max_samples=20).fit(IRIS, RARE)
    for member, proba in zip(model.estimators_, model.bag_predictions(IRIS).proba, strict=True):
        assert np.array_equal(model.classes_[proba.argmax(axis=1)], member.predict(IRIS))
        assert np.array_equal(proba.sum(axis=1), np.ones(150))


class Nameless(BaseEstimator):
    """A learner of its own kind: neither tags of a classifier nor classes_; votes for the label of the first row."""

    def fit(self, X, y):
        self.first_ = y[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.first_)


def test_votes_of_a_learner_without_classes(tmp_path):
    model = stable(Nameless(), 6, checkpoint=tmp_path).fit(IRIS, RARE)
    resumed = stable(Nameless(), 6, checkpoint=tmp_path, n_jobs=2).fit(IRIS, RARE)
    for rows, proba, again in zip(
        model.bags_, model.bag_predictions(IRIS).proba, resumed.bag_predictions(IRIS).proba, strict=True
    ):
        assert set(model.classes_[proba.argmax(axis=1)]) == {RARE[rows[0]]}
        assert np.array_equal(proba, again)


def test_a_bag_with_one_class_knows_its_label():
    y = np.where(np.arange(120) < 3, "rare", "common")
    model = stable(LogisticRegression(class_weight={"rare": 5}), 20, max_samples=5).fit(X, y)
    alone = [member for member in model.estimators_ if len(member.classes_) == 1]
    assert 0 < len(alone) < 20
    assert {member.predict(X[:1]).tolist()[0] for member in alone} == {"common"}


def test_bare_classifiers_and_their_refits_see_labels():
    names = np.array(["a", "b"])[CODES]
    base, coded = LogisticRegression(class_weight={"b": 20}), LogisticRegression(class_weight={1: 20})
    found, expected = (
        ss.audit_refit(e, X, y, X, ss.InflatedArgmax(0.1), left_out=10, random_state=0)
        for e, y in ((base, names), (coded, CODES))
    )
    assert np.array_equal(found.max_shift, expected.max_shift)
    model = stable(base, 6).fit(X, names, sample_ids=ROWS)
    refit = ss.audit_refit(model, X, names, X, ss.InflatedArgmax(0.1), left_out=3, random_state=0)
    assert np.array_equal(
        refit.max_shift,
        ss.audit_refit(
            stable(coded, 6).fit(X, CODES, sample_ids=ROWS),
            X,
            CODES,
            X,
            ss.InflatedArgmax(0.1),
            left_out=3,
            random_state=0,
        ).max_shift,
    )


def test_learners_of_many_bags_get_labels():
    names = np.array(["a", "b"])[CODES]
    model = stable(ss.lanes.NetClassifier([ss.lanes.Linear()], epochs=1)).fit(X, names, sample_ids=ROWS)
    assert all(member.classes_.tolist() == ["a", "b"] for member in model.estimators_)
    assert np.array_equal(model.estimators_[0].predict_proba(X), model.bag_predictions(X).proba[0])
    coded = stable(ss.lanes.NetClassifier([ss.lanes.Linear()], epochs=1)).fit(X, CODES, sample_ids=ROWS)
    assert np.array_equal(model.predict_proba(X), coded.predict_proba(X))


def test_adopted_members_are_handed_out_as_they_came():
    names = np.array(["a", "b"])[CODES]
    rows = [np.arange(0, 120, 2), np.arange(1, 120, 2)]
    members = [RidgeClassifier().fit(X[r], names[r]) for r in rows]
    adopted = ss.StableClassifier.from_fitted(members, rows=rows, n_samples=120, classes=["a", "b", "c"])
    assert adopted.estimators_ == members
    for member, proba in zip(members, adopted.bag_predictions(X).proba, strict=True):
        assert np.array_equal(adopted.classes_[proba.argmax(axis=1)], member.predict(X))
    few = BaggingClassifier(tree(None), 12, max_samples=4, bootstrap=False, random_state=0).fit(IRIS, RARE)
    assert ss.StableClassifier.from_fitted(few).predict_proba(IRIS) == pytest.approx(few.predict_proba(IRIS), abs=1e-12)


class Renames(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.array([f"class {label}" for label in np.unique(y)])
        return self

    def predict(self, X):
        return np.full(len(X), 3)


class Regresses(Nameless):
    def predict(self, X):
        return np.full(len(X), 0.25)


def test_labels_that_no_row_has():
    with pytest.raises(ValueError, match=r"classes_ of bag 0 must be labels of its rows, among .*; got \['class"):
        stable(Renames()).fit(X, CODES)
    model = stable(Regresses()).fit(X, CODES)
    with pytest.raises(
        ValueError, match=r"predict of bag 0 must return one label per point, among \[0, 1\]; got \[0.25"
    ):
        model.predict(X)


@pytest.mark.parametrize("base", ["votes", "tree", "refuses"])
def test_the_same_bits_for_any_backend_checkpoint_and_file(base, tmp_path):
    learner = xgboost() if base == "refuses" else WEIGHTED[base]({"rare": 5.0})
    expected = stable(learner, 6, max_samples=20).fit(IRIS, RARE).predict_proba(IRIS)
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend):
            model = stable(clone(learner), 6, max_samples=20, n_jobs=2, checkpoint=str(tmp_path / backend)).fit(
                IRIS, RARE
            )
        assert np.array_equal(model.predict_proba(IRIS), expected)
    resumed = stable(clone(learner), 6, max_samples=20, checkpoint=str(tmp_path / "loky")).fit(IRIS, RARE)
    assert np.array_equal(resumed.predict_proba(IRIS), expected)
    if base != "refuses":
        skops = pytest.importorskip("skops.io")
        skops.dump(model, tmp_path / "model.skops")
        assert set(skops.get_untrusted_types(file=tmp_path / "model.skops")) <= set(ss.TRUSTED_TYPES)
        again = skops.load(tmp_path / "model.skops", trusted=ss.TRUSTED_TYPES)
        assert np.array_equal(again.predict_proba(IRIS), expected)
