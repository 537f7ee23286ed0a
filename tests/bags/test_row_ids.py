"""Row ids made of content: by value, row by row, the same whatever table a row stands in."""

import datetime
import hashlib
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steadyset as ss
from steadyset import _native
from steadyset.bags import CodedLabels, content_ids


def digest_by_definition(cells, kinds):
    """The documented digest of one row, by the standard library."""

    def number(value):
        return struct.pack("<Q", 0x7FF8000000000000) if value != value else struct.pack("<d", value + 0.0)

    if any(kinds):
        words = [struct.pack("<d", c) if k else number(c) for c, k in zip(cells, kinds, strict=True)]
        form = 2
        body = b"".join(word + struct.pack("<Q", k) for word, k in zip(words, kinds, strict=True))
    elif all(0 <= c <= 255 and c == int(c) for c in cells):
        form, body = 0, bytes(int(c) for c in cells)
    else:
        form, body = 1, b"".join(map(number, cells))
    data = struct.pack("<Q", len(cells) << 2 | form) + body
    return hashlib.blake2b(data, digest_size=16, person=b"steadyset/rows/1").digest()


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(0, 40))),
    st.sampled_from(["numbers", "bytes", "kinds"]),
    st.integers(1, 3),
)
def test_digests_are_blake2b(values, form, threads):
    n, width = values.shape
    cells = np.floor(np.abs(np.nan_to_num(values)) % 256) if form == "bytes" else values
    kinds = np.random.default_rng(width).integers(0, 2, (n, width)).astype(np.uint64) if form == "kinds" else None
    found = np.empty((n, 2), np.uint64)
    _native.digest_rows(cells, kinds, np.arange(1, n + 1) * width, found, threads)
    for row in range(n):
        expected = digest_by_definition(cells[row].tolist(), [0] * width if kinds is None else kinds[row].tolist())
        assert found[row].astype("<u8").tobytes() == expected


@pytest.mark.parametrize("width", [15, 16, 17, 31, 32, 33, 127, 128, 784])
def test_digests_of_long_rows_on_every_instruction_set(width, isa):
    n = 19  # eight side by side, and three that are left
    rng = np.random.default_rng(width)
    values, kinds = rng.normal(size=(n, width)), rng.integers(0, 3, (n, width)).astype(np.uint64)
    found = np.empty((n, 2), np.uint64)
    one_of_bytes = values.copy()
    one_of_bytes[3] = 7
    for cells, of_kinds in (
        (values, None),
        (np.floor(np.abs(values) * 50), None),
        (one_of_bytes, None),
        (values, kinds),
    ):
        _native.digest_rows(cells, of_kinds, np.arange(1, n + 1) * width, found, 2)
        for row in range(n):
            known = [0] * width if of_kinds is None else of_kinds[row].tolist()
            assert found[row].astype("<u8").tobytes() == digest_by_definition(cells[row].tolist(), known)


def test_digests_of_rows_of_several_lengths():
    values = np.random.default_rng(0).normal(size=400)
    ends = np.cumsum(np.r_[np.full(16, 5), 6, np.full(8, 5), np.arange(20)])
    found = np.empty((len(ends), 2), np.uint64)
    _native.digest_rows(values, None, ends, found, 1)
    for row, cells in enumerate(np.split(values, ends)[:-1]):
        assert found[row].astype("<u8").tobytes() == digest_by_definition(cells.tolist(), [0] * len(cells))


@pytest.mark.parametrize("labels", [["low", "mid", "top"], [False, True, True], [-1, 2**60 + 1, 7]])
def test_labels_by_their_places_have_the_same_ids(labels):
    space, codes = np.unique(np.array(labels), return_inverse=True)
    X = np.eye(3)
    assert content_ids(X, CodedLabels(space, codes)) == content_ids(X, np.array(labels))


def test_native_digests_refuse_arrays_that_do_not_fit():
    cells, found = np.zeros(6), np.empty((2, 2), np.uint64)
    for ends in ([3, 7], [-1, 3], [4, 2], [3]):
        with pytest.raises(ValueError, match=r"ends must not fall|do not fit"):
            _native.digest_rows(cells, None, np.array(ends), found, 1)
    with pytest.raises(ValueError, match="a word for each cell"):
        _native.digest_rows(cells, np.zeros(5, np.uint64), np.array([3, 6]), found, 1)


def test_ids_are_pinned():
    """They name rows in files: another id would be another format."""
    assert content_ids(np.array([[1.5, -2.0]]), np.array(["a"])).values.tolist() == [5801733386086696387]


def same_ids(one, other):
    return np.array_equal(content_ids(one).values, content_ids(other).values)


