"""What tells one bag from all others: its number, and a digest of its seed and its rows."""

import hashlib

import numpy as np

from steadyset.bags._bags import Bags
from steadyset.bags._hash import id_words

_NAME = "steadyset/bag/1"  # part of every digest: another form would need another name


def bag_numbers(bags: Bags) -> list[int]:
    """Return the number of each bag among those of its seed; adopted bags are numbered from 0 on."""
    drawn = [part.first + k for part in bags.parts for k in range(part.n_bags)]
    return drawn or list(range(bags.n_bags))


def bag_digests(bags: Bags) -> list[str]:
    """Return 32 hexadecimal digits for each bag: of its seed, its number and the ids of its rows, in their order."""
    words = np.arange(bags.n_samples, dtype=np.uint64) if bags.sample_ids is None else id_words(bags.sample_ids)
    seeds = [str(part.seed) for part in bags.parts for _ in range(part.n_bags)] or ["adopted"] * bags.n_bags
    found = []
    for rows, number, seed in zip(bags, bag_numbers(bags), seeds, strict=True):
        digest = hashlib.sha256(f"{_NAME}:{bags.ids.kind}:{bags.n_samples}:{seed}:{number}:".encode())
        digest.update(words[rows].astype("<u8").tobytes())
        found.append(digest.hexdigest()[:32])
    return found
