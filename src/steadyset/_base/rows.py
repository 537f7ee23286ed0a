"""Anything with rows and features."""

from typing import Any

import numpy as np
from scipy.sparse import issparse


def as_rows(X: Any, name: str = "X") -> Any:
    """Return X as something with rows: arrays, sparse matrices and frames as they are, all else as an array."""
    if issparse(X):
        return X.tocsr()  # not every format can be sliced by rows
    rows = X if (hasattr(X, "shape") and hasattr(X, "dtype")) or hasattr(X, "columns") else np.asarray(X)
    if len(rows.shape) < 2:
        raise ValueError(
            f"{name} must have at least two axes, rows and features; got shape {tuple(rows.shape)}. "
            "Reshape your data: X.reshape(1, -1) is one row."
        )
    return rows
