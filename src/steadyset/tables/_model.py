"""Model files: a fitted ensemble and the table it was made from, opened without executing anything."""

import os
import platform
import shlex
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn

from steadyset import TRUSTED_TYPES, StableClassifier, __version__
from steadyset._base import whole_files
from steadyset._base.optional import require
from steadyset._base.validation import shown
from steadyset.tables import _trees
from steadyset.tables._columns import Column, to_frame
from steadyset.tables._read import check_exists, first_line, reading, some_names
from steadyset.tables._target import Target

_FORMAT = "steadyset table model"
_VERSION = 1

#: Plain data of this package and of scikit-learn that a model may hold: none of it runs anything when it is read.
TRUSTED = [
    *TRUSTED_TYPES,
    "functools.partial",  # HistGradientBoostingClassifier holds one of check_array; others' functions are not trusted
    "numpy.dtype",
    "sklearn.compose._column_transformer._RemainderColsList",  # scikit-learn 1.6: a list of column numbers
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils.validation.check_array",
    "steadyset.lanes._group.LaneGroup",
    "steadyset.lanes._net.NetClassifier",
    "steadyset.lanes._trainer.Trained",
    "steadyset.tables._encoders.TableNumbers",
]


@dataclass(frozen=True)
class TableModel:
    """A fitted ensemble with what it has to know of tables.

    Parameters
    ----------
    classifier : StableClassifier
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

    classifier: StableClassifier
    columns: tuple[Column, ...]
    target: Target
    id_column: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def frame(self, table: Any) -> Any:
        """Return the features of a pyarrow Table as the ensemble reads them; a column that is missing is named."""
        missing = [column.name for column in self.columns if column.name not in table.column_names]
        if missing:
            raise ValueError(
                f"the table must have the columns that the model was fitted on; {some_names(missing)} missing."
            )
        return to_frame(table, self.columns)

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
            joblib.dump(content, temporary, compress=3)
        return []
    skops = require("skops.io", "persist")
    try:
        data = skops.dumps(content, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
    except Exception as error:  # skops meets whatever a learner holds
        raise ValueError(
            f"the model could not be written as a skops file: {first_line(error)}; --format joblib can write it, "
            "a file that runs code when it is read."
        ) from None
    with whole_files.replacing(path) as temporary:
        temporary.write_bytes(data)
    return sorted(set(skops.get_untrusted_types(data=data)) - set(TRUSTED))


def load_model(path: str, *, trust: Collection[str] = (), trust_joblib: bool = False) -> TableModel:
    """Open a model file without executing anything in it.

    `trust` names types to trust besides those of steadyset and scikit-learn. With `trust_joblib` a joblib file may be
    read too, which may run any code.
    """
    check_exists(path)
    content = _read_joblib(path) if trust_joblib and not zipfile.is_zipfile(path) else _read_skops(path, trust)
    try:
        return _checked(content)
    except ValueError as error:
        raise ValueError(f"{path!r} is not a model file of `steadyset fit`: {error}.") from None
    except Exception:
        raise ValueError(f"{path!r} is not a model file of `steadyset fit`: its parts do not fit together.") from None


def _read_joblib(path: str) -> Any:
    with reading(path, "joblib"):
        return joblib.load(path)


def _read_skops(path: str, trust: Collection[str]) -> Any:
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path!r} is not a skops model file, or a damaged one; nothing in it was run. If it is joblib and you "
            "trust who made it, add --trust-joblib."
        )
    skops = require("skops.io", "persist")
    try:
        _check_size(path)
        untrusted = sorted(set(skops.get_untrusted_types(file=path)) - set(TRUSTED) - set(trust))
        if not untrusted:
            return skops.load(path, trusted=[*TRUSTED, *trust])
    except Exception as error:  # a damaged or hostile file can make the reader fail anywhere
        raise ValueError(f"{path!r} could not be read as a skops file: {shown(first_line(error))}.") from None
    options = " ".join(f"--trust {shlex.quote(name)}" for name in untrusted)
    raise ValueError(
        f"{path!r} holds what steadyset does not trust by itself: {', '.join(untrusted)}; nothing was loaded. "
        f"If you trust who made the file, add {options}."
    )


def _check_size(path: str) -> None:
    """Refuse an archive that would unpack to more than the memory of this machine."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if unpacked > memory:
        raise ValueError(f"it would unpack to {unpacked / 2**30:,.1f} GiB, more than the memory of this machine")


def _checked(content: Any) -> TableModel:
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError("it holds something else")
    if content["format_version"] != _VERSION:
        raise ValueError(f"it has version {content['format_version']!r} where this steadyset reads {_VERSION}")
    classifier = content["classifier"]
    if not isinstance(classifier, StableClassifier) or not hasattr(classifier, "groups_"):
        raise ValueError("it holds no fitted StableClassifier")
    _trees.check(classifier)
    columns = tuple(
        Column(str(entry["name"]), str(entry["kind"]), tuple(map(str, entry["categories"])))
        for entry in content["columns"]
    )
    target = Target(str(content["target"]["name"]), str(content["target"]["kind"]))
    id_column = None if content["id_column"] is None else str(content["id_column"])
    return TableModel(classifier, columns, target, id_column, content["versions"], content["facts"])
