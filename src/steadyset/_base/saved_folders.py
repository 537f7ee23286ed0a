"""Folders of plain arrays and a JSON manifest: written whole or not at all, read with suspicion, never pickled.

The manifest, one small file, names the version of the arrays that is in force: every array file carries that version's
token in its name. A new version is written beside the old one, then the manifest is replaced in one step. Readers open
what a manifest names, and what they check is what they have open.
"""

import contextlib
import io
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from steadyset._base import digests, whole_files
from steadyset._base.digests import DamagedError

MANIFEST = "steadyset.json"
VERSION = 3
MAP_FROM = 256 << 20  # bytes
Files = dict[str, io.BufferedReader]  # by the name of their array
_BLOCK = 16 << 20  # bytes that are copied at a time where an array is not contiguous


def write_folder(
    folder: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    overwrite: bool,
) -> None:
    """Write arrays and manifest into the folder; they are in force from the moment that the manifest is renamed."""
    target = Path(folder)
    refused = f"folder must be new or empty, or overwrite=True for saved {kind}; got {target}."
    try:
        new = [path for path in (target, *target.parents) if not path.exists()]
        target.mkdir(parents=True, exist_ok=True)
        may_replace = _may_replace(target, kind, overwrite)
    except (FileExistsError, NotADirectoryError):
        raise FileExistsError(refused) from None
    except OSError as error:
        raise _unusable(error, target, "written") from error
    if not may_replace:
        raise FileExistsError(refused)
    try:
        with whole_files.replacing(target / MANIFEST, tidy=False, keep=not overwrite) as unfinished:
            mode = _mode_of(target / MANIFEST)
            files = {
                name: _write_array(whole_files.part_of(unfinished, f"{name}.npy"), array, mode)
                for name, array in arrays.items()
            }
            whole_files.settle(target)
            manifest = {"format": f"steadyset.{kind}", "version": VERSION, **header}
            manifest |= {"token": whole_files.token_of(unfinished), "files": files}
            unfinished.write_text(json.dumps({**manifest, "digest": _manifest_digest(manifest)}, indent=1))
    except FileExistsError:
        raise FileExistsError(refused) from None
    except OSError as error:
        raise _unusable(error, target, "written") from error
    finally:
        _tidy(target)
        with contextlib.suppress(OSError):  # which fails where something was written
            for path in new:
                path.rmdir()


def _unusable(error: OSError, target: Path, how: str) -> OSError:
    words = f"folder must be one that can be {how}; got {str(target)!r}: {whole_files.reason(error)}."
    return whole_files.retold(error, words)


def _write_array(path: Path, array: NDArray[Any], mode: int) -> dict[str, Any]:
    """Write an array as np.save does, bring it to the disk, and return its size and digest."""
    with open(path, "xb+", opener=lambda p, flags: os.open(p, flags, mode)) as file:
        npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(array))
        for piece in _contiguous(array):
            file.write(piece.reshape(-1).view(np.uint8).data)
        file.flush()
        os.fsync(file.fileno())
        return {"bytes": file.tell(), "digest": digests.array_digest(np.memmap(file, np.uint8, "r"))}


