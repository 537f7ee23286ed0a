"""Colours, lines and axes that all pictures share."""

from typing import TYPE_CHECKING, Any

from steadyset._base import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The Okabe-Ito colours, which stay apart for colour-blind readers; blue first, black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Lines, markers and hatches differ too, so that a print without colour can be read.
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def axes(ax: "Axes | None", size: tuple[float, float] = (6.0, 4.0)) -> "Axes":
    """Return the axes to draw into: those given, else those of a new figure."""
    pyplot = optional.require("matplotlib.pyplot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    found: Axes = ax
    return found


def line_style(number: int) -> dict[str, Any]:
    """Return colour and dashes of the n-th line."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number % len(LINES)], "linewidth": 2}


def open_frame(ax: "Axes") -> None:
    """Leave out the frame's top and right, and lay a light grid under the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="#DDDDDD", linewidth=0.8)
    ax.set_axisbelow(True)
