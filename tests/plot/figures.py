"""What every picture must satisfy."""

from itertools import combinations

from matplotlib.text import Text


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
    return [(text.get_text(), Text.get_window_extent(text)) for text in found]


def tick_labels(axis, limits):
    low, high = sorted(limits)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [label for tick in ticks if low <= tick.get_loc() <= high for label in (tick.label1, tick.label2)]


def check_readable(ax):
    """All texts lie inside the picture, none on another, none too small to read."""
    figure = ax.get_figure(root=True)
    found = texts(figure)
    page = figure.bbox
    for text, box in found:
        inside = box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1 and box.y0 >= page.y0 - 1 and box.y1 <= page.y1 + 1
        assert inside, f"{text!r} leaves the picture"
        assert box.height >= 6 * figure.dpi / 72, f"{text!r} is too small"
    for (a, box_a), (b, box_b) in combinations(found, 2):
        width = min(box_a.x1, box_b.x1) - max(box_a.x0, box_b.x0)
        height = min(box_a.y1, box_b.y1) - max(box_a.y0, box_b.y0)
        assert min(width, height) <= 1, f"{a!r} lies on {b!r}"
