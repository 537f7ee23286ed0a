"""The fixed margin: the simpler compatible rule."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._kernels import RuleId
from steadyset.selection._radius import INV_SQRT2, OUTWARD_ULPS
from steadyset.selection._rule import EpsilonRule, lead


def fixed_margin(proba: Any, epsilon: float) -> Any:
    """Select every label whose score is within epsilon / sqrt(2) of the largest.

    Always a superset of the inflated argmax, equal to it for two labels, and compatible at the same epsilon.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities or any finite scores.
    epsilon : float
        At least 0. 0 gives all maximisers.

    Returns
    -------
    bool array of shape (..., n_classes)

    Notes
    -----
    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.fixed_margin([0.50, 0.45, 0.05], epsilon=0.1)
    array([ True,  True, False])
    """
    epsilon = validation.epsilon(epsilon)
    if _arrays.is_foreign(proba):
        scores = _arrays.foreign_scores(proba)
        gaps = _arrays.shifted(scores)
        if epsilon == 0:
            return gaps == 0
        bound = -INV_SQRT2 - OUTWARD_ULPS * scores.ulp
        return (gaps / epsilon > bound) if epsilon < float("inf") else gaps <= 0
    return _kernels.select(proba, RuleId.FIXED_MARGIN, epsilon)


@final
@dataclass(frozen=True)
class FixedMargin(EpsilonRule):
    """The rule :func:`steadyset.fixed_margin` as an object.

    Parameters
    ----------
    epsilon : float, default 0.05
        At least 0.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.FixedMargin(epsilon=0.1)([0.50, 0.45, 0.05])
    array([ True,  True, False])
    """

    _title, _kernel_id = "fixed margin", RuleId.FIXED_MARGIN

    def __call__(self, proba: Any) -> Any:
        return fixed_margin(proba, self.epsilon)

    def stays_selected(
        self, sums: NDArray[np.float64], labels: NDArray[np.intp], c: float, n_bags: int
    ) -> NDArray[np.bool_]:
        """Return where all c votes for one other label cannot put the label outside the margin."""
        return np.asarray(lead(sums, labels) > c - self.lone_margin * n_bags)
