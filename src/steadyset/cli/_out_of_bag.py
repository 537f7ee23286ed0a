"""What the bags that left the training rows out say of them, in numbers and in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class OutOfBag:
    """The sets of training rows from the bags that left them out; no scores where every bag holds every row."""

    n_rows: int
    accuracy: float | None = None  # of the most probable label
    coverage: float | None = None
    correct_single: float | None = None
    mean_set_size: float | None = None

    def in_words(self) -> str:
        """Return a sentence; there must be scores."""
        return (
            f"Out of bag: accuracy {self.accuracy:.4f} (of the most probable label); the sets hold the true "
            f"label for {self.coverage:.4f} of the rows and nothing else for {self.correct_single:.4f}, with "
            f"{self.mean_set_size:.3f} labels on average."
        )


def out_of_bag(clf: Any, X: Any, labels: NDArray[Any]) -> OutOfBag:
    """Return the scores of a fitted model on its training rows; an ensemble keeps what covering sets need of them."""
    from steadyset import metrics
    from steadyset._base import validation
    from steadyset.ensemble import keep_for_covering

    proba = clf.oob_proba(X)
    if hasattr(clf, "bags_"):
        keep_for_covering(clf, proba, labels)
    known = ~np.isnan(proba).any(axis=1)
    if not known.any():
        return OutOfBag(0)
    sets = validation.rule_mask(clf.rule_, proba[known])
    y, classes = labels[known], clf.classes_
    return OutOfBag(
        n_rows=int(known.sum()),
        accuracy=float(np.mean(classes[np.argmax(proba[known], axis=1)] == y)),
        coverage=float(metrics.coverage_score(y, sets, classes=classes)),
        correct_single=float(metrics.correct_single_score(y, sets, classes=classes)),
        mean_set_size=float(metrics.mean_set_size(sets)),
    )
