"""The search: exact, and the order of two rows is theirs alone."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import steadyset as ss
from helpers.neighbor_cases import HARD, hard_rows, manhattan_in_lanes, order_at, squared_in_lanes
from steadyset import _native
from steadyset.neighbors._search import Index, bounds_of, nearest  # the search alone has no door
from steadyset.neighbors._tables import table_of


def words_of(n, seed=0):
    return np.random.default_rng(seed).permutation(n).astype(np.uint64)


def found(X, points, depth, metric="euclidean", threads=1, words=None):
    table = table_of(X)
    index = Index(table, words_of(X.shape[0]) if words is None else words, metric, bounds_of(table, metric))
    return nearest(index, table_of(points), depth, threads)


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize(("metric", "distance"), [("euclidean", squared_in_lanes), ("manhattan", manhattan_in_lanes)])
def test_the_nearest_rows_are_those_of_a_slow_sort(kind, metric, distance, isa):
    X = hard_rows(kind)
    points = np.concatenate([X[:4], hard_rows(kind, 4, seed=1), np.zeros((1, 21)), X[:1] * -3])
    for depth in (1, 17, 300):
        rows = found(X, points, depth, metric)
        for point, near in zip(points, rows, strict=True):
            assert near.tolist() == order_at(point, X, words_of(300), distance)[:depth].tolist()


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_candidates_lose_none(kind, metric):
    """Sparse rows have no candidates: every distance is found, in the same order of summation."""
    X = hard_rows(kind, 2_000, 40)
    points = np.concatenate([X[:5], hard_rows(kind, 5, 40, seed=2)])
    dense, sparse = found(X, points, 60, metric), found(csr_matrix(X), csr_matrix(points), 60, metric)
    assert np.array_equal(dense, sparse)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("kind", ["plain", "ties", "far"])
def test_other_rows_do_not_change_the_order_of_two(metric, kind):
    X, words = hard_rows(kind, 500, 33), words_of(500)
    points = hard_rows(kind, 6, 33, seed=3)
    whole = found(X, points, 500, metric, words=words)
    rng = np.random.default_rng(4)
    for size in (2, 10, 251):
        some = np.sort(rng.choice(500, size, replace=False))
        for moved in (some, some[::-1]):
            part = found(X[moved], points, size, metric, words=words[moved])
            for all_rows, rows in zip(whole, part, strict=True):
                assert np.array_equal(all_rows[np.isin(all_rows, some)], moved[rows])


def test_threads_levels_widths_and_memory_maps_find_the_same(tmp_path):
    X = hard_rows("plain", 3_000, 50).astype(np.float32)
    points = hard_rows("plain", 40, 50, seed=1)
    expected = found(X, points, 70)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert np.array_equal(found(X, points, 70, threads=2), expected)
    assert np.array_equal(found(X.astype(np.float64), points, 70), expected)
    assert np.array_equal(found(np.asfortranarray(X), points, 70), expected)
    assert np.array_equal(found(mapped, points, 70), expected)
    before = _native.isa()
    for level in _native.isa_levels():
        _native.use_isa(level)
        assert np.array_equal(found(X, points, 70), expected)
    _native.use_isa(before)


def test_a_callable_is_asked_for_every_pair():
    X, points = hard_rows("plain", 80, 5), hard_rows("plain", 7, 5, seed=1)
    by_call = found(X, points, 30, lambda a, b: float(np.abs(a - b).max()))
    for point, near in zip(points, by_call, strict=True):
        distances = np.abs(X - point).max(axis=1)
        assert near.tolist() == np.lexsort((words_of(80), distances))[:30].tolist()
    with pytest.raises(ValueError, match="metric must be a callable that returns numbers, none of them NaN; got nan"):
        found(X, points, 3, lambda a, b: float("nan"))


def test_arrays_that_do_not_fit_are_refused():
    X, words = np.zeros((4, 3)), np.arange(4, dtype=np.uint64)
    make = _native.NeighborSearch
    for wrong in (
        (X[:3], None, None, words, X, None, None, 3, 0, 2),
        (X, None, None, words, X, None, None, 2, 0, 2),
        (X, None, None, words, X, None, None, 3, 7, 2),
        (X, None, None, words, X, None, None, 3, 0, 5),
        (X.astype(np.float16), None, None, words, X, None, None, 3, 0, 2),
        (X, None, None, words, X, words.astype(np.int32), words.astype(np.int64), 3, 0, 2),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            make(*wrong)
    sparse = csr_matrix(np.eye(4, 3))
    columns, ends = sparse.indices.astype(np.int32), sparse.indptr.astype(np.int64)
    make(sparse.data, columns, ends, words, sparse.data, columns, ends, 3, 0, 2)
    with pytest.raises(ValueError, match="rows and points must have one form"):
        make(sparse.data, columns, ends, words, X, None, None, 3, 0, 2)
    for bad in (ends[::-1].copy(), ends + 9, ends[1:]):
        with pytest.raises(ValueError):  # noqa: PT011
            make(sparse.data, columns, bad, words, sparse.data, columns, ends, 3, 0, 2)
    search = make(X, None, None, words, X, None, None, 3, 0, 2)
    with pytest.raises(ValueError, match="points and rows must be those of the search"):
        search.offer_distances(np.zeros((4, 4)), 1, 0, 1)
    with pytest.raises(ValueError, match="out must be int32"):
        search.finish(np.empty((4, 3), np.int32), 1)


def test_rows_without_a_distance_come_last(isa):
    """The order stays one: sorting by numbers that cannot be compared could read beyond the candidates."""
    X = np.random.default_rng(0).normal(size=(2_000, 3))
    X[::7] = np.nan
    points, out = np.ascontiguousarray(X[1:6]), np.empty((5, 2_000), np.int32)
    for offered in (False, True):
        search = _native.NeighborSearch(X, None, None, words_of(2_000), points, None, None, 3, 0, 2_000)
        if offered:
            search.offer_distances(((points[:, None] - X) ** 2).sum(axis=2), 0, 0, 1)
        else:
            search.measure_all(1)
        search.finish(out, 1)
        for near in out:
            assert sorted(near) == list(range(2_000))
            assert set(near[-286:]) == set(range(0, 2_000, 7))


def test_a_search_that_saw_too_few_rows_has_no_answer():
    X = np.zeros((10, 2))
    search = _native.NeighborSearch(X, None, None, words_of(10), X, None, None, 2, 0, 5)
    with pytest.raises(ValueError, match="a search ends when enough rows were offered"):
        search.finish(np.empty((10, 5), np.int32), 1)


def test_a_metric_cannot_change_the_rows():
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2

    def spoils(point, row):
        row[:] = 0
        return 0.0

    model = ss.StableNeighborsClassifier(metric=spoils).fit(X, y)
    before = X.copy()
    with pytest.raises(ValueError, match="read-only"):
        model.predict(X[:2])
    assert np.array_equal(X, before)


def test_numbers_whose_squares_are_no_numbers_give_no_warning():
    X, y = np.random.default_rng(0).normal(size=(40, 3)) * 1e-200, np.arange(40) % 2
    model = ss.StableNeighborsClassifier(max_samples=10).fit(X, y)
    proba = model.predict_proba(X[:5])  # every distance is 0: the digests decide
    assert np.array_equal(proba, np.broadcast_to(proba[0], proba.shape))


def test_a_metric_that_is_set_after_the_fit_finds_its_own_neighbours():
    X, y = hard_rows("plain", 400, 6) * [1, 1, 1, 1, 1, 30], np.arange(400) % 3
    points = hard_rows("plain", 40, 6, seed=1)
    for first in ("euclidean", "cosine", "manhattan"):
        for then in ("euclidean", "cosine", "manhattan"):
            model = ss.StableNeighborsClassifier(metric=first).fit(X, y).set_params(metric=then)
            fresh = ss.StableNeighborsClassifier(metric=then).fit(X, y)
            assert np.array_equal(model.predict_proba(points), fresh.predict_proba(points)), (first, then)
