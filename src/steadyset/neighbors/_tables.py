"""Training rows and points as the search reads them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

_LARGEST = 1e150  # squares of larger numbers overflow, and with them the order of distances


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers, dense, or sparse with the stored numbers in the order of their columns."""

    values: NDArray[Any]  # (rows, width), or the stored numbers
    width: int
    columns: NDArray[np.int32] | None = None
    ends: NDArray[np.int64] | None = None  # of each row among the stored numbers, a 0 first

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values) if self.ends is None else len(self.ends) - 1

    @property
    def is_sparse(self) -> bool:
        """Whether zeros are left out."""
        return self.ends is not None

    def part(self, start: int, stop: int) -> "Table":
        """Return some consecutive rows."""
        if self.columns is None or self.ends is None:
            return Table(self.values[start:stop], self.width)
        first, last = self.ends[start], self.ends[stop]
        ends = self.ends[start : stop + 1] - first
        return Table(self.values[first:last], self.width, self.columns[first:last], ends)

    def as_points(self, *, sparse: bool) -> "Table":
        """Return the same rows in 64 bits, dense or sparse."""
        if sparse == self.is_sparse:
            return Table(np.ascontiguousarray(self.values, np.float64), self.width, self.columns, self.ends)
        return table_of(csr_matrix(self.dense_rows())) if sparse else Table(self.dense_rows(), self.width)

    def dense_rows(self) -> NDArray[np.float64]:
        """Return all numbers, zeros included."""
        if self.columns is None or self.ends is None:
            return np.asarray(self.values, np.float64)
        dense = np.zeros((self.n_rows, self.width))
        dense[np.repeat(np.arange(self.n_rows), np.diff(self.ends)), self.columns] = self.values
        return dense


def table_of(X: Any, name: str = "X") -> Table:
    """Return checked rows, a float32 or float64 array or a CSR matrix, as a table; arrays are not copied."""
    width = int(X.shape[1])
    if issparse(X):
        ordered = X if X.has_canonical_format else X.copy()
        ordered.sum_duplicates()
        columns, ends = ordered.indices.astype(np.int32, copy=False), ordered.indptr.astype(np.int64)
        table = Table(np.ascontiguousarray(ordered.data), width, columns, ends)
    else:
        table = Table(np.ascontiguousarray(X), width)
    largest = max(-float(table.values.min(initial=0.0)), float(table.values.max(initial=0.0)))
    if largest > _LARGEST:
        raise ValueError(f"{name} must hold numbers of at most {_LARGEST:g} in size; got {largest:g}.")
    return table
