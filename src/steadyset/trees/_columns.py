"""Tables as keys: unsigned numbers in the order of the values of each column, which is all that a tree needs to know.

A float32 or float64 column keeps its precision, whole numbers and bools are exact. Strings and categories are ordered
by name, or as their type orders them, and split between two neighbours in that order. Comparing two rows involves no
third row, so that nothing of a row outside the bag is learned.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base.sklearn_doors import num_samples
from steadyset._base.validation import shown

WHOLE, FLOAT32, FLOAT64, CATEGORY = range(4)  # as in native/trees/api.hpp
_NUMBERS = [np.dtype(code) for code in "dfbBhHiIlLqQ?"]


@dataclass(frozen=True, eq=False)
class Columns:
    """What the columns of a table are, learned from the rows of a fit.

    `kinds` are those of native/trees/api.hpp, `categories` the names of each column of categories, in their order.
    """

    kinds: NDArray[np.uint8]
    wide: bool
    categories: tuple[tuple[Any, ...] | None, ...]
    names: tuple[str, ...] | None

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Columns):
            return self is other
        same = self.wide == other.wide and self.categories == other.categories and self.names == other.names
        return same and np.array_equal(self.kinds, other.kinds)

    __hash__ = None  # type: ignore[assignment]

    def name(self, column: int) -> str:
        """Return how messages call a column."""
        return repr(self.names[column]) if self.names is not None else str(column)

    def keys(self, X: Any, *, by_column: bool = False, threads: int = 1) -> NDArray[Any]:
        """Return the keys of a table with these columns, (rows, features), or (features, rows) by column."""
        n, features = num_samples(X), len(self.kinds)
        dtype = np.uint64 if self.wide else np.uint32
        stored = np.empty((features, n) if by_column else (n, features), dtype)
        out = stored.T if by_column else stored
        kinds = set(self.kinds.tolist())
        if isinstance(X, np.ndarray) and X.dtype in _NUMBERS and len(kinds) == 1 and CATEGORY not in kinds:
            self._put(self._numbers(numbers_of(X, "any"), 0), out, threads, None)
            return stored
        for column, values in enumerate(columns_of(X)):
            ready = self._ready(values, column)
            self._put(ready[:, None], out[:, column : column + 1], threads, column)
        return stored

    def _put(self, values: NDArray[Any], out: NDArray[Any], threads: int, column: int | None) -> None:
        """Fill `out` with keys; refuse an infinite value."""
        place = _native.tree_keys(values, out, threads)
        if place < 0:
            return
        row, within = divmod(place, values.shape[1])
        name = self.name(within if column is None else column)
        raise ValueError(
            f"X must hold finite numbers or NaN; got {values[row, within]} in row {row}, column {name}: Input X "
            "contains infinity."
        )

    def _ready(self, values: Any, column: int) -> NDArray[Any]:
        """Return one column as numbers of its kind."""
        if self.kinds[column] == CATEGORY:
            return self._codes(values, column)
        return self._numbers(numbers_of(values, self.name(column), "numbers, as in fit,"), column)

    def _numbers(self, values: NDArray[Any], column: int) -> NDArray[Any]:
        kind = self.kinds[column]
        if kind == FLOAT64:
            return values.astype(np.float64, copy=False)
        if kind == FLOAT32:
            return _rounded_down(values)
        if values.dtype.kind == "f":
            return self._whole(values, column)
        return values if self.wide or values.dtype.itemsize <= 2 else _clipped(values)

    def _whole(self, values: NDArray[Any], column: int) -> NDArray[Any]:
        """Return floats for a column of whole numbers: x <= t where the floor of x is."""
        if np.isnan(values).any():
            raise ValueError(
                f"X must hold numbers in column {self.name(column)}, which had whole numbers in fit; got NaN."
            )
        floors = np.floor(values).clip(-(2.0**63), 2.0**63 - 1024).astype(np.int64)
        return floors if self.wide else _clipped(floors)

    def _codes(self, values: Any, column: int) -> NDArray[Any]:
        """Return the place of each category in its order, NaN where it is missing."""
        known = {name: place for place, name in enumerate(self.categories[column] or ())}
        dtype = np.float64 if self.wide else np.float32
        if type(values.dtype).__name__ == "CategoricalDtype":  # of pandas, whose code of a missing value is -1
            places = np.array([*(known.get(name, -1) for name in values.dtype.categories), np.nan], dtype)
            codes = places[values.cat.codes.to_numpy()]
        else:
            codes = np.array([np.nan if value is None else known.get(value, -1) for value in _plain(values)], dtype)
        if (codes == -1).any():
            row = int((codes == -1).argmax())
            came = shown(_plain(values)[row])
            raise ValueError(f"X must hold categories of fit in column {self.name(column)}; got {came} in row {row}.")
        return np.asarray(codes)


def learn(X: Any, names: Any = None) -> Columns:
    """Return what the columns of a training table are."""
    named = None if names is None else tuple(str(name) for name in names)
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        kind, wide = _kind_of(X.dtype)
        return Columns(np.full(X.shape[1], kind, np.uint8), wide, (None,) * X.shape[1], named)
    found: list[tuple[int, bool]] = []
    categories: list[tuple[Any, ...] | None] = []
    for column, values in enumerate(columns_of(X)):
        if values.dtype in _NUMBERS:
            found.append(_kind_of(values.dtype))
            categories.append(None)
            continue
        order = _categories_of(values)
        categories.append(order)
        name = repr(named[column]) if named is not None else str(column)
        found.append((CATEGORY, False) if order is not None else _kind_of(numbers_of(values, name).dtype))
    wide = any(each for _, each in found)
    kinds = [FLOAT64 if kind == FLOAT32 and wide else kind for kind, _ in found]
    return Columns(np.array(kinds, np.uint8), wide, tuple(categories), named)


def columns_of(X: Any) -> list[Any]:
    """Return the columns of an array, or of a pandas or polars frame."""
    if isinstance(X, np.ndarray):
        return list(X.T)
    if hasattr(X, "iloc"):
        return [column for _, column in X.items()]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    return list(np.asarray(X).T)


def is_frame(X: Any) -> bool:
    """Return whether X is a table whose columns have types of their own."""
    return hasattr(X, "iloc") or hasattr(X, "get_columns")


def numbers_of(values: Any, name: str, allowed: str = "numbers, strings or categories") -> NDArray[Any]:
    """Return a column of numbers as an array of a type that has keys; what is missing becomes NaN."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.dtype.kind == "M":  # microseconds since 1970
        array = np.where(np.isnat(array), np.nan, array.astype("datetime64[us]").astype(np.int64))
    if array.dtype.kind == "O":  # None, pandas' NA, or numbers of several types
        try:
            array = np.array([np.nan if _is_missing(value) else value for value in array])
        except (TypeError, ValueError):
            array = np.empty(0, object)
    if array.ndim != (values.ndim if isinstance(values, np.ndarray) else 1):  # lists or structures of numbers
        array = np.empty(0, object)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype not in _NUMBERS:
        came = next((value for value in _plain(values) if not isinstance(value, int | float | None)), values)
        raise ValueError(f"X must hold {allowed} in column {name}; got {shown(came)}.")
    if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
        raise ValueError(f"X must hold whole numbers below 2^63 in column {name}; got {array.max()}.")
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def _kind_of(dtype: np.dtype[Any]) -> tuple[int, bool]:
    """Return the kind of a column of this type, and whether its keys take 64 bits."""
    if dtype.kind == "f":
        return (FLOAT32, False) if dtype.itemsize <= 4 else (FLOAT64, True)
    return WHOLE, dtype.itemsize > 2  # the largest number of 32 bits would be the key of a missing value


