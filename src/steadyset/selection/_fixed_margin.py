"""The fixed margin: the simpler compatible rule."""

from dataclasses import dataclass
from typing import Any

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._radius import INV_SQRT2, OUTWARD_UNITS, inflated_radius
from steadyset.selection._rule import Rule


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
        bound = -INV_SQRT2 - OUTWARD_UNITS * scores.unit
        return (gaps / epsilon > bound) if epsilon < float("inf") else gaps <= 0
    return _kernels.select(proba, _kernels.RuleId.FIXED_MARGIN, epsilon)


@dataclass(frozen=True)
class FixedMargin(Rule):
    """The rule :func:`steadyset.fixed_margin` as an object.

    Parameters
    ----------
    epsilon : float, default 0.05
        At least 0.

    Notes
    -----
    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.FixedMargin(epsilon=0.1)([0.50, 0.45, 0.05])
    array([ True,  True, False])
    """

    epsilon: float = 0.05

    def __post_init__(self) -> None:
        validation.epsilon(self.epsilon)

    def __call__(self, proba: Any) -> Any:
        return fixed_margin(proba, self.epsilon)

    def compatible_epsilon(self, n_classes: int | None = None) -> float:
        """Return epsilon, for any number of labels and off the simplex too."""
        return float(self.epsilon)

    def stability_radius(self, proba: Any) -> Any:
        """Return the inflated argmax's radius: this rule's sets contain its sets."""
        return inflated_radius(proba, float(self.epsilon))
