"""StableFeatureSelector: importances per bag, the inflated top k of their mean, and what a left-out row changes."""

import re
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_regression
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import steadyset as ss

X, Y = make_regression(80, 12, n_informative=4, noise=5.0, random_state=0)


def selector(k=4, n_estimators=30, **more):
    return ss.StableFeatureSelector(DecisionTreeRegressor(), k, n_estimators, random_state=0, **more)


@parametrize_with_checks([ss.StableFeatureSelector(DecisionTreeClassifier(), 1, 5, random_state=0)])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_importances_are_those_of_trees_on_the_rows_of_each_bag():
    found = selector().fit(X, Y)
    tree = DecisionTreeRegressor()
    for bag in (0, 7, 29):
        rows, one = found.bags_[bag], None
        for seed in (found.seed_,):
            state = np.random.SeedSequence(seed, spawn_key=(bag,)).generate_state(1)[0]
            inner = np.random.SeedSequence(int(state)).generate_state(1)[0]
            one = tree.set_params(random_state=int(inner)).fit(X[rows], Y[rows]).feature_importances_
        assert found.bag_importances_[bag] == pytest.approx(one, abs=1e-12)
    assert found.importances_ == pytest.approx(found.bag_importances_.mean(axis=0))
    assert np.array_equal(found.support_, ss.inflated_top_k(found.importances_, 4, 0.05))
    assert np.array_equal(found.entry_epsilons_, ss.entry_epsilons(found.importances_, k=4))
    assert found.transform(X).shape == (80, found.support_.sum())
    assert found.support_.sum() >= 4


def test_results_are_the_same_for_any_number_of_jobs():
    one, two = (selector(n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert np.array_equal(one.bag_importances_, two.bag_importances_)


def test_the_audit_and_the_rows_that_turn_are_brute_force():
    found = selector(epsilon=0.004).fit(X, Y)
    turned, apart = np.zeros(12, int), []
    for row in range(80):
        mean = found.bag_importances_[~found.bags_.holds(row)].mean(axis=0)
        without = ss.inflated_top_k(mean, 4, 0.004)
        turned += without != found.support_
        apart.append((without & found.support_).sum() < 4)
    assert np.array_equal(found.rows_that_turn(), turned)
    assert found.audit().instability == pytest.approx([np.mean(apart)])
    assert turned.any()


def test_a_bag_of_zeros_votes_for_none():
    empty = ss.StableFeatureSelector(Lasso(alpha=150.0), 2, 40, max_samples=20, random_state=0).fit(X, Y)
    sums = empty.bag_importances_.sum(axis=1)
    assert {0.0, 1.0} == set(sums.round(12))
    assert empty.audit().n_units == 80
    nothing = ss.StableFeatureSelector(Lasso(alpha=1e6), 2, 5, random_state=0).fit(X, Y)
    assert nothing.support_.all()  # nothing tells one feature from another
    assert nothing.to_frame()["share_of_bags"].eq(0).all()


@pytest.mark.parametrize("getter", ["auto", "permutation", "coef_", lambda fitted: np.abs(fitted.coef_)])
def test_ways_to_importance(getter):
    found = ss.StableFeatureSelector(Lasso(alpha=1.0), 4, 6, importance_getter=getter, random_state=0).fit(X, Y)
    assert found.bag_importances_.sum(axis=1) == pytest.approx(1)
    best = set(np.argsort(-found.importances_)[:3])
    assert len(best & set(np.argsort(-np.abs(Lasso().fit(X, Y).coef_))[:4])) == 3


def test_in_a_pipeline_with_a_search_frames_and_sparse_tables():
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    chosen = ss.StableFeatureSelector(
        inner, 1, 10, importance_getter="named_steps.logisticregression.coef_", random_state=0
    )
    pipe = make_pipeline(chosen, DecisionTreeClassifier(random_state=0))
    search = GridSearchCV(pipe, {"stablefeatureselector__k": [1, 2, 3]}, cv=3).fit(frame, labels)
    assert search.best_score_ > 0.9
    fitted = search.best_estimator_[0]
    assert set(fitted.get_feature_names_out()) <= set(frame.columns)
    assert fitted.to_frame()["feature"].tolist()[0] in frame.columns
    thin = selector(n_estimators=5).fit(sparse.csr_array(X), Y)
    assert thin.transform(sparse.csr_array(X)).shape == (80, thin.support_.sum())


def test_the_guarantee_is_that_of_the_inflated_top_k():
    found = selector(epsilon=0.3, max_samples=8).fit(X, Y)
    promise = found.guarantee()
    assert (promise.n_common, promise.n_classes) == (4, 12)
    assert "fewer than 4 labels in common" in str(promise)
    assert found.summary().startswith(f"{found.support_.sum()} of 12 features may be among the 4 most important")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: selector(k=13), "^k must be a whole number from 1 to 12, the number of features; got 13"),
        (
            lambda: selector(importance_getter=lambda fitted: -np.ones(12)),
            "^bag 0 .* failed: importances must be finite and at least 0; got -1.0 for feature 0",
        ),
        (
            lambda: selector(importance_getter=lambda fitted: np.ones(3)),
            r"^bag 0 .* failed: importances must be one number for each of the 12 features; got shape \(3,\)",
        ),
        (
            lambda: ss.StableFeatureSelector(make_pipeline(Lasso()), 2, 3),
            "^bag 0 .* failed: importance_getter must name where importances are",
        ),
        (lambda: selector(epsilon=-1), "^epsilon must be"),
    ],
)
def test_bad_input_is_a_sentence(made, message):
    with pytest.raises(ValueError, match=message):
        made().fit(X, Y)
    with pytest.raises(TypeError, match=re.escape("estimator must have fit; got 5.")):
        ss.StableFeatureSelector(5, 2).fit(X, Y)


