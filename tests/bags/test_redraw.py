"""Bags of a changed table: those of a draw from scratch, of which only changed ones are drawn."""

import numpy as np
import pytest

import steadyset as ss
from steadyset.bags import RowIds, _redraw, draw_after

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
    found = draw_after(before, len(rows), ids)
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
    whole = _redraw.smallest_hashes
    monkeypatch.setattr(_redraw, "smallest_hashes", lambda keys, *rest: drawn.append(len(keys)) or whole(keys, *rest))
    monkeypatch.setattr(_redraw, "draw_bags", None)
    rows = TABLES[table]
    after = draw_after(before, len(rows), IDS["content"](rows))
    held = [set(WORDS[bag].tolist()) for bag in before]
    assert sum(drawn) == sum(set(WORDS[rows][bag].tolist()) != had for bag, had in zip(after, held, strict=True))


def test_ids_of_other_types_and_bootstrap_are_drawn_from_scratch():
    before = ss.draw_bags(1_000, 20, 10, sample_ids=IDS["given"](np.arange(1_000)))
    for ids in (IDS["names"](np.arange(999)), IDS["content"](np.arange(999))):
        assert draw_after(before, 999, ids) == ss.draw_bags(999, 20, 10, sample_ids=ids)
    positions = ss.draw_bags(1_000, 20, 10, "bootstrap")
    assert draw_after(positions, 999, RowIds("position")) == ss.draw_bags(999, 20, 10, "bootstrap")
