"""The smallest set of labels that holds a given mass."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._bisection import largest_that_holds
from steadyset.selection._kernels import RuleId
from steadyset.selection._rule import Rule


def mass_threshold(proba: Any, tau: float) -> Any:
    """Select the most probable labels until they hold tau and the others 1 - tau, with all ties of the last one.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities: none negative, each row summing to 1 within 1e-6 (float64), 1e-4 (float32) or 0.05 (16 bits).
    tau : float
        Above 0 and at most 1. The labels hold at least tau, and those left out at most 1 - tau: two conditions only
        where a row does not sum to 1 exactly. Where the total stays below tau, all labels are selected.

    Returns
    -------
    bool array of shape (..., n_classes)

    Notes
    -----
    The numbers are compared as they are stored, without rounding, so that a set is never too small. In binary 0.7 and
    0.1 hold a little less than 0.8: ask for a slightly smaller tau where such a sum has to count.

    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.mass_threshold([0.7, 0.1, 0.15, 0.05], tau=0.8)
    array([ True, False,  True, False])
    """
    tau = validation.tau(tau)
    if not _arrays.is_foreign(proba):
        return _kernels.select(proba, RuleId.MASS_THRESHOLD, tau)
    scores = _arrays.foreign_scores(proba, probabilities=True)
    return scores.w >= largest_that_holds(scores, _Mass.split(scores, tau).is_reached_from)


@dataclass(frozen=True)
class _Mass:
    """A row in two parts, so that sums are exact.

    Every number is split into a multiple of `coarse`, of which sums up to 2 are exact, and one of `fine`, of which
    n_labels sums up to `coarse` are. What is smaller still counts against the set.
    """

    scores: _arrays.Scores
    tau_high: float
    tau_low: int
    fine: float
    high: Any
    low: Any  # in multiples of `fine`

    @classmethod
    def split(cls, scores: _arrays.Scores, tau: float) -> "_Mass":
        coarse = 2 * scores.ulp
        fine = coarse * scores.ulp * 2.0 ** (scores.n_labels.bit_length() + 2)
        high = scores.xp.floor(scores.w / coarse) * coarse
        tau_high = math.floor(tau / coarse) * coarse
        return cls(scores, tau_high, math.ceil((tau - tau_high) / fine), fine, high, (scores.w - high) / fine)

    def is_reached_from(self, least: Any) -> Any:
        """Return whether the labels from `least` on hold tau and the others at most 1 - tau, without rounding."""
        xp, selected = self.scores.xp, self.scores.w >= least
        held = _arrays.total(self.scores, selected, self.high)
        held_low = _arrays.total(self.scores, selected, xp.floor(self.low))
        left = _arrays.total(self.scores, ~selected, self.high)
        left_low = _arrays.total(self.scores, ~selected, xp.ceil(self.low))
        enough = (held - self.tau_high) + (held_low - self.tau_low) * self.fine >= 0
        return enough & ((1 - self.tau_high - left) - (left_low + self.tau_low) * self.fine >= 0)


@final
@dataclass(frozen=True)
class MassThreshold(Rule):
    """The rule :func:`steadyset.mass_threshold` as an object.

    Parameters
    ----------
    tau : float, default 0.8

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.MassThreshold(tau=0.75)
    >>> rule([0.5, 0.3, 0.2])
    array([ True,  True, False])
    >>> rule.compatible_epsilon(4)
    0.5
    """

    tau: float = 0.8

    _title, _kernel_id = "mass threshold {tau:g}", RuleId.MASS_THRESHOLD

    def __post_init__(self) -> None:
        validation.tau(self.tau)

    def __call__(self, proba: Any) -> Any:
        return mass_threshold(proba, self.tau)

    def compatible_epsilon(self, n_classes: int | None) -> float | None:
        """Return (2 tau - 1) sqrt(1/floor(L/2) + 1/ceil(L/2)), L labels, where tau > 1/2, on the simplex; else None.

        Disjoint sets of sizes a and b, each of mass at least tau under its own vector, lie at least
        (2 tau - 1) sqrt(1/a + 1/b) apart, and a + b is at most the number of labels.
        """
        if n_classes is None or self.tau <= 0.5:
            return None
        n_labels, lead = validation.label_count(n_classes), 2 * float(self.tau) - 1
        if n_labels == 1:
            return math.inf
        square = Fraction(n_labels, (n_labels // 2) * (n_labels - n_labels // 2)) * Fraction(lead) ** 2
        epsilon = math.sqrt(square)
        while Fraction(epsilon) ** 2 > square:  # rounded down, or it would not hold
            epsilon = math.nextafter(epsilon, 0.0)
        return epsilon
