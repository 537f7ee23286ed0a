"""Folders of plain arrays and a JSON manifest: written whole or not at all, read with suspicion, never pickled."""

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import whole_files

MANIFEST = "steadyset.json"
VERSION = 1
MAP_FROM = 256 << 20  # bytes


def write_folder(
    folder: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    overwrite: bool,
) -> None:
    """Write arrays and manifest into a new folder beside the target, then move it into place."""
    target = Path(folder)
    if target.exists() and not _may_replace(target, kind, overwrite):
        raise FileExistsError(f"folder must be new or empty, or overwrite=True for saved {kind}; got {target}.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_files.replacing_folder(target) as fresh:
        files = {}
        for name, array in arrays.items():
            path = fresh / f"{name}.npy"
            np.save(path, array, allow_pickle=False)
            files[name] = {"bytes": path.stat().st_size, "crc32": _crc32(path)}
        manifest = {"format": f"steadyset.{kind}", "version": VERSION, **header, "files": files}
        (fresh / MANIFEST).write_text(json.dumps(manifest, indent=1))


def _may_replace(target: Path, kind: str, overwrite: bool) -> bool:
    if not target.is_dir():
        return False
    if not any(target.iterdir()):
        return True
    try:
        written = json.loads((target / MANIFEST).read_text()).get("format")
    except (OSError, ValueError, AttributeError):
        return False
    return overwrite and written == f"steadyset.{kind}"


@dataclass(frozen=True)
class SavedFolder:
    """A manifest that was read, and the arrays beside it."""

    folder: Path
    manifest: dict[str, Any]
    mapped: str | None
    auto: bool

    def header(self, name: str) -> Any:
        if name not in self.manifest:
            raise ValueError(f"folder must hold a whole manifest; got {self.folder} without {name!r} in {MANIFEST}.")
        return self.manifest[name]

    def array(self, name: str) -> NDArray[Any]:
        entry = self.header("files").get(name)
        path = self.folder / f"{name}.npy"
        if entry is None or not path.is_file():
            raise ValueError(f"folder must hold {name}.npy; got {self.folder} without it.")
        size = path.stat().st_size
        if size != entry.get("bytes"):
            raise ValueError(f"{name}.npy must be {entry.get('bytes')} bytes long; got {size}: {path} is damaged.")
        if _crc32(path) != entry.get("crc32"):
            raise ValueError(f"{name}.npy must have the checksum of its manifest; got another: {path} is damaged.")
        as_map = self.mapped == name or (self.auto and size >= MAP_FROM)
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r" if as_map else None, allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise ValueError(f"{name}.npy must be a plain NumPy array file; got {path}, which is not.") from error
        return array


@contextmanager
def read_folder(folder: str | os.PathLike[str], kind: str, *, mapped: str | None, auto: bool) -> Iterator[SavedFolder]:
    """Check that a folder is a saved object of this kind and of a version this release reads."""
    target = Path(folder)
    path = target / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"folder must hold {MANIFEST}; got {target} without it.")
    try:
        manifest = json.loads(path.read_text())
        if not isinstance(manifest, dict):
            raise ValueError
    except ValueError:
        raise ValueError(f"{MANIFEST} must be a JSON object; got {path}, which is damaged.") from None
    written = manifest.get("format")
    if written != f"steadyset.{kind}":
        raise ValueError(f"folder must hold saved {kind}; got {target}, which says {written!r}.")
    version = manifest.get("version")
    if version != VERSION:
        raise ValueError(
            f"folder must be of format version {VERSION}; got version {version!r} in {target}, "
            "which another release of steadyset wrote."
        )
    if not isinstance(manifest.get("files"), dict) or not all(isinstance(f, dict) for f in manifest["files"].values()):
        raise ValueError(f"folder must hold a whole manifest; got {target} without a list of files in {MANIFEST}.")
    try:
        yield SavedFolder(target, manifest, mapped, auto)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"folder must hold a whole manifest; got {target}, whose {MANIFEST} is damaged.") from error


def _crc32(path: Path) -> int:
    check = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            check = zlib.crc32(piece, check)
    return check


def labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels as JSON with the name of their dtype."""
    if labels.dtype.kind not in "biufU" and not all(isinstance(v, str | int | float | bool | None) for v in labels):
        raise TypeError(f"classes must be strings, numbers or bools to be saved; got {labels.dtype} labels.")
    return {"dtype": labels.dtype.str if labels.dtype.kind != "O" else "object", "values": labels.tolist()}


def labels_from_json(saved: Any) -> NDArray[Any]:
    """Return labels as they were."""
    dtype = saved["dtype"]
    if dtype != "object" and np.dtype(dtype).kind not in "biufU":
        raise ValueError(f"classes must be strings, numbers or bools; got dtype {dtype!r}.")
    return np.array(saved["values"], dtype=object if dtype == "object" else np.dtype(dtype))
