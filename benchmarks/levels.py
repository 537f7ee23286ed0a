"""Instruction-set levels: which ones are measured, and how rivals are held to one."""

import importlib
import os
import tempfile
from pathlib import Path

from steadyset import _native

#: Where NumPy, PyTorch and their libraries of linear algebra read what they may use; NumPy's own names are asked for.
RIVALS_AT_AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}


def measured() -> list[str]:
    """The best level of this CPU, and AVX2, which most people have, where that is another one."""
    best = _native.isa_levels()[-1]
    return [best, "avx2"] if best == "avx512" else [best]


def at_best() -> bool:
    """Whether this process runs at the best level: what no kernel decides is measured only there."""
    return _native.isa() == _native.isa_levels()[-1]


def numpy_features() -> list[str]:
    """The instruction sets beyond its baseline that this process's NumPy uses."""
    core = importlib.import_module("numpy._core._multiarray_umath")
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]


def _beyond_avx2(feature: str) -> bool:
    return "AVX512" in feature or feature == "X86_V4"


def environment(level: str) -> dict[str, str]:
    """The environment of a process at that level, with rivals held to AVX2 where the level is AVX2."""
    held = {"STEADYSET_ISA": level}
    if level == "avx2":
        held |= RIVALS_AT_AVX2
        # torch's compiler keeps what it compiled for another level, and would run it with wrong results.
        held["TORCHINDUCTOR_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"torchinductor-{os.getuid()}-{level}")
        held["NPY_DISABLE_CPU_FEATURES"] = " ".join(filter(_beyond_avx2, numpy_features()))
    return {**os.environ, **held}


def check() -> None:
    """Refuse to measure a level beside a NumPy that uses more."""
    if _native.isa() == "avx2" and (more := list(filter(_beyond_avx2, numpy_features()))):
        raise RuntimeError(f"NumPy must be held to AVX2 here; it uses {', '.join(more)}.")
