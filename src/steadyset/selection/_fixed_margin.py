"""The fixed margin: the simpler compatible rule."""

import math
from dataclasses import dataclass
from typing import Any, final

from steadyset._base import validation
from steadyset._base.inflation import INV_SQRT2
from steadyset.selection import _arrays, _kernels
from steadyset.selection._kernels import RuleId
from steadyset.selection._radius import OUTWARD_ULPS, margin_radius
from steadyset.selection._rule import EpsilonRule


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
        scores = _arrays.foreign_scores(proba, own_width=True)
        return within_margin(scores, _arrays.shifted(scores), epsilon)
    return _kernels.select(proba, RuleId.FIXED_MARGIN, epsilon)


def within_margin(scores: _arrays.Scores, gaps: Any, epsilon: float) -> Any:
    """Return which gaps are within epsilon / sqrt(2), rounded outward."""
    if epsilon == 0:
        return gaps == 0
    if epsilon == math.inf:
        return gaps <= 0
    if epsilon < scores.smallest:  # then a gap that w can tell from 0 may be beyond the margin, or be none
        return gaps > -epsilon if scores.ulp < 1e-12 else gaps >= 0
    return _arrays.above(scores, in_epsilons(scores, gaps, epsilon), margin_bound(scores))


def margin_bound(scores: _arrays.Scores) -> float:
    """Return the margin in epsilons, rounded outward."""
    return -INV_SQRT2 - OUTWARD_ULPS * scores.ulp


def in_epsilons(scores: _arrays.Scores, gaps: Any, epsilon: float) -> Any:
    """Return gaps / epsilon, but no less than -2: what is farther than the margin is out."""
    u = gaps / epsilon
    return scores.xp.where(u < -2, scores.xp.full_like(u, -2.0), u)


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

    def stability_radius(self, proba: Any) -> Any:
        """Return the distance to the nearest vector with a disjoint set: exact."""
        return margin_radius(proba, self, self.lone_margin)

    def left_out_gap(self, n_classes: int | None) -> float:
        """Return 1/sqrt(2), for any number of labels: a label left out is epsilon / sqrt(2) below the largest."""
        return INV_SQRT2
