"""What a fitted ensemble says of its own training rows, from the bags that do not hold them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from steadyset._base import validation
from steadyset.bags import Bags
from steadyset.ensemble import _fit_inputs


class OutOfBag:
    """The out-of-bag methods of StableClassifier."""

    bags_: Bags
    classes_: NDArray[Any]
    _bag_probabilities: Any
    _rule: Any

    def oob_proba(self, X: Any) -> NDArray[np.float64]:
        """Return for each training row the mean over the bags that do not hold it.

        Parameters
        ----------
        X : as in `fit`
            The training rows, in the order of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            NaN for a row that every bag holds.
        """
        n = self._n_rows(X)
        total, count = np.zeros((n, len(self.classes_))), np.zeros(n)
        for number, proba in self._bag_probabilities(X):
            free = np.ones(n, bool)
            free[self.bags_[number]] = False
            total[free] += proba[free]
            count += free
        with np.errstate(invalid="ignore"):
            return np.asarray(total / count[:, None])

    def oob_set(self, X: Any) -> NDArray[np.bool_]:
        """Return the label set of each training row from the bags that do not hold it.

        Parameters
        ----------
        X : as in `fit`
            The training rows, in the order of the fit. It is an error when every bag holds one of them.

        Returns
        -------
        bool ndarray of shape (n_samples, n_classes)
        """
        proba = self.oob_proba(X)
        if np.isnan(proba).any():
            row = int(np.flatnonzero(np.isnan(proba).any(axis=1))[0])
            raise ValueError(f"every training row must be missing from some bag; got row {row} in all of them.")
        return validation.rule_mask(self._rule(), proba)

    def oob_score(self, X: Any, y: Any) -> float:
        """Return the accuracy of the most probable label from the bags that do not hold the row.

        Parameters
        ----------
        X, y : as in `fit`
            The training rows and labels, in the order of the fit.

        Returns
        -------
        float
            Over the rows that some bag does not hold.
        """
        proba = self.oob_proba(X)
        known = ~np.isnan(proba).any(axis=1)
        predicted = self.classes_[np.argmax(proba[known], axis=1)]
        return float(np.mean(predicted == np.asarray(y)[known]))

    def _n_rows(self, X: Any) -> int:
        check_is_fitted(self)
        rows = _fit_inputs.as_rows(X)
        if rows.shape[0] != self.bags_.n_samples:
            raise ValueError(
                f"X must be the {self.bags_.n_samples} training rows in the order of the fit; got {rows.shape[0]} rows."
            )
        return self.bags_.n_samples
