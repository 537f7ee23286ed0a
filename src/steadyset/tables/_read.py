"""Reading a table: CSV, Parquet or npz, as an Arrow table, or a sentence that says what is wrong with it."""

import codecs
import math
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from steadyset._base.memory import physical_memory
from steadyset._base.optional import require
from steadyset._base.validation import shown
from steadyset.tables._csv_cells import marked_name, unmarked_table

#: Names of the features of an npz file, by number.
ARRAY_COLUMN = "x{}"

ENDINGS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
ENDINGS |= {".npz": "npz", ".npy": "npy"}
_NAMELESS = re.compile(r"(Unnamed: \d+(\.\d+)*|__index_level_\d+__)?")
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_WIDTHS = {"BOOLEAN": 1 / 8, "INT64": 8, "DOUBLE": 8, "INT96": 8}  # bytes per value in memory; others take 4 or more
_MOST_DEFLATED = 1032  # bytes that one byte of a gzip file can stand for
_SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written."""

    separator: str | None = None  # None: a comma, or a tab in a .tsv file
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()  # texts that stand for a missing value, besides the usual ones

    def __post_init__(self) -> None:
        if self.separator is not None and len(self.separator) != 1:
            raise ValueError(f"separator must be one character, or the word tab; got {shown(self.separator)}.")
        if len(self.decimal) != 1:
            raise ValueError(f"decimal must be one character; got {shown(self.decimal)}.")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ValueError(
                f"encoding must be one that Python knows, such as utf-8 or latin-1; got {self.encoding!r}."
            ) from None

    def separator_for(self, path: str) -> str:
        """Return the separator of a file."""
        return self.separator or ("\t" if ".tsv" in os.path.basename(path).lower() else ",")


def file_format(path: str) -> str:
    """Return csv, parquet, npz or npy by how the name ends; ``-`` is CSV."""
    name = os.path.basename(path).lower()
    stem = name.removesuffix(".gz")
    ending = os.path.splitext(stem)[1]
    known = "csv" if path == "-" else ENDINGS.get(ending)
    if known is None or (name.endswith(".gz") and known != "csv"):
        raise ValueError(f"the name of a table must end in .csv, .csv.gz, .tsv, .parquet, .npz or .npy; got {path!r}.")
    return known


def check_exists(path: str) -> None:
    """Refuse a path that is no file."""
    if path == "-":
        return
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path!r}.")
    if os.path.isdir(path):
        raise ValueError(f"the input must be a file; got the folder {path!r}.")


def check_regular(path: str) -> None:
    """Refuse a path that is no file, and a pipe or device, which would block a reader or never end."""
    check_exists(path)
    if path != "-" and not os.path.isfile(path):
        raise ValueError(f"the input must be a file; got the pipe or device {path!r}: standard input is read by -.")


def read_table(path: str, csv: CsvFormat | None = None, *, text: Iterable[str] = ()) -> Any:
    """Return a file as a pyarrow Table with distinct column names and at least one row.

    It is a .csv, .csv.gz, .tsv, .parquet or .npz file, or ``-`` for CSV from standard input. An npz file holds an array
    `X` of shape (n_rows, n_features) and perhaps one-dimensional arrays beside it. The columns in `text`, names of
    rows, are read as text whatever is in them.
    """
    check_regular(path)
    kind = file_format(path)
    csv = csv or CsvFormat()
    if kind == "csv":
        table = _read_csv(path, csv, tuple(text))
    elif kind == "parquet":
        table = _read_parquet(path)
    elif kind == "npz":
        table = _read_npz(path)
    else:
        raise ValueError(f"a table must be CSV, Parquet or npz; got the plain array {path!r}.")
    check_names(table.column_names, path)
    if kind == "csv":
        _check_quotes(table, path)
    if table.num_rows == 0:
        raise ValueError(f"{path!r} must have at least one row below its header; got none.")
    if kind == "csv":
        check_separator(table.column_names, path, csv)
    return table


def check_names(names: Sequence[str], path: str) -> None:
    """Refuse columns that cannot be told apart."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"the columns of {path!r} must have distinct names; got {shown(twice[0])} more than once.")


