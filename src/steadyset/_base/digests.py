"""Digests that tell whether saved bytes are those that were written, and files that carry their own."""

import hashlib
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.cpu import allowed_threads

_VERSION = 2
_MARK = re.compile(rb"\nsteadyset (\d{3}) ([0-9a-f]{64})\n")
#: How many bytes a seal takes at the end of a file.
SEAL = 80
#: Bytes of an array that have a digest of their own: several threads share the work, and Ctrl-C waits for one of them.
BLOCK = 32 << 20


class DamagedError(ValueError):
    """What was read is not what was written, in one sentence."""


def digest(data: Any) -> str:
    """Return the SHA-256 digest of bytes, or of a one-dimensional array of them, as `sha256sum` prints it."""
    return hashlib.sha256(data).hexdigest()


def array_digest(data: NDArray[np.uint8]) -> str:
    """Return the digest of the bytes of an array; of more than a block, that of the SHA-256 of each block in order."""
    if len(data) <= BLOCK:
        return digest(data)
    from concurrent.futures import ThreadPoolExecutor  # a few milliseconds, which small files do not pay

    blocks = (data[start : start + BLOCK] for start in range(0, len(data), BLOCK))
    with ThreadPoolExecutor(allowed_threads()) as pool:
        try:
            return digest(b"".join(pool.map(lambda block: hashlib.sha256(block).digest(), blocks)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def sealed(data: bytes, what: str) -> bytes:
    """Return the bytes with a seal behind them: a digest of them and of what they are."""
    return data + f"\nsteadyset {_VERSION:03} {_of(data, what)}\n".encode()


def unsealed(data: bytes, what: str) -> bytes:
    """Return the bytes before the seal, if they and what they are to be are what was sealed."""
    mark = _MARK.fullmatch(data[-SEAL:])
    if mark is not None and int(mark[1]) != _VERSION:
        raise DamagedError(f"format version {_VERSION} is what this release reads, and it has version {int(mark[1])}")
    if mark is None or mark[2].decode() != _of(data[:-SEAL], what):
        raise DamagedError("its digest is not that of its content")
    return data[:-SEAL]


def _of(data: bytes, what: str) -> str:
    return digest(f"{what}\n{digest(data)}".encode())
