"""Members of groups, as runs of neighbours."""

import itertools
from collections.abc import Sequence
from typing import TypeVar

G = TypeVar("G")


def runs_of(members: Sequence[tuple[G, int]]) -> list[tuple[G, int, int]]:
    """Return members, each given by its group and its place there, as runs: a group, the first place and the end."""
    pairs = itertools.pairwise(members)
    apart = [one is not other or at + 1 != then for (one, at), (other, then) in pairs]
    cuts = [0, *(at for at, is_apart in enumerate(apart, start=1) if is_apart), len(members)]
    starts = ((*members[first], last - first) for first, last in itertools.pairwise(cuts))
    return [(group, place, place + length) for group, place, length in starts]
