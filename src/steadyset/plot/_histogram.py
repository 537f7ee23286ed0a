"""How large the sets are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SizeHistogram:
    """The share of sets of each size.

    Parameters
    ----------
    names : tuple of str
        What was compared; one empty name for a single mask.
    sizes : tuple of int
        From the smallest to the largest that occurs.
    shares : array of shape (n_names, n_sizes)
        Shares that sum to 1 for each name.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_set_size_histogram([[True, False], [True, True]]).shares
    array([[0.5, 0.5]])
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    shares: NDArray[np.float64]


def compute_set_size_histogram(sets: Any) -> SizeHistogram:
    """Count sets by size.

    Parameters
    ----------
    sets : bool array of shape (n_samples, n_classes), or mapping from names to such arrays
        Label sets.

    Returns
    -------
    SizeHistogram

    Examples
    --------
    >>> import steadyset as ss
    >>> proba = [[0.5, 0.4, 0.1], [0.9, 0.1, 0.0]]
    >>> sets = {"argmax": ss.argmax_set(proba), "inflated": ss.inflated_argmax(proba, epsilon=0.2)}
    >>> ss.plot.compute_set_size_histogram(sets).shares
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    named = sets if isinstance(sets, Mapping) else {"": sets}
    counted = [np.count_nonzero(set_validation.sample_sets(mask), axis=1) for mask in named.values()]
    if not counted or not all(len(sizes) for sizes in counted):
        raise ValueError(f"sets must hold at least one row; got {validation.shown(sets)}.")
    low, high = (int(limit([limit(sizes) for sizes in counted])) for limit in (np.min, np.max))
    shares = [np.bincount(sizes - low, minlength=high - low + 1) / len(sizes) for sizes in counted]
    return SizeHistogram(tuple(map(str, named)), tuple(range(low, high + 1)), np.array(shares))


def set_size_histogram(sets: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how many sets have which size, for one mask or several side by side.

    Parameters
    ----------
    sets : bool array of shape (n_samples, n_classes), or mapping from names to such arrays
        Label sets.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.set_size_histogram([[True, False], [True, True]])
    >>> [float(bar.get_height()) for bar in ax.patches]
    [0.5, 0.5]
    """
    found = compute_set_size_histogram(sets)
    ax = _style.axes(ax)
    width = 0.8 / len(found.names)
    for number, (name, shares) in enumerate(zip(found.names, found.shares, strict=True)):
        offset = (number - (len(found.names) - 1) / 2) * width
        ax.bar(
            np.array(found.sizes) + offset,
            shares,
            width,
            label=name,
            color=_style.COLOURS[number % len(_style.COLOURS)],
            hatch=_style.HATCHES[number % len(_style.HATCHES)],
            edgecolor="white",
            linewidth=0.5,
        )
    ax.set_xticks(found.sizes)
    ax.set(xlabel="labels in the set", ylabel="share of samples")
    _style.open_frame(ax)
    ax.grid(visible=False, axis="x")
    if any(found.names):
        ax.legend(frameon=False)
    return ax
