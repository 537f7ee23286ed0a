"""Bags of a changed table from those of the table before: only the bags whose rows changed are drawn again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.bags._bags import Bags, Part, draw_bags, ordered_words, smallest_hashes
from steadyset.bags._hash import bag_key, id_words
from steadyset.bags._membership import Indices, index_type, indices_of
from steadyset.bags._row_ids import RowIds

_MOST_HASHES = 0.25  # of those of a draw from scratch; NumPy takes longer for one
_MOST_BAGS = 0.5  # to be drawn again
_HASHES_AT_A_TIME = 1 << 18


def draw_after(before: Bags, n_samples: int, ids: RowIds) -> Bags:
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
    Bags

    Examples
    --------
    >>> import steadyset as ss
    >>> from steadyset.bags import draw_after
    >>> ids = ss.content_ids([[row] for row in range(1_000)])
    >>> fewer = ss.content_ids([[row] for row in range(1, 1_000)])
    >>> bags = ss.draw_bags(1_000, n_bags=20, bag_size=10, sample_ids=ids)
    >>> draw_after(bags, 999, fewer) == ss.draw_bags(999, n_bags=20, bag_size=10, sample_ids=fewer)
    True
    """
    (part,), size, kind = before.parts, before.bag_size or 0, before.resampling or "subbagging"
    ranks = _followed(before, part, n_samples, ids) if _may_follow(before, n_samples, ids) else None
    if ranks is None:
        return draw_bags(n_samples, part.n_bags, size, kind, part.seed, ids, first=part.first)
    stored = Indices(ranks.reshape(-1), np.arange(part.n_bags + 1) * size, n_samples)
    return Bags(n_samples, part.n_bags, size, "subbagging", ids, (part,), stored)


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
    """The rows of two tables in the order of their ids: the new place of each old one, -1 where it is gone."""

    place: NDArray[np.int64]
    is_new: NDArray[np.bool_]


def _matched(before: NDArray[Any], now: NDArray[Any]) -> _Rows:
    at = np.searchsorted(now, before)
    kept = now[at.clip(max=len(now) - 1)] == before
    is_new = np.ones(len(now), bool)
    is_new[at[kept]] = False
    return _Rows(np.where(kept, at, -1), is_new)


def _followed(before: Bags, part: Part, n: int, ids: RowIds) -> NDArray[np.uint32] | None:
    """Return the ranks that each bag holds now, (bags, size); None where a draw from scratch is as fast."""
    values, old_values = np.asarray(ids.values), np.asarray(before.ids.values)
    size, now = before.bag_size or 0, values[ids.order]
    rows = _matched(old_values[before.ids.order], now)
    n_new = int(np.count_nonzero(rows.is_new))
    if n_new and size + n_new > _MOST_HASHES * n:
        return None
    held = before._stored.ranks_of(0, part.n_bags)
    ranks = rows.place[held]
    changed = (ranks < 0).any(axis=1)
    if n_new:
        changed |= _entered(part, np.asarray(ordered_words(before.ids)), held, id_words(now[rows.is_new]))
    again = np.flatnonzero(changed)
    if len(again) > _MOST_BAGS * part.n_bags:
        return None
    followed: NDArray[np.uint32] = ranks.astype(np.uint32)
    if len(again):
        keys = np.array([bag_key(part.seed, part.first + int(bag)) for bag in again], np.uint64)
        packed, _ = smallest_hashes(keys, ordered_words(ids), n, size)
        followed[again] = indices_of(packed, n, size)
    return followed


def _entered(part: Part, words: NDArray[np.uint64], held: NDArray[Any], new: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return the bags that a new row enters: its hash is not above that of every row in the bag."""
    keys = part.keys()
    entered = np.empty(len(held), bool)
    step = max(1, _HASHES_AT_A_TIME // (held.shape[1] + len(new)))
    for first in range(0, len(held), step):
        some = slice(first, first + step)
        last = _hashes(words[held[some]], keys[some]).max(axis=1)
        entered[some] = _hashes(new[None, :], keys[some]).min(axis=1) <= last
    return entered


def _hashes(words: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hash of each word in the bag of its row of keys, as :func:`bag_key` writes it down."""
    for word in keys.T:
        words = words ^ word[:, None]
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            words ^= words >> np.uint64(33)
            words *= np.uint64(factor)
        words ^= words >> np.uint64(33)
    return words
