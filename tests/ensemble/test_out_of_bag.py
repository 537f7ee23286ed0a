"""The out-of-bag estimates, as a flag of the constructor and as methods."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression

import steadyset as ss
from steadyset.ensemble import _out_of_bag

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def scored(estimator=None, n_estimators=30, **params):
    return ss.StableClassifier(estimator, n_estimators, **{"random_state": 0, "oob_score": True, **params})


def same_estimates(model, other):
    return model.oob_score_ == other.oob_score_ and np.array_equal(
        model.oob_decision_function_, other.oob_decision_function_
    )


@pytest.fixture(scope="module")
def model():
    return scored(n_estimators=60).fit(X, NAMES)


def test_probabilities_are_means_over_the_bags_that_do_not_hold_the_row(model):
    predictions = model.bag_predictions(X)
    oob = model.oob_proba(X)
    for row in (0, 70, 149):
        free = ~model.bags_.holds(row)
        assert oob[row] == pytest.approx(predictions.proba[free, row].mean(axis=0))
    assert np.array_equal(model.oob_set(X), ss.inflated_argmax(oob, 0.05))
    with pytest.raises(ValueError, match="X must be the 150 training rows"):
        model.oob_proba(X[:10])


def test_the_flag_gives_what_the_methods_give(model):
    assert np.array_equal(model.oob_decision_function_, model.oob_proba(X))
    assert model.oob_score_ == np.mean(model.classes_[model.oob_proba(X).argmax(axis=1)] == NAMES)
    assert isinstance(model.oob_score_, float)
    assert not any(value is X for value in vars(model).values())


def test_names_and_size_of_baggings_attributes(model):
    bagging = BaggingClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X, NAMES)
    own = {name for name in vars(model) if "oob" in name}
    assert own == {name for name in vars(bagging) if "oob" in name} | {"oob_label_proba_"}
    assert model.oob_decision_function_.shape == bagging.oob_decision_function_.shape
    assert model.oob_score_ == pytest.approx(bagging.oob_score_, abs=0.05)


def test_digits_of_which_out_of_bag_accuracy_is_below_that_of_training():
    digits, labels = load_digits(return_X_y=True)
    model = scored(n_estimators=25).fit(digits[:400], labels[:400])
    assert np.array_equal(model.oob_decision_function_, model.oob_proba(digits[:400]))
    assert 0.7 < model.oob_score_ < model.score(digits[:400], labels[:400])


def test_without_the_flag_there_are_no_attributes(model):
    plain = scored(oob_score=False).fit(X, NAMES)
    assert not hasattr(plain, "oob_score_")
    assert not hasattr(plain, "oob_decision_function_")
    copy = clone(model)
    assert copy.get_params()["oob_score"] is True
    assert not hasattr(copy, "oob_score_")
    copy.fit(X, NAMES).set_params(oob_score=False).fit(X, NAMES)
    assert not hasattr(copy, "oob_score_")
    assert not hasattr(copy, "oob_decision_function_")


def test_streaming_without_models_ignores_the_flag(model):
    streaming = scored(n_estimators=60)
    assert streaming.fit_predict_bags(X, NAMES, X) == model.bag_predictions(X)
    assert not hasattr(streaming, "oob_score_")


NET = ss.lanes.NetClassifier(epochs=10, learning_rate=0.05)
FITS = {
    "jobs": (X, {"n_jobs": 2}),
    "bootstrap": (X, {"bootstrap": True, "max_samples": 1.0}),
    "sparse": (sp.coo_array(X), {}),
    "frame": (pd.DataFrame(X, columns=list("abcd")), {"estimator": LogisticRegression(max_iter=500)}),
    "lanes": (X.astype(np.float32), {"estimator": NET, "n_estimators": 20}),
    "larger label space": (X, {"classes": ["setosa", "unknown", "versicolor", "virginica"]}),
}


@pytest.mark.parametrize("case", FITS)
def test_any_kind_of_fit(case):
    rows, params = FITS[case]
    model = scored(**params).fit(rows, NAMES)
    assert np.array_equal(model.oob_decision_function_, model.oob_proba(rows))
    assert model.oob_score_ == np.mean(model.classes_[model.oob_decision_function_.argmax(axis=1)] == NAMES)
    assert model.oob_score_ > 0.6


def test_a_warm_start_equals_a_straight_run():
    straight = scored(n_estimators=30).fit(X, NAMES)
    warm = scored(n_estimators=12, warm_start=True).fit(X, NAMES)
    assert not same_estimates(warm, straight)
    assert same_estimates(warm.set_params(n_estimators=30).fit(X, NAMES), straight)
    late = scored(n_estimators=30, warm_start=True, oob_score=False).fit(X, NAMES)
    with pytest.warns(UserWarning, match="does not fit new bags"):
        late.set_params(oob_score=True).fit(X, NAMES)
    assert same_estimates(late, straight)


def test_a_resumed_fit_and_a_fit_until_have_them_too(tmp_path):
    straight = scored(n_estimators=20).fit(X, NAMES)
    scored(n_estimators=9, checkpoint=tmp_path, oob_score=False).fit(X, NAMES)
    assert same_estimates(scored(n_estimators=20, checkpoint=tmp_path).fit(X, NAMES), straight)
    grown = scored(n_estimators=5).fit_until(X, NAMES, X[:5], max_estimators=20)
    assert grown.bags_.n_bags == 20
    assert same_estimates(grown, straight)


def test_rows_that_every_bag_holds_are_warned_about_and_left_out():
    few = scored(n_estimators=3, max_samples=120)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores, because every bag holds them"):
        few.fit(X, NAMES)
    held = np.array([few.bags_.holds(row).all() for row in range(150)])
    assert 0 < held.sum() < 150
    assert np.array_equal(np.isnan(few.oob_decision_function_), np.repeat(held[:, None], 3, axis=1))
    predicted = few.classes_[few.oob_decision_function_[~held].argmax(axis=1)]
    assert few.oob_score_ == np.mean(predicted == NAMES[~held])
    with pytest.raises(ValueError, match=f"missing from some bag; got row {held.argmax()} in all of them"):
        few.oob_set(X)


def test_no_row_at_all_is_not_a_number():
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        assert np.isnan(_out_of_bag.accuracy(np.full((4, 2), np.nan), np.zeros(4, int)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _out_of_bag.accuracy(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 1])) == 0.5


def test_saved_without_pickle(model, tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(model, tmp_path / "model.skops")
    assert same_estimates(skops.load(tmp_path / "model.skops", trusted=ss.TRUSTED_TYPES), model)


@pytest.mark.parametrize("flag", ["yes", 1, None])
def test_the_flag_is_a_bool(flag):
    with pytest.raises(TypeError, match=r"^oob_score must be True or False; got "):
        scored(oob_score=flag).fit(X, NAMES)
