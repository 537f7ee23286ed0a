"""Probabilities block by block, so that a file may be larger than the memory."""

import fnmatch
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.optional import require
from steadyset.tables._csv_cells import unmarked_name, unmarked_table
from steadyset.tables._read import (
    CsvFormat,
    check_exists,
    check_names,
    check_not_empty,
    check_regular,
    check_separator,
    convert_options,
    csv_problem,
    file_format,
    first_line,
    index_columns,
    reading,
    reading_parquet,
)
from steadyset.tables._target import require_column

BLOCK_ENTRIES = 1 << 20  # probabilities per block: few enough for a processor's cache and for any memory


@dataclass(frozen=True)
class Probabilities:
    """A file of probabilities: its path, the label of each column, the names of columns to carry over, and the blocks.

    `index` are columns that hold the index of a pandas frame and were not asked for by name. A block is the
    probabilities of some rows and their carried columns, a pyarrow Table or None.
    """

    path: str
    labels: list[str]
    kept: list[str]
    index: list[str]
    blocks: Iterator[tuple[NDArray[Any], Any]]


@dataclass(frozen=True)
class _OpenFile:
    """A file whose header was read: its columns, their Arrow types where the file names them, and a reader.

    `index` are the columns that hold the index of a pandas frame.

    The reader takes the columns of probabilities and those to carry over, and yields Arrow batches.
    """

    names: list[str]
    index: list[str]
    types: Mapping[str, Any] | None
    read: Callable[[Sequence[str], Sequence[str]], Iterator[Any]]


def open_probabilities(
    path: str, csv: CsvFormat, columns: Sequence[str] = (), keep: Sequence[str] = (), classes: Sequence[str] = ()
) -> Probabilities:
    """Open a .csv, .csv.gz, .tsv, .parquet or .npy file of probabilities, or ``-`` for CSV from standard input.

    `columns` are names or patterns of the columns of probabilities, by default all that are not carried over in `keep`.
    The index of a pandas frame is taken only by its own name.
    The label of a column is its name, what the star of a pattern stands for, or its entry in `classes`.
    """
    check_exists(path)
    kind = file_format(path)
    if kind != "csv":  # which may come through a pipe
        check_regular(path)
    if kind == "npy":
        if columns or keep:
            raise ValueError("a .npy file has no names of columns: leave --columns and --keep out.")
        array = _open_array(path)
        labels = _named(classes, list(map(str, range(array.shape[1]))))
        return Probabilities(path, labels, [], [], _array_blocks(array))
    if kind == "npz":
        raise ValueError(f"probabilities must be CSV, Parquet or npy; got {path!r}.")
    file = _open_parquet(path) if kind == "parquet" else _open_csv(path, csv)
    check_names(file.names, path)
    for name in keep:
        require_column(file.names, name, "keep")
    chosen = _chosen(file, columns, keep)
    index = [name for name in file.index if name not in chosen and name not in keep]
    if file.types is not None:
        _require_numbers(file.types, chosen, path)
    labels = _named(classes, [_label(name, columns) for name in chosen])
    return Probabilities(path, labels, list(keep), index, _table_blocks(file.read(chosen, keep), chosen, list(keep)))


