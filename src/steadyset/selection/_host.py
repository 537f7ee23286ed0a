"""Arrays of torch and JAX that lie in this process's memory: to the native kernels and back without a copy.

A library is used only when the caller has already imported it.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CACHE_LINE = 64  # JAX takes over NumPy's memory only from such an address


@dataclass(frozen=True)
class HostView:
    """The memory of an array as NumPy sees it, and the way back to the array's own kind."""

    values: NDArray[Any]
    bfloat16: bool  # `values` are then its bits as uint16
    own_kind: Callable[[NDArray[Any]], Any]


def is_torch(proba: Any) -> bool:
    """Return whether an array is torch's."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(proba, torch.Tensor)


def is_jax(proba: Any) -> bool:
    """Return whether an array is JAX's, traced or not."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(proba, jax.Array)


def host_view(proba: Any) -> HostView | None:
    """Return a view of a torch or JAX array on the CPU; None for any other, and where tracing leaves no values."""
    if is_torch(proba):
        torch = sys.modules["torch"]
        return None if is_traced_by_torch(torch) else _torch_view(torch, proba)
    return _jax_view(sys.modules["jax"], proba) if is_jax(proba) else None


def is_traced_by_torch(torch: Any) -> bool:
    """Return whether torch records what is done, instead of doing it for good."""
    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())


def _torch_view(torch: Any, tensor: Any) -> HostView | None:
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return None
    tensor = tensor.detach()
    bfloat16 = tensor.dtype == torch.bfloat16
    try:  # a tensor under vmap, one without storage and 8-bit floats have no view
        values = (tensor.view(torch.int16) if bfloat16 else tensor).resolve_neg().numpy()
    except (RuntimeError, TypeError):
        return None
    return HostView(values.view(np.uint16) if bfloat16 else values, bfloat16, torch.from_numpy)


def _jax_view(jax: Any, array: Any) -> HostView | None:
    if isinstance(array, jax.core.Tracer) or len(array.devices()) != 1:
        return None
    (device,) = array.devices()
    if device.platform != "cpu":
        return None
    return HostView(np.asarray(array), False, lambda result: jax.device_put(_as_jax_stores(jax, result), device))


def _as_jax_stores(jax: Any, result: NDArray[Any]) -> NDArray[Any]:
    wide = result.dtype == np.float64 and not jax.config.values["jax_enable_x64"]
    return result.astype(np.float32) if wide else result


def empty(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return a new array that starts at a cache line."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory = np.empty(size + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    values: NDArray[Any] = memory[start : start + size].view(dtype)
    return values.reshape(shape)
