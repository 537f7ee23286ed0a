"""The inflated argmax, the paper's own rule."""

import math
from dataclasses import dataclass
from typing import Any

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._radius import INV_SQRT2, OUTWARD_UNITS, inflated_radius
from steadyset.selection._rule import Rule


def inflated_argmax(proba: Any, epsilon: float) -> Any:
    """Select every label that a move of less than epsilon could make the winner by a margin.

    Label j is in when the distance from `proba` to R_j, the vectors in which j leads by at least epsilon / sqrt(2),
    is below epsilon. Two vectors closer than epsilon always share a label (the paper's Theorem on compatibility),
    and no rule with that property that treats all labels alike returns a single label more often.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities or any finite scores. NumPy reads float64, float32, float16, bfloat16 and integers; torch, JAX
        and other array-API arrays come back as their own kind. Under JAX tracing the values cannot be checked.
    epsilon : float
        At least 0. 0 gives all maximisers; sets grow with epsilon.

    Returns
    -------
    bool array of shape (..., n_classes)

    See Also
    --------
    entry_epsilons : the epsilon at which each label enters.
    fixed_margin : a simpler rule with the same property and larger sets.

    Notes
    -----
    Scores are shifted by their maximum and scaled by epsilon in float64 before anything is summed, and the boundary is
    rounded outward by 8 units in the last place, so that rounding can add a label but never remove the shared one.

    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.inflated_argmax([[0.50, 0.48, 0.02], [0.90, 0.05, 0.05]], epsilon=0.1)
    array([[ True,  True, False],
           [ True, False, False]])
    """
    epsilon = validation.epsilon(epsilon)
    if _arrays.is_foreign(proba):
        return _inflated_argmax_xp(_arrays.foreign_scores(proba), epsilon)
    return _kernels.select(proba, _kernels.RuleId.INFLATED_ARGMAX, epsilon)


def _inflated_argmax_xp(scores: _arrays.Scores, epsilon: float) -> Any:
    xp, gaps = scores.xp, _arrays.shifted(scores)
    if epsilon == 0:
        return gaps == 0
    if epsilon == math.inf:
        return gaps <= 0
    u = gaps / epsilon
    v = _arrays.descending(scores, xp.where(u > -1, u, -xp.ones_like(u)))  # entries at -1 have f_k >= 2 and never count
    k = scores.counts()
    # f_k = (sum_{l<=k} (v_l - v_k))^2 + sum_{l<=k} (v_l - v_k)^2 grows with k, from the steps between neighbours.
    s1 = xp.cumulative_sum(v, axis=-1) - k * v
    s2 = xp.cumulative_sum(v * v, axis=-1) - 2 * v * xp.cumulative_sum(v, axis=-1) + k * v * v
    active = (s1 * s1 + s2 <= 1) | (k == 1)
    n_active = xp.sum(xp.astype(active, v.dtype), axis=-1, keepdims=True)
    mean = xp.sum(xp.where(active, v, xp.zeros_like(v)), axis=-1, keepdims=True) / n_active
    spread = xp.where(active, v - mean, xp.zeros_like(v))
    variance = xp.sum(spread * spread, axis=-1, keepdims=True) / n_active
    rest = (n_active + 1) * (1 / n_active - variance)
    t = INV_SQRT2 + mean - xp.sqrt(xp.where(rest > 0, rest, xp.zeros_like(rest)))
    t = xp.where(t > -INV_SQRT2, t, xp.full_like(t, -INV_SQRT2))
    return (u > t - OUTWARD_UNITS * scores.unit) | (gaps == 0)


@dataclass(frozen=True)
class InflatedArgmax(Rule):
    """The rule :func:`steadyset.inflated_argmax` as an object.

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
    >>> rule = ss.InflatedArgmax(epsilon=0.1)
    >>> rule([0.50, 0.48, 0.02])
    array([ True,  True, False])
    >>> rule.compatible_epsilon(3)
    0.1
    """

    epsilon: float = 0.05

    def __post_init__(self) -> None:
        validation.epsilon(self.epsilon)

    def __call__(self, proba: Any) -> Any:
        return inflated_argmax(proba, self.epsilon)

    def compatible_epsilon(self, n_classes: int | None = None) -> float:
        """Return epsilon, for any number of labels and off the simplex too."""
        return float(self.epsilon)

    def stability_radius(self, proba: Any) -> Any:
        """Return max(eps, eps/2 + g/sqrt(2)), g the gap between the two largest scores."""
        return inflated_radius(proba, float(self.epsilon))


def with_epsilon(rule: Any, epsilon: float) -> Rule:
    """Return the rule at another epsilon; for a rule without one, the inflated argmax at that epsilon."""
    if isinstance(rule, Rule) and hasattr(rule, "epsilon"):
        return type(rule)(epsilon)  # type: ignore[call-arg]
    return InflatedArgmax(epsilon)
