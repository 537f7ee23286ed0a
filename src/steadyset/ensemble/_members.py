"""What a trained ensemble is made of: groups of bags that were trained together, and members, groups of one.

A learner that trains many bags at once has a method ``fit_bags(X, y, bags, seeds, *, classes, n_jobs, progress)`` that
yields groups. Where `bags` are some of the bags only, it has ``bag_numbers``, by which messages name a bag. A group
knows the ``numbers`` of its bags (places in `bags`), gives ``predict_proba(X)`` of shape (group, points, classes), its
``members()``, and writes itself with ``save(folder)``. An ordinary estimator is a group of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.sklearn_doors import num_samples, take


class Group(Protocol):
    """Bags that were trained together."""

    @property
    def numbers(self) -> Sequence[int]:
        """Return the bag numbers."""

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return probabilities of shape (bags, points, classes)."""

    def members(self) -> list[Any]:
        """Return the fitted estimators, one per bag."""


@dataclass(frozen=True)
class Member:
    """An ordinary fitted estimator as a group of one.

    `columns` are the label-space columns of the classes that its bag held; it was trained on their codes 0, 1, ...
    """

    estimator: Any
    columns: NDArray[np.intp]
    n_classes: int
    numbers: tuple[int, ...]
    features: NDArray[np.intp] | None = None

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return (1, points, classes); a class that the bag did not hold has probability 0."""
        seen = X if self.features is None else take(X, self.features, axis=1)
        n_points = num_samples(X)
        aligned = np.zeros((1, n_points, self.n_classes))
        if n_points == 0:
            return aligned
        if hasattr(self.estimator, "predict_proba"):
            proba = np.asarray(self.estimator.predict_proba(seen))
            codes = np.asarray(getattr(self.estimator, "classes_", np.arange(len(self.columns)))).astype(np.intp)
            checked = validation.member_probabilities(proba, n_points, len(codes), self.numbers[0])
            if len(codes) == self.n_classes and np.array_equal(self.columns[codes], np.arange(self.n_classes)):
                return checked[None]
            aligned[0][:, self.columns[codes]] = checked
        else:
            votes = np.asarray(self.estimator.predict(seen)).astype(np.intp)
            aligned[0, np.arange(n_points), self.columns[votes]] = 1.0
        return aligned

    def members(self) -> list[Any]:
        """Return the estimator, in a list."""
        return [self.estimator]