WHOLE = np.array([[3, 0, 255], [-4, 7, 100_000], [1, 1, 1]])
EQUAL = {
    "float32": WHOLE.astype(np.float32),
    "float64": WHOLE.astype(np.float64),
    "int32": WHOLE.astype(np.int32),
    "objects": WHOLE.astype(object),
    "fortran order": np.asfortranarray(WHOLE),
    "strided": np.repeat(WHOLE, 2, axis=1)[:, ::2],
    "minus zero": np.where(WHOLE == 0, -0.0, WHOLE),
    "big-endian": WHOLE.astype(">f8"),
    "decimals": np.array([[Decimal(int(v)) for v in row] for row in WHOLE], object),
    "fractions": np.array([[Fraction(int(v)) for v in row] for row in WHOLE], object),
    "pandas": pd.DataFrame(WHOLE, index=[5, 1, 9]),
    "pandas, columns of several types": pd.DataFrame(WHOLE).astype({0: "int8", 1: "float32", 2: "object"}),
    "pandas, nullable": pd.DataFrame(WHOLE).astype({0: "Int64", 1: "Float64", 2: "Int32"}),
    "pandas, categories": pd.DataFrame(WHOLE).astype("category"),
    "pandas, sparse": pd.DataFrame(WHOLE).astype(pd.SparseDtype(float, 0)),
    "pandas, one name twice": pd.DataFrame(WHOLE, columns=["a", "a", "b"]),
    "pandas, index of floats": pd.DataFrame(WHOLE, index=[-2.5, 9.0, -2.5]),
    "pandas, index of times": pd.DataFrame(WHOLE, index=pd.date_range("2020", periods=3)[::-1]),
    "arrow": pa.table(dict(zip("abc", WHOLE.T, strict=True))),
    "wide floats": WHOLE.astype(np.longdouble),
    "polars": pl.DataFrame(WHOLE, schema=["a", "b", "c"]),
    "lists": WHOLE.tolist(),
}


@pytest.mark.parametrize("kind", EQUAL)
def test_numbers_count_by_value(kind):
    assert same_ids(WHOLE, EQUAL[kind])


def test_a_type_never_counts_and_a_value_always():
    small = WHOLE[[0, 2]]
    assert same_ids(small.astype(np.uint8), small)
    assert same_ids(small > 1, (small > 1).astype(float))
    for row in range(3):
        for column in range(3):
            other = WHOLE.astype(float)
            other[row, column] = np.nextafter(other[row, column], np.inf)
            changed = content_ids(other).values != content_ids(WHOLE).values
            assert changed.tolist() == [i == row for i in range(3)]
    assert not same_ids(WHOLE, WHOLE[:, ::-1])
    assert not same_ids(np.zeros((1, 2)), np.zeros((1, 3)))


@pytest.mark.parametrize("missing", [None, np.nan, -np.nan, pd.NA, pd.NaT, float("nan"), np.datetime64("NaT")])
def test_there_is_one_missing_value(missing):
    assert same_ids(pd.DataFrame({"a": pd.Series([missing, "x"], dtype=object)}), np.array([[np.nan], ["x"]], object))


