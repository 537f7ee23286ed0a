"""What a trained ensemble is made of: groups of bags that were trained together, and members, groups of one.

A learner that trains many bags at once has a method ``fit_bags(X, y, bags, seeds, *, classes, n_jobs, progress)`` that
yields groups; `y` holds labels of `classes`, the label space. Where `bags` are some of the bags only, it has
``bag_numbers``, by which messages name a bag. A group knows the ``numbers`` of its bags (places in `bags`), gives
``predict_proba(X)`` of shape (group, points, classes), its ``members()``, and writes itself with ``save(folder)``. For
refits that train only some bags of a group it has ``gathered(runs)``, a group of neighbours in several groups, each run
given by its group, its first place there and its end, and where it has learned something of the whole table,
``reads(X)``: whether a fit to that table would have learned the same. An ordinary estimator is a group of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from steadyset._base import validation
from steadyset._base.sklearn_doors import num_samples, take
from steadyset.ensemble._labels import places_of


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

    `columns` are those of its labels in the label space; its labels are `labels`, or else its ``classes_``.
    """

    estimator: Any
    columns: NDArray[np.intp]
    n_classes: int
    numbers: tuple[int, ...]
    features: NDArray[np.intp] | None = None
    labels: NDArray[Any] | None = None

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return (1, points, classes); a class that the bag did not hold has probability 0."""
        seen = X if self.features is None else take(X, self.features, axis=1)
        n_points = num_samples(X)
        aligned = np.zeros((1, n_points, self.n_classes))
        if n_points == 0:
            return aligned
        if hasattr(self.estimator, "predict_proba"):
            proba = np.asarray(self.estimator.predict_proba(seen))[None]
            shape = (1, n_points, len(self.columns))
            checked = validation.member_probabilities(proba, shape, self.numbers).astype(np.float64, copy=False)
            if np.array_equal(self.columns, np.arange(self.n_classes)):
                return checked
            aligned[:, :, self.columns] = checked
        else:
            aligned[0, np.arange(n_points), self._votes(seen, n_points)] = 1.0
        return aligned

    def _votes(self, X: Any, n_points: int) -> NDArray[np.intp]:
        """Return the column of the label that the estimator predicts at each point."""
        votes = np.asarray(self.estimator.predict(X))
        labels = np.asarray(self.estimator.classes_ if self.labels is None else self.labels)
        places = places_of(votes, labels) if votes.shape == (n_points,) else None
        if places is None:
            allowed, came = validation.shown(labels.tolist()), validation.shown(votes.tolist())
            raise ValueError(
                f"predict of bag {self.numbers[0]} must return one label per point, among {allowed}; got {came}."
            )
        return self.columns[places]

    def members(self) -> list[Any]:
        """Return the estimator, in a list."""
        return [self.estimator]


def probabilities(group: Group, X: Any) -> NDArray[Any]:
    """Return a group's probabilities at X, checked to be probability vectors."""
    proba = np.asarray(group.predict_proba(X))
    if isinstance(group, Member):  # which has checked them
        return proba
    shape = (len(group.numbers), num_samples(X), proba.shape[-1])
    return validation.member_probabilities(proba, shape, group.numbers)


def feature_importances(groups: Sequence[Any], n_features: int) -> NDArray[np.float64]:
    """Return the mean over the bags of their learners' importances; a bag of one class has none."""
    total, n_bags = np.zeros(n_features), 0
    for group in groups:
        n_bags += len(group.numbers)
        if hasattr(group, "feature_importances_"):  # of a group that knows the mean over its own bags
            total += len(group.numbers) * np.asarray(group.feature_importances_)
            continue
        for member in group.members():
            if isinstance(member, DummyClassifier):
                continue
            if not hasattr(member, "feature_importances_"):
                raise AttributeError(f"{type(member).__name__} has no feature_importances_, and so has its ensemble.")
            places = getattr(group, "features", None)
            total[slice(None) if places is None else places] += member.feature_importances_
    return np.asarray(total / n_bags)
