"""Which bags stand for the model without a row or a group: 16 bags to a pattern, as means are summed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.bags import Bags

_PATTERN = 16  # bags in a pattern: BLOCK of bags/_predictions.py and kPatternBags of native/audit/api.hpp


@dataclass(frozen=True)
class TakenBags:
    """For each unit left out, the bags whose mean is the model without it.

    `patterns` is (ceil(n_bags / 16), n_units): bit b of pattern k is bag 16 k + b. `reference` are the bags of the full
    model. `noise` is the sum of squared weights of the bags in the difference of the two means, so that the difference
    of a unit without influence has the variance sigma^2 noise. `tail` widens the bound on that difference's tail.
    """

    patterns: NDArray[np.uint16]
    counts: NDArray[np.float64]
    reference: NDArray[np.bool_]
    noise: NDArray[np.float64]
    tail: NDArray[np.float64]

    @property
    def n_units(self) -> int:
        return int(self.patterns.shape[1])

    def answered(self, units: NDArray[np.bool_]) -> "TakenBags":
        """Return the marked units only."""
        return TakenBags(
            np.ascontiguousarray(self.patterns[:, units]),
            self.counts[units],
            self.reference,
            self.noise[units],
            self.tail[units],
        )

    def taken(self, unit: int) -> NDArray[np.bool_]:
        """Return which bags stand for a unit."""
        bits = self.patterns[:, unit].astype("<u2").view(np.uint8)
        return np.unpackbits(bits, bitorder="little", count=len(self.reference)).astype(bool)


def all_free(bags: Bags, rows: NDArray[np.intp]) -> TakenBags:
    """Return, for each row, all bags that do not hold it."""
    blocks = (~bags.membership(b, min(b + _PATTERN, len(bags)))[:, rows] for b in range(0, len(bags), _PATTERN))
    return _with_all(bags, np.array([_packed(block) for block in blocks]))


def equal_numbers(bags: Bags, rows: NDArray[np.intp], seed: int) -> TakenBags:
    """Return the same number of bags for each row and for the full model, drawn from those available.

    The number is the smallest of bags without a row. A row's draw depends on the seed and its position alone.
    """
    free = all_free(bags, rows)
    answered = free.counts > 0
    number = int(free.counts[answered].min()) if answered.any() else 0
    taken = np.zeros((len(rows), len(bags)), bool)
    for unit, row in enumerate(rows):
        if answered[unit]:
            rng = np.random.default_rng([seed, 1, int(row)])
            taken[unit, rng.choice(np.flatnonzero(free.taken(unit)), number, replace=False)] = True
    reference = np.zeros(len(bags), bool)
    reference[np.random.default_rng([seed, 0]).choice(len(bags), number, replace=False)] = True
    patterns = np.array([_packed(taken[:, b : b + _PATTERN].T) for b in range(0, len(bags), _PATTERN)])
    both = (taken & reference).sum(axis=1)
    noise = np.where(answered, 2 * (number - both) / max(number, 1) ** 2, np.inf)
    # Theorem A4: of the 2d bags that one of the two models has, half are in either, and nothing bounds their
    # squares but those of all bags.
    apart = 2 * (number - both)
    some = np.maximum(apart, 2)
    tail = np.where(apart > 0, np.sqrt(len(bags) / some) / _fixed_number(some, some // 2), np.inf)
    return TakenBags(patterns, np.where(answered, float(number), 0.0), reference, noise, tail)


def without_groups(bags: Bags, codes: NDArray[np.intp], n_groups: int) -> TakenBags:
    """Return, for each group of rows, the bags that hold none of them; `codes` numbers each row's group."""
    free = np.ones((len(bags), n_groups), bool)
    for b, rows in enumerate(bags):
        free[b, codes[rows]] = False
    return _with_all(bags, np.array([_packed(free[b : b + _PATTERN]) for b in range(0, len(bags), _PATTERN)]))


def _packed(block: NDArray[Any]) -> NDArray[np.uint16]:
    pattern = np.zeros(block.shape[1], np.uint16)
    for b, taken in enumerate(block):
        pattern |= taken.astype(np.uint16) << np.uint16(b)
    return pattern


def _with_all(bags: Bags, patterns: NDArray[np.uint16]) -> TakenBags:
    counts = np.bitwise_count(patterns).sum(axis=0, dtype=np.float64)
    n_bags = len(bags)
    with np.errstate(divide="ignore"):
        noise = 1 / counts - 1 / n_bags
        share = 1 - counts / n_bags  # of bags that hold the unit
        # Theorem A3: given how many bags hold the unit, the norm of the sum of their Q_b exceeds t with probability at
        # most 2 exp(-theta^2 t^2 / (2 a^2 sum ||Q_b||^2)), a = max(share, 1 - share); about share (1 - share)
        # sum ||Q_b||^2 is its mean square.
        tail = np.maximum(share, 1 - share) / np.sqrt(share * (1 - share)) / _fixed_number(n_bags, n_bags - counts)
    return TakenBags(patterns, counts, np.ones(n_bags, bool), noise, tail)


def _fixed_number(n: Any, c: Any) -> NDArray[np.float64]:
    """Return theta = 1 - P(Bin(n, c/n) = c): what a fixed number of bags costs beside n coins (Theorem A3)."""
    from scipy.stats import binom  # loads slowly, and only audits need it

    return np.asarray(1 - binom.pmf(c, n, np.divide(c, n)))
