"""Scorers inside scikit-learn's model selection."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_validate

import steadyset as ss
from steadyset import metrics


class InflatedLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression with the inflated argmax on top."""

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def fit(self, X, y):
        self.model_ = LogisticRegression(max_iter=500).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict_set(self, X):
        return ss.inflated_argmax(self.predict_proba(X), self.epsilon)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[:, :2], np.array(["setosa", "versicolor", "virginica"])[y]


def test_grid_search_finds_the_epsilon_of_the_best_utility(iris):
    X, y = iris
    folds = PredefinedSplit(np.arange(len(y)) % 3)
    epsilons = [0.0, 0.1, 0.3, 1.0]
    search = GridSearchCV(InflatedLogistic(), {"epsilon": epsilons}, scoring=metrics.SCORERS["u80"], cv=folds)
    search.fit(X, y)
    expected = []
    for epsilon in epsilons:
        fits = [(InflatedLogistic(epsilon).fit(X[train], y[train]), test) for train, test in folds.split()]
        scores = [metrics.u80_score(y[test], fit.predict_set(X[test]), classes=fit.classes_) for fit, test in fits]
        expected.append(np.mean(scores))
    assert search.cv_results_["mean_test_score"] == pytest.approx(expected)
    assert search.best_params_ == {"epsilon": epsilons[int(np.argmax(expected))]}
    assert len(set(expected)) == len(epsilons)


def test_cross_validate_takes_them_all(iris):
    found = cross_validate(InflatedLogistic(0.3), *iris, scoring=metrics.SCORERS, cv=3, return_indices=True)
    for fold, test in enumerate(found["indices"]["test"]):
        fitted = InflatedLogistic(0.3).fit(*(part[found["indices"]["train"][fold]] for part in iris))
        sets, y = fitted.predict_set(iris[0][test]), iris[1][test]
        expected = {
            "correct_single": metrics.correct_single_score(y, sets, classes=fitted.classes_),
            "neg_mean_set_size": -metrics.mean_set_size(sets),
            "coverage": metrics.coverage_score(y, sets, classes=fitted.classes_),
            "u65": metrics.u65_score(y, sets, classes=fitted.classes_),
            "u80": metrics.u80_score(y, sets, classes=fitted.classes_),
        }
        assert {name: found[f"test_{name}"][fold] for name in expected} == expected


def test_a_label_that_the_estimator_never_saw_is_in_no_set(iris):
    X, y = iris
    fitted = InflatedLogistic(0.3).fit(X[y != "virginica"], y[y != "virginica"])
    covered = metrics.SCORERS["coverage"](fitted, X, y)
    seen = metrics.SCORERS["coverage"](fitted, X[y != "virginica"], y[y != "virginica"])
    assert covered == pytest.approx(seen * 2 / 3)
    assert metrics.SCORERS["neg_mean_set_size"](fitted, X, y) == -metrics.mean_set_size(fitted.predict_set(X))
    inflation = metrics.make_set_scorer(metrics.superfluous_inflation, greater_is_better=False)
    expected = metrics.superfluous_inflation(
        y[y != "virginica"],
        fitted.predict_set(X[y != "virginica"]),
        fitted.predict_proba(X[y != "virginica"]),
        classes=fitted.classes_,
    )
    assert inflation(fitted, X, y) == -expected


def test_options_weights_and_pickles(iris):
    X, y = iris
    fitted = clone(InflatedLogistic(0.3)).fit(X, y)
    scorer = pickle.loads(pickle.dumps(metrics.make_set_scorer(metrics.utility_score, utility=(2.0, 1.0))))
    sets = fitted.predict_set(X)
    assert scorer(fitted, X, y) == metrics.utility_score(y, sets, utility=(2.0, 1.0), classes=fitted.classes_)
    weights = np.linspace(0, 1, len(y))
    weighted = metrics.utility_score(y, sets, utility=(2.0, 1.0), classes=fitted.classes_, sample_weight=weights)
    assert scorer(fitted, X, y, sample_weight=weights) == weighted
    with pytest.raises(TypeError, match="metric must be a function of label sets; got 'u65'"):
        metrics.make_set_scorer("u65")
