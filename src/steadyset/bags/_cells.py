"""Values as cells: two words for each, the same for the same value, whatever type or table it stands in.

A number is its float64 with kind 0: the integer 3 is 3.0, float32 is widened, True is 1, everything missing is NaN.
Anything else is a word with a kind of its own. A cell depends on its value alone, never on the rest of its column.
"""

import datetime
import hashlib
import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from steadyset._base.outside_rows import OutsideRows, opened

# The lowest three bits of a kind.
_NUMBER = np.uint64(0)
_WHOLE, _TEXT, _BYTES, _TIME, _DURATION, _PLACE, _DIGEST = range(1, 8)

_EXACT = 2**53  # every whole number up to here is a float64


class NotHashableError(TypeError):
    """A value that has no cells."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of the same shape: numbers as they are, others as words under a kind; without kinds all are numbers."""

    words: NDArray[np.float64]
    kinds: NDArray[np.uint64] | None = None

    def taken(self, places: NDArray[Any]) -> "Cells":
        """Return the cells at these places, repeats included."""
        return Cells(self.words[places], None if self.kinds is None else self.kinds[places])


@dataclass(frozen=True, eq=False)
class RowCells:
    """The cells of some consecutive rows, row after row, and where each row ends."""

    cells: Cells
    ends: NDArray[np.int64]

    def words(self) -> NDArray[np.float64]:
        """Return the words of rows of one width side by side, their kinds behind them where there are any."""
        n = len(self.ends)
        words, kinds = self.cells.words.reshape(n, -1), self.cells.kinds
        return words if kinds is None else np.hstack([words, kinds.view(np.float64).reshape(n, -1)])

    def taken(self, rows: NDArray[np.intp]) -> "RowCells":
        """Return some of the rows, which are of one width."""
        n = len(self.ends)
        places = np.arange(self.cells.words.size).reshape(n, -1)[rows]
        return RowCells(self.cells.taken(places.reshape(-1)), np.arange(1, len(rows) + 1) * places.shape[1])


def frame_rows(X: Any, most_cells: int) -> RowCells | None:
    """Return the cells of a whole frame; None for anything else, and for larger ones."""
    if not hasattr(X, "columns") or not 0 < X.shape[0] * X.shape[1] <= most_cells:
        return None
    (rows,) = blocks_of_rows(X, most_cells)
    return rows


def digest_cells(digests: NDArray[np.uint64]) -> Cells:
    """Return words that are digests already, or counters beside them, as cells."""
    return Cells(digests.view(np.float64), np.full(digests.shape, _DIGEST, np.uint64))


