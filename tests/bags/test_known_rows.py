"""Rows whose digests are known are not digested again, and ids are the same as without."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyset import _native
from steadyset.bags import (
    POSITIONS,
    CodedLabels,
    _known_rows,
    _row_ids,
    content_ids,
    content_ids_after,
    content_words_after,
    given_ids,
)

RNG = np.random.default_rng(0)
CLASSES = np.array(["low", "mid", "top"])
X, CODES = RNG.normal(size=(200, 3)), RNG.integers(3, size=200)
ROWS = np.arange(190)
TABLES = {
    "dropped": np.delete(ROWS, [0, 17, 18, 120]),
    "many dropped": np.r_[0:20, 100:190],
    "added": np.arange(200),
    "moved": ROWS[::-1],
    "moved and swapped": np.r_[195:200, RNG.permutation(180)],
    "repeated": np.r_[ROWS, 5, 5, 7],
    "others": np.arange(190, 200),
}
KINDS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "by column": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "bytes": RNG.integers(0, 256, (200, 13), np.uint8),
    "whole numbers": RNG.integers(-(2**62), 2**62, (200, 2)),
    "bools": RNG.integers(0, 2, (200, 30)).astype(bool),
    "pictures": RNG.integers(0, 256, (200, 4, 5), np.uint8),
    "not finite": np.where(X > 1, np.nan, np.where(X < -1, -np.inf, X)),
}


def labelled(codes, classes=CLASSES):
    return CodedLabels(classes, codes)


def assert_same(found, expected):
    assert found == expected
    assert (found.last_equal is None) == (expected.last_equal is None)
    if expected.last_equal is not None:
        assert np.array_equal(found.last_equal, expected.last_equal)
    assert np.array_equal(found.order, np.argsort(expected.values, kind="stable"))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_the_same_and_only_new_rows_are_digested(kind, table, monkeypatch):
    values, rows = KINDS[kind], TABLES[table]
    before = content_ids_after(None, values[ROWS], labelled(CODES[ROWS]))
    expected = content_ids_after(None, values[rows], labelled(CODES[rows]))
    digested = []
    whole = _row_ids.content_digests
    monkeypatch.setattr(_row_ids, "content_digests", lambda X, y: digested.append(len(X)) or whole(X, y))
    assert_same(content_ids_after(before, values[rows], labelled(CODES[rows])), expected)
    assert sum(digested) == np.count_nonzero(rows >= 190)


TEXTS = RNG.choice(["red", "green", "blue"], 200)
FRAMES = {
    "numbers": pd.DataFrame(X, columns=list("abc")),
    "several types": pd.DataFrame({"a": X[:, 0], "b": CODES, "c": X[:, 1].astype(np.float32), "d": X[:, 2] > 0}),
    "texts": pd.DataFrame({"a": X[:, 0], "b": TEXTS}),
    "categories and gaps": pd.DataFrame({"a": np.where(X[:, 0] > 1, np.nan, X[:, 0]), "b": pd.Categorical(TEXTS)}),
    "one name twice": pd.DataFrame(X, columns=list("aab")),
    "large whole numbers": pd.DataFrame({"a": 2**62 + np.arange(200), "b": CODES}),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", FRAMES)
def test_rows_of_frames_are_known_too(kind, table, monkeypatch):
    frame, rows = FRAMES[kind], TABLES[table]
    before = content_ids_after(None, frame.iloc[ROWS], labelled(CODES[ROWS]))
    expected = content_ids_after(None, frame.iloc[rows], labelled(CODES[rows]))
    assert np.array_equal(expected.values, content_ids(frame.iloc[rows], CLASSES[CODES[rows]]).values)
    digested = []
    whole = _row_ids.content_digests
    monkeypatch.setattr(_row_ids, "content_digests", lambda X, y: digested.append(len(y.codes)) or whole(X, y))
    assert_same(content_ids_after(before, frame.iloc[rows], labelled(CODES[rows])), expected)
    assert sum(digested) == np.count_nonzero(rows >= 190)


def test_frames_that_are_large_or_cannot_be_read_are_digested_as_ever(monkeypatch):
    frame = FRAMES["texts"]
    expected = content_ids_after(None, frame, labelled(CODES))
    monkeypatch.setattr(_row_ids, "_MOST_CELLS", frame.size - 1)
    large = content_ids_after(expected, frame, labelled(CODES))
    assert_same(large, expected)
    assert large.known_rows is None
    with pytest.raises(TypeError, match=r"^sample_ids must be given for rows that cannot be hashed; got .* in X\.$"):
        content_ids_after(expected, pd.DataFrame({"a": [[1], [2]]}), labelled(CODES[:2]))


@pytest.mark.parametrize("values", [X, FRAMES["texts"]], ids=["array", "frame"])
def test_words_of_rows_with_given_ids_are_remembered_with_these(values, monkeypatch):
    expected = _row_ids.content_words(values, CLASSES[CODES])
    names, fewer = given_ids(range(200), 200), given_ids(range(1, 200), 199)
    assert np.array_equal(content_words_after(None, names, values, labelled(CODES)), expected)
    monkeypatch.setattr(_row_ids, "content_digests", None)  # nothing is left to digest
    without = values[1:]
    assert np.array_equal(content_words_after(names, fewer, without, labelled(CODES[1:])), expected[1:])
    assert len(fewer.known_rows.digests) == 199
    content_words_after(names, POSITIONS, without, labelled(CODES[1:]))
    assert POSITIONS.known_rows is None


def test_other_labels_types_and_spaces_are_other_rows():
    before = content_ids_after(None, X, labelled(CODES))
    other = np.where(np.arange(200) == 4, (CODES + 1) % 3, CODES)
    spaces = (np.array(["high", "mid", "top"]), np.array([0, 1, 2]), CLASSES.astype(object))
    for values, y in (
        (X, labelled(other)),
        (X.astype(np.float32), labelled(CODES)),
        (X[:, :2], labelled(CODES)),
        (X.astype(object), labelled(CODES)),
        *((X, labelled(CODES, space)) for space in spaces),
    ):
        assert_same(content_ids_after(before, values, y), content_ids_after(None, values, y))
    assert_same(
        content_ids_after(before, X, labelled(CODES), w=CODES), content_ids_after(None, X, labelled(CODES), w=CODES)
    )


def test_equal_values_of_other_bytes_are_equal_rows():
    zeros = np.where(np.arange(600).reshape(200, 3) % 5 == 0, 0.0, X)
    before = content_ids_after(None, zeros, labelled(CODES))
    negative = np.where(zeros == 0, -0.0, zeros)
    assert_same(content_ids_after(before, negative, labelled(CODES)), before)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=30), st.data())
def test_equal_rows_come_and_go(rows, data):
    def ids(before, some):
        values = np.array([[value] for value, _ in some], np.float64)
        return content_ids_after(before, values, labelled(np.array([code for _, code in some])))

    later = data.draw(st.lists(st.sampled_from([*rows, (9, 0)]), min_size=1, max_size=40))
    between = ids(ids(None, rows), later)
    assert_same(between, ids(None, later))
    assert_same(ids(between, rows), ids(None, rows))


def test_what_is_known_stays_in_this_process():
    ids = content_ids_after(None, X, labelled(CODES))
    assert copy.deepcopy(ids).known_rows is ids.known_rows is not None
    again = pickle.loads(pickle.dumps(ids))
    assert again == ids
    assert again.known_rows is None
    written = pickle.dumps(ids)
    for words in (ids.known_rows.fingerprints.words, ids.known_rows.digests[:, 1:]):
        assert words[7].tobytes() not in written
    fewer = content_ids_after(ids, X[1:], labelled(CODES[1:]))
    assert ids.values[0] not in fewer.known_rows.digests
    assert len(fewer.known_rows.fingerprints.words) == 199


@pytest.mark.parametrize("n_bytes", [1, 7, 8, 9, 16, 40])
def test_fingerprints_as_they_are_written_down(n_bytes):
    rows = RNG.integers(0, 256, (50, n_bytes), np.uint8)
    codes = RNG.integers(-(2**62), 2**62, 50)
    key = _known_rows._key(n_bytes)
    found = np.empty((50, 2), np.uint64)
    _native.fingerprint_rows(rows, codes, key, found, 2)
    last = [int.from_bytes(key[at : at + 2].tobytes(), "little") for at in range(0, 12, 2)]
    pairs = key[12:].reshape(-1, 2, 2).tolist()
    for row, code, words in zip(rows, codes.tolist(), found.tolist(), strict=True):
        padded = row.tobytes() + bytes(-n_bytes % 8)
        cells = [code % 2**64, *np.frombuffer(padded, "<u8").tolist()]
        cells += [0] * (len(cells) % 2)
        assert 2 * len(pairs) == len(cells)
        for which in (0, 1):
            keys = [each for pair in pairs for each in pair[which]]
            shifted = [(cell + each) % 2**64 for cell, each in zip(cells, keys, strict=True)]
            high, low = divmod(sum(a * b for a, b in zip(shifted[::2], shifted[1::2], strict=True)) % 2**128, 2**64)
            start, of_low, of_high = last[3 * which : 3 * which + 3]
            assert words[which] == (start + of_low * low + of_high * high) % 2**128 >> 64


def test_arrays_that_do_not_fit_are_refused():
    words = np.zeros((4, 2), np.uint64)
    key, codes = _known_rows._key(8), np.zeros(4, np.int64)
    for rows, of_key, out in ((np.zeros(4), key[:-4], words), (np.zeros(5), key, words), (np.zeros(4), key, words[:3])):
        with pytest.raises(ValueError, match="the arrays do not fit"):
            _native.fingerprint_rows(rows, codes, of_key, out, 1)
    with pytest.raises(ValueError, match="the arrays do not fit"):
        _native.known_places(words, words, np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="the arrays do not fit"):
        _native.match_words(words, words, np.zeros(8, np.uint32), np.zeros(7, bool))
    with pytest.raises(ValueError, match="the arrays do not fit"):
        _native.move_rows(np.zeros(5, np.uint32), np.zeros(3, np.uint32), np.zeros(5, np.uint32), np.zeros(2, bool))
    with pytest.raises(ValueError, match="held must be places in ids"):
        _native.entered_bags(words[:1], words[:, 0].copy(), np.full(3, 4, np.uint32), words, np.zeros(1, bool), 1)
    moved, changed = np.empty((1, 2), np.uint32), np.empty(1, bool)
    _native.move_rows(np.array([[0, 9]], np.uint32), np.array([5], np.uint32), moved, changed)
    assert (moved.tolist(), changed.tolist()) == ([[5, 2**32 - 1]], [True])  # a row that is not there is gone
