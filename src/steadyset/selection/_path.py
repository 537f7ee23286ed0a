"""The epsilon-path: where each label enters the inflated argmax."""

import math
from typing import Any

from steadyset._base import validation
from steadyset._base.inflation import INV_SQRT2
from steadyset.selection import _arrays, _kernels


def entry_epsilons(proba: Any, *, k: int = 1) -> Any:
    """Return, for each label, the epsilon beyond which the inflated argmax, or the inflated top k, selects it.

    Sets are nested in epsilon, so that one call answers every epsilon: for epsilon > 0, label j is selected exactly
    where ``entry_epsilons(proba)[..., j] < epsilon``.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities or any finite scores.
    k : int, default=1
        From 1 to the number of labels: entries into the inflated top k; 1 is the inflated argmax.

    Returns
    -------
    float array of shape (..., n_classes)
        float64 from NumPy, whatever the input's width, so that a comparison with epsilon is not rounded.
        0 for maximisers (the k largest and their ties), sqrt(2) times the gap for the runner-up.

    Notes
    -----
    With g_j the gap to the maximum and L labels,
    sqrt(2) g_j <= entry_j <= g_j / (sqrt(L/(L-1)) - 1/sqrt(2)).

    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> entries = ss.entry_epsilons([0.5, 0.4, 0.1])
    >>> entries.round(3)
    array([0.   , 0.141, 0.685])
    >>> entries < 0.2
    array([ True,  True, False])
    """
    if _arrays.is_foreign(proba):
        scores = _arrays.foreign_scores(proba)
        return _top_entries_xp(scores, validation.top_k(k, scores.n_labels))
    return _kernels.entry_epsilons(proba, k)


def _top_entries_xp(scores: _arrays.Scores, k: int) -> Any:
    if k == 1:
        return _entry_epsilons_xp(scores, scores.w)
    xp = scores.xp
    order = xp.argsort(scores.w, axis=-1, descending=True, stable=True)
    rest = xp.take_along_axis(scores.w, order[..., k - 1 :], axis=-1)  # the row without its k - 1 largest entries
    entries = xp.concat([xp.zeros_like(scores.w[..., : k - 1]), _entry_epsilons_xp(scores, rest)], axis=-1)
    return xp.take_along_axis(entries, xp.argsort(order, axis=-1, stable=True), axis=-1)


def _entry_epsilons_xp(scores: _arrays.Scores, values: Any) -> Any:
    xp = scores.xp
    # A quarter keeps the difference of two finite numbers finite.
    quarter = values * 0.25
    gaps = xp.max(quarter, axis=-1, keepdims=True) - quarter
    scale = xp.max(gaps, axis=-1, keepdims=True)
    scale = xp.where(scale > 0, scale, xp.ones_like(scale))
    w = -gaps / scale
    order = xp.argsort(w, axis=-1, descending=True, stable=True)
    v = xp.take_along_axis(w, order, axis=-1)

    # Mean and sum of squared deviations of the k largest, for every k, by sums of nonnegative terms only.
    k = scores.counts()[: values.shape[-1]]
    mean = _arrays.cumulative(scores, v) / k
    before = xp.concat([xp.zeros_like(mean[..., :1]), mean[..., :-1]], axis=-1)
    squares = _arrays.cumulative(scores, (v - before) * (v - mean))

    # t(v_k), the bound at c = v_k: as many entries lie above label j's c as have t(v_k) > w_j.
    s = k * (mean - v)
    x = mean - v
    t = v + INV_SQRT2 * xp.sqrt(s * s + squares + k * x * x) - s
    above = _counts_above(scores, t, v)
    above = xp.where(above < 1, xp.ones_like(above), above)
    n = xp.astype(above, v.dtype)
    d = xp.take_along_axis(mean, above - 1, axis=-1) - v
    r = xp.sqrt((n + 1) * (n * d * d + (n + 2) * xp.take_along_axis(squares, above - 1, axis=-1) / 2) / 2)
    entries = xp.where(v < 0, math.sqrt(2) * (n * d + 2 * r) / (n + 2), xp.zeros_like(v))
    entries = xp.where(k == 2, -math.sqrt(2) * v, entries)  # the runner-up, exactly
    back = xp.argsort(order, axis=-1, stable=True)
    return xp.take_along_axis(entries, back, axis=-1) * scale * 4


def _counts_above(scores: _arrays.Scores, t: Any, v: Any) -> Any:
    """Return, for each v_j, how many t_k exceed it; both are sorted in descending order."""
    xp, n_labels = scores.xp, v.shape[-1]
    order = xp.argsort(xp.concat([v, t], axis=-1), axis=-1, descending=True, stable=True)  # v before an equal t
    met = _arrays.cumulative(scores, xp.astype(order >= n_labels, order.dtype))
    places = xp.argsort(order, axis=-1, stable=True)[..., :n_labels]
    return xp.take_along_axis(met, places, axis=-1)
