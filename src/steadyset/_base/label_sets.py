"""Label sets: bool masks over the labels, and the user's own labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation


def to_labels(mask: Any, classes: Sequence[Any] | np.ndarray[Any, Any]) -> list[tuple[Any, ...]]:
    """Return the label sets of a mask as tuples of the user's own labels.

    Parameters
    ----------
    mask : bool array of shape (..., n_classes)
        Label sets, as every selection rule returns them. A single set of shape (n_classes,) gives a list of one
        tuple; further leading axes are read in C order.
    classes : sequence of n_classes labels
        The label of each column.

    Returns
    -------
    list of tuple
        One tuple per set, its labels in the order of `classes`.

    Examples
    --------
    >>> import steadyset as ss
    >>> mask = ss.inflated_argmax([[0.50, 0.48, 0.02], [0.90, 0.05, 0.05]], epsilon=0.1)
    >>> ss.to_labels(mask, ["cat", "dog", "fox"])
    [('cat', 'dog'), ('cat',)]
    """
    sets = validation.bool_mask(mask)
    labels = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    if len(labels) != sets.shape[-1]:
        raise ValueError(f"classes must name each of the mask's {sets.shape[-1]} columns; got {len(labels)} labels.")
    return [tuple(labels[j] for j in np.flatnonzero(row)) for row in sets.reshape(-1, sets.shape[-1])]


def label_pairs(sets: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
    """Return how many sets hold each two labels, and the pairs of columns that share a set, the most common first."""
    counts = sets.astype(np.int64).T @ sets
    first, second = np.nonzero(np.triu(counts, 1))
    order = np.argsort(-counts[first, second], kind="stable")
    return counts, list(zip(first[order].tolist(), second[order].tolist(), strict=True))
