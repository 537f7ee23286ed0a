"""Rows of Parquet files: the row groups that hold some are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.optional import require
from steadyset._base.outside_rows import OutsideRows
from steadyset._base.validation import shown


class ParquetRows(OutsideRows):
    """A folder of Parquet files as a table of numbers that stays where it is: `X` of :meth:`StableClassifier.fit`.

    Only the row groups that hold rows of some bags are read, so that memory does not grow with the table. A fit is the
    same, to the bit, as one to the array that ``rows[:]`` gives.

    Parameters
    ----------
    path : path
        A Parquet file, or a folder of files whose names end in ``.parquet``, subfolders included, in the order of their
        paths.
    columns : sequence of str, default=None
        The columns, in this order; None takes all of the first file. They hold numbers; what is missing is NaN in a
        column of floats, and refused in one of whole numbers.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : dtype
        That of all columns together.
    column_names : tuple of str

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import steadyset as ss
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         frame = pd.DataFrame({"width": [part, 2.5], "height": [3, 4], "label": ["a", "b"]})
    ...         frame.to_parquet(f"{folder}/part-{part}.parquet")
    ...     rows = ss.ParquetRows(folder, columns=["width", "height"])
    ...     print(rows.shape, rows[[0, 3]].tolist())
    (4, 2) [[0.0, 3.0], [2.5, 4.0]]
    """

    def __init__(self, path: str | PathLike[str], columns: Sequence[str] | None = None) -> None:
        self._files = _files_of(Path(path))
        groups = []
        for number, file in enumerate(self._files):
            with _open(file) as opened:
                if number == 0:
                    self.column_names = tuple(opened.schema_arrow.names if columns is None else columns)
                    self.dtype = _common_type(file, opened.schema_arrow, self.column_names)
                elif (found := _common_type(file, opened.schema_arrow, self.column_names)) != self.dtype:
                    raise ValueError(
                        f"the files must hold columns of the same types; got {found} in {str(file)!r} and {self.dtype} "
                        f"in {str(self._files[0])!r}."
                    )
                sizes = [opened.metadata.row_group(group).num_rows for group in range(opened.num_row_groups)]
                groups += [(number, group, size) for group, size in enumerate(sizes) if size]
        self._groups = np.array(groups, np.int64).reshape(-1, 3)
        self.shape = (int(self._groups[:, 2].sum()), len(self.column_names))

    def __repr__(self) -> str:
        return f"ParquetRows({self.shape[0]:,} rows, {self.shape[1]:,} columns of {self.dtype})"

    @property
    def piece_ends(self) -> NDArray[np.int64]:
        """Where each row group ends."""
        return np.cumsum(self._groups[:, 2])

    def read_piece(self, piece: int) -> NDArray[Any]:
        """Return the rows of a row group.

        Parameters
        ----------
        piece : int
            Its number, over all files.

        Returns
        -------
        ndarray of shape (rows, columns)
        """
        file, group, size = self._groups[piece].tolist()
        path = self._files[file]
        with _open(path) as opened:
            table = opened.read_row_group(group, columns=list(self.column_names), use_threads=False)
        if table.num_rows != size:
            raise ValueError(f"{str(path)!r} must stay as it was when it was opened; got other rows.")
        rows = np.empty((size, len(self.column_names)), self.dtype)
        for place, name in enumerate(self.column_names):
            column = table.column(name)
            if column.null_count and column.type not in _floats():
                raise ValueError(f"column {name!r} of whole numbers must have no gaps; got some in {str(path)!r}.")
            rows[:, place] = column.to_numpy()
        return rows


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    arrow, parquet = require("pyarrow", "data"), require("pyarrow.parquet", "data")
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"{str(path)!r} must be a Parquet file that can be read; got: {error}.") from error


def _files_of(path: Path) -> list[Path]:
    found = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not found:
        raise ValueError(f"path must be a Parquet file, or a folder of files that end in .parquet; got {str(path)!r}.")
    return found


def _floats() -> tuple[Any, ...]:
    arrow = require("pyarrow", "data")
    return arrow.float16(), arrow.float32(), arrow.float64()


def _common_type(file: Path, schema: Any, columns: tuple[str, ...]) -> np.dtype[Any]:
    """Return the type of an array of these columns."""
    if not columns:
        raise ValueError("columns must name at least one column; got none.")
    types = []
    for name in columns:
        if name not in schema.names:
            raise ValueError(f"columns must be of {str(file)!r}; got {shown(name)}, which it does not have.")
        kind = schema.field(name).type
        try:
            dtype = np.dtype(kind.to_pandas_dtype())
        except (NotImplementedError, TypeError):
            dtype = np.dtype(object)
        if dtype.kind not in "biuf":
            raise ValueError(f"columns must hold numbers; got {name!r} of type {kind} in {str(file)!r}: name others.")
        types.append(dtype)
    return np.result_type(*types)
