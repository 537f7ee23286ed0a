"""The k labels with the largest scores."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._kernels import RuleId
from steadyset.selection._radius import array_like, descending_rows
from steadyset.selection._rule import Rule


def top_k(proba: Any, k: int) -> Any:
    """Select exactly k labels, those with the largest scores.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities or any finite scores.
    k : int
        From 1 to the number of labels. Ties go to the label with the lower index, so that the rule is not
        permutation invariant where they occur.

    Returns
    -------
    bool array of shape (..., n_classes)

    Notes
    -----
    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.top_k([[0.2, 0.5, 0.3], [0.4, 0.3, 0.3]], k=2)
    array([[False,  True,  True],
           [ True,  True, False]])
    """
    if _arrays.is_foreign(proba):
        return _top_k_xp(_arrays.foreign_scores(proba), k)
    return _kernels.select(proba, RuleId.TOP_K, k=k)


def _top_k_xp(scores: _arrays.Scores, k: int) -> Any:
    k = validation.top_k(k, scores.n_labels)
    last = _arrays.kth_largest(scores, k)
    ahead = scores.w > last
    return ahead | _arrays.first_of_ties(scores, scores.w == last, k - _arrays.count(scores, ahead))


@final
@dataclass(frozen=True)
class TopK(Rule):
    """The rule :func:`steadyset.top_k` as an object.

    Parameters
    ----------
    k : int, default 2

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.TopK(k=2)
    >>> rule([0.2, 0.5, 0.3])
    array([False,  True,  True])
    >>> rule.compatible_epsilon(3), rule.compatible_epsilon(4)
    (inf, None)
    """

    k: int = 2

    _title, _kernel_id = "top {k}", RuleId.TOP_K

    def __post_init__(self) -> None:
        validation.top_k(self.k)

    def __call__(self, proba: Any) -> Any:
        return top_k(proba, self.k)

    def compatible_epsilon(self, n_classes: int | None) -> float | None:
        """Return infinity where 2k > n_classes, as any two sets then share a label; else None."""
        if n_classes is None:
            return None
        n_labels = validation.label_count(n_classes)
        validation.top_k(self.k, n_labels)
        return math.inf if 2 * self.k > n_labels else None

    def stability_radius(self, proba: Any) -> Any:
        """Return sum_{i<=k} (w_[i] - w_[k+i]) / sqrt(2k): a disjoint top k has to make up this much mass."""
        rows = descending_rows(proba)
        k = validation.top_k(self.k, rows.shape[-1])
        if 2 * k > rows.shape[-1]:
            return array_like(proba, np.full(rows.shape[:-1], math.inf))
        lead = rows[..., :k].sum(axis=-1) - rows[..., k : 2 * k].sum(axis=-1)
        return array_like(proba, np.maximum(lead, 0.0) / math.sqrt(2 * k))

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return 0.0, 0.0, int(self.k)