def test_missing_in_every_kind_of_column():
    times = pd.to_datetime(["2020-01-01", None])
    for column in (
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
        pd.Series(["a", None], dtype="string"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series(times),
        pd.Series(times).dt.tz_localize("Europe/Paris"),
    ):
        assert content_ids(column.to_frame()).values[1] == content_ids(np.array([[np.nan]])).values[0]


def test_whole_numbers_beyond_floats():
    exact = [2**60, -(2**63), 2**53, 2**53 + 2]
    assert same_ids(np.array(exact)[:, None], np.array(exact, float)[:, None])
    near = np.array([2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 2**62 + 1, 2**62])
    assert len(set(content_ids(near[:, None]).values.tolist())) == len(near)
    assert same_ids(near[:, None], near.astype(object)[:, None])
    assert same_ids(near[near > 0][:, None], near[near > 0].astype(np.uint64)[:, None])
    gap = [2**53 + 1, None]
    for frame in (pl.DataFrame({"a": gap}), pd.DataFrame({"a": gap}, dtype="Int64"), pa.table({"a": gap})):
        assert content_ids(frame).values[0] == content_ids(near[1:2, None]).values[0]
    huge = np.array([[2**64 - 1], [2**64], [2**70 + 1], [-(2**70) - 1]], object)
    assert len(set(content_ids(huge).values.tolist())) == 4


def test_texts_count_by_value_never_by_code():
    texts = ["b", "a", "", "ü", "b "]
    column = pd.Series(texts)
    expected = np.array(texts)[:, None]
    for other in (
        column.astype("category"),
        column.astype(pd.CategoricalDtype(["z", *reversed(texts)])),
        column.astype("string"),
        column.astype(object),
    ):
        assert same_ids(expected, other.to_frame())
    assert same_ids(expected, pl.DataFrame({"a": pl.Series(texts, dtype=pl.Categorical)}))
    assert same_ids(expected, pa.table({"a": texts}))
    assert same_ids(expected, pa.table({"a": pa.array(texts).dictionary_encode()}))
    assert len(set(content_ids(expected).values.tolist())) == 5
    assert not same_ids(np.array([["1"]]), np.array([[1]]))
    assert not same_ids(np.array([["a"]]), np.array([[b"a"]]))
    assert not same_ids(np.array([[None]], object), np.array([["nan"]]))


def test_times_count_by_value_never_by_unit():
    days = np.array(["2020-02-29", "1969-12-31", "1800-01-01"], "M8[D]")
    for unit in ("s", "ms", "us", "ns"):
        assert same_ids(days[:, None], days.astype(f"M8[{unit}]")[:, None])
    python = [[datetime.datetime.fromisoformat(str(day))] for day in days]
    assert same_ids(days[:, None], np.array(python, object))
    assert same_ids(days[:, None], np.array([[day[0].date()] for day in python], object))
    frame = pd.DataFrame({"a": days.astype("M8[ns]")})
    assert same_ids(days[:, None], frame)
    assert same_ids(frame, frame.astype(object))
    zoned = pd.DataFrame({"a": pd.to_datetime(["2020-02-29 12:00"]).tz_localize("UTC")})
    elsewhere = zoned.assign(a=zoned["a"].dt.tz_convert("Asia/Tokyo"))
    assert same_ids(zoned, elsewhere)
    assert same_ids(zoned, elsewhere.astype(object))
    nano = np.array([["2020-01-01T00:00:00.000000001"]], "M8[ns]")
    assert not same_ids(nano, nano.astype("M8[us]"))
    assert not same_ids(nano, nano - np.datetime64(0, "ns"))
    assert same_ids(np.array([[5]], "m8[s]"), np.array([[datetime.timedelta(seconds=5)]], object))


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix])
def test_sparse_rows_in_canonical_form(container):
    dense = np.array([[0, 2.5, 0, 1], [0, 0, 0, 0], [3, 0, -1, 0]])
    expected = content_ids(sp.csr_array(dense)).values
    assert np.array_equal(content_ids(container(dense)).values, expected)
    untidy = sp.csr_array((np.array([1.0, 2.0, 0.5, 0, -1, 3]), [3, 1, 1, 0, 2, 0], [0, 4, 4, 6]), shape=(3, 4))
    stored = untidy.data.copy()
    assert np.array_equal(content_ids(untidy).values, expected)
    assert np.array_equal(untidy.data, stored)
    assert len(set(expected.tolist())) == 3
    assert np.array_equal(content_ids(sp.csr_array(dense.astype(np.float32))).values, expected)


def test_pictures_and_their_copies():
    pictures = np.random.default_rng(0).integers(0, 256, (20, 4, 5, 3)).astype(np.uint8)
    assert same_ids(pictures, pictures.reshape(20, -1))
    assert same_ids(pictures, pictures.astype(np.float32))
    assert len(set(content_ids(pictures).values.tolist())) == 20


@given(st.data())
def test_an_id_depends_on_its_row_alone(data):
    """Whatever other rows there are: a text further down turns a column of numbers into objects."""
    cell = st.one_of(
        st.integers(-3, 3),
        st.floats(),
        st.sampled_from(["a", "b"]),
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
    )
    rows = data.draw(st.lists(st.tuples(cell, cell), min_size=2, max_size=8))
    table = pd.DataFrame(rows, dtype=object)
    alone = [content_ids(table.iloc[[i]].infer_objects()).values[0] for i in range(len(rows))]
    together = content_ids(table.infer_objects())
    firsts = [i for i in range(len(rows)) if alone[i] not in alone[:i]]
    assert all(together.values[i] == alone[i] for i in firsts)


def test_rows_in_blocks(monkeypatch):
    from steadyset.bags import _row_ids

    X = pd.DataFrame({"a": np.arange(50) % 7, "b": [*("xyz" * 16), "x", None]})
    whole = content_ids(X)
    monkeypatch.setattr(_row_ids, "blocks_of_rows", lambda part: blocks(part, 6))
    from steadyset.bags._cells import blocks_of_rows as blocks

    assert content_ids(X) == whole


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.randoms())
def test_equal_rows_are_interchangeable(values, random):
    """Dropping any of them removes the last counter, and another order gives the same ids to the same contents."""
    X = np.array(values, float)[:, None]
    ids = content_ids(X)
    assert len(set(ids.values.tolist())) == len(values)
    for row in range(len(values)):
        fewer = content_ids(np.delete(X, row, axis=0))
        gone = ids.dropped(np.array([row]))[0]
        assert set(fewer.values.tolist()) == set(np.delete(ids.values, gone).tolist())
        assert values[gone] == values[row]
        assert values[row] not in values[gone + 1 :]
    order = random.sample(range(len(values)), len(values))
    shuffled = content_ids(X[order])
    by_value = [set(ids.values[X[:, 0] == v].tolist()) for v in range(4)]
    assert [set(shuffled.values[X[order, 0] == v].tolist()) for v in range(4)] == by_value


