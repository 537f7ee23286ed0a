"""Split conformal prediction: the sets are those of the definition, and cover as often as they promise."""

import math

import array_api_strict
import ml_dtypes
import numpy as np
import pytest

import steadyset as ss


def drawn(rng, n, n_labels, sharpness):
    """Labels, and probabilities that know something of them: not calibrated ones."""
    y = rng.integers(0, n_labels, n)
    logits = rng.normal(size=(n, n_labels))
    logits[np.arange(n), y] += sharpness
    proba = np.exp(2 * logits)
    return y, proba / proba.sum(axis=1, keepdims=True)


def scores_by_definition(proba, score):
    if score == "lac":
        return 1 - proba
    return np.array([[row[row >= own].sum() for own in row] for row in proba])


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("by_class", [False, True])
def test_sets_equal_the_definition(score, by_class):
    rng = np.random.default_rng(0)
    y, proba = drawn(rng, 90, 4, 1.0)
    points = drawn(rng, 200, 4, 1.0)[1]
    points[:3] = [[0.25] * 4, [0.5, 0.5, 0, 0], [1, 0, 0, 0]]
    rule = ss.conformal_rule(y, proba, 0.8, score, by_class=by_class)
    own = scores_by_definition(proba, score)[np.arange(90), y]
    groups = [own[y == label] for label in range(4)] if by_class else [own]
    thresholds = [np.sort(group)[math.ceil(0.8 * (len(group) + 1)) - 1] for group in groups]
    np.testing.assert_allclose(rule.thresholds, thresholds, rtol=1e-12)
    assert rule.n_calibration == tuple(map(len, groups))
    expected = scores_by_definition(points, score) <= np.asarray(thresholds) + 1e-12
    np.testing.assert_array_equal(rule(points), expected)


@pytest.mark.trial
@pytest.mark.parametrize("n_labels", [2, 10])
@pytest.mark.parametrize("sharpness", [0.0, 1.5])
def test_simulated_coverage_of_split_sets(n_labels, sharpness, full_trials):
    """The chance of a false alarm is below 0.0014 per case: three standard errors of the mean over data sets."""
    n_sets, n_points = (2_000 if full_trials else 200), 50
    for score, seed in (("lac", None), ("aps", None), ("aps", 3)):
        rng, covered = np.random.default_rng([n_labels, int(10 * sharpness)]), []
        for trial in range(n_sets):
            y, proba = drawn(rng, 60, n_labels, sharpness)
            rule = ss.conformal_rule(y, proba, 0.9, score, random_state=seed and seed + trial)
            truth, points = drawn(rng, n_points, n_labels, sharpness)
            covered.append(rule(points)[np.arange(n_points), truth].mean())
        error = np.std(covered) / math.sqrt(n_sets)
        assert np.mean(covered) >= 0.9 - 3 * error
        assert np.mean(covered) <= 0.9 + 1 / 61 + 3 * error or (score == "aps" and seed is None)


@pytest.mark.trial
def test_simulated_coverage_of_each_class(full_trials):
    n_sets, covered = (2_000 if full_trials else 200), []
    rng = np.random.default_rng(5)
    for _ in range(n_sets):
        y, proba = drawn(rng, 150, 3, 1.0)
        proba[:, 0] *= 0.1  # the model does badly on one class
        proba /= proba.sum(axis=1, keepdims=True)
        rule = ss.conformal_rule(y[:100], proba[:100], 0.8, "lac", by_class=True)
        sets = rule(proba[100:])
        covered.append([sets[y[100:] == label, label].mean() for label in range(3)])
    error = np.nanstd(covered, axis=0) / math.sqrt(n_sets)
    assert (np.nanmean(covered, axis=0) >= 0.8 - 3 * error).all()


def test_too_few_rows_give_all_labels():
    rule = ss.conformal_rule([0, 1], [[0.9, 0.1], [0.2, 0.8]], 0.9)
    assert rule.thresholds == (math.inf,)
    assert rule([0.99, 0.01]).all()
    one_class = ss.conformal_rule([0] * 30, [[0.9, 0.1]] * 30, 0.9, "lac", by_class=True)
    assert one_class.n_calibration == (30, 0)
    assert one_class([1.0, 0.0]).tolist() == [True, True]