def index_columns(schema: Any) -> list[str]:
    """Return the columns of an Arrow schema that hold the index of a pandas frame: names of rows, not features.

    The metadata of a Parquet file name them. In CSV such a column has no name, which pandas reads as "Unnamed: 0".
    Where another library wrote the file again, the metadata are gone, and pandas' own "__index_level_0__" is left.
    """
    try:
        told = schema.pandas_metadata["index_columns"]
        named = [name for name in told if isinstance(name, str)]  # a range of numbers is no column, but a dict
    except (TypeError, LookupError, ValueError):  # no metadata, or none of pandas' making
        named = []
    return [name for name in schema.names if name in named or _NAMELESS.fullmatch(name)]


def _read_csv(path: str, csv: CsvFormat, text: tuple[str, ...]) -> Any:
    arrow, reader = require("pyarrow", "data"), require("pyarrow.csv", "data")
    source = sys.stdin.buffer.read() if path == "-" else path
    head = _peek(source, path)
    _check_gzip(path)
    separator = csv.separator_for(path)
    encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), csv.encoding)
    strings = arrow.string()

    def read(threads: bool, columns: Sequence[str] = ()) -> Any:
        table = reader.read_csv(
            _stream(source),
            read_options=reader.ReadOptions(encoding=encoding, use_threads=threads),
            parse_options=reader.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=convert_options(csv, dict.fromkeys([*columns, *map(marked_name, columns)], strings)),
        )
        if any(arrow.types.is_binary(field.type) for field in table.schema):  # texts that are none in this encoding
            raise UnicodeError
        return unmarked_table(table)

    try:
        return read(True, text)
    except (arrow.ArrowInvalid, UnicodeError) as error:
        problem: Exception = error
    try:
        read(False, text)  # one thread counts the rows, so that the message names one
    except (arrow.ArrowInvalid, UnicodeError) as error:
        problem = error
    raise ValueError(csv_problem(problem, path, head, separator, encoding)) from None


def _check_quotes(table: Any, path: str) -> None:
    """Refuse a file whose last row goes on over several lines to the end, because a quote was never closed."""
    if path == "-" or table.num_rows == 0:
        return
    last = table.slice(table.num_rows - 1).to_pylist()[0].values()
    if any(isinstance(value, str) and "\n" in value for value in last):
        with _stream(path) as file:
            quotes = sum(block.count(b'"') for block in iter(lambda: file.read(1 << 20), b""))
        if quotes % 2:
            raise ValueError(f"{path!r} is malformed: a quote that is opened is never closed, up to the last line.")


def convert_options(csv: CsvFormat, types: dict[str, Any], include: Sequence[str] = ()) -> Any:
    """Return how pyarrow turns the texts of a CSV file into values."""
    reader = require("pyarrow.csv", "data")
    usual = reader.ConvertOptions().null_values
    return reader.ConvertOptions(
        null_values=[*usual, *csv.missing],
        strings_can_be_null=True,
        decimal_point=csv.decimal,
        column_types=types,
        include_columns=list(include),
    )


def _peek(source: Any, path: str) -> bytes:
    """Return how the file begins; an empty one is refused."""
    try:
        with _stream(source) as file:
            head = bytes(file.read(65536))
    except OSError as error:
        raise OSError(f"{path!r} could not be read: {error}") from None
    check_not_empty(head, path)
    return head


def _check_gzip(path: str) -> None:
    """Refuse a compressed file that holds more than all memory; one that is too small for that is not counted."""
    if path.endswith(".gz") and os.path.getsize(path) * _MOST_DEFLATED > physical_memory():
        with _stream(path) as file:
            size = 0
            while (block := file.read(1 << 22)) and size <= physical_memory():
                size += len(block)
        check_unpacked(path, "CSV", size)


def _stream(source: Any) -> Any:
    arrow = require("pyarrow", "data")
    return arrow.BufferReader(source) if isinstance(source, bytes) else arrow.input_stream(source, compression="detect")


def check_not_empty(head: bytes, path: str) -> None:
    """Refuse a CSV file of which the beginning is blank."""
    if not head.strip():
        raise ValueError(_empty(path))


def _empty(path: str) -> str:
    return f"{path!r} is empty; a table has a header and one line per row."


