"""What every picture must satisfy."""

from itertools import combinations

from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D


def texts(figure):
    """The texts that are seen, with their boxes."""
    figure.draw_without_rendering()
    found = []
    for ax in figure.axes:
        found += [ax.title, *ax.texts]
        if ax.get_legend() is not None:
            found += ax.get_legend().get_texts()
        if ax.axison:
            found += [ax.xaxis.label, ax.yaxis.label]
            found += tick_labels(ax.xaxis, ax.get_xlim()) + tick_labels(ax.yaxis, ax.get_ylim())
    found = [text for text in found if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), Text.get_window_extent(text), shape(text)) for text in found]


def shape(text):
    """The text's own rectangle, turned as the text is, a pixel smaller on each side."""
    box, turn = Text.get_window_extent(text), text.get_rotation()
    text.set_rotation(0)
    level = Text.get_window_extent(text)
    text.set_rotation(turn)
    width, height = (max(side / 2 - 1, 0.5) for side in (level.width, level.height))
    middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    place = Affine2D().scale(width, height).rotate_deg(turn).translate(*middle)
    return place.transform_path(Path([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]))


def tick_labels(axis, limits):
    low, high = sorted(limits)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [label for tick in ticks if low <= tick.get_loc() <= high for label in (tick.label1, tick.label2)]


def check_readable(ax):
    """All texts lie inside the picture, none on another, none too small to read."""
    figure = ax.get_figure(root=True)
    found = texts(figure)
    page = figure.bbox
    for text, box, _ in found:
        inside = box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1 and box.y0 >= page.y0 - 1 and box.y1 <= page.y1 + 1
        assert inside, f"{text!r} leaves the picture"
        assert box.height >= 6 * figure.dpi / 72, f"{text!r} is too small"
    for (a, _, shape_a), (b, _, shape_b) in combinations(found, 2):
        assert not shape_a.intersects_path(shape_b, filled=True), f"{a!r} lies on {b!r}"
