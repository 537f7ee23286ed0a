"""Tail stability, measured: how often dropping a row moves the bagged probabilities by epsilon or more."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.bags import BagPredictions, checked_predictions, sum_bags

_BLOCK_BYTES = 1 << 28


def tail_stability(bag_predictions: BagPredictions, epsilon: float) -> NDArray[np.float64]:
    """Measure, at each point, the share of training rows whose removal moves the mean by epsilon or more.

    The model without row i is the mean over the bags that do not hold i. This is a measurement on the bags that were
    drawn; what is promised before any are drawn is :func:`steadyset.selection_stability`.

    Parameters
    ----------
    bag_predictions : BagPredictions
        Every row has to be missing from some bag.
    epsilon : float
        Above 0.

    Returns
    -------
    ndarray of shape (n_points,)
        The share of rows i with Euclidean distance ||p - p^i|| >= epsilon.

    See Also
    --------
    selection_stability : The guarantee.

    Notes
    -----
    The move holds the noise of a finite number of bags beside the row's own influence, so that the share is biased
    upwards against infinitely many bags.

    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=50, n_bags=200, bag_size=25)
    >>> proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=(200, 4))
    >>> ss.tail_stability(ss.BagPredictions(proba, bags, "abc"), epsilon=0.2)
    array([0., 0., 0., 0.])
    """
    checked_predictions(bag_predictions)
    bound = validation.positive(epsilon, "epsilon")
    bags, n_bags = bag_predictions.bags, bag_predictions.n_bags
    counts = bags.counts
    if counts.max() == n_bags:
        row = int(np.argmax(counts))
        raise ValueError(f"bags must leave every row out of some bag; got row {row} in all {n_bags}.")
    return _shares(bag_predictions, bound)


def _shares(predictions: BagPredictions, epsilon: float) -> NDArray[np.float64]:
    bags, n_bags, n = predictions.bags, predictions.n_bags, predictions.bags.n_samples
    shares = np.zeros(predictions.n_points)
    open_points = _unsettled(predictions, epsilon)
    if open_points.size == 0:
        return shares
    held = bags.membership().T.astype(np.float64)
    free = (n_bags - bags.counts).astype(np.float64)
    width = predictions.n_classes
    step = max(1, _BLOCK_BYTES // (8 * width * max(n, n_bags)))
    for start in range(0, open_points.size, step):
        points = open_points[start : start + step]
        values = np.ascontiguousarray(predictions.proba[:, points], dtype=np.float64)
        centred = (values - sum_bags(values) / n_bags).reshape(n_bags, -1)
        # p^i - p = -(sum of the centred predictions of the bags that hold i) / (number that do not)
        moves = held @ centred / free[:, None]
        distance = np.sqrt((moves.reshape(n, len(points), width) ** 2).sum(axis=2))
        shares[points] = (distance >= epsilon).mean(axis=0)
    return shares


def _unsettled(predictions: BagPredictions, epsilon: float) -> NDArray[np.intp]:
    """Return the points at which some row might move the mean by epsilon.

    No row can where the c largest deviations, c the most bags that hold one row, add up to less.
    """
    n_bags, most = predictions.n_bags, int(predictions.bags.counts.max())
    mean = predictions.mean()
    unsettled: list[Any] = []
    step = max(1, _BLOCK_BYTES // (8 * predictions.n_classes * n_bags))
    for start in range(0, predictions.n_points, step):
        block = predictions.proba[:, start : start + step].astype(np.float64) - mean[start : start + step]
        norms = np.sqrt((block**2).sum(axis=2))
        largest = np.partition(norms, n_bags - most, axis=0)[n_bags - most :].sum(axis=0) / (n_bags - most)
        unsettled.append(start + np.flatnonzero(largest >= epsilon * (1 - 1e-9)))
    return np.concatenate(unsettled)
