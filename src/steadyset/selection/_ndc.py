"""Nondeterministic classification: the set with the best expected F-measure."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._kernels import RuleId
from steadyset.selection._rule import Rule


def ndc(proba: Any, beta: float = 1.0) -> Any:
    """Select the labels that maximise the expected F_beta of the set.

    The prefix of the descending order that maximises (1 + beta^2) S_k / (k + beta^2), S_k the sum of the k largest
    probabilities; it is the first k with S_k >= (k + beta^2) w_[k+1].

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
    scores = _arrays.foreign_scores(proba, probabilities=True)
    xp, w = scores.xp, _arrays.descending(scores, scores.w)
    following = xp.concat([w[..., 1:], xp.zeros_like(w[..., :1])], axis=-1)  # w_[L+1] = 0
    enough = xp.cumulative_sum(w, axis=-1) >= (scores.counts() + beta * beta) * following
    return scores.w >= _arrays.at_index(scores, w, _arrays.first_true(scores, enough))


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
    0.354
    """

    beta: float = 1.0

    _title, _kernel_id = "NDC F{beta:g}", RuleId.NDC

    def __post_init__(self) -> None:
        validation.beta(self.beta)

    def __call__(self, proba: Any) -> Any:
        return ndc(proba, self.beta)

    def compatible_epsilon(self, n_classes: int | None) -> float | None:
        """Return the smallest distance that separates two disjoint sets of this rule, on the simplex.

        The minimum over disjoint sizes a + b <= L of (b2/L) (1/(a+b2) + 1/(b+b2)) / sqrt(1/a + 1/b), b2 = beta^2.
        None for beta = 0, where the rule is the argmax.
        """
        if n_classes is None or self.beta == 0:
            return None
        n_labels, b2 = validation.label_count(n_classes), float(self.beta) ** 2
        if n_labels == 1:
            return math.inf
        # For fixed a the bound rises and then falls in b, so that b = 1 or b = L - a attains it.
        a = np.concatenate([[1.0], np.arange(1, n_labels)])
        b = np.concatenate([[1.0], n_labels - np.arange(1, n_labels)])
        return float(np.min(b2 / n_labels * (1 / (a + b2) + 1 / (b + b2)) / np.sqrt(1 / a + 1 / b)))
