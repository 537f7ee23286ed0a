"""The inflated argmax, the paper's own rule."""

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._kernels import RuleId
from steadyset.selection._radius import INV_SQRT2, OUTWARD_ULPS
from steadyset.selection._rule import EpsilonRule, lead


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
    return _kernels.select(proba, RuleId.INFLATED_ARGMAX, epsilon)


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
    deviation = xp.where(active, v - mean, xp.zeros_like(v))
    variance = xp.sum(deviation * deviation, axis=-1, keepdims=True) / n_active
    rest = (n_active + 1) * (1 / n_active - variance)
    t = INV_SQRT2 + mean - xp.sqrt(xp.where(rest > 0, rest, xp.zeros_like(rest)))
    t = xp.where(t > -INV_SQRT2, t, xp.full_like(t, -INV_SQRT2))
    return (u > t - OUTWARD_ULPS * scores.ulp) | (gaps == 0)


@final
@dataclass(frozen=True)
class InflatedArgmax(EpsilonRule):
    """The rule :func:`steadyset.inflated_argmax` as an object.

    Parameters
    ----------
    epsilon : float, default 0.05
        At least 0.

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.InflatedArgmax(epsilon=0.1)
    >>> rule([0.50, 0.48, 0.02])
    array([ True,  True, False])
    >>> rule.compatible_epsilon(3)
    0.1
    """

    _title, _kernel_id = "inflated argmax", RuleId.INFLATED_ARGMAX

    def __call__(self, proba: Any) -> Any:
        return inflated_argmax(proba, self.epsilon)

    @property
    def path_epsilon(self) -> float:
        """The rule's own epsilon."""
        return float(self.epsilon)

    def stays_selected(
        self, sums: NDArray[np.float64], labels: NDArray[np.intp], c: float, n_bags: int
    ) -> NDArray[np.bool_]:
        """Return where the label is selected at every corner; between the two simple bounds, by trying them all."""
        n_classes, epsilon = sums.shape[1], float(self.epsilon)
        ahead = lead(sums, labels)
        if n_classes == 1:
            return np.ones(len(sums), np.bool_)
        # The inflated argmax lies between {w_j > M - kappa_L eps} and {w_j > M - h}.
        kappa = math.sqrt(n_classes / (n_classes - 1)) - INV_SQRT2
        stays: NDArray[np.bool_] = ahead > c - kappa * epsilon * n_bags
        shrunk = epsilon * (1 - 1e-9) - 1e-9  # selected there: selected at epsilon whatever the rounding
        between = np.flatnonzero(~stays & (ahead > c - self.lone_margin * n_bags))
        if shrunk > 0 and len(between):
            corners = sums[between, None, :] + c * np.eye(n_classes)
            selected = inflated_argmax(corners / n_bags, shrunk)
            stays[between] = selected[np.arange(len(between)), :, labels[between]].all(axis=1)
        return stays


def with_epsilon(rule: Any, epsilon: float) -> Any:
    """Return the rule at another epsilon; for a rule without one, the inflated argmax at that epsilon."""
    if is_dataclass(rule) and not isinstance(rule, type) and "epsilon" in {field.name for field in fields(rule)}:
        return replace(rule, epsilon=epsilon)
    return InflatedArgmax(epsilon)
