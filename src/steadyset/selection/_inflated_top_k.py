"""The inflated top k: which labels may be among the k largest."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from steadyset._base import validation
from steadyset._base.inflation import INV_SQRT2
from steadyset.selection import _arrays, _kernels
from steadyset.selection._inflated_argmax import inflated_xp
from steadyset.selection._kernels import RuleId
from steadyset.selection._radius import array_like, descending_rows
from steadyset.selection._rule import Rule


def inflated_top_k(proba: Any, k: int, epsilon: float) -> Any:
    """Select at least k labels, so that the sets of vectors closer than epsilon have at least k labels in common.

    The k - 1 largest are in, and so is the inflated argmax of the others. With k = 1 it is the inflated argmax.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities or any finite scores.
    k : int
        From 1 to the number of labels.
    epsilon : float
        At least 0. 0 gives the k largest and all their ties; sets grow with epsilon.

    Returns
    -------
    bool array of shape (..., n_classes)

    See Also
    --------
    entry_epsilons : the epsilon at which each label enters.
    top_k : exactly k labels, of which close vectors may share none.

    Notes
    -----
    Theory: :doc:`/theory/choices`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.inflated_top_k([0.40, 0.25, 0.23, 0.08, 0.04], k=2, epsilon=0.1)
    array([ True,  True,  True, False, False])
    """
    epsilon = validation.epsilon(epsilon)
    if _arrays.is_foreign(proba):
        return _inflated_top_k_xp(_arrays.foreign_scores(proba, own_width=True), k, epsilon)
    return _kernels.select(proba, RuleId.INFLATED_TOP_K, epsilon, k=k)


def _inflated_top_k_xp(scores: _arrays.Scores, k: int, epsilon: float) -> Any:
    xp, w = scores.xp, scores.w
    last = _arrays.kth_largest(scores, validation.top_k(k, scores.n_labels))
    ahead = w > last
    gaps = xp.where(ahead, xp.zeros_like(w), w - last)
    # The bound is that of the others, without the k - 1 largest: infinitely far below, those add nothing to it.
    taken = ahead | _arrays.first_of_ties(scores, w == last, k - 1 - _arrays.count(scores, ahead))
    return inflated_xp(scores, gaps, xp.where(taken, xp.full_like(w, -math.inf), gaps), epsilon)


@final
@dataclass(frozen=True)
class InflatedTopK(Rule):
    """The rule :func:`steadyset.inflated_top_k` as an object.

    Two of its sets are in conflict where they have fewer than k labels in common: so audits count, and so guarantees
    are meant.

    Parameters
    ----------
    k : int, default 2
    epsilon : float, default 0.05
        At least 0.

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.InflatedTopK(k=2, epsilon=0.1)
    >>> rule([0.40, 0.25, 0.23, 0.08, 0.04])
    array([ True,  True,  True, False, False])
    >>> rule.compatible_epsilon(5), rule.n_common
    (0.1, 2)
    """

    k: int = 2
    epsilon: float = 0.05

    _title, _kernel_id = "inflated top {k}", RuleId.INFLATED_TOP_K

    def __post_init__(self) -> None:
        validation.top_k(self.k)
        validation.epsilon(self.epsilon)

    def __call__(self, proba: Any) -> Any:
        return inflated_top_k(proba, self.k, self.epsilon)

    def compatible_epsilon(self, n_classes: int | None = None) -> float:
        """Return epsilon: vectors closer than it have k labels in common, for any number of labels."""
        if n_classes is not None:
            validation.top_k(self.k, validation.label_count(n_classes))
        return float(self.epsilon)

    @property
    def n_common(self) -> int:
        """The k labels that two sets must have in common not to conflict."""
        return int(self.k)

    def stability_radius(self, proba: Any) -> Any:
        """Return max(eps, eps/2 + g/sqrt(2)), g the lead of the k-th largest over the next; infinite for all labels.

        Where g exceeds h = eps/sqrt(2), all vectors closer than (g - h)/sqrt(2) have the same k labels and no others,
        and vectors closer than epsilon to one of them share k.
        """
        rows = descending_rows(proba)
        k = validation.top_k(self.k, rows.shape[-1])
        if k == rows.shape[-1]:
            return array_like(proba, np.full(rows.shape[:-1], math.inf))
        with np.errstate(over="ignore"):
            lead = (rows[..., k - 1] - rows[..., k]) * (1 - 2.0**-50)
        radius = np.maximum(self.epsilon, self.epsilon / 2 + lead * INV_SQRT2)
        return array_like(proba, np.where(np.asarray(self(rows)).all(axis=-1), math.inf, radius))

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return float(self.epsilon), 0.0, int(self.k)
