"""From the labels of the nearest rows to probabilities: of all rows, without each row, and the spread of the bags."""

import numpy as np
from numpy.typing import NDArray

from steadyset.neighbors._weights import UNIT, NeighborWeights


def probabilities(labels: NDArray[np.intp], weights: NeighborWeights, n_classes: int) -> NDArray[np.float64]:
    """Return the mean over all bags at each point; `labels` are (points, at least the weights' depth)."""
    votes = np.zeros((len(labels), n_classes), np.int64)
    places = (np.arange(len(labels))[:, None], labels[:, : weights.depth])
    np.add.at(votes, places, weights.whole)
    return np.multiply(votes, UNIT, dtype=np.float64)


def without_each(labels: NDArray[np.intp], weights: NeighborWeights, n_classes: int) -> NDArray[np.float64]:
    """Return the models without each of the nearest rows, and last the one that all other rows share.

    `weights` are those of one row less, `labels` (points, depth + 1). Without the r-th neighbour those before it keep
    their rank and those behind it move up by one: a sum over the rows before, and one over the rows behind. Rows beyond
    the depth leave the nearest ones as they are. The shape is (depth + 1, points, classes).
    """
    depth = weights.depth
    own = labels[:, : depth + 1].T[:, :, None] == np.arange(n_classes)
    kept = np.where(own[:depth], weights.whole[:, None, None], 0)
    moved = np.where(own[1:], weights.whole[:, None, None], 0)
    models = np.empty((depth + 1, *own.shape[1:]), np.int64)
    models[0] = 0
    np.cumsum(kept, axis=0, out=models[1:])  # before the r-th
    models[:depth] += np.cumsum(moved[::-1], axis=0)[::-1]  # behind it
    return models * UNIT


def spread(labels: NDArray[np.intp], weights: NeighborWeights, proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sigma^2 = E|V|^2 - |EV|^2 of one bag's votes V, rounded up (Theorem N3).

    E|V|^2 is the sum of E[c c']/k^2 over pairs of rows with the same label, and depends on the rank of the farther row
    alone.
    """
    near = labels[:, : weights.depth]
    own = near[:, :, None] == np.arange(proba.shape[1])
    so_far = np.cumsum(own, axis=1, dtype=np.int32)
    nearer = np.take_along_axis(so_far, near[:, :, None], axis=2)[:, :, 0] - 1
    second = weights.square.sum() + 2 * (nearer * weights.pair).sum(axis=1)
    return np.asarray(np.maximum(second - (proba * proba).sum(axis=1), 0.0) + (weights.depth + 8) * 2.0**-52)
