"""The IDX format of image collections: a magic number, the sizes, then the bytes."""

import gzip
import hashlib
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_UNSIGNED_BYTES = 0x08
_LARGEST = 1 << 30  # bytes: a damaged header must not ask for all memory


def read(path: Path, n_dimensions: int, *, sha256: str | None = None) -> NDArray[np.uint8]:
    """Return the array of an IDX file of unsigned bytes, plain or gzipped.

    Parameters
    ----------
    path : Path
        The file.
    n_dimensions : int
        How many dimensions it must have: 1 for labels, 3 for images.
    sha256 : str, optional
        What the unpacked file must hash to.
    """
    content = _unpacked(path)
    header = 4 + 4 * n_dimensions
    magic = bytes((0, 0, _UNSIGNED_BYTES, n_dimensions))
    if content[:4] != magic:
        got = content[:4].hex(" ") or "an empty file"
        raise ValueError(f"{path.name} must begin with the bytes {magic.hex(' ')}; got {got}.")
    if len(content) < header:
        raise ValueError(f"{path.name} must hold a header of {header} bytes; got a file of {len(content)}.")
    sizes = struct.unpack_from(f">{n_dimensions}I", content, 4)
    wanted = header + math.prod(sizes)
    if len(content) != wanted:
        raise ValueError(f"{path.name} must hold {wanted} bytes for its sizes {sizes}; got {len(content)}.")
    if sha256 is not None and (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise ValueError(f"{path.name} must have the SHA-256 checksum {sha256}; got {found}: it is another file.")
    return np.frombuffer(content, np.uint8, offset=header).reshape(sizes)


def _unpacked(path: Path) -> bytes:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as file:
            content = file.read(_LARGEST + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path.name} must be a whole gzip file; got a damaged one: {error}.") from None
    if len(content) > _LARGEST:
        raise ValueError(f"{path.name} must unpack to at most {_LARGEST} bytes; got more.")
    return bytes(content)
