"""Which training rows matter."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class RowInfluence:
    """The training rows with the largest influence, largest first.

    Parameters
    ----------
    rows : array
        Their positions in the training data, or the labels of groups of rows.
    influence : array
        The influence of each.
    n_rows : int
        How many rows were left out in all.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_influence([0.0, 0.2, 0.1], n_rows=2).rows
    array([1, 2])
    """

    rows: NDArray[Any]
    influence: NDArray[np.float64]
    n_rows: int


def compute_influence(audit: Any, *, n_rows: int = 15) -> RowInfluence:
    """Rank training rows by their influence; ties keep their order.

    Parameters
    ----------
    audit : object or array
        With a `row_influence` for each left-out row and their positions `left_out`, such as a StabilityAudit; or
        plain influences of rows 0, 1, and so on.
    n_rows : int, default=15
        How many rows to keep.

    Returns
    -------
    RowInfluence

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_influence([0.0, 0.2, 0.1]).influence
    array([0.2, 0.1, 0. ])
    """
    values = set_validation.per_sample(getattr(audit, "row_influence", audit), None, "row_influence")
    n_rows = validation.count(n_rows, "n_rows")
    positions = np.asarray(getattr(audit, "left_out", np.arange(len(values))))
    set_validation.same_shape(positions, "left_out", values.shape, "row_influence")
    order = np.argsort(-values, kind="stable")[:n_rows]
    return RowInfluence(positions[order], values[order], len(values))


def influence(audit: Any, *, n_rows: int = 15, ax: "Axes | None" = None) -> "Axes":
    """Draw the training rows whose removal turns most label sets into disjoint ones.

    Parameters
    ----------
    audit : object or array
        With a `row_influence` for each left-out row and their positions `left_out`, such as a StabilityAudit; or
        plain influences of rows 0, 1, and so on.
    n_rows : int, default=15
        How many rows to show.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.influence([0.0, 0.2, 0.1], n_rows=2)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['1', '2']
    """
    found = compute_influence(audit, n_rows=n_rows)
    ax = _style.axes(ax, (6.0, 1.2 + 0.25 * max(4, len(found.rows))))
    places = np.arange(len(found.rows))
    ax.barh(places, found.influence, color=_style.COLOURS[0], height=0.7)
    ax.set_yticks(places, [str(row) for row in found.rows])
    ax.invert_yaxis()
    ax.set(
        xlabel="label sets that turn disjoint without it",
        ylabel=f"training row (top {len(found.rows)} of {found.n_rows:,})",
    )
    _style.open_frame(ax)
    ax.grid(visible=False, axis="y")
    return ax
