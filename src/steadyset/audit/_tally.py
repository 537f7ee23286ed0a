"""Adding up what is found at one chunk of points after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit._kernel import Chunk
from steadyset.audit._stability_audit import SHIFT_LEVELS
from steadyset.audit._taken_bags import TakenBags

#: Conflicting pairs of a point and a unit that are kept, 16 bytes each; past it, those at the smallest epsilons go.
PAIR_LIMIT = 32_000_000


class Tally:
    """The running totals of an audit."""

    def __init__(self, settled: NDArray[np.bool_], spread: NDArray[np.float64], taken: TakenBags) -> None:
        n_points, n_units = len(settled), taken.n_units
        self.done = 0
        self._settled, self._spread, self._taken = settled, spread, taken
        self._conflicts = np.zeros(n_points, np.int64)
        self._jaccard = np.where(settled, float(n_units), 0.0)
        self._quantiles = np.full((n_points, len(SHIFT_LEVELS)), np.nan)
        self._influence = np.zeros(n_units, np.int64)
        self._score, self._point = np.zeros(n_units, np.float32), np.full(n_units, -1, np.int64)
        self._error = 0.0
        self._pairs: list[tuple[NDArray[Any], ...]] = []  # points, units, last conflicts, shifts
        self._n_pairs, self._floor = 0, 0.0

    def add(self, chunk: Chunk) -> None:
        """Add some points, compared with every unit."""
        ranks = [max(int(np.ceil(level * self._taken.n_units)) - 1, 0) for level in SHIFT_LEVELS]
        for k, point in enumerate(chunk.points):  # a point's row of pairs stays in the cache
            self._score_shifts(int(point), chunk.shift[k])
            self._quantiles[point] = np.sort(chunk.shift[k])[ranks]
            if chunk.last_conflict is not None:
                units = np.flatnonzero(chunk.last_conflict[k] >= self._floor)
                self._keep(np.full(len(units), point), units, chunk.last_conflict[k][units], chunk.shift[k][units])
            elif chunk.conflict is not None:
                units = np.flatnonzero(chunk.conflict[k])
                self._keep(np.full(len(units), point), units, np.full(len(units), np.inf), chunk.shift[k][units])
        self.done += len(chunk.points)
        self._error = max(self._error, float(chunk.shift_error.max(initial=0.0)))
        if chunk.conflict is not None:
            self._conflicts[chunk.points] = chunk.conflict.sum(axis=1)
            self._influence += chunk.conflict.sum(axis=0)
            self._jaccard[chunk.points] = chunk.jaccard

    def add_model(
        self, unit: int, sets: NDArray[np.bool_], without: NDArray[np.bool_], moved: NDArray[np.float64]
    ) -> None:
        """Add the sets of all points with one unit left out, and by how much their probabilities moved."""
        both, either = (sets & without).sum(axis=1), (sets | without).sum(axis=1)
        conflict = both == 0
        self._conflicts += conflict
        self._influence[unit] = conflict.sum()
        self._jaccard += both / either
        points = np.flatnonzero(conflict)
        shift = np.sqrt((moved[points] ** 2).sum(axis=1))
        self._keep(points, np.full(len(points), unit), np.full(len(points), np.inf), shift)

    def results(self) -> dict[str, Any]:
        """Return the fields of a StabilityAudit that were counted."""
        n_points, n_units = len(self._settled), self._taken.n_units
        none = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), np.empty(0, np.float32))
        points, units, last, shift = (np.concatenate(part) for part in zip(none, *self._pairs, strict=True))
        noise = self._taken.noise  # a standard error is sigma sqrt(noise)
        order = np.argsort(points, kind="stable")  # a foreign rule's pairs come unit by unit
        return {
            "instability": self._conflicts / n_units,
            "jaccard": self._jaccard / n_units,
            "max_shift": self._quantiles[:, -1].copy(),
            "shift_error": self._error,
            "shift_quantiles": self._quantiles,
            "spread": self._spread,
            "settled": self._settled,
            "row_influence": self._influence,
            "row_score": np.divide(self._score, np.sqrt(noise), out=np.zeros(n_units), where=noise > 0),
            "row_point": self._point,
            "row_noise": noise,
            "row_tail": self._taken.tail,
            "pair_starts": np.searchsorted(points[order], np.arange(n_points + 1)).astype(np.int64),
            "pair_units": units[order],
            "pair_epsilons": last[order],
            "pair_shifts": shift[order],
            "epsilon_floor": self._floor,
        }

    def _score_shifts(self, point: int, shift: NDArray[np.float32]) -> None:
        """Keep each unit's largest shift over sigma; where all bags agree, the shift is rounding alone."""
        sigma = float(np.sqrt(self._spread[point]))
        if sigma > 1e-6:
            scaled = shift * np.float32(1 / sigma)
            better = np.flatnonzero(scaled > self._score)
            self._score[better], self._point[better] = scaled[better], point

    def _keep(self, points: NDArray[Any], units: NDArray[Any], last: NDArray[np.float64], shift: NDArray[Any]) -> None:
        if self._floor == np.inf:
            return
        kept = last >= self._floor
        places = points[kept].astype(np.int32), units[kept].astype(np.int32)
        self._pairs.append((*places, last[kept], shift[kept].astype(np.float32)))
        self._n_pairs += int(kept.sum())
        if self._n_pairs > PAIR_LIMIT:
            self._raise_floor()

    def _raise_floor(self) -> None:
        """Drop about half of the pairs, those whose conflict ends at the smallest epsilons; all, if there is none."""
        everything = np.concatenate([pairs[2] for pairs in self._pairs])
        middle = float(np.partition(everything, len(everything) // 2)[len(everything) // 2])
        self._floor = float(np.nextafter(middle, np.inf))
        kept = [(pairs[2] >= self._floor) & (self._floor < np.inf) for pairs in self._pairs]
        self._pairs = [tuple(part[k] for part in pairs) for pairs, k in zip(self._pairs, kept, strict=True)]
        self._n_pairs = sum(len(pairs[0]) for pairs in self._pairs)
