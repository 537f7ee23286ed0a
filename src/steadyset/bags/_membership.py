"""Which rows each bag holds, in the smaller of two forms; rows are numbered in the order of their ids."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
_BYTES_AT_A_TIME = 1 << 22


def index_type(n: int) -> type:
    """Return the smallest unsigned integer that numbers n rows."""
    return np.uint32 if n <= 2**32 else np.uint64


class Bits:
    """Membership as one bit per bag and row, rows in id order."""

    def __init__(self, packed: NDArray[np.uint8], n_samples: int) -> None:
        self.packed, self.n_samples = packed, n_samples

    @property
    def nbytes(self) -> int:
        return self.packed.nbytes

    def ranks(self, bag: int) -> Rows:
        held = np.unpackbits(self.packed[bag], bitorder="little", count=self.n_samples)
        return np.flatnonzero(held.view(np.bool_))  # of bools NumPy finds them faster

    def ranks_of(self, first: int, last: int) -> NDArray[Any]:
        """Return the ranks of several bags of one size, a row per bag."""
        held = np.unpackbits(self.packed[first:last], axis=1, bitorder="little", count=self.n_samples)
        return (np.flatnonzero(held) % self.n_samples).reshape(last - first, -1)

    def marks(self, first: int, last: int) -> NDArray[np.bool_]:
        """Return which ranks several bags hold, (bags, n_samples)."""
        held = np.unpackbits(self.packed[first:last], axis=1, bitorder="little", count=self.n_samples)
        return held.view(np.bool_)

    def holds(self, rank: int) -> NDArray[np.bool_]:
        return (self.packed[:, rank >> 3] >> np.uint8(rank & 7) & 1).astype(bool)

    def counts(self) -> NDArray[np.intp]:
        total = np.zeros(self.n_samples, np.intp)
        for start in range(0, len(self.packed), 255):  # 255 bags fit into the bytes that are summed
            block = np.unpackbits(self.packed[start : start + 255], axis=1, bitorder="little", count=self.n_samples)
            total += block.sum(axis=0, dtype=np.uint8)
        return total

    def take(self, first: int, last: int) -> "Bits":
        return Bits(self.packed[first:last], self.n_samples)

    def equals(self, other: "Bits | Indices") -> bool:
        return isinstance(other, Bits) and np.array_equal(self.packed, other.packed)


class Indices:
    """Membership as sorted row ranks, bag after bag; a row drawn twice stands twice."""

    def __init__(self, flat: NDArray[Any], offsets: NDArray[np.int64], n_samples: int) -> None:
        self.flat, self.offsets, self.n_samples = flat, offsets, n_samples

    @property
    def nbytes(self) -> int:
        return self.flat.nbytes + self.offsets.nbytes

    def ranks(self, bag: int) -> Rows:
        return self.flat[self.offsets[bag] : self.offsets[bag + 1]].astype(np.intp)

    def ranks_of(self, first: int, last: int) -> NDArray[Any]:
        """Return the ranks of several bags of one size, a row per bag."""
        return self.flat[self.offsets[first] : self.offsets[last]].reshape(last - first, -1)

    def marks(self, first: int, last: int) -> NDArray[np.bool_]:
        """Return which ranks several bags hold, (bags, n_samples)."""
        held = np.zeros((last - first, self.n_samples), np.bool_)
        for bag in range(first, last):
            held[bag - first, self.ranks(bag)] = True
        return held

    def holds(self, rank: int) -> NDArray[np.bool_]:
        held = np.zeros(len(self.offsets) - 1, bool)
        held[np.searchsorted(self.offsets, np.flatnonzero(self.flat == rank), side="right") - 1] = True
        return held

    def counts(self) -> NDArray[np.intp]:
        total = np.zeros(self.n_samples, np.intp)
        for bag in range(len(self.offsets) - 1):
            total[np.unique(self.flat[self.offsets[bag] : self.offsets[bag + 1]])] += 1
        return total

    def take(self, first: int, last: int) -> "Indices":
        offsets = self.offsets[first : last + 1]
        return Indices(self.flat[offsets[0] : offsets[-1]], offsets - offsets[0], self.n_samples)

    def equals(self, other: "Bits | Indices") -> bool:
        if not isinstance(other, Indices):
            return False
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.flat, other.flat)


def indices_of(packed: NDArray[np.uint8], n: int, size: int) -> NDArray[Any]:
    """Return the row ranks of bags of one size that are given as bits."""
    ranks: NDArray[Any] = np.empty((len(packed), size), index_type(n))
    width = packed.shape[1]
    step = max(1, _BYTES_AT_A_TIME // width)
    for start in range(0, len(packed), step):
        block = packed[start : start + step]
        held = np.flatnonzero(block)  # few bytes are not zero where bags are small
        bits = np.flatnonzero(np.unpackbits(block.reshape(-1)[held], bitorder="little"))
        ranks[start : start + step] = (held[bits >> 3] % width * 8 + (bits & 7)).reshape(-1, size)
    return ranks


def bits_of(draws: NDArray[Any], n: int) -> NDArray[np.uint8]:
    """Return which rows were drawn at least once, as bits."""
    held = np.zeros((len(draws), n), bool)
    np.put_along_axis(held, draws.astype(np.intp), True, axis=1)
    return np.packbits(held, axis=1, bitorder="little")


def joined(stored: list[Bits | Indices], n: int) -> Bits | Indices:
    """Return several sets of bags as one."""
    if all(isinstance(s, Bits) for s in stored):
        return Bits(np.concatenate([s.packed for s in stored if isinstance(s, Bits)]), n)
    rows = [(s.flat, np.diff(s.offsets)) if isinstance(s, Indices) else _flattened(s) for s in stored]
    sizes = np.concatenate([size for _, size in rows])
    flat: NDArray[Any] = np.concatenate([f for f, _ in rows]).astype(index_type(n))
    return Indices(flat, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), n)


def _flattened(bits: Bits) -> tuple[Rows, NDArray[np.int64]]:
    ranks = [bits.ranks(b) for b in range(len(bits.packed))]
    return np.concatenate(ranks), np.array([len(r) for r in ranks], np.int64)
