"""One vote per bag for anything hashable, kept as numbers."""

from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation


@dataclass(frozen=True)
class Votes:
    """Which outcome each bag chose: `outcomes` by falling share, ties by the first bag, `codes` numbers them."""

    outcomes: tuple[Hashable, ...]
    codes: NDArray[np.intp]
    shares: NDArray[np.float64]


def counted(votes: Iterable[Any]) -> Votes:
    """Count votes; one that cannot be counted is an error that names its bag."""
    found: dict[Hashable, int] = {}
    if isinstance(votes, Mapping | Set) or hasattr(votes, "columns") or not isinstance(votes, Iterable):
        raise TypeError(
            f"votes must be a sequence with a hashable outcome for each bag; got {validation.shown(votes)}."
        )
    given = list(votes)
    if not given:
        raise ValueError("votes must have at least 1 bag; got none.")
    codes = np.empty(len(given), np.intp)
    for bag, vote in enumerate(given):
        try:
            hash(vote)
        except TypeError:
            raise TypeError(
                f"votes must be hashable; got {validation.shown(vote)} of bag {bag}, of type {type(vote).__name__}: "
                "make it a tuple, a frozenset or a string."
            ) from None
        if not equals_itself(vote):
            raise ValueError(f"votes must equal themselves; got {validation.shown(vote)} of bag {bag}.")
        codes[bag] = found.setdefault(vote, len(found))
    sizes = np.bincount(codes)
    order = np.argsort(-sizes, kind="stable")
    renumbered = np.empty_like(order)
    renumbered[order] = np.arange(len(order))
    outcomes = list(found)
    return Votes(tuple(outcomes[code] for code in order), renumbered[codes], sizes[order] / len(given))


def equals_itself(vote: Any) -> bool:
    """Return whether other bags could agree: with NaN they cannot, and with one in a tuple only if it is one object."""
    if isinstance(vote, tuple | frozenset):
        return all(equals_itself(part) for part in vote)
    try:
        return bool(vote == vote)
    except (TypeError, ValueError):  # a missing value of pandas is neither equal nor different
        return False