def test_labels_weights_and_parameters_count():
    X = np.zeros((3, 2))
    plain = content_ids(X, [0, 1, 2])
    assert plain.last_equal is None
    assert content_ids(X).last_equal.tolist() == [2, 2, 2]
    assert content_ids(X, ["0", "1", "2"]) != plain
    assert content_ids(X, np.array([0.0, 1.0, 2.0])) == plain
    weighted = content_ids(X, [0, 1, 2], weight=[1.0, 1.0, 2.0])
    assert weighted != plain
    changed = content_ids(X, [0, 1, 2], weight=[1.0, 1.0, 3.0])
    assert (weighted.values == changed.values).tolist() == [True, True, False]
    assert content_ids(X, [0, 1, 2], other=[1.0, 1.0, 2.0]) != weighted


class Strange:
    """A table that gives its rows in no known way."""

    columns, shape = ("a",), (2, 1)


def test_what_cannot_be_hashed_is_said():
    between = np.array([[1.0]], np.longdouble) + np.finfo(np.longdouble).eps
    for X, what in (
        *([(between, f"{between.dtype} numbers between those of float64 in X")] if between.itemsize > 8 else []),
        (Strange(), "X of type Strange, whose rows could not be read"),
        (np.array([[Fraction(10**400)]]), "X of type ndarray, whose rows could not be read"),
        (np.array([[1j]]), "values of type complex128 in X"),
        (np.array([[[1, 2]], [[{}, 3]]], object), "a value of type dict in X"),
        (np.array([[object()]]), "a value of type object in X"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=2, freq="Y")}), "a value of type Period in X"),
    ):
        with pytest.raises(TypeError, match=f"sample_ids must be given for rows that cannot be hashed; got {what}"):
            content_ids(X)
    with pytest.raises(ValueError, match="X and y must have as many rows"):
        content_ids(np.zeros((3, 1)), [0, 1])


def test_ids_for_bags():
    X = np.arange(40).reshape(20, 2)
    bags = ss.draw_bags(20, 5, 8, sample_ids=content_ids(X))
    assert (bags.coupling, bags.ids.kind, bags.sample_ids.dtype) == ("hash", "content", np.uint64)
    assert repr(bags).endswith("seed=0, ids='content')")
    assert ss.draw_bags(20, 5, 8).coupling == "any"
    assert ss.draw_bags(20, 5, 8, sample_ids=range(20)).coupling == "hash"
    assert ss.draw_bags(20, 5, 8, "bootstrap", sample_ids=range(20)).coupling == "any"
    with pytest.raises(ValueError, match="sample_ids must be of 19 rows; got those of 20"):
        ss.draw_bags(19, 5, 8, sample_ids=content_ids(X))


@pytest.mark.parametrize("resampling", ["subbagging", "bootstrap"])
@pytest.mark.parametrize("size", [3, 150])
def test_bags_without_ids(tmp_path, resampling, size):
    values = np.arange(300)[::-1] // 2
    bags = ss.draw_bags(300, 12, size, resampling, sample_ids=content_ids(values[:, None]))
    made = ss.BagPredictions(np.full((12, 2, 2), 0.5), bags, "ab")
    made.save(tmp_path / "whole")
    made.save(tmp_path / "private", ids=False)
    assert not list((tmp_path / "private").glob("bags_ids*"))
    assert len(list((tmp_path / "whole").glob("bags_ids*"))) == 1
    private = ss.BagPredictions.load(tmp_path / "private").bags
    assert private.sample_ids is None
    assert private == bags.without_ids()
    assert private != bags
    assert private != ss.draw_bags(300, 12, size, resampling, 5, content_ids(values[:, None])).without_ids()
    assert (private.coupling, private.ids.kind) == (bags.coupling, "content")
    assert [sorted(rows.tolist()) for rows in private] == [sorted(rows.tolist()) for rows in bags]
    assert np.array_equal(private.counts, bags.counts)
    assert np.array_equal(private.holds(7), bags.holds(7))
    assert np.array_equal(private.membership(), bags.membership())
    assert np.array_equal(private.ids.last_equal, bags.ids.last_equal)
    with pytest.raises(ValueError, match="with_bags needs the ids of the rows; got bags without them"):
        private.with_bags(13)
    if resampling == "subbagging":
        with pytest.raises(ValueError, match="next_row needs the ids of the rows; got bags without them"):
            private.next_row(0)
