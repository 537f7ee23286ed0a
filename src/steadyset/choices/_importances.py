"""How important each feature is to a fitted estimator, on the simplex."""

from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.choices._each_bag import Rows

_REPEATS = 5  # permutations per feature and bag


def importances(estimator: Any, getter: Any, rows: Rows, n_features: int) -> NDArray[np.float64]:
    """Return importances of at least 0 that sum to 1; all 0 where none has any."""
    found = _real(_raw(estimator, getter, rows))
    if found.shape != (n_features,):
        raise ValueError(
            f"importances must be one number for each of the {n_features} features; got shape {found.shape}."
        )
    if not np.isfinite(found).all() or (found < 0).any():
        bad = int(np.argmax(~(np.isfinite(found) & (found >= 0))))
        raise ValueError(f"importances must be finite and at least 0; got {found[bad]} for feature {bad}.")
    largest = found.max(initial=0.0)
    if largest == 0:
        return found
    scaled = found / largest  # so that the sum stays within the range of numbers
    return np.asarray(scaled / scaled.sum())


def _real(values: Any) -> NDArray[np.float64]:
    given = np.asarray(values)
    if given.dtype.kind not in "biuf" and not (given.dtype == object and np.ndim(values) == 1):
        raise TypeError(f"importances must be real numbers; got {validation.shown(values)}.")
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"importances must be real numbers; got {validation.shown(values)}.") from None


def _raw(estimator: Any, getter: Any, rows: Rows) -> Any:
    if getter == "permutation":
        from sklearn.inspection import permutation_importance  # with plots of its own, which take long to import

        found = permutation_importance(estimator, rows.X, rows.y, n_repeats=_REPEATS, random_state=rows.seed)
        return np.maximum(found.importances_mean, 0.0)  # a loss below 0 is noise about none
    if callable(getter):
        return getter(estimator)
    if getter != "auto":
        try:
            found = attrgetter(getter)(estimator)
        except AttributeError as error:
            raise AttributeError(
                f"importance_getter must name an attribute of the fitted estimator; got {validation.shown(getter)}: "
                f"{error}."
            ) from None
        return _absolute(found, getter)
    for name in ("feature_importances_", "coef_"):
        if hasattr(estimator, name):
            return _absolute(getattr(estimator, name), name)
    raise ValueError(
        "importance_getter must name where importances are, or be a callable, for an estimator without "
        f"feature_importances_ and coef_; got {validation.shown(getter)} for {type(estimator).__name__}."
    )


def _absolute(values: Any, name: str) -> Any:
    """Return |coefficients|, summed over classes; importances as they are."""
    if not name.endswith("coef_"):
        return values
    table = np.abs(values.toarray() if hasattr(values, "toarray") else np.asarray(values))
    return table.sum(axis=0) if table.ndim == 2 else table
