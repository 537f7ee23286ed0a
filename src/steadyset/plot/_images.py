"""Images with their label sets."""

from typing import TYPE_CHECKING, Any

import numpy as np

from steadyset._base import set_validation, validation
from steadyset._base.label_sets import to_labels
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 0.12
_CAPTION = 0.3


def plot_sets(
    images: Any, sets: Any, *, classes: Any = None, y_true: Any = None, n_columns: int = 5, ax: "Axes | None" = None
) -> "Axes":
    r"""Draw images in rows, each with its label set beneath.

    Parameters
    ----------
    images : array of shape (n_samples, height, width) or (n_samples, height, width, 3 or 4)
        Grey images, or colours as matplotlib takes them.
    sets : bool array of shape (n_samples, n_classes)
        Label sets.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    y_true : sequence of n_samples labels, default=None
        True labels: column numbers, or any labels where `classes` names the columns. A set without its true label is
        marked with a cross and the true label.
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
