"""How far probabilities may move before a set can turn disjoint from what it was (Lemma 3)."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.inflation import INV_SQRT2
from steadyset.selection import _arrays

if TYPE_CHECKING:
    from steadyset.selection._rule import Rule

OUTWARD_ULPS = 8  # sets are rounded outward by this many machine epsilons: any superset keeps compatibility


def stability_radius(proba: Any, rule: "Rule") -> Any:
    """Return how far each row may move, in Euclidean distance, before its set can turn disjoint.

    A vector closer to the row than this radius has a set that shares a label with the row's set.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities; for the argmax, the inflated argmax, the fixed margin and top-k any finite scores.
    rule : Rule
        For the argmax and the fixed margin the radius is exact: some vector at this distance is on the verge of a
        disjoint set. For the inflated argmax it is exact where the set is a single label, and a lower bound where it
        has several. Other rules give what their theorem allows; a rule without one is an error.

    Returns
    -------
    float array of shape (...)
        Infinite where no vector has a disjoint set: where the set holds all labels.

    Notes
    -----
    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.stability_radius([[0.5, 0.3, 0.2], [0.48, 0.42, 0.1]], ss.InflatedArgmax(0.2)).round(3)
    array([0.241, 0.401])
    """
    radius = getattr(rule, "stability_radius", None)
    if radius is None or isinstance(rule, type):
        raise TypeError(f"rule must be one of steadyset's rule objects; got {validation.shown(rule)}.")
    return radius(proba)


def margin_radius(proba: Any, rule: "Rule", margin: float) -> Any:
    """Return the distance to the nearest vector in which a label outside the set leads all labels of it by `margin`.

    With d_j = w_[1] - w_j, and d_k that of the best label outside, entries of the set above a level x below the maximum
    come down to it and k comes up to a margin above it: x is the root of x + sum_A (x - d_j)_+ = margin + d_k, which
    is the least of those that count the a smallest d_j alone.
    """
    tops = _tops(proba, rule)
    reach = margin + tops.outside
    with np.errstate(invalid="ignore", divide="ignore"):  # full sets, and gaps that overflow
        d = tops.inside / reach[..., None]
        x = np.where(tops.selected, (1 + np.cumsum(d, axis=-1)) / (1 + tops.counts), math.inf).min(axis=-1)
        down = np.where(tops.selected, np.maximum(x[..., None] - d, 0.0), 0.0)
        radius = reach * np.sqrt(down.sum(axis=-1) ** 2 + (down * down).sum(axis=-1))
    return array_like(proba, tops.rounded_down(radius))


def inflated_radius(proba: Any, rule: "Rule", epsilon: float) -> Any:
    """Return max(eps, max over a of min over s of R(a, s)), which no vector with a disjoint set is closer than.

    R(a, s) = (M_a - w_k + eps (sqrt(1 + s^2) - 1/sqrt(2))) / sqrt(1/a + s^2), M_a the mean of the a largest scores of
    the set A, w_k the largest outside, s between 1/sqrt(number outside) and 1.
    """
    tops, h = _tops(proba, rule), epsilon * INV_SQRT2
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # full sets, and gaps that overflow
        # C = M_a - w_k - h. R falls in s where C >= 0; else it falls up to 1 + s^2 = (eps (1 - 1/a) / C)^2.
        lead = tops.outside[..., None] - np.cumsum(tops.inside, axis=-1) / tops.counts - h
        turn = (epsilon * (1 - 1 / tops.counts) / lead) ** 2 - 1
        s2 = np.where(lead >= 0, 1.0, np.clip(turn, 1 / tops.n_outside[..., None], 1.0))
        radii = (lead + epsilon * np.sqrt(1 + s2)) / np.sqrt(1 / tops.counts + s2)
        radius = np.where(tops.selected, radii, -math.inf).max(axis=-1)
    return array_like(proba, np.maximum(epsilon, tops.rounded_down(radius)))


@dataclass(frozen=True)
class _Tops:
    """Rows of scores in descending order as gaps below the largest: those of the set, and the first one outside."""

    inside: NDArray[np.float64]  # 0 outside the set
    selected: NDArray[np.bool_]
    outside: NDArray[np.float64]
    n_outside: NDArray[np.intp]

    @property
    def counts(self) -> NDArray[np.intp]:
        return np.arange(1, self.selected.shape[-1] + 1)

    def rounded_down(self, radius: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return radii less than the rounding of the sums may add to them; infinite for full sets and wide gaps."""
        safe = radius * (1 - (self.selected.shape[-1] + 16) * 2.0**-51)
        return np.where((self.n_outside == 0) | (self.outside == math.inf), math.inf, safe)


def _tops(proba: Any, rule: "Rule") -> _Tops:
    rows = descending_rows(proba)
    sizes = np.asarray(rule(rows)).sum(axis=-1)
    with np.errstate(over="ignore"):
        gaps = rows[..., :1] - rows
    selected = np.arange(rows.shape[-1]) < sizes[..., None]
    following = np.minimum(sizes, rows.shape[-1] - 1)[..., None]
    outside = np.take_along_axis(gaps, following, axis=-1)[..., 0]
    return _Tops(np.where(selected, gaps, 0.0), selected, outside, np.asarray(rows.shape[-1] - sizes))


def constant_radius(rule: "Rule", proba: Any) -> Any:
    """Return the rule's compatible epsilon for every row of probabilities; an error where it has none.

    Infinite where the set holds all labels: a compatible rule has no empty set that would be disjoint from it.
    """
    rows = descending_rows(proba, probabilities=True)
    epsilon = rule.compatible_epsilon(rows.shape[-1])
    if epsilon is None:
        raise ValueError(f"rule must be one that a theorem makes compatible for {rows.shape[-1]} labels; got {rule!r}.")
    full = _arrays.as_numpy(rule(proba)).all(axis=-1)
    return array_like(proba, np.where(full, math.inf, epsilon))


def descending_rows(proba: Any, *, probabilities: bool = False) -> NDArray[np.float64]:
    """Return validated rows as float64, sorted in descending order, integers shifted by their maximum."""
    if _arrays.is_of_other_library(proba):
        values = _arrays.as_numpy(_arrays.foreign_scores(proba, probabilities=probabilities).w)
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
    if not _arrays.is_of_other_library(proba):
        return values
    xp = array_api_compat.array_namespace(proba)
    wide = _arrays._widest(xp, proba)
    return xp.asarray(values, dtype=wide, device=array_api_compat.device(proba))
