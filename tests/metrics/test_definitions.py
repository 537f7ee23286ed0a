"""Every metric equals a literal implementation of its definition."""

import copy
import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from helpers import literal_metrics as literal
from helpers.metric_cases import cases
from steadyset import metrics


def quiet(metric, *arguments, **options):
    """The metric, and that it warned exactly where it is undefined."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = metric(*arguments, **options)
    assert [w.category for w in caught] == [UndefinedMetricWarning] * math.isnan(found)
    assert all(w.filename == __file__ for w in caught), "the warning points at the caller"
    return found


def same(found, expected, error):
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)
    assert found.standard_error == pytest.approx(error, rel=1e-7, abs=1e-12, nan_ok=True)


@given(cases())
def test_correct_single(case):
    expected = literal.correct_single(case.y, case.sets, case.weight_list)
    same(quiet(metrics.correct_single_score, case.y, case.mask, **case.options), *expected)


@given(cases())
def test_set_size(case):
    same(
        quiet(metrics.mean_set_size, case.mask, sample_weight=case.weights), *literal.size(case.sets, case.weight_list)
    )


@given(cases())
def test_coverage(case):
    expected = literal.coverage(case.y, case.sets, case.weight_list)
    same(quiet(metrics.coverage_score, case.y, case.mask, **case.options), *expected)


@given(cases(no_empty_set=True), st.floats(-2, 2), st.floats(0.01, 3))
def test_utility(case, beta, above):
    alpha = max(beta, 0) + above
    expected = literal.utility(case.y, case.sets, case.weight_list, alpha, beta)
    same(quiet(metrics.utility_score, case.y, case.mask, utility=(alpha, beta), **case.options), *expected)
    for name, metric in (("u65", metrics.u65_score), ("u80", metrics.u80_score)):
        expected = literal.utility(case.y, case.sets, case.weight_list, *literal.UTILITIES[name])
        same(quiet(metric, case.y, case.mask, **case.options), *expected)
        same(quiet(metrics.utility_score, case.y, case.mask, utility=name, **case.options), *expected)


@given(cases())
def test_superfluous_inflation(case):
    tops = [literal.argmax(row, case.classes) for row in case.proba.tolist()]
    value, error, paper = literal.superfluous_inflation(case.y, case.sets, tops, case.weight_list)
    found = quiet(metrics.superfluous_inflation, case.y, case.mask, case.proba, **case.options)
    same(found, value, error)
    found = quiet(metrics.superfluous_inflation, case.y, case.mask, case.proba, standard_error="paper", **case.options)
    same(found, value, paper)


@given(cases(no_empty_set=True), st.randoms(use_true_random=False))
def test_conflict_rate(case, random):
    order = list(range(len(case.mask)))
    random.shuffle(order)
    new = case.mask[order]
    expected = literal.conflicts(case.sets, [case.sets[i] for i in order], case.weight_list)
    same(quiet(metrics.conflict_rate, case.mask, new, sample_weight=case.weights), *expected)


@given(cases())
def test_column_numbers_do_for_labels(case):
    numbers = [case.classes.index(y) for y in case.y]
    named = quiet(metrics.coverage_score, case.y, case.mask, **case.options)
    numbered = quiet(metrics.coverage_score, np.array(numbers, int), case.mask, sample_weight=case.weights)
    same(numbered, named, named.standard_error)


@given(cases(), st.integers(1, 3))
def test_whole_weights_count_like_repeated_rows(case, factor):
    """The value, that is; the standard error takes a weighted row as one observation."""
    weights = np.arange(len(case.y)) % 3 * factor
    rows = np.repeat(np.arange(len(case.y)), weights)
    weighted = quiet(metrics.coverage_score, case.y, case.mask, classes=case.classes, sample_weight=weights)
    repeated = quiet(metrics.coverage_score, [case.y[i] for i in rows], case.mask[rows], classes=case.classes)
    assert weighted == pytest.approx(repeated, rel=1e-12, nan_ok=True)


def test_superfluous_inflation_is_undefined_not_zero():
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    single = proba > 0.5
    with pytest.warns(
        UndefinedMetricWarning, match="superfluous_inflation is undefined and NaN: no set has two labels"
    ):
        assert math.isnan(metrics.superfluous_inflation([0, 1], single, proba))
    pair = np.array([[True, True, False]])
    with pytest.warns(UndefinedMetricWarning, match="no set of two labels or more holds its true label"):
        assert math.isnan(metrics.superfluous_inflation([2], pair, [[0.4, 0.4, 0.2]]))


def test_labels_of_pandas_and_numpy():
    pandas = pytest.importorskip("pandas")
    mask = np.array([[True, False], [True, True], [False, True]])
    y = ["no", "yes", "no"]
    for given_y in (y, tuple(y), np.array(y), np.array(y, object), pandas.Series(y, index=[7, 8, 9])):
        for classes in (["no", "yes"], np.array(["no", "yes"]), pandas.Index(["no", "yes"])):
            assert metrics.coverage_score(given_y, mask, classes=classes) == pytest.approx(2 / 3)
    categories = pandas.Series(y, dtype="category")
    assert metrics.coverage_score(categories, mask, classes=["no", "yes"]) == pytest.approx(2 / 3)
    assert metrics.coverage_score([False, True, False], mask, classes=[False, True]) == pytest.approx(2 / 3)


def test_an_estimate_is_a_float_that_travels():
    estimate = metrics.Estimate(0.25, 0.125)
    assert estimate == 0.25
    assert json.dumps(estimate) == "0.25"
    for copied in (pickle.loads(pickle.dumps(estimate)), copy.deepcopy(estimate)):
        assert (copied, copied.standard_error) == (0.25, 0.125)
    with pytest.raises(AttributeError):
        estimate.standard_error = 0.0


def test_an_empty_set_conflicts_with_every_set():
    sets, empty = np.array([[True, False], [True, True]]), np.zeros((2, 2), bool)
    assert metrics.conflict_rate(sets, empty) == metrics.conflict_rate(empty, empty) == 1
    assert metrics.by_size([0, 1], empty)["n_sets"] == (2,)
