"""Writing label sets block by block: CSV, Parquet or npy."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import whole_files
from steadyset._base.optional import require
from steadyset.tables._csv_cells import marked_table
from steadyset.tables._read import ENDINGS


@dataclass(frozen=True)
class SetOutput:
    """Where label sets are written, and how."""

    path: str  # - is standard output
    form: str  # labels (joined, in one column), columns (one per label) or both
    joiner: str  # what joins the labels of a set

    def __post_init__(self) -> None:
        if self.form not in ("labels", "columns", "both"):
            raise ValueError(f"form must be labels, columns or both; got {self.form!r}.")
        output_format(self.path)  # another ending is refused

    @property
    def kind(self) -> str:
        """csv, parquet or npy."""
        return output_format(self.path)

    def check_labels(self, labels: Sequence[str]) -> None:
        """Refuse labels that could not be told apart once they are joined."""
        inside = [label for label in labels if self.joiner in label]
        if self.form != "columns" and inside:
            raise ValueError(
                f"joiner must be a text that no label holds; got {self.joiner!r}, which is in {inside[0]!r}."
            )

    def columns(self, mask: NDArray[np.bool_], labels: Sequence[str]) -> dict[str, Any]:
        """Return the columns that say which labels are in the sets: `set` and `size`, `in_...`, or both."""
        columns: dict[str, Any] = {}
        if self.form != "columns":
            columns["set"] = _joined(mask, labels, self.joiner)
            columns["size"] = mask.sum(axis=1, dtype=np.int32)
        if self.form != "labels":
            columns |= {f"in_{label}": mask[:, j] for j, label in enumerate(labels)}
        return columns


class TableWriter:
    """Write pyarrow tables of one schema as CSV or Parquet; the first one opens the file."""

    def __init__(self, path: Any, kind: str) -> None:
        self._path, self._kind = path, kind
        self._writer: Any = None

    def write(self, table: Any) -> None:
        """Append a table."""
        if self._writer is None:
            self._writer = self._open(table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()

    def _open(self, schema: Any) -> Any:
        if self._kind == "parquet":
            return require("pyarrow.parquet", "data").ParquetWriter(self._path, schema)
        csv = require("pyarrow.csv", "data")
        return csv.CSVWriter(self._path, schema, write_options=csv.WriteOptions(quoting_style="needed"))


class ArrayWriter:
    """Write blocks of a bool mask as one .npy file; the number of rows goes into the header at the end."""

    def __init__(self, path: Any) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close
        self._shape: tuple[int, int] | None = None

    def write(self, mask: NDArray[np.bool_]) -> None:
        """Append rows."""
        if self._shape is None:
            self._shape = (0, mask.shape[1])
            self._write_header(self._shape)
        self._file.write(np.ascontiguousarray(mask).tobytes())
        self._shape = (self._shape[0] + len(mask), mask.shape[1])

    def close(self) -> None:
        """Write the header again, now with the number of rows."""
        try:
            self._file.seek(0)
            self._write_header(self._shape or (0, 0))
        finally:
            self._file.close()

    def _write_header(self, shape: tuple[int, int]) -> None:
        # NumPy leaves room for the first axis to grow: the header has one length, whatever the number of rows.
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(bool)), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)


@contextlib.contextmanager
def open_writer(path: str) -> Iterator[Any]:
    """Give a writer by the ending of the path, ``-`` being CSV to standard output; a file is whole or not there."""
    if path == "-":
        with _closing(TableWriter(_Unclosed(sys.stdout.buffer), "csv")) as writer:
            yield writer
        sys.stdout.buffer.flush()
        return
    kind = output_format(path)
    with (
        whole_files.replacing(path) as temporary,
        _closing(ArrayWriter(temporary) if kind == "npy" else TableWriter(temporary, kind)) as writer,
    ):
        yield writer


def output_format(path: str) -> str:
    """Return csv, parquet or npy; other names are refused."""
    if path != "-" and whole_files.is_special(Path(path)):
        return "csv"
    kind = "csv" if path == "-" else ENDINGS.get(os.path.splitext(path)[1].lower(), "npz")
    if kind == "npz":
        raise ValueError(f"the name of the output must end in .csv, .parquet or .npy; got {path!r}.")
    return kind


@contextlib.contextmanager
def _closing(writer: Any) -> Iterator[Any]:
    try:
        yield writer
    except BaseException:
        with contextlib.suppress(Exception):  # the file is thrown away; what went wrong first is told
            writer.close()
        raise
    writer.close()


class _Unclosed(io.RawIOBase):
    """Standard output, which stays open."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return int(self._stream.write(data))


def _joined(mask: NDArray[np.bool_], labels: Sequence[str], joiner: str) -> Any:
    """Return each row's set as one text, a pyarrow dictionary array: few sets are distinct."""
    arrow = require("pyarrow", "data")
    width = 2 if mask.shape[1] <= 16 else -(-mask.shape[1] // 64) * 8
    packed = np.zeros((len(mask), width), np.uint8)
    packed[:, : -(-mask.shape[1] // 8)] = np.packbits(mask, axis=1)
    keys, codes = _distinct(packed)
    sets = np.unpackbits(keys, axis=1, count=mask.shape[1]).astype(bool)
    texts = [joiner.join(labels[j] for j in np.flatnonzero(row).tolist()) for row in sets]
    return arrow.DictionaryArray.from_arrays(arrow.array(codes.astype(np.int32)), arrow.array(texts, arrow.string()))


def _distinct(packed: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the distinct rows, and the number of its distinct row for every row."""
    width = packed.shape[1]
    if width == 2:  # so few keys that counting them is faster than sorting
        keys = packed.view(np.uint16)[:, 0]
        there = np.flatnonzero(np.bincount(keys)).astype(np.uint16)
        place = np.zeros(1 << 16, np.int32)
        place[there] = np.arange(len(there))
        return there[:, None].view(np.uint8), place[keys]
    words = packed.view(np.uint64 if width == 8 else f"V{width}")[:, 0]
    distinct, codes = np.unique(words, return_inverse=True)
    return distinct[:, None].view(np.uint8), codes


def as_table(columns: dict[str, Any], path: str) -> Any:
    """Return the columns as a table that the output's format can hold: CSV has no dictionaries and no formulas."""
    arrow = require("pyarrow", "data")
    table = arrow.table(columns)
    if output_format(path) != "csv":
        return table
    is_dictionary = arrow.types.is_dictionary
    plain = arrow.schema([f.with_type(arrow.string()) if is_dictionary(f.type) else f for f in table.schema])
    return marked_table(table.cast(plain))
