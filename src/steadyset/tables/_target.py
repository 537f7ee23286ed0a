"""The target column: labels of one kind, in training and afterwards."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.optional import require
from steadyset._base.validation import shown
from steadyset.tables._columns import as_text
from steadyset.tables._read import first_line


@dataclass(frozen=True)
class Target:
    """The column of the labels; `kind` is text, integer or boolean."""

    name: str
    kind: str


def require_column(names: Sequence[str], name: str, role: str) -> None:
    """Refuse a name that is no column, with the nearest ones there are."""
    if name in names:
        return
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    known = ", ".join(map(repr, near or names[:10])) + (", ..." if not near and len(names) > 10 else "")
    raise ValueError(f"{role} must be a column of the table; got {name!r}, {'near' if near else 'beside'} {known}.")


def choose_target(table: Any, name: str) -> Target:
    """Decide of which kind the labels in a column are; numbers that look like quantities are refused."""
    require_column(table.column_names, name, "target")
    arrow, compute = require("pyarrow", "data"), require("pyarrow.compute", "data")
    values = table[name].drop_null()
    kind = values.type
    if arrow.types.is_nested(kind) or arrow.types.is_binary(kind) or arrow.types.is_large_binary(kind):
        raise ValueError(f"target must be a column of labels; got {name!r} of type {kind}.")
    if len(values) == 0:
        raise ValueError(f"target {name!r} must hold labels; got missing values only.")
    distinct = compute.unique(values)
    if arrow.types.is_floating(kind) or arrow.types.is_decimal(kind):
        numbers = distinct.cast(arrow.float64()).to_numpy(zero_copy_only=False)
        fractions = numbers[numbers != np.floor(numbers)]
        if fractions.size:
            raise ValueError(
                f"target {name!r} holds numbers with fractions, such as {fractions[0]:g}: it looks like a quantity, "
                "and this is for classes; put it into bins first, or name another column."
            )
    if len(distinct) < 2:
        raise ValueError(f"target must have at least 2 labels; got only {distinct[0].as_py()!r} in {name!r}.")
    if len(distinct) > max(20, len(values) // 10):
        raise ValueError(
            f"target {name!r} holds {len(distinct):,} distinct values in {len(values):,} rows: it looks like a "
            "quantity or a name, and this is for classes; put it into bins first, or name another column."
        )
    if arrow.types.is_boolean(kind):
        return Target(name, "boolean")
    if arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_decimal(kind):
        return Target(name, "integer")
    return Target(name, "text")


def target_labels(table: Any, target: Target) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels of every row of a pyarrow Table, and which rows have one; the others hold a placeholder."""
    arrow, compute = require("pyarrow", "data"), require("pyarrow.compute", "data")
    column = table[target.name]
    missing = column.is_null(nan_is_null=True)
    kinds = {"integer": arrow.int64(), "boolean": arrow.bool_()}
    fill: Any = {"text": "", "integer": 0, "boolean": False}[target.kind]
    text = target.kind == "text"
    try:
        cast = as_text(column) if text else compute.if_else(missing, None, column).cast(kinds[target.kind])
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise ValueError(
            f"target {target.name!r} must hold labels of the kind {target.kind}; got {column.type}: "
            f"{first_line(error)}."
        ) from None
    values = compute.fill_null(cast, fill)
    labels = np.array(values.to_pylist()) if text else values.to_numpy(zero_copy_only=False)
    return labels, ~missing.to_numpy(zero_copy_only=False)


def require_all_known(known: NDArray[np.bool_], target: Target) -> None:
    """Refuse training rows without a label."""
    if not known.all():
        first = int(np.flatnonzero(~known)[0]) + 1
        raise ValueError(
            f"target {shown(target.name)} must have a label in every row; {int((~known).sum()):,} rows have none, the "
            f"first is row {first}: leave such rows out with --drop-unlabelled."
        )