def blocks_of_rows(X: Any, most_cells: int = 1 << 20) -> Iterator[RowCells]:
    """Yield the cells of X, an array of any shape, a sparse matrix or a frame, some rows at a time; cells stay."""
    if isinstance(X, RowCells):
        yield X
        return
    if issparse(X):
        yield _sparse_rows(X.tocsr())
        return
    X = opened(X, "X")
    if isinstance(X, OutsideRows):
        width = math.prod(X.shape[1:])
        for rows in X.blocks(most_cells * X.dtype.itemsize):
            yield RowCells(_array_block(rows), np.arange(1, len(rows) + 1) * width)
        return
    if hasattr(X, "columns"):
        width, block = len(X.columns), _frame_block
    else:
        X = _as_array(X)
        width, block = math.prod(X.shape[1:]), _array_block
    step = max(1, most_cells // max(1, width))
    by_position = X.iloc if hasattr(X, "iloc") else X  # a slice of a pandas frame may be one of its index
    for start in range(0, X.shape[0], step):
        cells = block(by_position[start : start + step])
        yield RowCells(cells, np.arange(1, min(step, X.shape[0] - start) + 1) * width)


def _as_array(X: Any) -> NDArray[Any]:
    try:
        return np.asarray(X)
    except Exception as error:  # whatever the library of a strange array raises
        raise NotHashableError(f"{type(X).__name__}, which gives no NumPy array") from error


def _array_block(block: NDArray[Any]) -> Cells:
    return _of_array(block.reshape(-1))


def _frame_block(block: Any) -> Cells:
    found = [_of_column(column) for column in _columns(block)]
    words = _by_row([np.ravel(cells.words) for cells in found])
    if all(cells.kinds is None for cells in found):
        return Cells(words)
    return Cells(words, _by_row([np.zeros(len(block), np.uint64) if c.kinds is None else c.kinds for c in found]))


def _by_row(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the values of columns row after row."""
    return np.array(columns).T.reshape(-1)  # a fifth of the time of a stack of columns


def _columns(frame: Any) -> list[Any]:
    if hasattr(frame, "iloc"):
        return [column for _, column in frame.items()]  # names may come twice
    return [frame[name] if isinstance(name, str) else name for name in frame.columns]  # Arrow's are no names


def _of_column(column: Any) -> Cells:
    """Return the cells of a frame's column; pandas keeps categories, times with zones and nullable numbers apart."""
    if not hasattr(column, "iloc"):
        return _of_other_column(column)
    dtype = column.dtype
    if hasattr(dtype, "categories"):
        values = _of_column(dtype.categories.to_series())
        missing = Cells(np.array([np.nan]), None if values.kinds is None else np.zeros(1, np.uint64))
        return _joined(values, missing).taken(column.cat.codes.to_numpy())  # code -1 is the last: missing
    if getattr(dtype, "tz", None) is not None:
        return _of_array(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if isinstance(getattr(dtype, "numpy_dtype", None), np.dtype) and dtype.numpy_dtype.kind in "biuf":
        cells = _of_array(column.to_numpy(dtype=dtype.numpy_dtype, na_value=0))
        return _without(cells, column.isna().to_numpy())
    if hasattr(dtype, "fill_value"):
        return _of_array(column.sparse.to_dense().to_numpy())
    return _of_array(_as_array(column))


def _of_other_column(column: Any) -> Cells:
    """Return the cells of a column of polars, Arrow or any that gives an array; whole numbers stay so beside a gap."""
    if hasattr(column, "is_null") and hasattr(column, "fill_null"):
        dtype = str(column.dtype if hasattr(column, "dtype") else column.type).lower()
        if dtype.startswith(("int", "uint")):
            return _without(_of_array(column.fill_null(0).to_numpy()), column.is_null().to_numpy())
    return _of_array(_as_array(column))


def _without(cells: Cells, missing: NDArray[np.bool_]) -> Cells:
    kinds = None if cells.kinds is None else np.where(missing, _NUMBER, cells.kinds)
    return Cells(np.where(missing, np.nan, cells.words), kinds)


def _joined(one: Cells, other: Cells) -> Cells:
    kinds = None
    if one.kinds is not None and other.kinds is not None:
        kinds = np.concatenate([one.kinds, other.kinds])
    return Cells(np.concatenate([one.words, other.words]), kinds)


def _of_array(values: NDArray[Any]) -> Cells:
    kind = values.dtype.kind
    if kind in "bf" or (kind in "iu" and values.dtype.itemsize < 8):
        return Cells(_widened(values))
    if kind in "iu":
        return _of_whole_numbers(values)
    if kind in "mM":
        return _of_times(values)
    if kind in "USOT":
        return _of_objects(values)
    raise NotHashableError(f"values of type {values.dtype}")


def _widened(values: NDArray[Any]) -> NDArray[np.float64]:
    found = values.astype(np.float64)
    if values.dtype.itemsize > 8 and not np.array_equal(found, values, equal_nan=True):
        raise NotHashableError(f"{values.dtype} numbers between those of float64")
    return found


def _of_whole_numbers(values: NDArray[Any]) -> Cells:
    """Return 64-bit integers as floats, but for those that no float64 holds."""
    as_floats = values.astype(np.float64)
    negative = values < 0
    size = np.where(negative, -(values.astype(np.uint64)), values.astype(np.uint64))
    if len(size) == 0 or size.max() <= _EXACT:
        return Cells(as_floats)
    lowest_bit = np.maximum(size & -size, 1)
    inexact = size // lowest_bit > _EXACT
    if not inexact.any():
        return Cells(as_floats)
    kinds = np.where(inexact, np.where(negative, np.uint64(8 | _WHOLE), np.uint64(_WHOLE)), _NUMBER)
    return Cells(np.where(inexact, size.view(np.float64), as_floats), kinds)


def _of_times(values: NDArray[Any]) -> Cells:
    """Return points in time, or durations, in whole microseconds and nanoseconds beyond: units do not count."""
    family, kind = ("M8", _TIME) if values.dtype.kind == "M" else ("m8", _DURATION)
    missing = np.isnat(values)
    micro = values.astype(f"{family}[us]")
    rest = np.where(missing, 0, (values - micro).astype("m8[ns]").astype(np.int64)).astype(np.uint64)
    words = np.where(missing, np.nan, micro.astype(np.int64).view(np.float64))
    return Cells(words, np.where(missing, _NUMBER, rest << np.uint64(3) | np.uint64(kind)))


def _of_objects(values: NDArray[Any]) -> Cells:
    words, kinds = np.empty(len(values), np.uint64), np.zeros(len(values), np.uint64)
    known: dict[Any, tuple[int, int]] = {}
    for place, value in enumerate(values.tolist()):
        key = (value.__class__, value)  # what is equal across types need not be of one kind
        try:
            cell = known.get(key)
        except TypeError as error:  # a list, an array, a dict
            raise NotHashableError(f"a value of type {type(value).__name__}") from error
        if cell is None:
            cell = known[key] = _of_value(value)
        words[place], kinds[place] = cell
    return Cells(words.view(np.float64), kinds if kinds.any() else None)


def _of_value(value: Any) -> tuple[int, int]:
    if isinstance(value, str):
        return _of_bytes(value.encode("utf-8", "surrogatepass"), _TEXT)
    if isinstance(value, bytes):
        return _of_bytes(value, _BYTES)
    if value is None or _is_missing(value):
        return _of_single(np.array([np.nan]))
    if isinstance(value, numbers.Integral | np.bool_):
        if not -(2**63) <= int(value) < 2**64:
            return _of_bytes(str(int(value)).encode(), _WHOLE)
        return _of_single(np.array([int(value)], np.uint64 if int(value) >= 2**63 else np.int64))
    if isinstance(value, numbers.Real | Decimal):
        return _of_single(np.array([float(value)]))
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if hasattr(value, "to_numpy"):  # pandas' times, which have nanoseconds
        value = value.to_numpy()
    if isinstance(value, datetime.date | np.datetime64):
        return _of_single(np.array([value], "M8" if isinstance(value, np.datetime64) else "M8[us]"))
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return _of_single(np.array([value], "m8" if isinstance(value, np.timedelta64) else "m8[us]"))
    raise NotHashableError(f"a value of type {type(value).__name__}")


def _is_missing(value: Any) -> bool:
    """Return whether a value is not itself: NaN, NaT, and pandas' NA, of which nobody can say."""
    same = value == value
    return not isinstance(same, bool | np.bool_) or not same


def _of_single(values: NDArray[Any]) -> tuple[int, int]:
    cells = _of_array(values)
    return int(cells.words.view(np.uint64)[0]), 0 if cells.kinds is None else int(cells.kinds[0])


def _of_bytes(text: bytes, kind: int) -> tuple[int, int]:
    digest = hashlib.blake2b(text, digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little") & ~7 | kind


def _sparse_rows(X: Any) -> RowCells:
    """Return the entries other than zero with their columns, in ascending order, whatever is stored."""
    if not X.has_canonical_format or (X.data == 0).any():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    cells = _of_array(X.data)
    places = X.indices.astype(np.uint64) << np.uint64(3) | np.uint64(_PLACE)
    if cells.kinds is not None:
        raise NotHashableError("whole numbers above 2**53 in a sparse matrix")
    words = cells.words + 0.0
    words[np.isnan(words)] = np.nan  # the digest takes words of a kind as they stand
    return RowCells(Cells(words, places), X.indptr[1:].astype(np.int64))
