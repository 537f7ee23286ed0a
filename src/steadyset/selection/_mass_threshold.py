"""The smallest set of labels that holds a given mass."""

import math
from dataclasses import dataclass
from typing import Any, final

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._kernels import RuleId
from steadyset.selection._rule import Rule


def mass_threshold(proba: Any, tau: float) -> Any:
    """Select the most probable labels until their probabilities reach tau, with all ties of the last one.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities: none negative, each row summing to 1 within 1e-6 (float64), 1e-4 (float32) or 0.05 (16 bits).
    tau : float
        Above 0 and at most 1. A prefix that falls short of tau by a few units in the last place reaches it. Where the
        total stays below tau, all labels are selected.

    Returns
    -------
    bool array of shape (..., n_classes)

    Notes
    -----
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
    xp, w = scores.xp, _arrays.descending(scores, scores.w)
    slack = validation.tie_slack(proba.dtype) + scores.counts() * scores.ulp
    reached = xp.cumulative_sum(w, axis=-1) + slack >= tau
    last = xp.minimum(_arrays.first_true(scores, reached), xp.asarray(scores.n_labels - 1, dtype=xp.int32))
    return scores.w >= _arrays.at_index(scores, w, last)


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
        """Return 2 (2 tau - 1) / sqrt(n_classes) where tau > 1/2, on the simplex; else None.

        Disjoint sets of sizes a and b, each of mass at least tau under its own vector, lie at least
        (2 tau - 1) sqrt(1/a + 1/b) apart, and a + b is at most the number of labels.
        """
        if n_classes is None or self.tau <= 0.5:
            return None
        return 2 * (2 * float(self.tau) - 1) / math.sqrt(validation.label_count(n_classes))
