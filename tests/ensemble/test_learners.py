"""Which learners are accepted, what they may answer, and how many threads they use."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset.ensemble._thread_counts import one_thread_each

X, Y = load_iris(return_X_y=True)


def stable(estimator=None, n_estimators=4, **params):
    return ss.StableClassifier(estimator, n_estimators, **{"random_state": 0, **params})


NO_CLASSIFIERS = {
    "clusters": (KMeans(3), "KMeans, whose type is 'clusterer'"),
    "regressor": (LinearRegression(), "LinearRegression, whose type is 'regressor'"),
    "pipeline": (make_pipeline(StandardScaler(), LinearRegression()), "Pipeline, whose type is 'regressor'"),
    "search": (GridSearchCV(LinearRegression(), {}), "GridSearchCV, whose type is 'regressor'"),
    "mixture": (GaussianMixture(3), "GaussianMixture, whose type is 'density_estimator'"),
    "outliers": (IsolationForest(), "IsolationForest, whose type is 'outlier_detector'"),
    "transformer": (StandardScaler(), "StandardScaler, which lacks one of them"),
    "no last step": (make_pipeline(StandardScaler()), "Pipeline, which lacks one of them"),
    "class": (DecisionTreeClassifier, "the class DecisionTreeClassifier"),
    "word": ("tree", "'tree'"),
    "number": (3, "3"),
    "function": (max, "<built-in function max>"),
}


@pytest.mark.parametrize("case", NO_CLASSIFIERS)
def test_what_is_no_classifier_is_refused_at_fit(case):
    learner, came = NO_CLASSIFIERS[case]
    calls = {
        "estimator": lambda: stable(learner).fit(X, Y),
        "estimator ": lambda: stable(learner).fit_predict_bags(X, Y, X),
        "estimator  ": lambda: stable(learner).fit_until(X, Y, X),
        "estimator_or_fitted": lambda: ss.audit_refit(learner, X, Y, X, ss.Argmax(), left_out=2),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError) as refused:
            call()
        expected = f"{name.strip()} must be a classifier, with fit and predict_proba or predict; got {came}."
        assert str(refused.value) == expected


def test_other_tools_hear_the_same_sentence():
    with pytest.raises(TypeError, match=r"estimator must be a classifier, .*; got 'tree'"):
        cross_val_score(stable("tree"), X, Y, error_score="raise")
    assert "tree" in repr(stable("tree"))


class Duck:
    """A classifier by its methods alone."""

    def __init__(self, depth=2):
        self.depth = depth

    def get_params(self, deep=True):
        return {"depth": self.depth}

    def set_params(self, **params):
        self.depth = params["depth"]
        return self

    def fit(self, X, y):
        self.tree = DecisionTreeClassifier(max_depth=self.depth, random_state=0).fit(X, y)
        self.classes_ = self.tree.classes_
        return self

    def predict_proba(self, X):
        return self.tree.predict_proba(X)


def test_a_classifier_by_its_methods_alone():
    assert stable(Duck()).fit(X, Y).score(X, Y) > 0.9


RULE_DOORS = {
    "fit": lambda rule: stable(rule=rule).fit(X, Y),
    "fit_predict_bags": lambda rule: stable(rule=rule).fit_predict_bags(X, Y, X),
    "from_fitted": lambda rule: ss.StableClassifier.from_fitted(RandomForestClassifier(3).fit(X, Y), rule=rule),
    "predict_set": lambda rule: stable().fit(X, Y).predict_set(X, rule=rule),
    "audit": lambda rule: stable().fit(X, Y).audit(X, rule),
    "audit_refit": lambda rule: ss.audit_refit(DecisionTreeClassifier(), X, Y, X, rule, left_out=2),
    "audit_groups": lambda rule: ss.audit_groups(stable().fit(X, Y).bag_predictions(X), rule, np.arange(150) // 50),
    "certify": lambda rule: ss.certify(stable().fit(X, Y).bag_predictions(X), rule),
    "report": lambda rule: ss.report(stable().fit(X, Y).bag_predictions(X), "never.html", rule=rule),
    "stability_radius": lambda rule: ss.stability_radius(np.eye(3), rule),
    "from_tail_stability": lambda rule: ss.Guarantee.from_tail_stability(0.1, 0.1, rule),
    "set_report": lambda rule: ss.metrics.set_report(Y[:3], {"top": rule}, np.eye(3)),
    "compute_simplex_regions": lambda rule: ss.plot.compute_simplex_regions(rule),
}


@pytest.mark.parametrize("door", RULE_DOORS)
def test_the_class_of_a_rule_is_no_rule(door):
    with pytest.raises(TypeError, match=r"^(rule|sets) must be [^.]*; got the class TopK\.$"):
        RULE_DOORS[door](ss.TopK)


class Answers(ClassifierMixin, BaseEstimator):
    """Gives a row of its own at the third point, in the given type of numbers."""

    def __init__(self, row, dtype="float64"):
        self.row, self.dtype = row, dtype

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        proba = np.full((len(X), 3), 1 / 3)
        proba[2] = self.row
        return proba.astype(self.dtype)


class AnswersTogether(Answers):
    """The same from groups of two bags."""

    def fit_bags(self, X, y, bags, seeds, *, classes, n_jobs, progress):
        for start in range(0, len(bags), 2):
            yield Two(self.row, tuple(range(start, start + 2)))


class Two:
    def __init__(self, row, numbers):
        self.row, self.numbers = row, numbers

    def predict_proba(self, X):
        proba = np.full((2, len(X), 3), 1 / 3)
        if 2 in self.numbers:
            proba[1, 2] = self.row
        return proba


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ((0.5, 0.5, 0.5), r"a sum of 1 within 0.0001; got \[0.5, 0.5, 0.5\] with a sum of 1.5"),
        ((1.2, -0.1, -0.1), r"no negative ones; got \[1.2, -0.1, -0.1\]"),
        ((np.nan, 0.5, 0.5), r"finite; got \[nan, 0.5, 0.5\]"),
        ((np.inf, 0.5, 0.5), r"finite; got \[inf, 0.5, 0.5\]"),
    ],
)
@pytest.mark.parametrize(("kind", "bag"), [(Answers, 0), (AnswersTogether, 3)])
def test_rows_off_the_simplex_are_named_with_their_bag(kind, bag, row, what):
    model = stable(kind(row)).fit(X, Y)
    sentence = rf"predict_proba of bag {bag} must return probability vectors, {what} at point 2\.$"
    for call in (model.predict_proba, model.predict, model.predict_set, model.bag_predictions, model.audit):
        with pytest.raises(ValueError, match="^" + sentence):
            call(X)
    with pytest.raises(ValueError, match=sentence):
        stable(kind(row)).fit_predict_bags(X, Y, X)
    if kind is Answers:
        with pytest.raises(ValueError, match=r"predict_proba of bag \d+ must return probability vectors, " + what):
            ss.audit_refit(kind(row), X, Y, X, ss.Argmax(), left_out=2)


@pytest.mark.parametrize(
    ("error", "dtype"), [(9e-5, "float32"), (9e-5, "float64"), (3e-3, "float16"), (9e-7, "float64"), (0, "int64")]
)
def test_rounding_of_narrow_numbers_is_divided_out(error, dtype):
    row = np.array([0.25, 0.25, 0.5]) * (1 + error) if dtype != "int64" else np.array([0, 1, 0])
    learner = Answers(row, dtype) if dtype != "int64" else Whole()
    proba = stable(learner).fit(X, Y).bag_predictions(X).proba
    assert proba.dtype == np.float64
    assert np.abs(proba.sum(axis=2) - 1).max() <= 1e-6
    if error == 9e-7:
        assert np.array_equal(proba[0, 2], row)


class Whole(Answers):
    def __init__(self):
        super().__init__(None)

    def predict_proba(self, X):
        return np.tile([0, 1, 0], (len(X), 1))


class Counted(ClassifierMixin, BaseEstimator):
    """Counts its threads under the names that libraries use, and keeps only parameters that were given."""

    def __init__(self, thread_count=None):
        self.given = {} if thread_count is None else {"thread_count": thread_count}

    def get_params(self, deep=True):
        return dict(self.given)

    def set_params(self, **params):
        self.given.update(params)
        return self


class Many(RandomForestClassifier):
    def __init__(self, n_estimators=2, n_jobs=-1):
        super().__init__(n_estimators, n_jobs=n_jobs)


class Line(LogisticRegression):
    def __init__(self, C=1.0, n_jobs=None):
        super().__init__(C=C, n_jobs=n_jobs)


def test_one_thread_unless_the_user_gave_a_number():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    for kind in (lightgbm.LGBMClassifier, xgboost.XGBClassifier, xgboost.XGBRFClassifier, Many):
        learner = kind()
        before = learner.get_params()
        assert one_thread_each(learner).n_jobs == 1
        assert learner.get_params() == before
        assert one_thread_each(kind(n_jobs=3)).n_jobs == 3
        assert one_thread_each(make_pipeline(StandardScaler(), learner))[-1].n_jobs == 1
        assert one_thread_each(GridSearchCV(learner, {})).estimator.n_jobs == 1
    assert one_thread_each(lightgbm.LGBMClassifier(num_threads=2)).get_params()["n_jobs"] is None
    assert one_thread_each(xgboost.XGBClassifier(nthread=2)).get_params()["n_jobs"] is None
    assert one_thread_each(Counted()).get_params() == {"thread_count": 1}
    assert one_thread_each(Counted(4)).get_params() == {"thread_count": 4}
    for ours in (RandomForestClassifier(), LogisticRegression(), Line(), DecisionTreeClassifier()):
        assert one_thread_each(ours).get_params() == ours.get_params()


def test_the_users_learner_keeps_its_number_of_threads():
    lightgbm = pytest.importorskip("lightgbm")
    base = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=5, verbose=-1)
    model = stable(base).fit(X, Y)
    assert model.estimator_ is base
    assert base.n_jobs is None
    assert model.get_params()["estimator__n_jobs"] is None
    assert all(member.n_jobs == 1 for member in model.estimators_)
    given = stable(lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=5, verbose=-1, n_jobs=2)).fit(X, Y)
    assert np.array_equal(given.predict_proba(X), model.predict_proba(X))