def test_a_decimal_share_is_meant_as_it_is_written():
    """0.9 times 10 rows is the ninth score; as a binary number 0.9 is a little more."""
    proba = np.stack([np.arange(1, 10) / 10, 1 - np.arange(1, 10) / 10], axis=1)
    assert ss.conformal_rule([0] * 9, proba, 0.9, "lac").thresholds == (1 - 0.1,)


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("by_class", [False, True])
def test_other_libraries_give_the_same_sets(score, by_class):
    rng = np.random.default_rng(1)
    y, proba = drawn(rng, 200, 5, 1.0)
    rule = ss.Union(ss.conformal_rule(y, proba, 0.9, score, by_class=by_class), ss.InflatedArgmax(0.1))
    points = drawn(rng, 300, 5, 1.0)[1]
    found = rule(array_api_strict.asarray(points))
    np.testing.assert_array_equal(np.asarray(found), rule(points))
    torch = pytest.importorskip("torch")
    tensor = rule(torch.asarray(points).reshape(3, 100, 5))
    np.testing.assert_array_equal(tensor.numpy().reshape(-1, 5), rule(points))


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_the_kernel_equals_the_array_api(score, by_class, dtype, isa):
    """Rows with ties, of every length that the kernel sorts in another way, in any layout."""
    rng = np.random.default_rng(7)
    shares = []
    for n_labels in (1, 2, 9, 40, 1_000):
        steps = 2.0 ** -np.ceil(np.log2(8 * n_labels))  # so that a row sums to 1 exactly, in every type
        counts = rng.multinomial(round(1 / steps), rng.dirichlet(np.full(n_labels, 0.5), 30))
        points = (counts * steps).astype(dtype)
        bounds = np.sort(rng.random(n_labels if by_class else 1))
        thresholds = tuple((np.floor(bounds / steps) + rng.choice([0, 0.5], len(bounds))) * steps)
        rule = ss.ConformalRule(score, 0.9, thresholds, (9,) * len(thresholds), by_class=by_class)
        expected = np.asarray(rule(array_api_strict.asarray(points.astype("f8"))))
        np.testing.assert_array_equal(rule(points), expected)
        np.testing.assert_array_equal(rule(np.asfortranarray(points)), expected)
        np.testing.assert_array_equal(rule(points.reshape(5, 6, n_labels)).reshape(30, -1), expected)
        shares.append(expected.mean())
    assert any(0.05 < share < 0.95 for share in shares)


def test_bfloat16_rows_need_not_sum_to_one_exactly():
    """As for the other rules on probabilities: a row of 16-bit numbers may miss 1 by 0.05."""
    points = np.array([[0.52, 0.31, 0.2], [0.9, 0.08, 0.02]], ml_dtypes.bfloat16)
    rule = ss.ConformalRule("lac", 0.9, (0.75,), (9,))
    assert rule(points).tolist() == [[True, True, False], [True, False, False]]
    assert ss.conformal_rule([0, 0], points, 0.5, "lac").thresholds == (float(1 - points[0, 0]),)
    with pytest.raises(ValueError, match=r"sum to 1 within 0\.05"):
        rule((points * 2).astype(points.dtype))  # older releases of ml_dtypes widen the product


def test_the_same_row_gives_the_same_set_wherever_it_stands():
    y, proba = drawn(np.random.default_rng(2), 200, 3, 1.0)
    rule = ss.conformal_rule(y, proba, 0.9, random_state=1)
    order = np.random.default_rng(3).permutation(200)
    np.testing.assert_array_equal(rule(proba[order]), rule(proba)[order])
    np.testing.assert_array_equal(rule(proba[17]), rule(proba)[17])
    other = ss.ConformalRule(**{**vars(rule), "random_state": 2})
    assert (other(proba) != rule(proba)).any()
    assert rule(proba).mean() < ss.conformal_rule(y, proba, 0.9)(proba).mean()


def test_labels_by_name():
    proba = [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]]
    by_name = ss.conformal_rule(["no", "yes", "no"], proba, 0.5, "lac", classes=["no", "yes"])
    assert by_name == ss.conformal_rule([0, 1, 0], proba, 0.5, "lac")


def test_it_says_what_it_promises():
    y, proba = drawn(np.random.default_rng(2), 200, 3, 1.0)
    assert str(ss.conformal_rule(y, proba, 0.95)) == (
        "Sets hold the true label with probability at least 0.95 (APS scores of 200 calibration rows), for rows "
        "exchangeable with those, on which nothing was trained."
    )
    assert "for every class by itself" in str(ss.conformal_rule(y, proba, by_class=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coverage": 1.0}, "coverage must be .*; got 1.0"),
        ({"score": "raps"}, "score must be .*got 'raps'"),
        ({"y_cal": [0, 5]}, "y_cal must hold column numbers, .*got 5 in row 1"),
        ({"y_cal": [0]}, "y_cal must have one label for each of the 2 rows of proba_cal; got 1"),
        ({"proba_cal": [0.5, 0.5]}, r"proba_cal must have two axes, .*got shape \(2,\)"),
        ({"random_state": 1, "score": "lac"}, 'random_state must be None unless score="aps"; got 1'),
    ],
)
def test_bad_input(change, message):
    given = {"y_cal": [0, 1], "proba_cal": [[0.5, 0.5], [0.2, 0.8]]} | change
    with pytest.raises(ValueError, match=message):
        ss.conformal_rule(**given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": 0.5}, "thresholds must be a tuple; got 0.5"),
        ({"n_calibration": 9}, "n_calibration must be a tuple; got 9"),
        ({"thresholds": (0.5, 0.6)}, "thresholds and n_calibration must have the same length"),
    ],
)
def test_bad_fields(change, message):
    given = {"score": "lac", "coverage": 0.9, "thresholds": (0.5,), "n_calibration": (9,)} | change
    with pytest.raises((TypeError, ValueError), match=message):
        ss.ConformalRule(**given)
