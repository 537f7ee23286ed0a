"""Whether bags are what they say: rows that fit, ids that differ, and membership that the seed really draws."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.memory import physical_memory
from steadyset.bags._bags import Bags, Part, draw_again, reject_shared_bags
from steadyset.bags._hash import id_words
from steadyset.bags._membership import Bits, Indices, index_type
from steadyset.bags._row_ids import RowIds

_BLOCK = 64 << 20  # bytes of membership that are drawn again at a time


def check_bags(bags: Bags) -> None:
    """Refuse bags that contradict themselves: those of a file, which may say anything.

    Bags that say which seed they come from are drawn again and compared, unless the ids of their rows were left out.
    """
    try:
        _check_numbers(bags)
        _check_ids(bags.ids, bags.n_samples)
        sizes = _checked_sizes(bags)
        size, exactly = bags.bag_size, isinstance(bags._stored, Indices) or bags.resampling == "subbagging"
        if size is not None and not np.all(sizes == size if exactly else sizes <= size):
            raise ValueError(f"bags must have bag_size = {size} rows; got others")
        if bags._can_be_drawn:
            _check_draw(bags)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{error}".rstrip(".")) from None


def _check_numbers(bags: Bags) -> None:
    n, size = bags.n_samples, bags.bag_size
    validation.count(n, "n_samples")
    validation.count(bags.n_bags, "n_bags")
    if not isinstance(bags.parts, tuple) or not all(isinstance(part, Part) for part in bags.parts):
        raise ValueError("bags must say which seeds they come from; got something else")
    if bags.resampling is None:
        if bags.parts or not (size is None or _is_whole(size, 1)):
            raise ValueError("adopted bags must have no seed and a bag_size of at least 1 or None; got others")
        return
    validation.choice(bags.resampling, "resampling", ("subbagging", "bootstrap"))
    most = n - 1 if bags.resampling == "subbagging" else _most_draws()
    if size is None or not _is_whole(size, 1) or size > most:
        raise ValueError(f"bag_size must be a whole number from 1 to {most}; got {validation.shown(size)}")
    if not all(_is_whole(p.seed, 0) and _is_whole(p.first, 0) and _is_whole(p.n_bags, 1) for p in bags.parts):
        raise ValueError("seeds and bag numbers must be whole numbers that are at least 0; got others")
    if sum(part.n_bags for part in bags.parts) != bags.n_bags:
        raise ValueError(f"the seeds must stand for {bags.n_bags} bags; got another number")
    reject_shared_bags(bags.parts)


def _check_ids(ids: Any, n: int) -> None:
    if not isinstance(ids, RowIds) or ids.kind not in ("given", "content", "position"):
        raise ValueError("ids must be given, content or position; got others")
    if ids.unit not in ("row", "group"):
        raise ValueError("ids must be those of rows or groups; got others")
    values, equal = ids.values, ids.last_equal
    if values is not None:
        of_rows = isinstance(values, np.ndarray) and values.shape == (n,) and values.dtype.kind in "iuU"
        if not of_rows or ids.kind == "position":
            raise ValueError(f"ids must be those of {n} rows; got others")
        if len(np.unique(id_words(values))) != n:
            raise ValueError("ids must be distinct; got one more than once")
    if equal is not None:
        of_rows = isinstance(equal, np.ndarray) and equal.shape == (n,) and equal.dtype == np.intp
        if not of_rows or ids.kind != "content" or not np.all((equal >= np.arange(n)) & (equal < n)):
            raise ValueError(f"equal rows must be named by positions of {n} rows; got others")
        if not np.array_equal(equal[equal], equal):
            raise ValueError("equal rows must name the same last one; got others")


def _checked_sizes(bags: Bags) -> NDArray[np.int64]:
    """Return the number of rows that each bag stores, after checking the arrays that say which."""
    n, n_bags, stored = bags.n_samples, bags.n_bags, bags._stored
    sizes = _sizes_of_bits(stored.packed, n, n_bags) if isinstance(stored, Bits) else _sizes_of_rows(bags)
    if sizes is None or stored.n_samples != n:
        raise ValueError("bags must be membership of their rows; got arrays that do not fit")
    if np.any(sizes < 1):
        raise ValueError(f"bags must hold at least one row; got bag {np.argmin(sizes)} without one")
    return sizes


def _sizes_of_bits(packed: Any, n: int, n_bags: int) -> NDArray[np.int64] | None:
    fits = isinstance(packed, np.ndarray) and packed.dtype == np.uint8 and packed.shape == (n_bags, (n + 7) // 8)
    if not fits or (n % 8 and np.any(packed[:, -1] >> (n % 8))):
        return None
    return np.asarray(np.bitwise_count(packed).sum(axis=1, dtype=np.int64))


def _sizes_of_rows(bags: Bags) -> NDArray[np.int64] | None:
    stored = bags._stored
    if not isinstance(stored, Indices):
        return None
    flat, ends = stored.flat, stored.offsets
    fits = (
        isinstance(flat, np.ndarray)
        and isinstance(ends, np.ndarray)
        and flat.dtype == index_type(bags.n_samples)
        and ends.dtype == np.int64
        and flat.ndim == 1
        and ends.shape == (bags.n_bags + 1,)
        and ends[0] == 0
        and ends[-1] == len(flat)
        and bool(np.all(ends[1:] >= ends[:-1]))
        and (len(flat) == 0 or int(flat.max()) < bags.n_samples)
    )
    if not fits:
        return None
    # Sorted within each bag, and without repeats where none can be.
    falls = flat[1:] <= flat[:-1] if bags.resampling == "subbagging" else flat[1:] < flat[:-1]
    starts = np.zeros(len(flat) + 1, bool)
    starts[ends] = True
    if np.any(falls & ~starts[1:-1]):
        return None
    return np.diff(ends)


def _check_draw(bags: Bags) -> None:
    """Draw the bags again, some at a time, and compare."""
    step = max(1, _BLOCK // max(1, bags.nbytes // bags.n_bags))
    at = 0
    for part in bags.parts:
        for start in range(0, part.n_bags, step):
            some = Part(part.seed, part.first + start, min(step, part.n_bags - start))
            stored = draw_again(bags, some)
            if not stored.equals(bags._stored.take(at, at + some.n_bags)):
                raise ValueError(f"bags must be those that seed {part.seed} draws; got others")
            at += some.n_bags


def _most_draws() -> int:
    """Return how many draws with replacement this machine can hold and sort at a time."""
    return physical_memory() // 32


def _is_whole(value: Any, least: int) -> bool:
    return type(value) is int and value >= least
