"""Label sets: how large they are, which labels share them, and images with their sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset._base.label_sets import label_pairs, to_labels
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NUMBERS = 12  # labels: with more of them, numbers would not fit into the cells
_GAP = 0.12
_CAPTION = 0.3


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
    counts, _ = label_pairs(mask)
    np.fill_diagonal(counts, 0)
    if y_true is None:
        return Ambiguity(labels, counts, None)
    columns = set_validation.label_columns(y_true, len(mask), mask.shape[1], classes)
    true = np.eye(mask.shape[1], dtype=np.int64)[columns]
    held = (true * mask).T @ mask  # sets that hold both, where the row's label is true
    right = np.divide(held, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return Ambiguity(labels, counts, right)


def ambiguity_matrix(sets: Any, y_true: Any = None, *, classes: Any = None, ax: "Axes | None" = None) -> "Axes":
    r"""Draw which pairs of labels share sets, and, with true labels, how often each of the two is right.

    Parameters
    ----------
    sets, y_true, classes
        As in :func:`compute_ambiguity_matrix`.
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


def plot_sets(
    images: Any, sets: Any, *, classes: Any = None, y_true: Any = None, n_columns: int = 5, ax: "Axes | None" = None
) -> "Axes":
    r"""Draw images in rows, each with its label set beneath.

    Parameters
    ----------
    images : array of shape (n_samples, height, width) or (n_samples, height, width, 3 or 4)
        Grey images, or colours as matplotlib takes them.
    sets, classes, y_true
        As in :func:`compute_ambiguity_matrix`. A set without its true label is marked with a cross and the true label.
    n_columns : int, default=5
        Images per row.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> images, sets = np.zeros((2, 8, 8)), [[True, True], [True, False]]
    >>> ax = ss.plot.plot_sets(images, sets, classes=["cat", "dog"], y_true=["cat", "dog"])
    >>> [text.get_text() for text in ax.texts]
    ['cat, dog', 'cat\n✗ dog']
    """
    mask = set_validation.sample_sets(sets)
    pictures = np.asarray(images)
    if pictures.ndim not in (3, 4) or len(pictures) != len(mask) or not len(mask):
        raise ValueError(
            f"images must be {len(mask)} images, one for each row of sets and at least one; got shape {pictures.shape}."
        )
    labels = set_validation.class_labels(classes, mask.shape[1])
    truth = None if y_true is None else set_validation.label_columns(y_true, len(mask), mask.shape[1], classes)
    per_row = min(validation.count(n_columns, "n_columns"), len(mask))
    n_rows = -(-len(mask) // per_row)
    captions = [_caption(named, labels, row, truth) for row, named in enumerate(to_labels(mask, labels))]
    step = 1 + _GAP + _CAPTION * max(1 + caption.count("\n") for caption in captions) / 1.5
    ax = _style.axes(ax, (1.35 * per_row, 1.35 * n_rows * step))
    for number, (picture, caption) in enumerate(zip(pictures, captions, strict=True)):
        left, top = (number % per_row) * (1 + _GAP), -(number // per_row) * step
        ax.imshow(picture, cmap="gray_r", extent=(left, left + 1, top - 1, top), interpolation="nearest")
        wrong = "✗" in caption
        colour = _style.COLOURS[1] if wrong else "black"
        ax.text(left + 0.5, top - 1.04, caption, ha="center", va="top", fontsize=8, color=colour, linespacing=1.1)
    ax.set(xlim=(-0.05, per_row * (1 + _GAP)), ylim=(-n_rows * step, 0.05))
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _caption(named: tuple[Any, ...], labels: list[Any], row: int, truth: Any) -> str:
    """Return the labels, as many per line as keep it short, and the true label where the set does not hold it."""
    lines: list[str] = []
    for label in map(str, named):
        if lines and len(lines[-1]) + len(label) < 14:
            lines[-1] += f", {label}"
        else:
            lines.append(label)
    text = ",\n".join(lines) if lines else "(none)"
    if truth is not None and labels[truth[row]] not in named:
        text += f"\n✗ {labels[truth[row]]}"
    return text
