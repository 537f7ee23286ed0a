"""Arrays that are not NumPy's: torch, JAX, CuPy and whatever else speaks the array API.

One implementation serves them all, in the array's own namespace and on its own device. A library is used only when
the caller has already imported it.
"""

import sys
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.selection import _host


def is_foreign(proba: Any) -> bool:
    """Return whether `proba` is an array that the native kernels cannot read: on a device, traced, of another kind."""
    return is_of_other_library(proba) and _host.host_view(proba) is None


def is_of_other_library(proba: Any) -> bool:
    """Return whether `proba` is an array of another library than NumPy, wherever it lies."""
    if type(proba) is np.ndarray:
        return False
    if _host.is_torch(proba):  # first: torch.compile warns of what array_api_compat would ask
        return True
    return bool(array_api_compat.is_array_api_obj(proba) and not array_api_compat.is_numpy_array(proba))


@dataclass(frozen=True)
class Scores:
    """Scores of another library, widened: `w` is float64 where the device has it, else float32."""

    xp: Any
    w: Any
    ulp: float  # machine epsilon of w
    digits: int  # binary ones that a number of the given array has
    smallest: float  # the smallest number that the given array tells from 0, or w where that is narrower
    is_jax: bool

    @property
    def n_labels(self) -> int:
        return int(self.w.shape[-1])

    def counts(self) -> Any:
        """Return 1, 2, ..., n_labels in w's dtype."""
        return self.xp.arange(1, self.n_labels + 1, dtype=self.w.dtype, device=_device(self.w))

    def constants(self, values: list[float]) -> Any:
        """Return numbers as an array in w's dtype, where w lies."""
        return self.xp.asarray(values, dtype=self.w.dtype, device=_device(self.w))


# Digits and smallest exponent of the floats; integers are probabilities only as 0 and 1.
_FORMATS = {"float64": (53, -1022), "float32": (24, -149), "float16": (11, -24), "bfloat16": (8, -133)}


def foreign_scores(proba: Any, *, probabilities: bool = False, own_width: bool = False) -> Scores:
    """Validate an array of another library and widen it before any shift.

    With `own_width` float32 stays float32, and what is narrower is widened to it: as the device computes best. Under
    tracing there are no values to look at yet, so that the checks on values are skipped.
    """
    xp = namespace(proba)
    if _host.is_torch(proba):
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
    if own_width and _float_name(proba) in ("float32", "float16", "bfloat16"):
        wide = xp.float32
    slack = validation.sum_slack(proba.dtype)
    if xp.isdtype(proba.dtype, "integral") and not probabilities:
        w = _shifted_integers(xp, proba, wide)
    else:
        w = xp.astype(proba, wide)
    if not _is_traced(proba):
        _check_values(xp, w, probabilities, slack)
    digits, exponent = _FORMATS.get(_float_name(proba), (53, -1022))
    if wide == xp.float32:
        digits, exponent = min(digits, 24), max(exponent, -126)
    return Scores(xp, w, 2.0 ** (-23 if wide == xp.float32 else -52), digits, 2.0**exponent, _host.is_jax(proba))


def namespace(proba: Any) -> Any:
    """Return the functions of an array's library, by the names of the array API."""
    if _host.is_torch(proba):
        import array_api_compat.torch as torch_namespace

        return torch_namespace
    if array_api_compat.is_lazy_array(proba) and not _host.is_jax(proba):
        raise TypeError(f"proba must be an array with its values in memory; got the lazy {type(proba).__name__}.")
    return array_api_compat.array_namespace(proba)


def _float_name(proba: Any) -> str:
    return str(proba.dtype).rsplit(".", 1)[-1]  # "torch.float32" and "float32" alike


def _device(array: Any) -> Any:
    return array.device if _host.is_torch(array) else array_api_compat.device(array)


def _widest(xp: Any, proba: Any) -> Any:
    if _host.is_jax(proba):
        return xp.float64 if sys.modules["jax"].config.values["jax_enable_x64"] else xp.float32
    if _host.is_torch(proba) and proba.device.type == "mps":
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
        xp.asarray(-(2.0**64), dtype=wide, device=_device(proba)),
        xp.astype(gap, wide),
    )


