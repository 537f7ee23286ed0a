"""Model files: a fitted ensemble and the table it was made from, opened without executing anything."""

import io
import platform
import shlex
import warnings
import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn

from steadyset import StableClassifier, StableNeighborsClassifier, __version__
from steadyset._base import whole_files
from steadyset._base.optional import require
from steadyset._base.validation import shown
from steadyset.bags import check_bags
from steadyset.neighbors import check_saved
from steadyset.tables import _model_files
from steadyset.tables._columns import Column, to_frame
from steadyset.tables._encoders import reads_frames
from steadyset.tables._read import check_exists, first_line, reading, some_names
from steadyset.tables._target import Target

_FORMAT = "steadyset table model"
_VERSION = 2


@dataclass(frozen=True)
class TableModel:
    """A fitted ensemble with what it has to know of tables.

    Parameters
    ----------
    classifier : StableClassifier or StableNeighborsClassifier
        Fitted on a frame of `columns`.
    columns : tuple of Column
        The features.
    target : Target
        The column of the labels.
    id_column : str or None, default=None
        The column of the names of the training rows, if there was one.
    versions : mapping, default={}
        The libraries that made it.
    facts : mapping, default={}
        What else is worth knowing: how the table was read, the out-of-bag score.
    """

    classifier: StableClassifier | StableNeighborsClassifier
    columns: tuple[Column, ...]
    target: Target
    id_column: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def frame(self, table: Any) -> Any:
        """Return the features of a pyarrow Table as the ensemble reads them; a column that is missing is named.

        Texts that training did not have are missing values to a learner without encoders.
        """
        missing = [column.name for column in self.columns if column.name not in table.column_names]
        if missing:
            raise ValueError(
                f"the table must have the columns that the model was fitted on; {some_names(missing)} missing."
            )
        learner = self.classifier.estimator_ if isinstance(self.classifier, StableClassifier) else None
        return to_frame(table, self.columns, known_only=learner is not None and reads_frames(learner))

    def extra_columns(self, table: Any) -> list[str]:
        """Return the columns of a table that are neither features nor target nor names of rows."""
        used = {column.name for column in self.columns} | {self.target.name, self.id_column}
        return [name for name in table.column_names if name not in used]


def current_versions() -> dict[str, str]:
    """Return the versions of what makes a model."""
    return {
        "steadyset": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def save_model(model: TableModel, path: str, *, joblib_format: bool = False) -> list[str]:
    """Write a model file, whole or not at all; return the types in it that whoever reads it has to trust by name.

    It is a skops file, or with `joblib_format` a joblib file, which runs code when it is read.
    """
    content = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "classifier": model.classifier,
        "columns": [{**asdict(column), "categories": list(column.categories)} for column in model.columns],
        "target": asdict(model.target),
        "id_column": model.id_column,
        "versions": dict(model.versions),
        "facts": dict(model.facts),
    }
    if joblib_format:
        with whole_files.replacing(path) as temporary:
            joblib.dump(content, temporary, compress=("zlib", 3))
        return []
    skops = require("skops.io", "persist")
    try:
        data = _model_files.packed(skops.dumps(content, compression=zipfile.ZIP_DEFLATED, compresslevel=1))
        asking = _model_files.asking_types(_model_files.Archive(data))
    except Exception as error:  # skops meets whatever a learner holds
        raise ValueError(
            f"the model could not be written as a skops file: {first_line(error)}; --format joblib can write it, "
            "a file that runs code when it is read."
        ) from None
    with whole_files.replacing(path) as temporary:
        temporary.write_bytes(data)
    return asking


def load_model(path: str, *, trust: Collection[str] = (), trust_joblib: bool = False) -> TableModel:
    """Open a model file without executing anything in it.

    Values that compiled code would follow without looking, such as the children of a tree, are checked before anything
    is made. `trust` names types to trust besides those that are checked. With `trust_joblib` a joblib file may be read
    too, which may run any code.
    """
    check_exists(path)
    whole_files.remove_leftovers(Path(path).parent)
    data = _content(path)
    is_zip = zipfile.is_zipfile(io.BytesIO(data))
    try:
        content = _read_joblib(path, data) if trust_joblib and not is_zip else _read_skops(path, data, is_zip, trust)
        model = _model_of(content)
        _try(model)
        return model
    except _NotAModelError as error:
        raise ValueError(f"{path!r} is not a model file of `steadyset fit`: {error}.") from None


