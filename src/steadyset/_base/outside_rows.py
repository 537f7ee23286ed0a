"""Tables that are not in memory: some of their rows are read at a time."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What is read at a time, where nothing else decides.
BLOCK_BYTES = 64 << 20


class OutsideRows(ABC):
    """Rows of numbers that are somewhere else, in consecutive pieces: ``rows[positions]`` reads these into memory.

    Only pieces that hold some of the rows are read, one after the other.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    @abstractmethod
    def piece_ends(self) -> NDArray[np.int64]:
        """Where each piece ends."""

    @abstractmethod
    def read_piece(self, piece: int) -> NDArray[Any]:
        """Return the rows of a piece."""

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Return the rows of a slice, or at these positions, in their order."""
        positions = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows)
        found = np.empty((len(positions), *self.shape[1:]), self.dtype)
        pieces = np.searchsorted(self.piece_ends, positions, side="right")
        for piece in np.unique(pieces).tolist():
            here = pieces == piece
            first = int(self.piece_ends[piece - 1]) if piece else 0
            found[here] = self.read_piece(piece)[positions[here] - first]
        return found

    def blocks(self, most_bytes: int = BLOCK_BYTES) -> Iterator[NDArray[Any]]:
        """Yield all rows in their order, piece by piece, or some of a large piece at a time."""
        step = max(1, most_bytes // max(1, self.row_bytes))
        for piece in range(len(self.piece_ends)):
            rows = self.read_piece(piece)
            yield from (rows[first : first + step] for first in range(0, len(rows), step))

    @property
    def row_bytes(self) -> int:
        """What a row takes in memory."""
        return int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize


class DaskRows(OutsideRows):
    """The rows of a Dask array, chunk by chunk."""

    def __init__(self, array: Any, name: str = "X") -> None:
        if not all(np.isfinite(length) for length in array.shape):
            raise ValueError(
                f"{name} must be a Dask array of known shape; got {array.shape}: call compute_chunk_sizes() first."
            )
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name} must hold numbers where it is a Dask array; got {array.dtype}.")
        self.shape = tuple(int(length) for length in array.shape)
        self.dtype = array.dtype
        self._array = array

    @property
    def piece_ends(self) -> NDArray[np.int64]:
        """Where each chunk ends."""
        return np.cumsum(self._array.chunks[0], dtype=np.int64)

    def read_piece(self, piece: int) -> NDArray[Any]:
        """Return the rows of a chunk."""
        return np.asarray(self._array.blocks[piece].compute())


def in_memory(X: Any) -> Any:
    """Return X, read where it is not in memory."""
    return X[:] if isinstance(X, OutsideRows) else X


def opened(X: Any, name: str) -> Any:
    """Return a Dask array as rows that are read as they are needed; anything else as it is."""
    kind = type(X)
    if kind.__module__ == "dask.array.core":
        return DaskRows(X, name)
    if kind.__module__.startswith(("dask.dataframe", "dask_expr")):
        raise TypeError(
            f"{name} must be a Dask array; got a Dask {kind.__name__}: to_dask_array(lengths=True) makes one of it."
        )
    return X
