"""Label sets beside the true labels."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation
from steadyset.metrics._estimate import Estimate, ratio
from steadyset.selection import argmax_set

FORMULAS = ("ratio", "paper")  # of the standard error of superfluous inflation


@dataclass(frozen=True)
class Points:
    """Checked label sets, the column of each true label, and weights."""

    sets: NDArray[np.bool_]
    columns: NDArray[np.intp]
    weights: NDArray[np.float64]

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether each set holds the true label."""
        return self.sets[np.arange(len(self.sets)), self.columns]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of labels in each set."""
        return np.asarray(np.count_nonzero(self.sets, axis=1))

    @property
    def correct_single(self) -> NDArray[np.bool_]:
        """Whether each set is the true label alone."""
        return self.covered & np.equal(self.sizes, 1)

    def utilities(self, utility: tuple[float, float]) -> NDArray[np.float64]:
        """Return u(l, S) = 1{l in S} (alpha/|S| - beta/|S|^2); no set may be empty."""
        alpha, beta = utility
        return np.where(self.covered, alpha / self.sizes - beta / self.sizes**2, 0.0)

    def superfluous(self, proba: Any, formula: str) -> Estimate:
        """Return the superfluous inflation, NaN where it is undefined."""
        top = np.asarray(argmax_set(proba))
        set_validation.same_shape(top, "proba", self.sets.shape, "sets")
        larger = self.sizes >= 2
        right_top = top[np.arange(len(top)), self.columns] & larger
        estimate = ratio(right_top.astype(float), (self.covered & larger).astype(float), self.weights)
        if formula == "ratio" or math.isnan(estimate):
            return estimate
        r, share = float(estimate), np.sum(self.weights**2) / np.sum(self.weights) ** 2  # 1/N for equal weights
        return Estimate(r, math.sqrt(r * (1 - r) * share) if r <= 1 else math.nan)


def points(y_true: Any, sets: Any, classes: Any, sample_weight: Any) -> Points:
    """Check label sets against true labels."""
    mask = set_validation.sample_sets(sets)
    columns = set_validation.label_columns(y_true, len(mask), mask.shape[1], classes)
    return Points(mask, columns, set_validation.sample_weights(sample_weight, len(mask)))
