"""The weight of each neighbour in the mean over all bags. It depends on its rank alone, not on the point."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from steadyset import _native

#: Weights are whole multiples of this: sums of them are exact in whatever order they are taken, so that a model without
#: a row, found from sums over the rows before and behind it, has the bits of a model that was fitted without the row.
UNIT = 2.0**-62

#: The rounding of the native walk, which is done in C's long double, and of the weights to their unit.
_ROUNDING = max(2.0**-63, float(np.finfo(np.longdouble).eps))


@dataclass(frozen=True, eq=False)
class NeighborWeights:
    """The weights of the nearest neighbours, the nearest first; all others together weigh less than half a unit.

    With c the number of votes of a neighbour among the k of a bag, `whole` is E[c]/k in units, `square` is E[c^2]/k^2,
    and `pair` is E[c c']/k^2 with c' the votes of any one nearer neighbour.
    """

    whole: NDArray[np.int64]
    pair: NDArray[np.float64]
    square: NDArray[np.float64]

    @property
    def depth(self) -> int:
        """How many neighbours have a weight."""
        return len(self.whole)


def rounding(depth: int, n_neighbors: int) -> float:
    """Return by how much probabilities may be off, all labels together, where so many neighbours have a weight.

    A step of the walk rounds a few times, and with replacement once for each vote.
    """
    return (depth + 1) * (n_neighbors + 16) * _ROUNDING


@lru_cache(maxsize=64)
def neighbor_weights(n_samples: int, bag_size: int, n_neighbors: int, bootstrap: bool) -> NeighborWeights:
    """Return the weights for bags of `bag_size` of `n_samples` rows; a bag of fewer rows than votes gives all it has.

    Examples
    --------
    >>> from steadyset.neighbors import neighbor_weights
    >>> neighbor_weights(4, 2, 1, False).whole * 2.0**-62  # the nearest row is in half of the bags
    array([0.5       , 0.33333333, 0.16666667])
    """
    k = min(n_neighbors, bag_size)
    room = min(n_samples, 64 + 4 * k * -(-n_samples // bag_size))
    while True:
        whole, pair, square = np.empty(room, np.int64), np.empty(room), np.empty(room)
        depth = _native.neighbor_weights(n_samples, bag_size, k, bootstrap, whole, pair, square)
        if depth >= 0:
            return NeighborWeights(whole[:depth].copy(), pair[:depth].copy(), square[:depth].copy())
        room = min(n_samples, 2 * room)
