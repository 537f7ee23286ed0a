"""Which rows a model was trained on, by what they hold: accuracy on them is no test."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.bags import BagPredictions, Bags, content_words


def remember_training_rows(model: Any, X: Any, y: Any) -> None:
    """Keep a digest of each training row and its label with a fitted model whose ids do not tell: 8 bytes per row."""
    model.row_digests_ = content_words(X, y)


def rows_seen_in_training(model: Any, X: Any, y: Any) -> NDArray[np.bool_] | None:
    """Return which rows, label included, are among those that a model was trained on; None where it does not know."""
    known = _known(model)
    if not isinstance(known, np.ndarray) or known.dtype != np.uint64:
        return None
    try:
        return np.isin(content_words(X, y), known)
    except TypeError:  # rows that cannot be hashed
        return None


def _known(model: Any) -> Any:
    if hasattr(model, "row_digests_"):
        return model.row_digests_
    bags = model.bags if isinstance(model, BagPredictions) else getattr(model, "bags_", None)
    return bags.sample_ids if isinstance(bags, Bags) and (bags.ids.kind, bags.ids.unit) == ("content", "row") else None


def training_rows_in_words(n_seen: int, n_rows: int) -> str:
    """Return the sentence on rows that a model was trained on."""
    were = "was" if n_seen == 1 else "were"
    return f"{n_seen:,} of the {n_rows:,} rows {were} among the training rows: accuracy on them is training accuracy."
