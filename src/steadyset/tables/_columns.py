"""Which columns of a table are features, and of what kind."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np

from steadyset._base.optional import require
from steadyset._base.validation import shown
from steadyset.tables._read import first_line

_AMBIGUOUS_DATE = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_PLURALS = {"number": "finite numbers", "date": "dates", "category": "texts"}
_MANY = 1000  # distinct texts in a column: beyond, it is taken for names or free text


@dataclass(frozen=True)
class Column:
    """A feature: `kind` is number, date or category; `categories` are the texts in the training rows, sorted."""

    name: str
    kind: str
    categories: tuple[str, ...] = ()


def choose_columns(table: Any, features: Sequence[str], categorical: Collection[str] = ()) -> list[Column]:
    """Decide the kind of each feature from what the table holds; what cannot be used is refused by name.

    Those in `categorical` are taken as categories, whatever they look like.
    """
    if not features:
        raise ValueError("the table must have a column besides the target; got none.")
    return [_choose(table[name], name, name in categorical) for name in features]


def to_frame(table: Any, columns: Sequence[Column], *, known_only: bool = False) -> Any:
    """Return a pandas frame of the features: float64, datetime64 or category, missing values as NaN.

    The codes of the categories that were there in training are the same for every table; new ones get later codes, or
    with `known_only` count as missing.
    """
    pandas = require("pandas", "data")
    values = {column.name: _values(table[column.name], column, known_only) for column in columns}
    return pandas.DataFrame(values, copy=False)


def as_text(values: Any) -> Any:
    """Return a column as text, numbers without a needless point; lists, structs and bytes are no text."""
    arrow, compute = require("pyarrow", "data"), require("pyarrow.compute", "data")
    if arrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if arrow.types.is_floating(values.type):
        whole = compute.all(compute.equal(values, compute.floor(values))).as_py()
        fits = compute.all(compute.less(compute.abs(values), 2.0**53)).as_py()
        if whole and fits:
            values = values.cast(arrow.int64())
    return values.cast(arrow.string())


def _choose(values: Any, name: str, forced: bool) -> Column:
    types, kind = require("pyarrow", "data").types, values.type
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    if types.is_nested(kind) or binary:
        raise ValueError(f"column {name!r} must hold numbers, dates or texts; got {kind}: {_leave_out(name)}.")
    if forced:
        return Column(name, "category", _categories(values))
    if types.is_timestamp(kind) or types.is_date(kind):
        return Column(name, "date")
    if not (_is_text(kind) or types.is_dictionary(kind)):
        return Column(name, "number")  # one of nothing but missing values is a constant to every learner
    categories = _categories(values)
    _refuse_numbers_with_words(values, categories, name)
    if categories and all(_ISO_DATE.fullmatch(text) for text in categories):
        return Column(name, "date")
    if categories and all(_AMBIGUOUS_DATE.fullmatch(text) for text in categories):
        raise ValueError(
            f"column {name!r} holds dates such as {categories[0]!r}, of which day and month cannot be told apart: "
            f"write them as 2024-12-31, {_keep(name)}, or {_leave_out(name)}."
        )
    if len(categories) > min(_MANY, max(50, len(values) // 2)):
        raise ValueError(
            f"column {name!r} holds {len(categories):,} distinct texts in {len(values):,} rows, such as "
            f"{shown(categories[0])}: {_leave_out(name)}, take it as the names of the rows with "
            f"--id-column {quote(name)}, or {_keep(name)}."
        )
    return Column(name, "category", categories)


def _categories(values: Any) -> tuple[str, ...]:
    compute = require("pyarrow.compute", "data")
    return tuple(sorted(compute.unique(as_text(values).drop_null()).to_pylist()))


def _refuse_numbers_with_words(values: Any, categories: tuple[str, ...], name: str) -> None:
    words = [text for text in categories if not _is_number(text)]
    if not words or len(words) >= len(categories) / 2:
        return
    row = as_text(values).to_pylist().index(words[0]) + 1
    raise ValueError(
        f"column {name!r} holds numbers, but {words[0]!r} in row {row}: say that it stands for a missing value with "
        f"--missing {quote(words[0])}, or {_keep(name)}."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _leave_out(name: str) -> str:
    return f"leave it out with --drop {quote(name)}"


def _keep(name: str) -> str:
    return f"keep it as categories with --categorical {quote(name)}"


def _values(values: Any, column: Column, known_only: bool) -> Any:
    arrow, pandas = require("pyarrow", "data"), require("pandas", "data")
    try:
        if column.kind == "number":
            return _numbers(values)
        if column.kind == "date":
            return _dates(values)
        texts = as_text(values)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError, ValueError, TypeError) as error:
        raise ValueError(f"column {column.name!r} must hold {_PLURALS[column.kind]}; {first_line(error)}.") from None
    new = sorted(set(_categories(texts)) - set(column.categories))
    dtype = pandas.CategoricalDtype([*column.categories, *new])
    found = pandas.Categorical(texts.to_pandas(), dtype=dtype)
    return found.set_categories(list(column.categories)) if known_only and new else found


def _is_text(kind: Any) -> bool:
    types = require("pyarrow", "data").types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _numbers(values: Any) -> Any:
    arrow = require("pyarrow", "data")
    if arrow.types.is_boolean(values.type):
        values = values.cast(arrow.uint8())
    elif arrow.types.is_temporal(values.type):
        values = values.cast(arrow.int64()) if values.type.bit_width == 64 else values.cast(arrow.int32())
    elif _is_text(values.type):
        values = values.cast(arrow.float64())
    numbers = values.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise ValueError(f"got {numbers[infinite[0]]} in row {infinite[0] + 1}")
    return numbers


def _dates(values: Any) -> Any:
    arrow, pandas = require("pyarrow", "data"), require("pandas", "data")
    if _is_text(values.type):
        return (
            pandas.to_datetime(values.to_pandas(), format="ISO8601", utc=True).dt.tz_localize(None).to_numpy("M8[us]")
        )
    if not arrow.types.is_temporal(values.type):
        raise ValueError(f"got {values.type}")
    return values.cast(arrow.timestamp("us", tz=getattr(values.type, "tz", None)), safe=False).to_numpy(
        zero_copy_only=False
    )
