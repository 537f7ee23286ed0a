"""Bags of a changed table from those of the table before: only the bags whose rows changed are drawn again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu
from steadyset.bags._bags import Bags, Part, draw_bags, following_of, ordered_words, with_following
from steadyset.bags._hash import bag_key, id_words
from steadyset.bags._membership import Indices, index_type
from steadyset.bags._row_ids import RowIds

_MOST_HASHES = 0.25  # of those of a draw from scratch
_MOST_BAGS = 0.5  # to be drawn again
_HASHES_FOR_THREADS = 1 << 20
_GONE = np.uint32(2**32 - 1)


@dataclass(frozen=True, eq=False)
class Redraw:
    """Bags of a changed table; where only changed ones were drawn, which they are and how many ids both tables have.

    A bag that did not change holds rows with the same ids as before. `kept` are the rows whose ids both tables have, by
    their positions in the one and in the other; None where ids are made of content, which is the same then.
    """

    bags: Bags
    changed: NDArray[np.bool_] | None = None
    n_kept: int | None = None
    kept: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None


def draw_after(before: Bags, n_samples: int, ids: RowIds) -> Redraw:
    """Return the bags of other rows with the seed, size and number of some that were drawn before.

    They are those of :func:`steadyset.draw_bags`. Where most rows are the same and bags are small, only those are drawn
    that held a row which is gone, or that a new row enters.

    Parameters
    ----------
    before : Bags
        Drawn from one seed, from bag 0 on.
    n_samples : int
        Number of rows there are now.
    ids : RowIds
        Their ids.

    Returns
    -------
    Redraw

    Examples
    --------
    >>> import steadyset as ss
    >>> from steadyset.bags import draw_after
    >>> ids = ss.content_ids([[row] for row in range(1_000)])
    >>> fewer = ss.content_ids([[row] for row in range(1, 1_000)])
    >>> bags = ss.draw_bags(1_000, n_bags=20, bag_size=10, sample_ids=ids)
    >>> found = draw_after(bags, 999, fewer)
    >>> found.n_kept, found.bags == ss.draw_bags(999, n_bags=20, bag_size=10, sample_ids=fewer)
    (999, True)
    """
    (part,), size, kind = before.parts, before.bag_size or 0, before.resampling or "subbagging"
    found = _followed(before, part, n_samples, ids) if _may_follow(before, n_samples, ids) else None
    return found or Redraw(draw_bags(n_samples, part.n_bags, size, kind, part.seed, ids, first=part.first))


def _may_follow(before: Bags, n: int, ids: RowIds) -> bool:
    """Return whether these are hash bags of ids of one type, small enough to be kept as indices in both tables."""
    size = before.bag_size or 0
    return (
        before.coupling == "hash"
        and before.ids.values is not None
        and ids.values is not None
        and (before.ids.values.dtype.kind, ids.values.dtype.kind) in (("i", "i"), ("u", "u"), ("U", "U"))
        and isinstance(before._stored, Indices)
        and index_type(n) is index_type(before.n_samples) is np.uint32
        and (n + 7) // 8 > size * np.dtype(np.uint32).itemsize
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of two tables in the order of their ids: the new place of each old one, or `_GONE`."""

    place: NDArray[np.uint32]
    is_new: NDArray[np.bool_]


def _matched(before: NDArray[Any], now: NDArray[Any]) -> _Rows:
    place, is_new = np.empty(len(before), np.uint32), np.ones(len(now), bool)
    if before.dtype.kind != "U":
        _native.match_words(_rising(before), _rising(now), place, is_new)
        return _Rows(place, is_new)
    at = np.searchsorted(now, before)
    kept = now[at.clip(max=len(now) - 1)] == before
    is_new[at[kept]] = False
    return _Rows(np.where(kept, at, _GONE).astype(np.uint32), is_new)


