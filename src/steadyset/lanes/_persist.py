"""Reading and writing safetensors with a digest over all that they hold, where that library is installed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import digests, optional, whole_files

_VERSION = 2


def write(path: Path, about: dict[str, Any], tensors: dict[str, NDArray[np.float32] | None]) -> None:
    """Write the tensors that are there, and what the file says about itself; make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {name: np.ascontiguousarray(value) for name, value in tensors.items() if value is not None}
    said = json.dumps({"version": _VERSION, **about})
    metadata = {"steadyset": said, "digest": _digest(said, kept)}
    data = optional.require("safetensors.numpy", "persist").save(kept, metadata)
    with whole_files.replacing(path) as unfinished:
        unfinished.write_bytes(data)


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Return what the file says about itself, and its tensors, after checking their digest."""
    safetensors = optional.require("safetensors.numpy", "persist")
    whole_files.remove_leftovers(path.parent)
    try:
        data = whole_files.content_of(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"folder must hold a saved group, the file {path.name}; got {path.parent}.") from None
    try:
        length = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + length])["__metadata__"]
        about = json.loads(metadata["steadyset"])
        version = about["version"]
        tensors = safetensors.load(data) if version == _VERSION else {}
    except Exception as error:  # the bytes are anybody's
        raise damaged(path) from error
    if version != _VERSION:
        raise digests.DamagedError(
            f"folder must be of format version {_VERSION}; got version {version!r} in {path}, which another release of "
            "steadyset wrote."
        )
    if not all(np.isfinite(values).all() for values in tensors.values()):
        raise digests.DamagedError(f"folder must hold a group whose weights are finite; got others in {path.parent}.")
    if metadata.get("digest") != _digest(metadata["steadyset"], tensors):
        raise damaged(path, "its digest is not that of its content")
    return about, tensors


def damaged(path: Path, why: str = "") -> digests.DamagedError:
    """Return the error that says that a file is not what was written."""
    return digests.DamagedError(
        f"folder must hold a group that steadyset saved; got a damaged {path}{': ' if why else ''}{why}."
    )


def _digest(said: str, tensors: Mapping[str, NDArray[Any]]) -> str:
    parts = [said]
    for name, tensor in sorted(tensors.items()):
        parts.append(json.dumps([name, tensor.dtype.str, tensor.shape, digests.digest(tensor.tobytes())]))
    return digests.digest("\n".join(parts).encode())
