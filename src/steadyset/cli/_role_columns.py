"""Columns of a training table that are no features: names of rows and groups, and weights."""

from typing import Any


def weights(table: Any, name: str) -> Any:
    """Return a column of weights; negative and missing ones are refused."""
    from steadyset.tables import Column, to_frame

    found = to_frame(table, [Column(name, "number")])[name].to_numpy()
    if not (found >= 0).all():
        row = int((~(found >= 0)).argmax()) + 1
        raise ValueError(f"weights must be numbers that are at least 0; got {found[row - 1]} in row {row}.")
    return found


def weight_params(base: Any, weights: Any) -> dict[str, Any]:
    """Return weights as the parameter of a learner's fit, or of the last step of a pipeline."""
    from sklearn.pipeline import Pipeline

    if not isinstance(base, Pipeline):
        return {"sample_weight": weights}
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(base[-1], "sample_weight"):
        raise ValueError(f"weights must be left out for {type(base[-1]).__name__}, whose fit does not take them.")
    return {"classifier__sample_weight": weights}


def row_names(table: Any, name: str) -> list[str]:
    """Return a column of distinct names."""
    ids = names(table, name, "id_column")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(text for text in ids if text in seen or seen.add(text))  # type: ignore[func-returns-value]
        raise ValueError(f"id_column {name!r} must have distinct names; got {twice!r} more than once.")
    return ids


def names(table: Any, name: str, role: str) -> list[str]:
    """Return a column of names, none of them missing."""
    from steadyset.tables import as_text

    found: list[Any] = as_text(table[name]).to_pylist()
    if None in found:
        raise ValueError(f"{role} {name!r} must have a name for every row; got none in row {found.index(None) + 1}.")
    return found
