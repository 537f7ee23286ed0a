"""One vote per bag for anything hashable, kept as numbers."""

from collections.abc import Hashable, Iterable
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
    try:
        given = list(votes)
    except TypeError:
        raise TypeError(
            f"votes must be a sequence with a hashable outcome for each bag; got {validation.shown(votes)}."
        ) from None
    if not given:
        raise ValueError("votes must have at least 1 bag; got none.")
    codes = np.empty(len(given), np.intp)
    for bag, vote in enumerate(given):
        try:
            same = bool(vote == vote)  # not so for NaN, which no other bag could agree with
            codes[bag] = found.setdefault(vote, len(found)) if same else -1
        except (TypeError, ValueError):
            raise TypeError(
                f"votes must be hashable; got {validation.shown(vote)} of bag {bag}, of type {type(vote).__name__}: "
                "make it a tuple, a frozenset or a string."
            ) from None
        if codes[bag] < 0:
            raise ValueError(f"votes must equal themselves; got {validation.shown(vote)} of bag {bag}.")
    sizes = np.bincount(codes)
    order = np.argsort(-sizes, kind="stable")
    renumbered = np.empty_like(order)
    renumbered[order] = np.arange(len(order))
    outcomes = list(found)
    return Votes(tuple(outcomes[code] for code in order), renumbered[codes], sizes[order] / len(given))