def _try(model: TableModel) -> None:
    """Refuse a model that lacks what it predicts with: one row is enough to see it."""
    pandas = require("pandas", "data")
    row = {column.name: _some_value(column) for column in model.columns}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.classifier.predict_set(pandas.DataFrame(row))
    except (ValueError, ArithmeticError):  # it says itself what is wrong with this row
        return
    except Exception:
        raise _NotAModelError("its parts do not fit together") from None


def _some_value(column: Column) -> Any:
    pandas = require("pandas", "data")
    if column.kind == "category":
        return pandas.Categorical(column.categories[:1], categories=list(dict.fromkeys(column.categories)))
    return pandas.to_datetime(["2000-01-01"]) if column.kind == "date" else [0.0]


class _NotAModelError(Exception):
    """Whatever the file holds, it is no model of a table."""


def _content(path: str) -> bytes:
    """Return the bytes of a model file, read once: what is checked is what is used."""
    with reading(path, "a model file"):
        return whole_files.content_of(Path(path))


def _read_joblib(path: str, data: bytes) -> Any:
    with reading(path, "joblib"):
        # Unpacked whole before a byte of it is interpreted: that checks the sum at the end.
        plain = zlib.decompress(data) if data[:1] == b"x" else data
        content = joblib.load(io.BytesIO(plain))
    _check_format(content)
    return content


def _read_skops(path: str, data: bytes, is_zip: bool, trust: Collection[str]) -> Any:
    if not is_zip:
        raise ValueError(
            f"{path!r} is not a skops model file, or a damaged one; nothing in it was run. If it is joblib and you "
            "trust who made it, add --trust-joblib."
        )
    require("skops.io", "persist")
    try:
        return _model_files.load(_model_files.Archive(data), trust, _check_format)
    except _model_files.AskingError as error:
        options = " ".join(f"--trust {shlex.quote(name)}" for name in error.names)
        raise ValueError(
            f"{path!r} holds what steadyset does not trust by itself: {', '.join(error.names)}; nothing was loaded. "
            f"If you trust who made the file, add {options}."
        ) from None
    except _NotAModelError:
        raise
    except Exception as error:  # a damaged or hostile file can make the reader fail anywhere
        raise ValueError(f"{path!r} could not be read as a skops file ({shown(first_line(error))}).") from None


def _check_format(content: Any) -> None:
    """Refuse what is no model of a table, or one of another version."""
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise _NotAModelError("it holds something else")
    version = content.get("format_version")
    if version != _VERSION:
        raise _NotAModelError(f"it has version {version!r} where this steadyset reads {_VERSION}")


def _check_claims(classifier: StableClassifier | StableNeighborsClassifier) -> None:
    """Refuse bags that their seed does not draw, and neighbours whose rows and numbers contradict each other."""
    try:
        if isinstance(classifier, StableClassifier):
            check_bags(classifier.bags_)
        else:
            check_saved(classifier)
    except ValueError as error:
        raise _NotAModelError(str(error).rstrip(".")) from None


def _model_of(content: Any) -> TableModel:
    try:
        classifier = content["classifier"]
        fitted = "groups_" if isinstance(classifier, StableClassifier) else "codes_"
        ours = isinstance(classifier, StableClassifier | StableNeighborsClassifier)
        if not ours or not hasattr(classifier, fitted):
            raise _NotAModelError("it holds no fitted StableClassifier or StableNeighborsClassifier")
        _check_claims(classifier)
        columns = tuple(
            Column(str(entry["name"]), str(entry["kind"]), tuple(map(str, entry["categories"])))
            for entry in content["columns"]
        )
        target = Target(str(content["target"]["name"]), str(content["target"]["kind"]))
        id_column = None if content["id_column"] is None else str(content["id_column"])
        return TableModel(classifier, columns, target, id_column, dict(content["versions"]), dict(content["facts"]))
    except _NotAModelError:
        raise
    except Exception:
        raise _NotAModelError("its parts do not fit together") from None
