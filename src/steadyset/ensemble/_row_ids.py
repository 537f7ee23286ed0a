"""Which ids the rows of a fit have: made of their content, unless the user says otherwise."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.sklearn_doors import num_samples, params_of_rows
from steadyset.bags import (
    POSITIONS,
    Bags,
    CodedLabels,
    RowIds,
    content_digests,
    content_ids,
    content_ids_after,
    given_ids,
    group_ids,
    id_words,
    with_parameters,
)
from steadyset.ensemble._row_groups import RowGroups, codes_of, gathered

Labels = CodedLabels | NDArray[Any]
_ALLOWED = 'None, "index", "position" or a sequence of distinct ids'


def chosen(
    sample_ids: Any, X: Any, labels: Labels, fit_params: Mapping[str, Any], before: RowIds | None = None
) -> RowIds:
    """Return the ids of the rows, as `sample_ids` of `fit` asks for them; `before` are those of an earlier table."""
    if sample_ids is None:
        try:
            return content_ids_after(before, X, labels, **belonging_to_rows(X, fit_params))
        except TypeError as error:
            warnings.warn(f"{error} Positions are used: a dropped row redraws every bag.", stacklevel=5)
            return POSITIONS
    if isinstance(sample_ids, RowIds):  # made of what somebody chose: rows that differ elsewhere would count as equal
        raise TypeError(f"sample_ids must be {_ALLOWED}; got RowIds, which None makes of all that belongs to a row.")
    if not isinstance(sample_ids, str):
        return given_ids(sample_ids, num_samples(X))
    if sample_ids == "position":
        return POSITIONS
    if sample_ids != "index":
        raise ValueError(f"sample_ids must be {_ALLOWED}; got {validation.shown(sample_ids)}.")
    if not hasattr(X, "index") or callable(X.index):
        raise TypeError(f'sample_ids="index" is for frames with an index; got X of type {type(X).__name__}.')
    return given_ids(X.index, num_samples(X))


@dataclass(frozen=True, eq=False)
class GroupIds:
    """The ids of groups of rows, and which rows they hold."""

    ids: RowIds
    rows: RowGroups


def of_groups(sample_ids: Any, groups: Any, X: Any, labels: Labels, fit_params: Mapping[str, Any]) -> GroupIds:
    """Return the ids of the groups, as `sample_ids` of `fit` asks for them, and their rows."""
    names, codes = codes_of(groups, num_samples(X))
    if sample_ids is not None and not isinstance(sample_ids, str | RowIds):
        words = id_words(validation.sample_ids(sample_ids, num_samples(X)))
        digests = np.column_stack([words, np.zeros_like(words)])
        return GroupIds(group_ids(digests, codes, "given"), gathered(names, codes, digests))
    if sample_ids not in (None, "group", "position"):
        allowed = 'None, "group", "position" or a sequence of distinct ids of the rows'
        raise ValueError(f"sample_ids must be {allowed} where there are groups; got {validation.shown(sample_ids)}.")
    try:
        content = content_digests(X, labels, **belonging_to_rows(X, fit_params))
    except TypeError as error:
        content = None
        if sample_ids is None:
            warnings.warn(f"{error} The labels of the groups are their ids.", stacklevel=5)
    rows = gathered(names, codes, content)
    if sample_ids == "position":
        return GroupIds(replace(POSITIONS, unit="group"), rows)
    if sample_ids == "group" or content is None:
        return GroupIds(replace(given_ids(names, len(names)), unit="group"), rows)
    return GroupIds(group_ids(content, codes, "content"), rows)


def of_content(X: Any, labels: Labels, fit_params: Mapping[str, Any]) -> RowIds:
    """Return ids made of everything that a learner sees of a row."""
    return content_ids(X, labels, **belonging_to_rows(X, fit_params))


def belonging_to_rows(X: Any, fit_params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a learner's fit that have a value for each row, under names that cannot meet others."""
    if not fit_params:
        return {}
    first = np.arange(1)
    sliced = params_of_rows(X, fit_params, first)
    return with_parameters({name: value for name, value in fit_params.items() if sliced[name] is not value})


def require_same_rows(
    bags: Bags, groups: RowGroups | None, X: Any, labels: Labels, fit_params: Mapping[str, Any]
) -> None:
    """Refuse other rows than those of the fit, where ids of their content tell."""
    if bags.ids.kind != "content":
        return
    if groups is not None:
        digests = content_digests(X, labels, **belonging_to_rows(X, fit_params))
        codes = np.empty(len(groups.rows), np.intp)
        codes[groups.rows] = np.repeat(np.arange(groups.n_groups), np.diff(groups.ends, prepend=0))
        if group_ids(digests, codes, "content") != bags.ids:
            raise ValueError("X, y and fit_params must be those of the fit, in the same order; got others.")
        return
    found, kept = of_content(X, labels, fit_params).values, bags.ids.values
    if found is not None and kept is not None and not np.array_equal(found, kept):
        row = int(np.argmax(found != kept))
        raise ValueError(
            "X, y and fit_params must be those of the fit, in the same order; got others, which differ in row "
            f"{row} at first."
        )