def check_block(proba: NDArray[Any], done: int, normalize: bool) -> NDArray[Any]:
    """Return a block of probability vectors; the first row that is not one is refused, by its number in the file."""
    if normalize:
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = proba.sum(axis=1, keepdims=True, dtype=np.float64)
            good = np.isfinite(sums) & (sums > 0)
            proba = np.where(good, proba / sums, proba)
    slack = validation.sum_slack(proba.dtype)
    sums = proba @ np.ones(proba.shape[1], proba.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        if (np.abs(sums - 1) <= slack).all() and proba.min() >= 0:
            return proba
        failure = validation.first_bad_row(proba.astype(np.float64), probabilities=True, slack=slack)
    if failure is None:
        return proba
    row = failure[1]
    values = proba[row].astype(np.float64)
    if not np.isfinite(values).all():
        what = f"none missing or infinite; got {values[~np.isfinite(values)][0]}"
    elif values.min() < 0:
        what = f"none negative; got {values.min():.6g}"
    else:
        hint = "" if normalize else " (--normalize divides each row by its sum)"
        what = f"that sum to 1 within {slack:g}; got a sum of {values.sum():.9g}{hint}"
    raise ValueError(f"row {done + row + 1} must hold probabilities, {what}.")


def _named(classes: Sequence[str], default: list[str]) -> list[str]:
    if not classes:
        return default
    if len(classes) != len(default) or len(set(classes)) != len(classes):
        raise ValueError(f"classes must name each of the {len(default)} columns once; got {len(classes)} names.")
    return list(classes)


def _chosen(file: _OpenFile, patterns: Sequence[str], keep: Sequence[str]) -> list[str]:
    names, usual = file.names, [name for name in file.names if name not in file.index]
    chosen = {name for name in usual if name not in keep and not patterns}
    for pattern in patterns:
        found = {name for name in usual if fnmatch.fnmatchcase(name, pattern)} | ({pattern} & set(names))
        if not found:
            require_column(names, pattern, "columns")
        chosen |= found
    if not chosen:
        raise ValueError("there must be a column of probabilities; got none besides those to keep.")
    return [name for name in names if name in chosen]


def _label(name: str, patterns: Sequence[str]) -> str:
    for pattern in patterns:
        if pattern != name and pattern.count("*") == 1 and fnmatch.fnmatchcase(name, pattern):
            before, after = pattern.split("*")
            return name[len(before) : len(name) - len(after)]
    return name


def _open_array(path: str) -> NDArray[Any]:
    with reading(path, "npy"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiub" or array.shape[1] == 0:
        shape = getattr(array, "shape", None)
        raise ValueError(f"{path!r} must hold numbers with rows and columns; got shape {shape}.")
    return array


def _array_blocks(array: NDArray[Any]) -> Iterator[tuple[NDArray[Any], Any]]:
    step = max(1, BLOCK_ENTRIES // array.shape[1])
    for start in range(0, len(array), step):
        block = np.array(array[start : start + step])
        yield (block if block.dtype.kind == "f" else block.astype(np.float64)), None


def _require_numbers(types: Mapping[str, Any], chosen: Sequence[str], path: str) -> None:
    known = require("pyarrow", "data").types
    for name in chosen:
        kind = types[name]
        if not (known.is_floating(kind) or known.is_integer(kind) or known.is_decimal(kind)):
            raise ValueError(
                f"column {name!r} of {path!r} must hold probabilities; got {kind}: choose those that do with "
                "--columns, or carry it over with --keep."
            )


def _open_parquet(path: str) -> _OpenFile:
    with reading_parquet(path):
        file = require("pyarrow.parquet", "data").ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
    schema = file.schema_arrow

    def read(chosen: Sequence[str], keep: Sequence[str]) -> Iterator[Any]:
        with reading_parquet(path):
            yield from file.iter_batches(max(1, BLOCK_ENTRIES // len(chosen)), columns=[*chosen, *keep])

    return _OpenFile(schema.names, index_columns(schema), dict(zip(schema.names, schema.types, strict=True)), read)


def _open_csv(path: str, csv: CsvFormat) -> _OpenFile:
    arrow, reader = require("pyarrow", "data"), require("pyarrow.csv", "data")
    separator = csv.separator_for(path)
    options = reader.ParseOptions(delimiter=separator)
    stream = arrow.input_stream(
        sys.stdin.buffer if path == "-" else path, compression=None if path == "-" else "detect"
    )
    try:
        first, rest = _header(stream)
    except OSError as error:
        raise ValueError(f"{path!r} could not be read: {first_line(error)}.") from None
    check_not_empty(first, path)
    try:
        text = first.decode(csv.encoding).lstrip("\ufeff")
        schema = reader.read_csv(arrow.BufferReader(text.encode()), parse_options=options).schema
    except (UnicodeError, arrow.ArrowInvalid) as error:
        raise ValueError(csv_problem(error, path, first, separator, csv.encoding)) from None
    check_separator(schema.names, path, csv)
    names = [unmarked_name(name) for name in schema.names]

    def read(chosen: Sequence[str], keep: Sequence[str]) -> Iterator[Any]:
        written = dict(zip(names, schema.names, strict=True))
        types = {written[name]: arrow.float64() for name in chosen} | {written[name]: arrow.string() for name in keep}
        try:
            batches = reader.open_csv(
                arrow.PythonFile(_Rejoined(first + rest, stream), mode="r"),
                read_options=reader.ReadOptions(encoding=csv.encoding, use_threads=False, block_size=1 << 22),
                parse_options=options,
                convert_options=convert_options(csv, types, include=list(types)),
            )
            for batch in batches:
                yield from unmarked_table(arrow.Table.from_batches([batch])).to_batches()
        except (arrow.ArrowException, UnicodeError, OSError) as error:
            raise ValueError(_csv_words(error, path, first, separator, csv.encoding)) from None

    return _OpenFile(names, index_columns(schema), None, read)


def _csv_words(error: Exception, path: str, head: bytes, separator: str, encoding: str) -> str:
    found = re.search(r"Row #(\d+): .*invalid value '(.*)'", str(error))
    if found:
        row, value = found.groups()
        return (
            f"{path!r} must hold numbers in its columns of probabilities; got {value!r} in line {row}: choose those "
            "that do with --columns, or carry others over with --keep."
        )
    return csv_problem(error, path, head, separator, encoding)


def _header(stream: Any) -> tuple[bytes, bytes]:
    """Return the first line of a stream and what was read beyond it."""
    read = b""
    while b"\n" not in read:
        more = stream.read(1 << 16)
        if not more:
            return read, b""
        read += more
    line, _, rest = read.partition(b"\n")
    return line + b"\n", rest


class _Rejoined(io.RawIOBase):
    """A stream whose beginning was read already."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._head:
            part, self._head = (self._head, b"") if size < 0 else (self._head[:size], self._head[size:])
            return part
        return bytes(self._stream.read(None if size < 0 else size))


def _table_blocks(batches: Iterator[Any], chosen: Sequence[str], keep: list[str]) -> Iterator[tuple[NDArray[Any], Any]]:
    arrow = require("pyarrow", "data")
    for batch in batches:
        if batch.num_rows == 0:
            continue
        parts = [batch.column(name) for name in chosen]
        narrow = all(part.type == arrow.float32() for part in parts)
        proba = np.empty((batch.num_rows, len(chosen)), np.float32 if narrow else np.float64)
        for j, part in enumerate(parts):
            proba[:, j] = part.cast(arrow.float64(), safe=False) if not arrow.types.is_floating(part.type) else part
        yield proba, arrow.Table.from_batches([batch.select(keep)]) if keep else None
