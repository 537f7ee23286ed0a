"""Audits: how many points are how unstable, and which training rows matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset.audit import survival
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SurvivalCurve:
    """The share of points whose instability exceeds each threshold: a step function.

    Parameters
    ----------
    name : str
        What was audited.
    thresholds, shares : arrays
        From `thresholds[k]` up to the next threshold, `shares[k]` of the points exceed it. The first threshold is 0,
        the last share 0.

    Examples
    --------
    >>> import steadyset as ss
    >>> curve = ss.plot.compute_survival_curve({"argmax": [0.0, 0.5, 0.5, 0.9]})[0]
    >>> curve.thresholds, curve.shares
    (array([0. , 0.5, 0.9]), array([0.75, 0.25, 0.  ]))
    """

    name: str
    thresholds: NDArray[np.float64]
    shares: NDArray[np.float64]


def compute_survival_curve(audits: Any) -> tuple[SurvivalCurve, ...]:
    """Work out the share of points that exceed each level of instability.

    Parameters
    ----------
    audits : mapping from names to audits or arrays
        Objects with an `instability` for each point, such as a StabilityAudit, or plain arrays of them.

    Returns
    -------
    tuple of SurvivalCurve

    Examples
    --------
    >>> import steadyset as ss
    >>> [curve.name for curve in ss.plot.compute_survival_curve({"a": [0.1], "b": [0.0]})]
    ['a', 'b']
    """
    if not isinstance(audits, Mapping) or not audits:
        raise TypeError(f"audits must be a mapping from names to audits or arrays; got {validation.shown(audits)}.")
    curves = []
    for name, audit in audits.items():
        values = set_validation.instabilities(getattr(audit, "instability", audit))
        thresholds = np.union1d([0.0], values)
        curves.append(SurvivalCurve(str(name), thresholds, survival(values, thresholds)))
    return tuple(curves)


def survival_curve(audits: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of points whose instability exceeds delta, for every delta, on a log scale.

    Parameters
    ----------
    audits
        As in :func:`compute_survival_curve`.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes
        A curve without a point above 0 has no place on a log scale: its legend entry says so.

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.survival_curve({"argmax": [0.0, 0.5, 0.9], "inflated argmax": [0.0, 0.0, 0.0]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['argmax', 'inflated argmax (0 at every point)']
    """
    curves = compute_survival_curve(audits)
    ax = _style.axes(ax)
    for number, curve in enumerate(curves):
        style, label = _style.line_style(number), curve.name
        if curve.shares[0] == 0:
            label += " (0 at every point)"
        ax.step([*curve.thresholds, 1.0], [*curve.shares, 0.0], where="post", label=label, **style)
    ax.set_yscale("log", nonpositive="clip")
    positive = [share for curve in curves for share in curve.shares if share > 0]
    ax.set(xlim=(-0.01, 1.01), ylim=(0.5 * min(positive, default=0.1), 1.3))
    ax.set(xlabel="instability $\\delta$", ylabel="share of points with $\\delta_j > \\delta$")
    _style.open_frame(ax)
    ax.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none")
    return ax


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
    audit, n_rows
        As in :func:`compute_influence`.
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
