"""Reading and writing safetensors, where that library is installed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def library() -> Any:
    """Return safetensors' NumPy module, or say how to get it."""
    try:
        from safetensors import numpy
    except ImportError as error:
        raise ImportError(
            "saving networks needs safetensors; install it with: pip install 'steadyset[persist]'."
        ) from error
    return numpy


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Return what the file says about itself, and its tensors."""
    library()
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"folder must hold a saved group, the file {path.name}; got {path.parent}.")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {})["steadyset"])
            return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"folder must hold a group that steadyset saved; got a damaged {path}.") from error