def _rising(ids: NDArray[Any]) -> NDArray[np.uint64]:
    """Return words in the order of whole numbers, from negative ones on."""
    return id_words(ids) ^ np.uint64(2**63) if ids.dtype.kind == "i" else id_words(ids)


def _followed(before: Bags, part: Part, n: int, ids: RowIds) -> Redraw | None:
    """Return the bags; None where a draw from scratch is as fast."""
    values, old_values = np.asarray(ids.values), np.asarray(before.ids.values)
    size, now = before.bag_size or 0, values[ids.order]
    rows = _matched(old_values[before.ids.order], now)
    n_new = int(np.count_nonzero(rows.is_new))
    if n_new and size + n_new > _MOST_HASHES * n:
        return None
    held = before._stored.ranks_of(0, part.n_bags)
    ranks, changed = np.empty(held.shape, np.uint32), np.empty(part.n_bags, bool)
    _native.move_rows(held, rows.place, ranks, changed)
    if n_new:
        changed |= _entered(part, np.asarray(ordered_words(before.ids)), held, id_words(now[rows.is_new]))
    again = np.flatnonzero(changed)
    if len(again) > _MOST_BAGS * part.n_bags:
        return None
    following = _moved_following(before, rows) if not n_new else np.full(part.n_bags, -1)
    if len(again):
        hashed = again[~_swapped(ranks, again, following)]
        if len(hashed):
            ranks[hashed], following[hashed] = _drawn(part, hashed, np.asarray(ordered_words(ids)), size)
    stored = Indices(ranks.reshape(-1), np.arange(part.n_bags + 1) * size, n)
    bags = Bags(n, part.n_bags, size, "subbagging", ids, (part,), stored)
    return Redraw(with_following(bags, following), changed, n - n_new, _kept_positions(before.ids, ids, rows))


def _kept_positions(before: RowIds, ids: RowIds, rows: _Rows) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    if ids.kind == "content" or before.order is None or ids.order is None:
        return None
    stays = rows.place != _GONE
    return before.order[stays], ids.order[rows.place[stays]]


def _moved_following(before: Bags, rows: _Rows) -> NDArray[np.int64]:
    """Return the rank of the row that comes next in each bag, where it is known and still there, else -1."""
    following = following_of(before)
    place = rows.place[following]  # of one that is not known, any
    return np.where((following < 0) | (place == _GONE), -1, place.astype(np.int64))


def _swapped(ranks: NDArray[np.uint32], again: NDArray[np.intp], following: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Put the row that comes next in the place of one that is gone, and return for which of these bags that was all.

    Which row comes next there after it is not known then.
    """
    held, entering = ranks[again], following[again]
    gone = held == _GONE
    done: NDArray[np.bool_] = (np.count_nonzero(gone, axis=1) == 1) & (entering >= 0)
    ranks[again[done]] = np.sort(np.where(gone, entering[:, None], held)[done].astype(np.uint32), axis=1)
    following[again] = -1
    return done


def _drawn(
    part: Part, numbers: NDArray[np.intp], words: NDArray[np.uint64], size: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the ranks of the smallest hashes of some bags, and the rank that comes next in each."""
    keys = np.array([bag_key(part.seed, part.first + int(bag)) for bag in numbers], np.uint64)
    ranks, following = np.empty((len(numbers), size), np.uint32), np.empty(len(numbers), np.int64)
    threads = cpu.allowed_threads() if len(numbers) * len(words) > _HASHES_FOR_THREADS else 1
    _native.hash_rows(keys, words, size, ranks, following, threads)
    return ranks, following


def _entered(part: Part, words: NDArray[np.uint64], held: NDArray[Any], new: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return the bags that a new row enters: its hash is not above that of every row in the bag."""
    entered = np.empty(len(held), bool)
    threads = cpu.allowed_threads() if held.size + len(held) * len(new) > _HASHES_FOR_THREADS else 1
    _native.entered_bags(part.keys(), words, held, new, entered, threads)
    return entered
