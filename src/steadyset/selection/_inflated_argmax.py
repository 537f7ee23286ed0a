"""The inflated argmax, the paper's own rule."""

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, final

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._fixed_margin import in_epsilons, margin_bound, within_margin
from steadyset.selection._kernels import RuleId
from steadyset.selection._newton import Row, inflated_bound
from steadyset.selection._radius import inflated_radius
from steadyset.selection._rule import EpsilonRule


def inflated_argmax(proba: Any, epsilon: float) -> Any:
    """Select every label that a move of less than epsilon could make the winner by a margin.

    Label j is in when the distance from `proba` to R_j, the vectors in which j leads by at least epsilon / sqrt(2),
    is below epsilon. Two vectors closer than epsilon always share a label (the paper's Theorem on compatibility),
    and no rule with that property that treats all labels alike returns a single label more often.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities or any finite scores. NumPy reads float64, float32, float16, bfloat16 and integers; torch, JAX
        and other array-API arrays come back as their own kind. Under tracing the values cannot be checked.
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
    rounded outward by 8 units in the last place, so that rounding can add a label but never remove the shared one. On
    other devices and under tracing float32 stays float32, and the boundary is rounded outward by what the sums there
    can be off: :doc:`/howto/serving`.

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
        return _inflated_argmax_xp(_arrays.foreign_scores(proba, own_width=True), epsilon)
    return _kernels.select(proba, RuleId.INFLATED_ARGMAX, epsilon)


def _inflated_argmax_xp(scores: _arrays.Scores, epsilon: float) -> Any:
    gaps = _arrays.shifted(scores)
    if not scores.is_jax or not 2.0**-100 < epsilon < 2.0**100:  # beyond it 1 / epsilon has fewer digits
        return inflated_xp(scores, gaps, gaps, epsilon)
    top = scores.xp.max(scores.w, axis=-1, keepdims=True)
    t = inflated_bound(scores, Row(scores.xp, scores.w, top, 1 / epsilon))
    return _over_bound(scores, in_epsilons(scores, gaps, epsilon), t)


def inflated_xp(scores: _arrays.Scores, gaps: Any, rest: Any, epsilon: float) -> Any:
    """Return which gaps to the largest score are selected; `rest` are the gaps over which the bound is taken."""
    if not scores.smallest <= epsilon < math.inf:
        return within_margin(scores, gaps, epsilon)
    u = in_epsilons(scores, gaps, epsilon)
    t = inflated_bound(scores, Row(scores.xp, u if rest is gaps else in_epsilons(scores, rest, epsilon)))
    return _over_bound(scores, u, t)


def _over_bound(scores: _arrays.Scores, u: Any, t: Any) -> Any:
    margin = margin_bound(scores)
    return _arrays.above(scores, u, scores.xp.where(t > margin, t, scores.xp.full_like(t, margin)))


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

    def stability_radius(self, proba: Any) -> Any:
        """Return Lemma 3's radius: max(eps, eps/2 + g/sqrt(2)) for a single label, g its lead; infinite for all."""
        return inflated_radius(proba, self, float(self.epsilon))


def chosen_rule(own: Any, epsilon: float | None, rule: Any) -> Any:
    """Return the rule to apply: a model's own, at another epsilon, or another rule; both at once is an error."""
    if epsilon is not None and rule is not None:
        raise ValueError(f"epsilon and rule must not both be given; got epsilon={epsilon!r} and rule={rule!r}.")
    chosen = own if rule is None else rule
    return chosen if epsilon is None else with_epsilon(chosen, epsilon)


def with_epsilon(rule: Any, epsilon: float) -> Any:
    """Return the rule at another epsilon; for a rule without one, the inflated argmax at that epsilon."""
    if hasattr(rule, "at_epsilon"):
        return rule.at_epsilon(epsilon)
    if is_dataclass(rule) and not isinstance(rule, type) and "epsilon" in {field.name for field in fields(rule)}:
        return replace(rule, epsilon=epsilon)
    return InflatedArgmax(epsilon)
