"""Columns of every type: precision, whole numbers, missing values, strings and categories."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyset import _native
from steadyset.trees import TreeClassifier


def split_of(low, high):
    """A tree that has to tell two values apart."""
    return TreeClassifier().fit(np.array([[low], [high]]), [0, 1])


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_float64_keeps_its_precision(a, b):
    if a == b:
        return
    low, high = sorted([a, b])
    tree = split_of(low, high)
    middle = low / 2 + high / 2
    assert tree.predict([[low], [high]]).tolist() == [0, 1]
    threshold = middle if low <= middle < high else low
    assert tree.predict([[threshold], [np.nextafter(threshold, np.inf)]]).tolist() == [0, 1]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(1, 100))
def test_float32_keeps_its_precision(low, steps):
    low = np.float32(low)
    high = (np.array(low).view(np.int32) + (steps if low >= 0 else -steps)).astype(np.int32).view(np.float32)
    if not np.isfinite(high) or not low < high:
        return
    tree = TreeClassifier().fit(np.array([[low], [high]], np.float32), [0, 1])
    assert tree.predict(np.array([[low], [high]], np.float32)).tolist() == [0, 1]
    exact = float(low) / 2 + float(high) / 2
    points = np.array([[low], [high], [np.nextafter(low, high)]], np.float32)
    np.testing.assert_array_equal(tree.predict(points), (points[:, 0].astype(float) > exact).astype(int))
    # Points of another precision are compared, not rounded, with the threshold.
    assert tree.predict(np.array([[float(low)], [float(high)]])).tolist() == [0, 1]


def test_minus_zero_is_zero():
    tree = TreeClassifier().fit([[-0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    assert tree.to_sklearn().tree_.threshold[0] == 0.5
    assert TreeClassifier().fit([[-0.0], [0.0]], [0, 1]).to_sklearn().tree_.node_count == 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_whole_numbers_are_exact(dtype):
    limits = np.iinfo(dtype)
    most = min(limits.max, 2**63 - 1)
    for low in (limits.min, limits.min + 1, 0, most - 1):
        X = np.array([[low], [low + 1]], dtype)
        tree = TreeClassifier().fit(X, [0, 1])
        assert tree.predict(X).tolist() == [0, 1]
    X = np.array([[limits.min], [most]], dtype)
    assert TreeClassifier().fit(X, ["a", "b"]).predict(X).tolist() == ["a", "b"]


def test_points_may_have_another_type_than_the_rows():
    tree = TreeClassifier().fit(np.array([[1], [2], [5]], np.uint8), [0, 0, 1])
    points = [[2], [3], [4], [5], [-9], [300]]
    expected = [0, 0, 1, 1, 0, 1]  # the threshold is 3
    for dtype in (np.int8, np.int64, np.float32, np.float64):
        rows = np.array(points[:5] if dtype == np.int8 else points, dtype)
        assert tree.predict(rows).tolist() == expected[: len(rows)]
    assert tree.predict([[3.5], [2.9]]).tolist() == [0, 0]
    assert TreeClassifier().fit([[True], [False]], ["t", "f"]).predict([[False]]).tolist() == ["f"]


def test_missing_values_go_to_the_better_side():
    X = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan]])
    tree = TreeClassifier().fit(X, [0, 1, 1, 0, 0])
    assert tree.predict(X).tolist() == [0, 1, 1, 0, 0]
    assert tree.to_sklearn().tree_.missing_go_to_left[0] == 1
    only = TreeClassifier().fit([[1.0], [1.0], [np.nan]], [0, 0, 1])
    assert only.predict([[9e9], [-9e9], [np.nan]]).tolist() == [0, 0, 1]
    assert only.to_sklearn().tree_.threshold[0] == np.inf
    unseen = TreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert unseen.predict([[np.nan]]).tolist() == [1]  # the side with more rows


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_strings_and_categories_need_no_encoder(library):
    frames = pytest.importorskip(library)
    colours = ["red", "blue", "green", "blue", None, "red"]
    columns = {"colour": colours, "size": [1.5, 2.0, 2.5, None, 3.0, 1.0], "n": [1, 2, 3, 4, 5, 6]}
    y = [0, 1, 2, 1, 3, 0]
    X = frames.DataFrame(columns)
    tree = TreeClassifier(random_state=0).fit(X, y)
    assert tree.predict(X).tolist() == y
    assert tree.feature_names_in_.tolist() == ["colour", "size", "n"]
    assert tree._columns.categories[0] == ("blue", "green", "red")
    with pytest.raises(ValueError, match=r"^X must hold categories of fit in column 'colour'; got 'mauve' in row 1\.$"):
        tree.predict(frames.DataFrame({**columns, "colour": ["red", "mauve", *colours[2:]]}))


def test_the_order_of_categories_is_that_of_their_type():
    pd = pytest.importorskip("pandas")
    sizes = pd.Categorical(["s", "m", "l", "m"], categories=["s", "m", "l"], ordered=True)
    tree = TreeClassifier().fit(pd.DataFrame({"size": sizes}), [0, 0, 1, 0])
    assert tree._columns.categories[0] == ("s", "m", "l")
    plain = pd.Categorical(["s", "m", "l", "m"], categories=["s", "m", "l"])
    assert TreeClassifier().fit(pd.DataFrame({"size": plain}), [0, 0, 1, 0])._columns.categories[0] == ("l", "m", "s")
    pl = pytest.importorskip("polars")
    column = pl.Series("size", ["s", "m", "l", "m"], dtype=pl.Enum(["s", "m", "l"]))
    assert TreeClassifier().fit(pl.DataFrame([column]), [0, 0, 1, 0])._columns.categories[0] == ("s", "m", "l")


def test_categories_outside_a_bag_leak_nothing():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    words = np.array(["ash", "birch", "cedar", "elm", "fir", "oak", "pine"])
    X = pd.DataFrame({"tree": words[rng.integers(0, 7, 300)], "x": rng.normal(size=300)})
    y, bag = rng.integers(0, 3, 300), np.flatnonzero(np.isin(X["tree"], words[[1, 3, 5]]))
    (alone,) = TreeClassifier().fit_bags(X.iloc[bag], y[bag], [np.arange(len(bag))], [5], classes=[0, 1, 2])
    (group,) = TreeClassifier().fit_bags(X, y, [bag], [5])
    np.testing.assert_array_equal(alone.predict_proba(X.iloc[bag]), group.predict_proba(X.iloc[bag]))
    np.testing.assert_array_equal(alone.apply(X.iloc[bag]), group.apply(X.iloc[bag]))


def test_arrays_of_objects_hold_strings_too():
    X = np.array([["a", 1.0], ["b", 2.0], ["a", None]], dtype=object)
    tree = TreeClassifier().fit(X, [0, 1, 2])
    assert tree.predict(X).tolist() == [0, 1, 2]
    letters = np.array([["a"], ["b"]])
    assert TreeClassifier().fit(letters, [0, 1]).predict(letters).tolist() == [0, 1]


def test_dates_are_ordered():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2021-06-01", None, "2022-01-01"])})
    tree = TreeClassifier().fit(X, [0, 1, 2, 1])
    assert tree.predict(X).tolist() == [0, 1, 2, 1]
    assert tree.predict(pd.DataFrame({"day": pd.to_datetime(["2019-01-01", "2030-01-01"])})).tolist() == [0, 1]


def test_keys_at_an_odd_address_are_refused():
    """A store there is undefined, however the array is strided."""
    memory = np.zeros(4 * 6 * 2 + 1, np.uint8)
    keys = np.ndarray((6, 2), np.uint32, memory, offset=1)
    with pytest.raises(ValueError, match="keys must be aligned"):
        _native.tree_keys(np.zeros((6, 2), np.float32), keys[:, ::-1], 1)


@pytest.mark.parametrize("n_close", [2, 5, 700])
def test_values_that_differ_in_their_last_bits_alone_keep_their_order(n_close):
    """Columns are sorted by 22 or 32 bits of their keys first: where these tie, the rest decides."""
    rng = np.random.default_rng(n_close)
    ends = rng.permutation(1_400) % n_close * 2.0**-52
    middle = 1 + rng.permutation(1_400) % n_close * 2.0**-20  # 32 bits tell them apart, and 22 do not
    X = np.column_stack([1 + ends, -1 - ends, rng.permutation(1_400) // n_close + 1 + ends, ends, middle])
    X[rng.random(X.shape) < 0.5] *= -1
    y = rng.integers(3, size=1_400)
    ranks = np.column_stack([np.unique(column, return_inverse=True)[1] for column in X.T]).astype(np.int64)
    assert len(np.unique(X[:, 0])) > n_close
    exact, by_rank = TreeClassifier(random_state=0).fit(X, y), TreeClassifier(random_state=0).fit(ranks, y)
    assert np.array_equal(exact.apply(X), by_rank.apply(ranks))
    assert np.array_equal(exact.predict_proba(X), by_rank.predict_proba(ranks))