def _is_traced(proba: Any) -> bool:
    if _host.is_torch(proba):
        return _host.is_traced_by_torch(sys.modules["torch"]) or proba.device.type == "meta"
    return _host.is_jax(proba) and isinstance(proba, sys.modules["jax"].core.Tracer)


def _check_values(xp: Any, w: Any, probabilities: bool, slack: float) -> None:
    good = xp.all(xp.isfinite(w))
    if probabilities:
        good = good & xp.all(w >= 0) & xp.all(xp.abs(xp.sum(w, axis=-1) - 1) <= slack)
    try:
        if bool(good):
            return
    except RuntimeError:  # under torch's vmap, where a value cannot be asked for
        return
    shape = tuple(w.shape)
    values = as_numpy(w).reshape(-1, shape[-1])
    failure = validation.first_bad_row(values, probabilities=probabilities, slack=slack)
    if failure is not None:
        validation.reject_row(failure[0], failure[1], shape, values[failure[1]], slack)


def as_numpy(array: Any) -> NDArray[Any]:
    """Return an array of any library as NumPy's, from whatever device it is on."""
    return np.asarray(array.cpu() if _host.is_torch(array) else array)


def shifted(scores: Scores) -> Any:
    """Return w - max(w) over the labels; a difference past the floats' range is -inf."""
    return scores.w - scores.xp.max(scores.w, axis=-1, keepdims=True)


def descending(scores: Scores, values: Any) -> Any:
    """Return `values` sorted over the labels, largest first."""
    return scores.xp.sort(values, axis=-1, descending=True)


def above(scores: Scores, values: Any, bound: Any) -> Any:
    """Return values > bound, over the labels."""
    if not _is_compiled_by_torch(values):
        return values > bound
    # The compiler of torch 2.13 stores a vector of bools one by one, sixteen times slower than bytes.
    torch = sys.modules["torch"]
    return stored(torch.where(values > bound, 1.0, 0.0).to(torch.uint8)).view(torch.bool)


def stored(values: Any) -> Any:
    """Return `values` as an array that torch's compiler writes to memory.

    What it need not write it computes anew wherever it is read: a number per row at every label of the next pass. Only
    a view with strides of its own makes it write.
    """
    return values.as_strided(values.shape, values.stride()) if _is_compiled_by_torch(values) else values


def _is_compiled_by_torch(values: Any) -> bool:
    return _host.is_torch(values) and sys.modules["torch"].compiler.is_compiling()


def kth_largest(scores: Scores, k: int) -> Any:
    """Return the k-th largest score, keeping the axis: by the library's own top k where it has one."""
    xp, w = scores.xp, scores.w
    if scores.is_jax:
        return sys.modules["jax"].lax.top_k(w, k)[0][..., -1:]
    if hasattr(xp, "topk"):
        return xp.topk(w, k, dim=-1)[0][..., -1:]
    return descending(scores, w)[..., k - 1 : k]


def first_of_ties(scores: Scores, tied: Any, n: Any) -> Any:
    """Return the first n of the labels in `tied`: ties go to the lower index."""
    return tied & (cumulative(scores, scores.xp.astype(tied, scores.xp.int32)) <= n)


def cumulative(scores: Scores, values: Any) -> Any:
    """Return running sums over the labels."""
    if _host.is_torch(values):  # torch.compile warns of how array_api_compat gets there
        return values.cumsum(-1, dtype=values.dtype)
    return scores.xp.cumulative_sum(values, axis=-1)


def count(scores: Scores, condition: Any) -> Any:
    """Return how many labels meet a condition, as int32, keeping the axis."""
    xp = scores.xp
    return xp.sum(xp.astype(condition, xp.int32), axis=-1, keepdims=True, dtype=xp.int32)


def total(scores: Scores, condition: Any, values: Any) -> Any:
    """Return the sum of `values` over the labels that meet a condition, keeping the axis."""
    xp = scores.xp
    return xp.sum(xp.where(condition, values, xp.zeros_like(values)), axis=-1, keepdims=True)


def mass_above(scores: Scores, bound: Any) -> tuple[Any, Any]:
    """Return how many labels are above a bound, in w's dtype, and their sum; both keep the axis."""
    selected = scores.w > bound
    return total(scores, selected, scores.xp.ones_like(scores.w)), total(scores, selected, scores.w)
