"""Arrays that are not NumPy's: torch, JAX, CuPy and whatever else speaks the array API.

One implementation serves them all, in the array's own namespace and on its own device. A library is used only when
the caller has already imported it.
"""

from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from steadyset._base import validation


def is_foreign(proba: Any) -> bool:
    """Return whether `proba` is an array of another library than NumPy."""
    return (
        type(proba) is not np.ndarray
        and array_api_compat.is_array_api_obj(proba)
        and not array_api_compat.is_numpy_array(proba)
    )


@dataclass(frozen=True)
class Scores:
    """Scores of another library, widened: `w` is float64 where the device has it, else float32."""

    xp: Any
    w: Any
    ulp: float  # machine epsilon of w

    @property
    def n_labels(self) -> int:
        return int(self.w.shape[-1])

    def counts(self) -> Any:
        """Return 1, 2, ..., n_labels in w's dtype."""
        return self.xp.arange(1, self.n_labels + 1, dtype=self.w.dtype, device=array_api_compat.device(self.w))


def foreign_scores(proba: Any, *, probabilities: bool = False) -> Scores:
    """Validate an array of another library and widen it before any shift.

    Under JAX tracing there are no values to look at yet, so that the checks on values are skipped.
    """
    if array_api_compat.is_lazy_array(proba) and not array_api_compat.is_jax_array(proba):
        raise TypeError(f"proba must be an array with its values in memory; got the lazy {type(proba).__name__}.")
    xp = array_api_compat.array_namespace(proba)
    if array_api_compat.is_torch_array(proba):
        proba = proba.detach()
    if proba.ndim == 0:
        raise ValueError(
            f"proba must have at least one axis, the labels; got the single value {validation.shown(proba)}."
        )
    if proba.shape[-1] == 0:
        raise ValueError(f"proba must have at least one label on its last axis; got shape {tuple(proba.shape)}.")
    if not xp.isdtype(proba.dtype, ("bool", "integral", "real floating")) and "bfloat16" not in str(proba.dtype):
        raise TypeError(f"proba must hold real, integer or bool numbers; got an array of dtype {proba.dtype}.")
    wide = _widest(xp, proba)
    slack = validation.sum_slack(proba.dtype)
    if xp.isdtype(proba.dtype, "integral") and not probabilities:
        w = _shifted_integers(xp, proba, wide)
    else:
        w = xp.astype(proba, wide)
    if not _is_traced(proba):
        _check_values(xp, w, probabilities, slack)
    return Scores(xp, w, float(xp.finfo(wide).eps))


def _widest(xp: Any, proba: Any) -> Any:
    if array_api_compat.is_jax_array(proba):
        import jax

        return xp.float64 if jax.config.values["jax_enable_x64"] else xp.float32
    if array_api_compat.is_torch_array(proba) and proba.device.type == "mps":
        return xp.float32
    return xp.float64


def _shifted_integers(xp: Any, proba: Any, wide: Any) -> Any:
    # Shifted while still exact; a difference past the integers' range wraps to a positive one and is as good as -inf.
    top = xp.max(proba, axis=-1, keepdims=True)
    if xp.isdtype(proba.dtype, "unsigned integer"):
        return -xp.astype(top - proba, wide)
    gap = xp.astype(proba, xp.int64) - xp.astype(top, xp.int64)
    return xp.where(
        gap > 0,
        xp.asarray(-(2.0**64), dtype=wide, device=array_api_compat.device(proba)),
        xp.astype(gap, wide),
    )


def _is_traced(proba: Any) -> bool:
    if not array_api_compat.is_jax_array(proba):
        return False
    import jax

    return isinstance(proba, jax.core.Tracer)


def _check_values(xp: Any, w: Any, probabilities: bool, slack: float) -> None:
    good = xp.all(xp.isfinite(w))
    if probabilities:
        good = good & xp.all(w >= 0) & xp.all(xp.abs(xp.sum(w, axis=-1) - 1) <= slack)
    if bool(good):
        return
    shape = tuple(w.shape)
    if array_api_compat.is_torch_array(w):
        w = w.cpu()
    values = np.asarray(w).reshape(-1, shape[-1])
    failure = validation.first_bad_row(values, probabilities=probabilities, slack=slack)
    if failure is not None:
        validation.reject_row(failure[0], failure[1], shape, values[failure[1]], slack)


def shifted(scores: Scores) -> Any:
    """Return w - max(w) over the labels; a difference past the floats' range is -inf."""
    return scores.w - scores.xp.max(scores.w, axis=-1, keepdims=True)


def descending(scores: Scores, values: Any) -> Any:
    """Return `values` sorted over the labels, largest first."""
    return scores.xp.sort(values, axis=-1, descending=True)


def ranks(scores: Scores) -> Any:
    """Return each label's place in the descending order, ties to the lower index."""
    order = scores.xp.argsort(scores.w, axis=-1, descending=True, stable=True)
    return scores.xp.argsort(order, axis=-1, stable=True)


def first_true(scores: Scores, condition: Any) -> Any:
    """Return the index of the first True over the labels, keeping the axis; n_labels where there is none."""
    xp = scores.xp
    met = xp.cumulative_sum(xp.astype(condition, xp.int32), axis=-1)
    return xp.sum(xp.astype(met == 0, xp.int32), axis=-1, keepdims=True)


def at_index(scores: Scores, values: Any, index: Any) -> Any:
    """Return values[index] over the labels, keeping the axis."""
    xp = scores.xp
    here = xp.astype(scores.counts(), xp.int32) - 1 == index
    return xp.sum(xp.where(here, values, xp.zeros_like(values)), axis=-1, keepdims=True)