def _categories_of(values: Any) -> tuple[Any, ...] | None:
    """Return the categories of a column in their order; None for a column of numbers."""
    dtype: Any = getattr(values, "dtype", None)
    kind = type(dtype).__name__
    if kind == "CategoricalDtype":  # of pandas
        declared = list(dtype.categories)
        return tuple(declared if dtype.ordered else sorted(declared, key=_by_name))
    if kind == "Enum":  # of polars
        return tuple(dtype.categories.to_list())
    if (
        kind not in ("Categorical", "String", "Utf8", "StringDtype", "ObjectDType")
        and getattr(dtype, "kind", "") not in "OU"
    ):
        return None
    try:
        found = {value for value in _plain(values) if value is not None}
    except TypeError:  # lists and the like are no categories
        return None
    if not any(isinstance(value, str) for value in found):
        return None if kind not in ("Categorical", "String", "Utf8", "StringDtype") else ()
    return tuple(sorted(found, key=_by_name))


def _by_name(value: Any) -> tuple[str, str]:
    """Order categories of several types by type, then by value, whatever other values there are."""
    return type(value).__name__, value if isinstance(value, str) else f"{value!r:>40}"


def _plain(values: Any) -> list[Any]:
    """Return the values of a column as Python objects, None for what is missing."""
    listed = values.to_list() if hasattr(values, "to_list") else values.tolist()
    return [None if _is_missing(value) else value for value in listed]


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _rounded_down(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return float32 numbers that are on the same side of every float32 threshold."""
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    above = rounded > values
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded


def _clipped(values: NDArray[Any]) -> NDArray[np.int32]:
    """Return whole numbers on the same side of every threshold between numbers of 16 bits."""
    return values.clip(-(2**17), 2**17).astype(np.int32)
