"""Labels as columns of the label space. Only rooms that use scikit-learn anyway import it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from steadyset._base import validation
from steadyset._base.rows import known_codes


def encode(y: Any, classes: Any) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the labels as columns of the label space, and that space, sorted."""
    space = None if classes is None else np.unique(validation.classes(classes))
    if space is not None and (codes := known_codes(y, space)) is not None:
        return codes, space
    labels = column_or_1d(y, warn=True)
    _reject_missing(labels)
    if labels.dtype.kind != "U":  # texts can be nothing else
        check_classification_targets(labels)
    seen = np.unique(labels)
    if space is None:
        if len(seen) < 2:
            raise ValueError(
                "y must have at least 2 classes, or classes must name the label space; "
                f"got 1 class, {validation.shown(seen.tolist()[0])}."
            )
        space = seen
    else:
        unknown = seen[~np.isin(seen, space)]
        if len(unknown):
            raise ValueError(f"y must hold labels of classes only; got {validation.shown(unknown.tolist()[0])}.")
        if len(space) < 2:
            raise ValueError(f"classes must name at least 2 labels; got {validation.shown(list(space))}.")
    return np.searchsorted(space, labels).astype(np.intp), space


def _reject_missing(labels: NDArray[Any]) -> None:
    if labels.dtype.kind not in "fO":
        return
    floats = labels.dtype.kind == "f"
    bad = ~np.isfinite(labels) if floats else np.array([label is None or label != label for label in labels], bool)
    if bad.any():
        row = int(np.argmax(bad))
        kind = "infinity" if floats and np.isinf(labels[row]) else "NaN"
        raise ValueError(f"y must hold labels only, none missing: Input y contains {kind} in row {row}.")
