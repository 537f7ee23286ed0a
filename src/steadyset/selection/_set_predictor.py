"""What a classifier with probabilities and a rule answers: the set of each point, and a single label."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.selection._inflated_argmax import InflatedArgmax, chosen_rule


class SetPredictor(ABC):
    """A classifier with ``predict_proba`` and the parameters `rule` and `epsilon`."""

    classes_: NDArray[Any]
    rule: Any
    epsilon: float

    @abstractmethod
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities that the rule selects by, (n_points, n_classes)."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each point; no guarantee covers a single label.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[best])

    def predict_set(self, X: Any, epsilon: float | None = None, rule: Any = None) -> NDArray[np.bool_]:
        """Return the set of labels of each point.

        Parameters
        ----------
        X : as in `fit`
        epsilon : float, optional
            Another epsilon than the one given at first; nothing is fitted again.
        rule : rule object or callable, optional
            Another rule. Both at once is an error.

        Returns
        -------
        bool ndarray of shape (n_points, n_classes)
            Columns follow ``classes_``.
        """
        chosen = chosen_rule(self._rule(), epsilon, rule)
        return validation.rule_mask(chosen, self.predict_proba(X))

    @property
    def rule_(self) -> Any:
        """The rule in use: `rule`, or the inflated argmax at `epsilon`."""
        from sklearn.utils.validation import check_is_fitted  # the rules themselves do without scikit-learn

        check_is_fitted(self)
        return self._rule()

    def _rule(self) -> Any:
        return InflatedArgmax(self.epsilon) if self.rule is None else validation.rule(self.rule)
