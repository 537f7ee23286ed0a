"""Two versions of a model: how many sets stayed, changed or turned disjoint, beside what was promised."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steadyset._base import validation
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ComparedSets:
    """Shares of points by what became of their set, and the promised share of disjoint ones, None without a promise.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import steadyset as ss
    >>> found = SimpleNamespace(stayed=[True, False], changed=[False, True], disjoint=[False, False], promise="none")
    >>> ss.plot.compute_comparison(found)
    ComparedSets(stayed=0.5, changed=0.5, disjoint=0.0, promised=None)
    """

    stayed: float
    changed: float
    disjoint: float
    promised: float | None


def compute_comparison(found: Any) -> ComparedSets:
    """Work out the shares of points whose sets stayed, changed or turned disjoint.

    Parameters
    ----------
    found : Comparison
        From :func:`steadyset.compare`.

    Returns
    -------
    ComparedSets

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import steadyset as ss
    >>> found = SimpleNamespace(stayed=[True], changed=[False], disjoint=[False], promise=SimpleNamespace(delta=0.1))
    >>> ss.plot.compute_comparison(found).promised
    0.1
    """
    for name in ("stayed", "changed", "disjoint"):
        if not hasattr(found, name):
            raise TypeError(f"found must be what steadyset.compare returns; got {validation.shown(found)}.")
    stayed, changed, disjoint = (float(np.mean(part)) for part in (found.stayed, found.changed, found.disjoint))
    return ComparedSets(stayed, changed, disjoint, getattr(found.promise, "delta", None))


def comparison(found: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw what became of the sets of two models as bars, with a line at the promised share of disjoint ones.

    Parameters
    ----------
    found : Comparison
        From :func:`steadyset.compare`.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import steadyset as ss
    >>> found = SimpleNamespace(stayed=[True], changed=[False], disjoint=[False], promise=SimpleNamespace(delta=0.1))
    >>> ax = ss.plot.comparison(found)
    """
    shown = compute_comparison(found)
    ax = _style.axes(ax, (6.0, 2.6))
    names = ("same set", "other set,\nshares a label", "disjoint")
    shares = (shown.stayed, shown.changed, shown.disjoint)
    for place, share in enumerate(shares):
        ax.barh(place, share, color=_style.COLOURS[place], hatch=_style.HATCHES[place], edgecolor="white")
        words, end = f"{share:.2%}", share
        if place == 2 and shown.promised is not None:
            line = min(shown.promised, 1.0)
            ax.plot([line, line], [1.55, 2.45], color="black", linewidth=2)
            words, end = f"{words}, promised: at most {shown.promised:.3g}", max(share, line)
        inside = end > 0.6 and place == 2
        ax.annotate(
            words,
            (end, place),
            xytext=(-6 if inside else 6, 0),
            textcoords="offset points",
            va="center",
            ha="right" if inside else "left",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    ax.set_yticks(range(3), names)
    ax.set_ylim(2.6, -0.6)
    ax.set_xlim(0, 1.14)
    ax.set_xlabel("share of the points")
    _style.open_frame(ax)
    return ax
