"""What the size of the bags buys and costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.guarantees import selection_stability
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class BagSizeTradeoff:
    """Guarantee, cost and accuracy at several bag sizes.

    Parameters
    ----------
    bag_sizes : array
        Rows in a bag, ascending.
    delta : array
        The guarantee at each; 1 and more promises nothing.
    cost : array
        Rows trained on, as a multiple of the training rows: of all bags, or of one where their number is not given.
    accuracy : mapping from int to float
        What was measured, by bag size.

    Examples
    --------
    >>> import steadyset as ss
    >>> tradeoff = ss.plot.compute_bag_size_tradeoff(1000, 0.1, bag_sizes=[100, 500], n_bags=200)
    >>> tradeoff.cost
    array([ 20., 100.])
    """

    bag_sizes: NDArray[np.int64]
    delta: NDArray[np.float64]
    cost: NDArray[np.float64]
    accuracy: Mapping[int, float]


def compute_bag_size_tradeoff(
    n_samples: int,
    epsilon: float,
    *,
    bag_sizes: Sequence[int | float] | None = None,
    accuracy: Mapping[int | float, float] | None = None,
    n_classes: int | None = None,
    n_bags: int | None = None,
    resampling: Any = "subbagging",
    theorem: Any = "best",
) -> BagSizeTradeoff:
    """Work out the guarantee and the cost of bags of several sizes.

    Parameters
    ----------
    n_samples : int
        Training rows.
    epsilon : float
        The epsilon of the rule.
    bag_sizes : sequence of int or float, default=None
        Rows per bag, or shares of the rows; 60 sizes up to nine tenths of the rows where it is None.
    accuracy : mapping from bag sizes to numbers, default=None
        Accuracies that were measured, as rows or shares.
    n_classes, n_bags, resampling, theorem
        As in :func:`steadyset.selection_stability`.

    Returns
    -------
    BagSizeTradeoff

    Examples
    --------
    >>> import steadyset as ss
    >>> tradeoff = ss.plot.compute_bag_size_tradeoff(1000, 0.1, bag_sizes=[0.5], accuracy={0.5: 0.9})
    >>> tradeoff.bag_sizes, tradeoff.delta.round(2), tradeoff.accuracy
    (array([500]), array([0.1]), {500: 0.9})
    """
    n = validation.count(n_samples, "n_samples", 2)
    if bag_sizes is None:
        bag_sizes = [int(size) for size in np.geomspace(max(1, n // 1000), max(1, 9 * n // 10), 60)]
    sizes = sorted({validation.resolve_bag_size(size, n, resampling) for size in bag_sizes})
    guarantees = [
        selection_stability(
            n_samples=n,
            epsilon=epsilon,
            bag_size=size,
            n_classes=n_classes,
            n_bags=n_bags,
            resampling=resampling,
            theorem=theorem,
        )
        for size in sizes
    ]
    cost = np.array(sizes) / n * (1 if n_bags is None else n_bags)
    measured = {
        validation.resolve_bag_size(size, n, resampling): validation.share(value, "accuracy")
        for size, value in (accuracy or {}).items()
    }
    deltas = np.array([guarantee.delta for guarantee in guarantees])
    return BagSizeTradeoff(np.array(sizes), deltas, cost, dict(sorted(measured.items())))


def bag_size_tradeoff(
    n_samples: int,
    epsilon: float,
    *,
    bag_sizes: Sequence[int | float] | None = None,
    accuracy: Mapping[int | float, float] | None = None,
    n_classes: int | None = None,
    n_bags: int | None = None,
    resampling: Any = "subbagging",
    theorem: Any = "best",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw guarantee, cost and measured accuracy against the size of the bags.

    Parameters
    ----------
    n_samples : int
        Training rows.
    epsilon : float
        The epsilon of the rule.
    bag_sizes : sequence of int or float, default=None
        Rows per bag, or shares of the rows; 60 sizes up to nine tenths of the rows where it is None.
    accuracy : mapping from bag sizes to numbers, default=None
        Accuracies that were measured, as rows or shares.
    n_classes, n_bags, resampling, theorem
        As in :func:`steadyset.selection_stability`.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes
        Shares are on the left scale, up to 1, beyond which a guarantee promises nothing; the cost on a second one at
        the right.

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.bag_size_tradeoff(10_000, 0.05, n_classes=10, accuracy={0.1: 0.88, 0.5: 0.91})
    >>> ax.get_xlabel()
    'rows in a bag'
    """
    found = compute_bag_size_tradeoff(
        n_samples,
        epsilon,
        bag_sizes=bag_sizes,
        accuracy=accuracy,
        n_classes=n_classes,
        n_bags=n_bags,
        resampling=resampling,
        theorem=theorem,
    )
    ax = _style.axes(ax, (6.0, 4.4))
    ax.plot(found.bag_sizes, found.delta, label="guaranteed delta", **_style.line_style(1))
    if found.accuracy:
        style = {**_style.line_style(2), "marker": _style.MARKERS[0]}
        ax.plot(list(found.accuracy), list(found.accuracy.values()), label="accuracy", **style)
    _style.open_frame(ax)
    what = "cost of all bags" if n_bags is not None else "cost of one bag"
    right = _style.right_scale(ax, f"{what}, in passes over the rows", 0)
    right.plot(found.bag_sizes, found.cost, label=f"{what} (right)", **_style.line_style(0))
    right.set_ylim(bottom=0)
    ax.set_xscale("log")
    ax.set(xlabel="rows in a bag", ylabel="share", ylim=(-0.02, 1.02))
    _style.shared_legend(ax, right)
    return ax
