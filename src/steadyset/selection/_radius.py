"""How far probabilities may move before a set can turn disjoint from what it was (Lemma 3)."""

import math
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.selection import _arrays

if TYPE_CHECKING:
    from steadyset.selection._rule import Rule

INV_SQRT2 = math.sqrt(0.5)
OUTWARD_ULPS = 8  # sets are rounded outward by this many machine epsilons: any superset keeps compatibility


def stability_radius(proba: Any, rule: "Rule") -> Any:
    """Return how far each row may move, in Euclidean distance, before its set can turn disjoint.

    A vector closer to the row than this radius has a set that shares a label with the row's set.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities; for the argmax, the inflated argmax, the fixed margin and top-k any finite scores.
    rule : Rule
        With g the gap between the two largest scores: max(eps, eps/2 + g/sqrt(2)) for the inflated argmax and the fixed
        margin, g/sqrt(2) for the argmax. Other rules give what their theorem allows; a rule without one is an error.

    Returns
    -------
    float array of shape (...)
        Infinite where no vector has a disjoint set.

    Notes
    -----
    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.stability_radius([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]], ss.InflatedArgmax(0.2)).round(3)
    array([0.241, 0.701])
    """
    radius = getattr(rule, "stability_radius", None)
    if radius is None:
        raise TypeError(f"rule must be one of steadyset's rule objects; got {validation.shown(rule)}.")
    return radius(proba)


def leading_gap(proba: Any) -> Any:
    """Return w_[1] - w_[2] over the last axis in float64; infinite for a single label."""
    rows = descending_rows(proba)
    gap = np.full(rows.shape[:-1], math.inf) if rows.shape[-1] == 1 else rows[..., 0] - rows[..., 1]
    return array_like(proba, gap)


def inflated_radius(proba: Any, epsilon: float) -> Any:
    """Return rho(w) = max(eps, eps/2 + g/sqrt(2)).

    Where g >= h = eps/sqrt(2), the ball of radius (g - h)/sqrt(2) about w stays in R_j, so that every vector in it
    has {j}; a vector within eps of that ball's nearest point shares j. Elsewhere compatibility itself gives eps.
    """
    gap = leading_gap(proba)
    reach = epsilon / 2 + gap * INV_SQRT2
    return reach * (reach >= epsilon) + epsilon * (reach < epsilon) if np.isfinite(epsilon) else reach


def constant_radius(rule: "Rule", proba: Any) -> Any:
    """Return the rule's compatible epsilon for every row of probabilities; an error where it has none."""
    rows = descending_rows(proba, probabilities=True)
    epsilon = rule.compatible_epsilon(rows.shape[-1])
    if epsilon is None:
        raise ValueError(f"rule must be one that a theorem makes compatible for {rows.shape[-1]} labels; got {rule!r}.")
    return array_like(proba, np.full(rows.shape[:-1], epsilon))


def descending_rows(proba: Any, *, probabilities: bool = False) -> NDArray[np.float64]:
    """Return validated rows as float64, sorted in descending order, integers shifted by their maximum."""
    if _arrays.is_foreign(proba):
        w = _arrays.foreign_scores(proba, probabilities=probabilities).w
        values = np.asarray(w.cpu() if array_api_compat.is_torch_array(w) else w)
    else:
        scores, kind = validation.numpy_scores(proba)
        if kind == 3:
            scores = (scores.astype(np.uint32) << 16).view(np.float32)
        slack = validation.sum_slack(scores.dtype)
        values = scores.astype(np.float64)
        rows = values.reshape(-1, values.shape[-1])
        failure = validation.first_bad_row(rows, probabilities=probabilities, slack=slack)
        if failure is not None:
            validation.reject_row(failure[0], failure[1], values.shape, rows[failure[1]], slack)
    return -np.sort(-values.astype(np.float64), axis=-1)


def array_like(proba: Any, values: NDArray[np.float64]) -> Any:
    """Return `values` as an array of the library and on the device that `proba` came from."""
    if not _arrays.is_foreign(proba):
        return values
    xp = array_api_compat.array_namespace(proba)
    wide = _arrays._widest(xp, proba)
    return xp.asarray(values, dtype=wide, device=array_api_compat.device(proba))
