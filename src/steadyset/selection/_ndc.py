"""Nondeterministic classification: the set with the best expected F-measure."""

import math
from dataclasses import dataclass
from typing import Any, final

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._bisection import largest_that_holds
from steadyset.selection._kernels import RuleId
from steadyset.selection._rule import Rule


def ndc(proba: Any, beta: float = 1.0) -> Any:
    """Select the labels that maximise the expected F_beta of the set.

    The prefix of the descending order that maximises (1 + beta^2) S_k / (k + beta^2), S_k the sum of the k largest
    probabilities; it is the first k with S_k >= (k + beta^2) w_[k+1]. Where a row sums to less than 1 it may be longer:
    the mean of the set leads the next probability by beta^2 / (k (n_classes + beta^2)), as in a row that sums to 1.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities: none negative, each row summing to 1 within 1e-6 (float64), 1e-4 (float32) or 0.05 (16 bits).
    beta : float, default 1.0
        At least 0. The larger, the larger the sets; 0 gives all maximisers.

    Returns
    -------
    bool array of shape (..., n_classes)

    Notes
    -----
    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.ndc([[0.45, 0.35, 0.2], [0.8, 0.1, 0.1]])
    array([[ True,  True, False],
           [ True, False, False]])
    """
    beta = validation.beta(beta)
    if not _arrays.is_foreign(proba):
        return _kernels.select(proba, RuleId.NDC, beta)
    return _ndc_xp(_arrays.foreign_scores(proba, probabilities=True), beta)


def _ndc_xp(scores: _arrays.Scores, beta: float) -> Any:
    xp, w, q = scores.xp, scores.w, beta * beta

    def enough(following: Any) -> Any:
        """Return whether the labels above `following` are enough, if that is the next probability."""
        k, mass = _arrays.mass_above(scores, following)
        if q == 0:
            return (mass >= k * following) & (k > 0)
        # Compatibility rests on this lead, which is rounded outward.
        lead = mass - k * following >= q / (scores.n_labels + q) + (k + 8) * scores.ulp
        return (mass >= (k + q) * following) & lead

    return xp.astype(w > largest_that_holds(scores, enough), xp.bool)


@final
@dataclass(frozen=True)
class NDC(Rule):
    """The rule :func:`steadyset.ndc` as an object.

    Parameters
    ----------
    beta : float, default 1.0

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.NDC(beta=1.0)
    >>> rule([0.45, 0.35, 0.2])
    array([ True,  True, False])
    >>> round(rule.compatible_epsilon(2), 3)
    0.471
    """

    beta: float = 1.0

    _title, _kernel_id = "NDC F{beta:g}", RuleId.NDC

    def __post_init__(self) -> None:
        validation.beta(self.beta)

    def __call__(self, proba: Any) -> Any:
        return ndc(proba, self.beta)

    def compatible_epsilon(self, n_classes: int | None) -> float | None:
        """Return the smallest distance that is proved to separate two disjoint sets of this rule, on the simplex.

        With q = beta^2 and L labels, q/(L + q) sqrt(1/floor(L/2) + 1/ceil(L/2)). None for beta = 0, where the rule is
        the argmax.
        """
        q = float(self.beta) * float(self.beta)
        if n_classes is None or q == 0:
            return None
        n_labels = validation.label_count(n_classes)
        if n_labels == 1:
            return math.inf
        half = n_labels // 2
        share = q / (n_labels + q) if q < math.inf else 1.0
        return share * math.sqrt(1 / half + 1 / (n_labels - half)) * (1 - 2.0**-50)
