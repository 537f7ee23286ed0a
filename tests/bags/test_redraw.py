"""Bags of a changed table: those of a draw from scratch, of which only changed ones are drawn."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from steadyset import _native
from steadyset.bags import RowIds, _redraw, draw_after
from steadyset.bags._bags import following_of

RNG = np.random.default_rng(0)
WORDS = RNG.integers(0, 2**64, 1_500, np.uint64)
IDS = {
    "content": lambda rows: RowIds("content", WORDS[rows]),
    "given": lambda rows: RowIds("given", WORDS[rows].view(np.int64)),
    "names": lambda rows: RowIds("given", np.array([f"row {word}" for word in WORDS[rows].tolist()])),
}
TABLES = {
    "one dropped": np.delete(np.arange(1_000), 17),
    "ten dropped": np.delete(np.arange(1_000), np.arange(0, 1_000, 100)),
    "most dropped": np.arange(300),
    "one added": np.arange(1_001),
    "one swapped": np.r_[np.delete(np.arange(1_000), 17), 1_200],
    "ten swapped and moved": np.r_[1_200:1_210, 999:9:-1],
    "most added": np.arange(1_500),
    "other rows": np.arange(1_000, 1_500),
    "the same": np.arange(1_000),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("size", [10, 100])  # kept as indices, and as bits
def test_they_are_those_of_a_draw_from_scratch(kind, table, size):
    before = ss.draw_bags(1_000, 50, size, seed=3, sample_ids=IDS[kind](np.arange(1_000)), first=7)
    rows = TABLES[table]
    ids = IDS[kind](rows)
    found = draw_after(before, len(rows), ids).bags
    expected = ss.draw_bags(len(rows), 50, size, seed=3, sample_ids=ids, first=7)
    assert found == expected
    assert found._stored.equals(expected._stored)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    if isinstance(expected._stored, type(found._stored)) and hasattr(expected._stored, "flat"):
        assert found._stored.flat.dtype == expected._stored.flat.dtype


@pytest.mark.parametrize("table", ["one dropped", "one added", "one swapped", "ten swapped and moved"])
def test_only_changed_bags_are_drawn(table, monkeypatch):
    before = ss.draw_bags(1_000, 50, 10, seed=3, sample_ids=IDS["content"](np.arange(1_000)))
    drawn = []
    native = SimpleNamespace(**{name: getattr(_native, name) for name in ("match_words", "move_rows", "entered_bags")})
    native.hash_rows = lambda keys, *rest: drawn.append(len(keys)) or _native.hash_rows(keys, *rest)
    monkeypatch.setattr(_redraw, "_native", native)
    monkeypatch.setattr(_redraw, "draw_bags", None)
    rows = TABLES[table]
    after = draw_after(before, len(rows), IDS["content"](rows))
    held = [set(WORDS[bag].tolist()) for bag in before]
    changed = [set(WORDS[rows][bag].tolist()) != had for bag, had in zip(after.bags, held, strict=True)]
    assert after.changed.tolist() == changed
    # Where one row of a bag went and no other came, the one that comes next is known from the draw.
    assert sum(drawn) == (0 if table == "one dropped" else sum(changed))
    assert after.n_kept == len(np.intersect1d(rows, np.arange(1_000)))


def test_ids_of_other_types_and_bootstrap_are_drawn_from_scratch():
    before = ss.draw_bags(1_000, 20, 10, sample_ids=IDS["given"](np.arange(1_000)))
    for ids in (IDS["names"](np.arange(999)), IDS["content"](np.arange(999))):
        assert draw_after(before, 999, ids).bags == ss.draw_bags(999, 20, 10, sample_ids=ids)
    positions = ss.draw_bags(1_000, 20, 10, "bootstrap")
    assert draw_after(positions, 999, RowIds("position")).bags == ss.draw_bags(999, 20, 10, "bootstrap")


@st.composite
def two_tables(draw):
    """Ids of two tables that share some of them, whole numbers of either sign, in any order."""
    everything = draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=60, max_size=200, unique=True))
    n_gone, n_new = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    before, now = everything[n_new:], everything[: len(everything) - n_gone]
    return np.array(draw(st.permutations(before)), np.int64), np.array(now, np.int64)


@given(tables=two_tables(), size=st.integers(1, 3), seed=st.integers(0, 2**64), as_content=st.booleans())
def test_any_rows_may_come_and_go(tables, size, seed, as_content):
    before, now = (RowIds("content", ids.view(np.uint64)) if as_content else RowIds("given", ids) for ids in tables)
    bags = ss.draw_bags(len(tables[0]), 12, size, seed=seed, sample_ids=before)
    found = draw_after(bags, len(tables[1]), now)
    expected = ss.draw_bags(len(tables[1]), 12, size, seed=seed, sample_ids=now)
    assert found.bags._stored.equals(expected._stored)
    if found.changed is not None:
        held = [[ids[bag].tolist() for bag in drawn] for ids, drawn in zip(tables, (bags, expected), strict=True)]
        assert found.changed.tolist() == [one != other for one, other in zip(*held, strict=True)]
        assert found.n_kept == len(np.intersect1d(*tables))


@given(
    drops=st.lists(st.lists(st.integers(0, 199), max_size=6, unique=True), min_size=1, max_size=8),
    added=st.lists(st.booleans(), min_size=8, max_size=8),
    size=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_tables_that_shrink_again_and_again(drops, added, size, seed):
    """The row that comes next in a bag is taken where it is known, and known again where it had to be looked for."""
    rows = np.arange(200)
    bags = ss.draw_bags(200, 12, size, seed=seed, sample_ids=IDS["content"](rows))
    for gone, grows in zip(drops, added, strict=False):
        rows = np.setdiff1d(rows, gone)
        rows = np.append(rows, rows[-1] + 200) if grows and rows[-1] < 1_000 else rows
        ids = IDS["content"](rows)
        bags = draw_after(bags, len(rows), ids).bags
        expected = ss.draw_bags(len(rows), 12, size, seed=seed, sample_ids=ids)
        assert bags._stored.equals(expected._stored)
        known = following_of(bags)
        assert np.array_equal(known[known >= 0], following_of(expected)[known >= 0])


def test_the_next_row_is_not_kept_with_the_bags():
    bags = ss.draw_bags(1_000, 20, 10, sample_ids=IDS["content"](np.arange(1_000)))
    assert following_of(bags).tolist() == [int(bags._rank[bags.next_row(b)]) for b in range(20)]
    assert np.all(following_of(pickle.loads(pickle.dumps(bags))) == -1)
    assert copy.deepcopy(bags) is bags