def _contiguous(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield contiguous pieces whose bytes, one after the other, are those of the array in the order of its header."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        yield array if array.flags.c_contiguous else array.T
        return
    step = max(1, _BLOCK // max(1, array[:1].nbytes))
    yield from (np.ascontiguousarray(array[i : i + step]) for i in range(0, len(array), step))


def _mode_of(path: Path) -> int:
    """Return the permissions of a file, which the next version keeps, or those of a new one, less the umask."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0o666


def _may_replace(target: Path, kind: str, overwrite: bool) -> bool:
    # Listed first: what a writer adds from now on is not foreign, and what one ends meanwhile is gone or in force.
    found = list(target.iterdir())
    alive = _tidy(target)
    if all(whole_files.token_of(path) in alive or not os.path.lexists(path) for path in found):
        return True
    if (target / MANIFEST).is_symlink():  # what it leads to is not of this folder
        return False
    try:
        written = _parsed(_manifest_bytes(target), target).get("format")
    except (OSError, DamagedError):
        return False
    return overwrite and written == f"steadyset.{kind}"


def _tidy(target: Path) -> set[str]:
    """Remove what killed writers left, and versions that are no longer in force; return the tokens of living writers.

    Without a manifest in good order, and its arrays, only what carries the token of a dead writer is removed.
    """
    alive: set[str] = set()
    with contextlib.suppress(OSError, DamagedError):
        names = os.listdir(target)
        alive |= whole_files.remove_leftovers(target)
        # Read last: a version that is not being written and not in force by now will never be.
        manifest = _parsed(_manifest_bytes(target), target)
        _check_manifest(manifest, target)
        if not all((target / _array_file(name, manifest)).exists() for name in manifest["files"]):
            return alive
        for name in names:
            token = whole_files.token_of(target / name)
            if name.endswith(".npy") and token is not None and token not in {*alive, manifest["token"]}:
                with contextlib.suppress(OSError):  # a folder of this name is somebody else's
                    (target / name).unlink(missing_ok=True)
    return alive


@dataclass(frozen=True)
class SavedFolder:
    """A manifest that was checked, and the open files of its arrays."""

    folder: Path
    manifest: dict[str, Any]
    mapped: str | None
    auto: bool
    files: Files

    def header(self, name: str) -> Any:
        if name not in self.manifest:
            raise DamagedError(f"folder must hold a whole manifest; got {self.folder} without {name!r} in {MANIFEST}.")
        return self.manifest[name]

    def array(self, name: str) -> NDArray[Any]:
        if name not in self.files:
            raise DamagedError(f"folder must hold {name}.npy; got {self.folder} without it.")
        file, said = self.files[name], self.manifest["files"][name]
        size = os.fstat(file.fileno()).st_size
        if size != said["bytes"]:
            raise DamagedError(f"{name}.npy must be {said['bytes']} bytes long; got {size}: {self.folder} is damaged.")
        data: NDArray[np.uint8]
        if self.mapped == name or (self.auto and size >= MAP_FROM):
            data = np.memmap(file, np.uint8, "r")
        else:
            whole_files.check_size(file)
            data = np.empty(size, np.uint8)
            file.readinto(data.data)
        if digests.array_digest(data) != said["digest"]:
            raise DamagedError(
                f"{name}.npy must have the digest of its manifest; got another: {self.folder} is damaged."
            )
        return _as_array(data, f"{name}.npy", self.folder)


def _as_array(data: NDArray[np.uint8], name: str, folder: Path) -> NDArray[Any]:
    """Return the array in the bytes of an .npy file, without a copy."""
    try:
        start = io.BytesIO(data[: 1 << 16].tobytes())
        if npy.read_magic(start) != (1, 0):
            raise ValueError
        shape, by_column, dtype = npy.read_array_header_1_0(start)
        values = data[start.tell() :]
        if dtype.hasobject or min(shape, default=0) < 0 or values.size != math.prod(shape) * dtype.itemsize:
            raise ValueError
        if start.tell() % npy.ARRAY_ALIGN:  # which np.save never writes: compiled code would read unaligned numbers
            raise ValueError
        return values.view(dtype).reshape(shape, order="F" if by_column else "C")
    except Exception as error:
        raise DamagedError(f"{name} must be a plain NumPy array file; got another one in {folder}.") from error


@contextlib.contextmanager
def read_folder(folder: str | os.PathLike[str], kind: str, *, mapped: str | None, auto: bool) -> Iterator[SavedFolder]:
    """Check that a folder is a saved object of this kind and of a version this release reads, and open its files."""
    target = Path(folder)
    _tidy(target)
    with contextlib.ExitStack() as opened:
        manifest, files = _opened(target, kind, opened)
        try:
            yield SavedFolder(target, manifest, mapped, auto, files)
        except DamagedError:
            raise
        except Exception as error:  # whatever contradicts itself inside
            words = (
                str(error).rstrip(".").replace("\n", " ") if isinstance(error, ValueError) else "its parts do not fit"
            )
            raise DamagedError(f"folder must hold saved {kind} in good order; got {target}: {words}.") from error


def _opened(target: Path, kind: str, opened: contextlib.ExitStack) -> tuple[dict[str, Any], Files]:
    """Return the manifest in force and the files that it names, all open."""
    read = None
    while True:
        try:
            before, read = read, _manifest_bytes(target)
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(f"folder must hold {MANIFEST}; got {target} without it.") from None
        except OSError as error:
            raise _unusable(error, target, "read") from error
        manifest = _parsed(read, target)
        _check_kind(manifest, kind, target)
        _check_manifest(manifest, target)
        with contextlib.ExitStack() as these:
            files, missing = {}, None
            for name in manifest["files"]:
                try:
                    files[name] = these.enter_context(whole_files.open_regular(target / _array_file(name, manifest)))
                except FileNotFoundError:
                    missing = name
            if missing is None:
                opened.push(these.pop_all())
                return manifest, files
        if read == before:  # else another version came into force meanwhile
            raise DamagedError(f"folder must hold {missing}.npy; got {target} without it.")


def _array_file(name: str, manifest: Mapping[str, Any]) -> str:
    return f"{name}-{manifest['token']}.npy"


def _manifest_bytes(target: Path) -> bytes:
    return whole_files.content_of(target / MANIFEST)


def _parsed(data: bytes, target: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError, MemoryError):
        manifest = None
    if not isinstance(manifest, dict):
        raise DamagedError(f"{MANIFEST} must be a JSON object; got another one in {target}, which is damaged.")
    return manifest


def _check_kind(manifest: dict[str, Any], kind: str, target: Path) -> None:
    written, version = manifest.get("format"), manifest.get("version")
    if written != f"steadyset.{kind}":
        raise DamagedError(f"folder must hold saved {kind}; got {target}, which says {written!r}.")
    if version != VERSION:
        raise DamagedError(
            f"folder must be of format version {VERSION}; got version {version!r} in {target}, "
            "which another release of steadyset wrote."
        )


def _check_manifest(manifest: dict[str, Any], target: Path) -> None:
    said = {name: value for name, value in manifest.items() if name != "digest"}
    try:
        digest = _manifest_digest(said)
    except (RecursionError, MemoryError):  # of brackets that are nested almost too deep to be read
        digest = None
    if digest is None or manifest.get("digest") != digest:
        raise DamagedError(f"{MANIFEST} must have the digest that it states; got another: {target} is damaged.")
    files, token = manifest.get("files"), manifest.get("token")
    if (
        not isinstance(files, dict)
        or whole_files.token_of(Path(f"a-{token}.npy")) != token
        or not all(name.isidentifier() and isinstance(entry, dict) for name, entry in files.items())
        or not all({"bytes", "digest"} <= entry.keys() for entry in files.values())
    ):
        raise DamagedError(f"folder must hold a whole manifest; got {target} without a list of files in {MANIFEST}.")


def _manifest_digest(said: Mapping[str, Any]) -> str:
    return digests.digest(json.dumps(said, sort_keys=True).encode())


def labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels as JSON with the name of their dtype."""
    if labels.dtype.kind not in "biufU" and not all(isinstance(v, str | int | float | bool | None) for v in labels):
        raise TypeError(f"classes must be strings, numbers or bools to be saved; got {labels.dtype} labels.")
    return {"dtype": labels.dtype.str if labels.dtype.kind != "O" else "object", "values": labels.tolist()}


def labels_from_json(saved: Any) -> NDArray[Any]:
    """Return labels as they were; values that their dtype does not hold exactly are refused."""
    dtype, values = np.dtype(str(saved["dtype"])), saved["values"]
    labels = np.array(values, dtype=dtype) if dtype.kind in "biufUO" else np.empty((0, 0))
    if labels.ndim != 1 or json.dumps(labels.tolist()) != json.dumps(values):
        raise ValueError(f"classes must be labels of their dtype; got others for {saved['dtype']!r}")
    return labels