def csv_problem(error: Exception, path: str, head: bytes, separator: str, encoding: str) -> str:
    """Return in a sentence what is wrong with a CSV file, and what to do."""
    words = str(error)
    if "UTF8" in words.upper().replace("-", "") or isinstance(error, UnicodeError):
        return f"{path!r} is not written in {encoding}: name its encoding, such as --encoding latin-1."
    found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", words)
    if found:
        row, expected, got = found.groups()
        hint = _other_separator(head, separator, encoding)
        return f"{path!r} is malformed: line {row} has {got} fields where the header has {expected}{hint}."
    if "Empty CSV" in words:
        return _empty(path)
    return f"{path!r} could not be read as CSV: {first_line(error)}."


def _other_separator(head: bytes, separator: str, encoding: str) -> str:
    """Return a hint at the separator that the header seems to use, where it is another one."""
    header = [*head.decode(encoding, "replace").splitlines(), ""][0]
    counts = {mark: header.count(mark) for mark in _SEPARATORS if mark != separator}
    likely = max(counts, key=lambda mark: counts[mark])
    if counts[likely] > header.count(separator):
        return f" (the header seems to be separated by {_SEPARATORS[likely]}: add --separator {_SEPARATORS[likely]})"
    return ""


def check_separator(names: Sequence[str], path: str, csv: CsvFormat) -> None:
    """Refuse a table of one column whose name holds another separator."""
    if len(names) == 1 and (hint := _other_separator(names[0].encode(), csv.separator_for(path), "utf-8")):
        raise ValueError(f"{path!r} has a single column, {shown(names[0])}{hint}.")


def reading_parquet(path: str) -> AbstractContextManager[None]:
    """Say that a Parquet file could not be read, where it cannot."""
    return reading(path, "Parquet", (require("pyarrow", "data").ArrowException, OSError))


def _read_parquet(path: str) -> Any:
    with reading_parquet(path), require("pyarrow.parquet", "data").ParquetFile(path) as file:
        check_names(file.schema_arrow.names, path)
        check_unpacked(path, "Parquet", _rows_in_bytes(file.metadata))
        return file.read()


def _rows_in_bytes(metadata: Any) -> int:
    """Return what the rows of a Parquet file take at least: a few bytes of it may stand for any number of them."""
    kinds = [metadata.schema.column(j).physical_type for j in range(metadata.num_columns)]
    rows: int = metadata.num_rows
    return math.ceil(rows * sum(_WIDTHS.get(kind, 4) for kind in kinds))


def check_unpacked(path: str, kind: str, size: int) -> None:
    """Refuse a file that would take more than all memory once it is unpacked."""
    if size > physical_memory():
        raise ValueError(
            f"{path!r} could not be read as {kind}: it would unpack to {size / 2**30:,.1f} GiB, more than this "
            "machine can hold."
        )


def some_names(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


@contextmanager
def reading(path: str, kind: str, errors: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
    """Say that a file could not be read as what it is meant to be, where one of the errors comes up."""
    try:
        yield
    except errors as error:  # a damaged file can make a reader raise anything
        raise ValueError(f"{path!r} could not be read as {kind}: {first_line(error)}.") from None


def first_line(error: Exception) -> str:
    """Return the first line of a message, without its full stop."""
    lines = str(error).splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def arrays_of_npz(path: str, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the arrays of an npz file, or those of these names."""
    with reading(path, "npz"), zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    check_unpacked(path, "npz", size)
    with reading(path, "npz"), np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files if names is None or name in names}


def _read_npz(path: str) -> Any:
    arrow = require("pyarrow", "data")
    arrays = arrays_of_npz(path)
    X = arrays.pop("X", None)
    if X is None or X.ndim != 2 or X.dtype.kind not in "fiub":
        came = "none" if X is None else f"shape {X.shape} and dtype {X.dtype}"
        raise ValueError(f"{path!r} must hold an array X of numbers with rows and columns; got {came}.")
    columns = {ARRAY_COLUMN.format(j): arrow.array(np.ascontiguousarray(X[:, j])) for j in range(X.shape[1])}
    for name, values in arrays.items():
        if values.shape == (len(X),):
            columns[name] = arrow.array(values.tolist() if values.dtype.kind in "US" else values)
    return arrow.table(columns)
