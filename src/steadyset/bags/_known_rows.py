"""Rows whose digests are known: a table that is nearly the same as one before is not digested again.

A row is known by a fingerprint of its bytes under a key that this process draws and tells nobody. Rows that differ have
the same one with a probability of at most 2^-126, whoever chose them. It never leaves the process: no file has it.
"""

import hashlib
import math
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu
from steadyset.bags._cells import RowCells

_MOST_ROWS = 1 << 20  # what is remembered takes 32 bytes per row
_BYTES_FOR_THREADS = 1 << 24
_SECRET = os.urandom(32)


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """Fingerprints of the rows of a table with their labels, and what rows must be to be compared with them."""

    layout: tuple[Any, ...]
    words: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class KnownRows:
    """The digests of the rows of a table, two words each, by their fingerprints."""

    fingerprints: Fingerprints
    digests: NDArray[np.uint64]

    def places(self, rows: Fingerprints) -> NDArray[np.int64] | None:
        """Return the place of an equal row for each of these, -1 where there is none; None for other tables."""
        if rows.layout != self.fingerprints.layout:
            return None
        found = np.empty(len(rows.words), np.int64)
        _native.known_places(self.fingerprints.words, rows.words, found)
        return found


def fingerprints(X: Any, classes: NDArray[Any], codes: NDArray[np.intp]) -> Fingerprints | None:
    """Return the fingerprints of rows of plain numbers or of cells; None for other tables and for very many rows."""
    if isinstance(X, RowCells):
        X = X.words()
    plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and classes.dtype.kind in "biufU"
    if not plain or not 0 < len(X) == len(codes) <= _MOST_ROWS:
        return None
    rows = np.ascontiguousarray(X)
    n_bytes = rows.itemsize * math.prod(rows.shape[1:])
    words = np.empty((len(rows), 2), np.uint64)
    threads = cpu.allowed_threads() if rows.nbytes > _BYTES_FOR_THREADS else 1
    _native.fingerprint_rows(rows, codes.astype(np.int64, copy=False), _key(n_bytes), words, threads)
    layout = (X.dtype.str, X.shape[1:], classes.dtype.str, classes.tobytes())
    return Fingerprints(layout, words)


@lru_cache(maxsize=4)
def _key(n_bytes: int) -> NDArray[np.uint64]:
    """Return twelve words, and four for every two of the words of a row: its label and every eight of its bytes."""
    n_words = 1 + (n_bytes + 7) // 8
    stream = hashlib.shake_256(_SECRET).digest(8 * (12 + 4 * ((n_words + 1) // 2)))
    return np.frombuffer(stream, np.uint64)
