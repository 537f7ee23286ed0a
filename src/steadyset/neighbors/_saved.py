"""Stable neighbours as a folder of plain arrays, without pickle; all of it is checked, the digests of rows too."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from steadyset._base import saved_folders, validation
from steadyset._base.memory import physical_memory
from steadyset.bags import content_words
from steadyset.neighbors._tables import table_of
from steadyset.selection import RULES_BY_NAME

KIND = "StableNeighborsClassifier"
_PLAIN = ("n_neighbors", "max_samples", "bootstrap", "epsilon", "delta", "metric")  # threads are not for a file to say
_VOTE_BYTES = 64  # of the walk over the neighbours, for each vote of a bag
_ARRAYS = ("rows_", "columns_", "ends_", "words_", "codes_")


def write(model: Any, folder: Any, overwrite: bool) -> None:
    """Write a fitted model; a metric or a rule that is a callable of the user's own is refused."""
    if not isinstance(model.metric, str):
        raise TypeError(f"metric must be a name to be saved; got {validation.shown(model.metric)}.")
    arrays = {name.rstrip("_"): getattr(model, name) for name in _ARRAYS if getattr(model, name) is not None}
    names = getattr(model, "feature_names_in_", None)
    header = {
        "parameters": {name: _plain(getattr(model, name)) for name in _PLAIN},
        "rule": None if model.rule is None else _rule_to_json(model.rule),
        "classes": saved_folders.labels_to_json(model.classes_),
        "bag_size": model.bag_size_,
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
    }
    saved_folders.write_folder(folder, KIND, header, arrays, overwrite=overwrite)


def read(model_type: Any, folder: Any) -> Any:
    """Read a model; arrays that do not fit together are refused."""
    with saved_folders.read_folder(folder, KIND, mapped=None, auto=True) as saved:
        parameters, rule = saved.header("parameters"), saved.header("rule")
        classes = saved_folders.labels_from_json(saved.header("classes"))
        model = model_type(**{name: parameters[name] for name in _PLAIN}, rule=_rule_from_json(rule), classes=classes)
        for name in _ARRAYS:
            held = name.rstrip("_") in saved.files
            setattr(model, name, saved.array(name.rstrip("_")) if held else None)
        model.classes_, model.bag_size_ = classes, saved.header("bag_size")
        model.n_features_in_ = saved.header("n_features")
        if saved.header("feature_names") is not None:
            model.feature_names_in_ = np.array(saved.header("feature_names"), dtype=object)
        check_saved(model)
        return model


def check_saved(model: Any) -> None:
    """Refuse a model that contradicts itself: one of a file may be anything.

    The digests of its rows are worked out again, as a fit does.
    """
    rows, words, codes = model.rows_, model.words_, model.codes_
    sizes = (model.bag_size_, model.n_features_in_)
    sound = (
        all(type(size) is int and size >= 1 for size in sizes)
        and rows.dtype in (np.float32, np.float64)
        and words.dtype == np.uint64
        and codes.dtype == np.intp
        and words.shape == codes.shape == (len(words),)
        and len(words) >= 2
        and len(model.classes_) >= 2
        and bool(np.all(model.classes_[1:] > model.classes_[:-1]))
        and bool(np.all((codes >= 0) & (codes < len(model.classes_))))
        and bool(np.isfinite(rows).all())
        and _names_fit(model)
        and _rows_fit(model)
        and np.array_equal(words, content_words(_rows_of(model), model.classes_[codes]))
    )
    if not sound:
        raise ValueError("arrays must fit together; got some that do not.")
    model._check_parameters()
    if model._bagging(len(model.classes_)).size(len(words)) != model.bag_size_:
        raise ValueError("bag_size must be what max_samples and delta give; got another.")
    if min(model.n_neighbors, model.bag_size_) * _VOTE_BYTES > physical_memory():
        raise ValueError("n_neighbors must be fewer than this machine can count; got more.")


def _names_fit(model: Any) -> bool:
    names = getattr(model, "feature_names_in_", None)
    return names is None or (names.shape == (model.n_features_in_,) and all(isinstance(name, str) for name in names))


def _rows_of(model: Any) -> Any:
    """Return the training rows as they were given to the fit; refuse numbers that it would not have taken."""
    rows = model.rows_
    if model.ends_ is not None:
        rows = csr_matrix((rows, model.columns_, model.ends_), (len(model.words_), model.n_features_in_))
        if not rows.has_canonical_format:
            raise ValueError("columns must be in order, each of them once; got others")
    table_of(rows)
    return rows


def _rows_fit(model: Any) -> bool:
    rows, columns, ends, n, width = model.rows_, model.columns_, model.ends_, len(model.words_), model.n_features_in_
    if ends is None or columns is None:
        return ends is columns and rows.shape == (n, width)
    return (
        rows.ndim == columns.ndim == ends.ndim == 1
        and columns.dtype == np.int32
        and ends.dtype == np.int64
        and len(ends) == n + 1
        and int(ends[0]) == 0
        and int(ends[-1]) == len(rows) == len(columns)
        and bool(np.all(np.diff(ends) >= 0))
        and bool(np.all((columns >= 0) & (columns < width)))
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _rule_to_json(rule: Any) -> dict[str, Any]:
    name = next((name for name, kind in RULES_BY_NAME.items() if type(rule) is kind), None)
    if name is None or not is_dataclass(rule):
        raise TypeError(f"rule must be one of steadyset's own to be saved; got {validation.shown(rule)}.")
    return {"name": name, **{field.name: _plain(getattr(rule, field.name)) for field in fields(rule)}}


def _rule_from_json(saved: Any) -> Any:
    if saved is None:
        return None
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in saved.items() if name != "name"}
    return RULES_BY_NAME[saved["name"]](**given)
