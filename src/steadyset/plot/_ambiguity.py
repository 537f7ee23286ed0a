"""Which labels share sets."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NUMBERS = 12  # labels: with more of them, numbers would not fit into the cells


@dataclass(frozen=True)
class Ambiguity:
    """Which labels share sets, and which of two is right.

    Parameters
    ----------
    classes : tuple
        The labels.
    together : int array of shape (n_classes, n_classes)
        How many sets hold both labels; 0 on the diagonal.
    right : array of shape (n_classes, n_classes) or None
        How often the label of the row is the true one in the sets that hold both; NaN where there is none.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_ambiguity_matrix([[True, True], [True, True]], [0, 0]).right
    array([[nan,  1.],
           [ 0., nan]])
    """

    classes: tuple[Any, ...]
    together: NDArray[np.int64]
    right: NDArray[np.float64] | None


def compute_ambiguity_matrix(sets: Any, y_true: Any = None, *, classes: Any = None) -> Ambiguity:
    """Count how many sets hold each pair of labels.

    Parameters
    ----------
    sets : bool array of shape (n_samples, n_classes)
        Label sets.
    y_true : sequence of n_samples labels, default=None
        True labels: column numbers, or any labels where `classes` names the columns.
    classes : sequence of n_classes labels, default=None
        The label of each column.

    Returns
    -------
    Ambiguity

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_ambiguity_matrix([[True, True, False], [True, True, True]]).together
    array([[0, 2, 1],
           [2, 0, 1],
           [1, 1, 0]])
    """
    mask = set_validation.sample_sets(sets)
    labels = tuple(set_validation.class_labels(classes, mask.shape[1]))
    counts = mask.astype(np.int64).T @ mask
    np.fill_diagonal(counts, 0)
    if y_true is None:
        return Ambiguity(labels, counts, None)
    columns = set_validation.label_columns(y_true, len(mask), mask.shape[1], classes)
    true = np.zeros(mask.shape, np.int64)
    true[np.arange(len(mask)), columns] = 1
    held = (true * mask).T @ mask  # sets that hold both, where the row's label is true
    right = np.divide(held, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return Ambiguity(labels, counts, right)


def ambiguity_matrix(sets: Any, y_true: Any = None, *, classes: Any = None, ax: "Axes | None" = None) -> "Axes":
    r"""Draw which pairs of labels share sets, and, with true labels, how often each of the two is right.

    Parameters
    ----------
    sets : bool array of shape (n_samples, n_classes)
        Label sets.
    y_true : sequence of n_samples labels, default=None
        True labels: column numbers, or any labels where `classes` names the columns.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes
        The darker a cell, the more sets hold its two labels; the number says how many. With true labels a second
        number says in how many of them, in percent, the label of the row is right.

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.ambiguity_matrix([[True, True], [True, True]], ["a", "a"], classes=["a", "b"])
    >>> [text.get_text() for text in ax.texts]
    ['2\n100%', '2\n0%']
    """
    found = compute_ambiguity_matrix(sets, y_true, classes=classes)
    n_classes = len(found.classes)
    side = min(8.0, 2.0 + 0.5 * n_classes)
    ax = _style.axes(ax, (side + 0.8, side))
    from matplotlib.ticker import MaxNLocator

    shown = np.ma.masked_equal(found.together, 0)
    most = max(1, int(found.together.max(initial=0)))
    image = ax.imshow(shown, cmap="Blues", vmin=0, vmax=most)
    whole = MaxNLocator(integer=True)
    ax.figure.colorbar(image, ax=ax, label="sets that hold both labels", shrink=0.8, ticks=whole)
    if n_classes <= _MOST_NUMBERS:
        for row, column in zip(*np.nonzero(found.together), strict=True):
            count = found.together[row, column]
            text = f"{count}" if found.right is None else f"{count}\n{found.right[row, column]:.0%}"
            dark = count > 0.6 * most
            ax.text(column, row, text, ha="center", va="center", fontsize=9, color="white" if dark else "black")
    names = [str(label) for label in found.classes]
    turn: dict[str, Any] = (
        {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) > 2 else {}
    )
    ax.set_xticks(range(n_classes), names, **turn)
    ax.set_yticks(range(n_classes), names)
    ax.set(
        xlabel="with label", ylabel="label" if found.right is None else "label (% of these sets in which it is right)"
    )
    return ax