@pytest.mark.trial
def test_true_features_against_other_selectors(full_trials):
    """Redraws of a table with 5 true features: at the same sizes, how many of them each selector finds."""
    redraws, n_bags = (100, 100) if full_trials else (4, 30)
    found = {"stable": 0, "from model": 0, "rfe": 0}
    sizes = 0
    for redraw in range(redraws):
        rng = np.random.default_rng([5, redraw])
        rows = rng.standard_normal((100, 30))
        target = rows[:, :5] @ np.array([3, 2.5, 2, 1.5, 1]) + 2 * rng.standard_normal(100)
        tree = DecisionTreeRegressor(random_state=redraw)
        stable = ss.StableFeatureSelector(tree, 5, n_bags, epsilon=0.02, random_state=redraw).fit(rows, target)
        size = int(stable.support_.sum())
        sizes += size
        found["stable"] += int(stable.support_[:5].sum())
        model = SelectFromModel(tree, max_features=size, threshold=-np.inf).fit(rows, target)
        found["from model"] += int(model.get_support()[:5].sum())
        found["rfe"] += int(RFE(tree, n_features_to_select=size).fit(rows, target).support_[:5].sum())
    print(
        f"mean size {sizes / redraws:.2f}; of 5 true features found: { ({k: v / redraws for k, v in found.items()}) }"
    )
    assert found["stable"] >= max(found["from model"], found["rfe"])


def test_an_interrupted_selection_goes_on_from_its_checkpoint(tmp_path):
    def counted(fitted):
        calls = int((tmp_path / "calls").read_text()) + 1
        (tmp_path / "calls").write_text(str(calls))
        if calls == 5:
            raise KeyboardInterrupt
        return fitted.feature_importances_

    (tmp_path / "calls").write_text("0")
    chosen = selector(n_estimators=8, importance_getter=counted, checkpoint=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        chosen.fit(X, Y)
    assert len(list(tmp_path.glob("*/bag-*.joblib"))) == 4
    chosen.fit(X, Y)
    assert (tmp_path / "calls").read_text() == "9"  # the one that was interrupted, again
    assert np.array_equal(chosen.bag_importances_, selector(n_estimators=8).fit(X, Y).bag_importances_)


@pytest.mark.parametrize(
    ("getter", "error", "message"),
    [
        (lambda fitted: np.full(12, 1j), TypeError, "importances must be real numbers; got array"),
        (lambda fitted: ["much"] * 12, TypeError, "importances must be real numbers; got \\['much'"),
        (lambda fitted: [None] * 12, ValueError, "importances must be finite and at least 0; got nan for feature 0"),
        (lambda fitted: None, TypeError, "importances must be real numbers; got None"),
        ("weights_.all", AttributeError, "importance_getter must name an attribute .*; got 'weights_.all': 'Lasso'"),
    ],
)
def test_what_is_no_importance_names_its_bag(getter, error, message):
    with pytest.raises(error, match=r"^bag 0 \(learner seed \d+\) failed: " + message):
        ss.StableFeatureSelector(Lasso(), 2, 3, importance_getter=getter, random_state=0).fit(X, Y)


def test_importances_at_the_ends_of_numbers_are_normalised():
    for size in (5e-324, 1e308):
        found = ss.StableFeatureSelector(
            Lasso(), 2, 3, importance_getter=partial(_first_two, size=size), random_state=0
        ).fit(X, Y)
        assert found.importances_.tolist() == [0.5, 0.5] + [0.0] * 10


def _first_two(fitted, size):
    return [size, size] + [0] * 10


def test_an_importance_getter_of_no_use_is_a_sentence():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match=r'^importance_getter must be "auto", "permutation", the name .*; got 7\.'):
        ss.StableFeatureSelector(DecisionTreeClassifier(), 2, 3, importance_getter=7).fit(X, y)
