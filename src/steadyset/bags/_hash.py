"""The hash of a bag: keys that put every row in or out, the same on every platform and for good."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HASH_NAME = "steadyset/bags/1"  # part of every key: another hash would need another name


def bag_key(seed: int, bag: int) -> tuple[int, int]:
    """Return the two 64-bit words that key the hash of one bag.

    They are the halves, little-endian, of the 128-bit BLAKE2b digest of ``steadyset/bags/1:<seed>:<bag>``. A row with
    the 64-bit id x has in that bag the hash mix(mix(x ^ first) ^ second), mix the finaliser of MurmurHash3. For one bag
    this is a bijection of the ids, so that no two rows tie. It is the same on every platform and will not change.

    Examples
    --------
    >>> from steadyset.bags import bag_key
    >>> [f"{word:016x}" for word in bag_key(seed=0, bag=0)]
    ['89af16597f41ae5b', '414c549b0922b818']
    """
    digest = hashlib.blake2b(f"{_HASH_NAME}:{seed}:{bag}".encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def id_words(ids: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the 64-bit word of each row id: an integer itself, of a string the first 8 bytes of its BLAKE2b digest."""
    if ids.dtype.kind in "iu":
        wide = ids.astype(f"{ids.dtype.kind}8", copy=False)
        return wide.view(np.uint64)
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids.tolist())
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
