"""Reading and writing safetensors, where that library is installed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import optional, whole_files


def write(path: Path, about: dict[str, Any], tensors: dict[str, NDArray[np.float32] | None]) -> None:
    """Write the tensors that are there, and what the file says about itself; make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {name: np.ascontiguousarray(value) for name, value in tensors.items() if value is not None}
    metadata = {"steadyset": json.dumps(about)}
    with whole_files.replacing(path) as unfinished:
        optional.require("safetensors.numpy", "persist").save_file(kept, unfinished, metadata=metadata)


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Return what the file says about itself, and its tensors."""
    safetensors = optional.require("safetensors", "persist")
    if not path.is_file():
        raise FileNotFoundError(f"folder must hold a saved group, the file {path.name}; got {path.parent}.")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {})["steadyset"])
            return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"folder must hold a group that steadyset saved; got a damaged {path}.") from error
