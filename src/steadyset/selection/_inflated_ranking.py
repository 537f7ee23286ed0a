"""The inflated ranking: every order that close scores may have in common, without listing them."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.inflation import INV_SQRT2
from steadyset.selection._inflated_argmax import inflated_argmax
from steadyset.selection._radius import OUTWARD_ULPS


def inflated_ranking(scores: Any, epsilon: float) -> "InflatedRanking":
    """Rank items so that scores closer than epsilon always have an order in common.

    An order is allowed where each of its items is in the inflated argmax of the items that are left.

    Parameters
    ----------
    scores : array of shape (n_items,)
        Finite numbers, large ones first.
    epsilon : float
        At least 0. 0 allows the descending orders alone.

    Returns
    -------
    InflatedRanking

    Notes
    -----
    Theory: :doc:`/theory/choices`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ranking = ss.inflated_ranking([0.40, 0.25, 0.23, 0.12], epsilon=0.1)
    >>> ranking.allows([0, 2, 1, 3]), ranking.allows([1, 0, 2, 3])
    (True, False)
    >>> ranking.best_ranks, ranking.worst_ranks
    (array([1, 2, 2, 4]), array([1, 3, 3, 4]))
    """
    epsilon = validation.epsilon(epsilon)
    values, kind = validation.numpy_scores(scores)
    if values.ndim != 1:
        raise ValueError(f"scores must have one axis, the items; got an array of shape {values.shape}.")
    if kind == 3:  # bfloat16 is the upper half of a float32
        values = (values.astype(np.uint32) << 16).view(np.float32)
    if values.dtype.kind in "iu":  # shifted while still exact
        values = -(values.max().astype(object) - values.astype(object)).astype(np.float64)
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"scores must hold finite numbers only; got {values[bad]} for item {bad}.")
    return InflatedRanking(values.astype(np.float64), epsilon)


@dataclass(frozen=True, eq=False)
class InflatedRanking:
    """The orders of items that an inflated ranking allows.

    Made by :func:`steadyset.inflated_ranking`.

    Attributes
    ----------
    scores : ndarray of shape (n_items,)
    epsilon : float

    Examples
    --------
    >>> import steadyset as ss
    >>> ranking = ss.inflated_ranking([0.40, 0.25, 0.23, 0.12], epsilon=0.1)
    >>> list(ranking.orders())
    [(0, 1, 2, 3), (0, 2, 1, 3)]
    >>> ranking.certain_pairs[1]
    array([False, False, False,  True])
    """

    scores: NDArray[np.float64]
    epsilon: float

    def allows(self, order: Any) -> bool:
        """Return whether an order, first item first, is allowed.

        Parameters
        ----------
        order : sequence of int
            Every item once, by its position in `scores`.

        Returns
        -------
        bool
        """
        items = validation.row_positions(order, len(self.scores), "order")
        if len(items) != len(self.scores) or len(np.unique(items)) != len(items):
            raise ValueError(
                f"order must name each of the {len(self.scores)} items once; got {validation.shown(list(order))}."
            )
        left = self.scores[items]
        return all(self._chosen(left[place:])[0] for place in range(len(left)))

    @property
    def best_ranks(self) -> NDArray[np.intp]:
        """The smallest rank of each item over all allowed orders, 1 for the first.

        An item comes first among what is left soonest when the largest others go before it.
        """
        order = np.argsort(-self.scores, kind="stable")
        descending, ranks = self.scores[order], np.empty(len(order), np.intp)
        reached = 0
        for gone in range(len(order)):
            size = int(self._chosen(descending[gone:]).sum())
            ranks[reached : gone + size] = gone + 1
            reached = max(reached, gone + size)
        found = np.empty_like(ranks)
        found[order] = ranks
        return found

    @property
    def worst_ranks(self) -> NDArray[np.intp]:
        """The largest rank of each item over all allowed orders: all that can come before it do."""
        ascending = np.sort(self.scores)
        after, most = np.zeros(len(ascending), np.intp), np.full(len(ascending), len(ascending), np.intp)
        for _ in range(len(ascending).bit_length()):  # bisect how many are certain to come after each item
            middle = (after + most) // 2
            with np.errstate(over="ignore"):
                more = self._certain(self.scores - ascending[np.minimum(middle, len(ascending) - 1)])
            more &= after < most
            after, most = np.where(more, middle + 1, after), np.where(more, most, middle)
        return len(ascending) - after

    @property
    def certain_pairs(self) -> NDArray[np.bool_]:
        """Whether item i comes before item j in every allowed order, at [i, j].

        It does where its lead is at least epsilon / sqrt(2): with what is above j gone, j is the runner-up of i.
        """
        with np.errstate(over="ignore"):
            return self._certain(self.scores[:, None] - self.scores[None, :])

    def orders(self, limit: int = 1000) -> Iterator[tuple[int, ...]]:
        """Yield allowed orders, at most `limit` of them.

        Parameters
        ----------
        limit : int, default=1000

        Yields
        ------
        tuple of int
            Items, first item first; the largest scores are tried first.
        """
        return itertools.islice(self._orders(np.argsort(-self.scores, kind="stable")), validation.count(limit, "limit"))

    def _orders(self, items: NDArray[np.intp]) -> Iterator[tuple[int, ...]]:
        order: list[int] = []
        steps = [self._firsts(items)]  # one for each place of the order; no recursion, as there may be many items
        while steps:
            for first, left in steps[-1]:
                order.append(first)
                if len(left):
                    steps.append(self._firsts(left))
                    break
                yield tuple(order)
                order.pop()
            else:
                steps.pop()
                del order[-1:]

    def _firsts(self, left: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield each item that may come next, and those that are left then."""
        for place in np.flatnonzero(self._chosen(self.scores[left])):
            yield int(left[place]), np.delete(left, place)

    def _chosen(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(inflated_argmax(scores, self.epsilon))

    def _certain(self, leads: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which leads put an item before another in every order; h is rounded outward, as in sets."""
        if self.epsilon == 0:
            return leads > 0
        margin = self.epsilon * (INV_SQRT2 + OUTWARD_ULPS * np.finfo(np.float64).eps)
        return (leads >= margin) & (margin < np.inf)
