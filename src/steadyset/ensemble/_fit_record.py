"""What a fit remembers, so that a later table can be compared with it: what each unit held, and how it was trained."""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from steadyset._base import digests
from steadyset.bags import CodedLabels, RowIds, content_digests, content_words_after, group_ids
from steadyset.ensemble import _checkpoint, _row_ids
from steadyset.ensemble._fit_inputs import FitInputs

_known_fingerprints: dict[bytes, str] = {}
_MOST_KNOWN, _LARGE = 64, 1 << 14


@dataclass(frozen=True, eq=False)
class FitRecord:
    """The words of the units of a fit, None where there are none, and the digest of how its bags are trained."""

    units: NDArray[np.uint64] | None
    training: str


def record(learner: Any, data: FitInputs, before: RowIds | None = None) -> FitRecord:
    """Return what is remembered of a fit to these data; `before` are the ids of an earlier table."""
    return FitRecord(_unit_words(data, before), _training_digest(learner, data))


def remembered(model: Any) -> FitRecord:
    """Return what a fitted model remembers."""
    ids: RowIds = model.bags_.ids
    words = _of_content(ids) if ids.kind == "content" else vars(model).get("unit_digests_")
    return FitRecord(words, vars(model).get("training_digest_", ""))


def keep(model: Any, found: FitRecord) -> None:
    """Let a fitted model remember; words that are its ids already are not written down again."""
    model.training_digest_ = found.training
    vars(model).pop("unit_digests_", None)
    if found.units is not None and model.bags_.ids.kind != "content":
        model.unit_digests_ = found.units


def _of_content(ids: RowIds) -> NDArray[np.uint64] | None:
    return None if ids.values is None else ids.values.astype(np.uint64, copy=False)


def _unit_words(data: FitInputs, before: RowIds | None) -> NDArray[np.uint64] | None:
    """Return a word for all that a learner sees of each unit, a row or a group; None where values have no digests.

    Ids that are made of content are such words already. Ids that the user gave stay when a row changes: this tells.
    """
    if data.ids.kind == "content":
        return _of_content(data.ids)
    labels, groups = CodedLabels(data.classes, data.codes), data.groups
    per_row = _row_ids.belonging_to_rows(data.X, data.fit_params)
    try:
        if groups is None:
            return content_words_after(before, data.ids, data.X, labels, **per_row)
        sizes = np.diff(groups.ends, prepend=0)
        codes, place = np.empty((2, len(groups.rows)), np.intp)
        codes[groups.rows] = np.repeat(np.arange(groups.n_groups), sizes)
        # The place among the rows of the group counts: learners see them in this order.
        place[groups.rows] = np.arange(len(groups.rows)) - np.repeat(groups.ends - sizes, sizes)
        return group_ids(content_digests(data.X, labels, place=place, **per_row), codes, "content").values
    except TypeError:
        return None


def _training_digest(learner: Any, data: FitInputs) -> str:
    """Return a digest of what decides on a trained bag besides its rows and its seed.

    These are the learner with its parameters, the types of the columns, which the words of rows do not tell, and the
    parameters of its fit that belong to no row.
    """
    per_row = _row_ids.belonging_to_rows(data.X, data.fit_params)
    shared = {name: value for name, value in data.fit_params.items() if f"fit:{name}" not in per_row}
    parts = (_layout(data.X), sorted(per_row), str(data.classes.dtype))
    try:
        return _fingerprint(learner, shared, *parts)
    except Exception:  # a learner that cannot be pickled, with a lambda perhaps, is known by its words
        return digests.digest(repr((type(learner), learner, _in_words(shared), *parts)).encode())


def _fingerprint(*parts: Any) -> str:
    """Return the fingerprint of settings, which a refit asks for again: equal bytes of a pickle tell equal settings."""
    pickled = pickle.dumps(parts)
    if len(pickled) > _LARGE:
        return _checkpoint.fingerprint(*parts)
    if pickled not in _known_fingerprints:
        if len(_known_fingerprints) >= _MOST_KNOWN:
            _known_fingerprints.clear()
        _known_fingerprints[pickled] = _checkpoint.fingerprint(*parts)
    return _known_fingerprints[pickled]


def _in_words(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, repr(value)) for name, value in sorted(values.items())]


def _layout(X: Any) -> tuple[Any, ...]:
    """Return of what types a table is, in plain values."""
    kind = f"{type(X).__module__}.{type(X).__name__}"
    if issparse(X):
        return kind, str(X.dtype), X.shape[1]
    if hasattr(X, "columns"):
        of_arrow = not hasattr(X, "dtypes")
        names, types = (X.schema.names, X.schema.types) if of_arrow else (X.columns, X.dtypes)
        return kind, [str(name) for name in names], [_type_in_words(each) for each in types]
    flags = getattr(X, "flags", None)
    by_column = flags is not None and bool(flags.f_contiguous and not flags.c_contiguous)  # sums may round otherwise
    return "array", str(X.dtype), tuple(X.shape[1:]), by_column


def _type_in_words(dtype: Any) -> tuple[str, list[str]]:
    """Return a column's type with its categories, which its own words cut short."""
    known = getattr(dtype, "categories", None)
    categories = [] if known is None or callable(known) else [repr(value) for value in list(known)]
    return f"{dtype} {getattr(dtype, 'ordered', '')}", categories
