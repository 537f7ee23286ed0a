"""The page of two versions of a model: what became of the sets, what was promised, and which points to look at."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import optional
from steadyset.ensemble import Comparison
from steadyset.guarantees import Guarantee
from steadyset.reporting import _formats
from steadyset.reporting._page import own_file

_MOST_LINES = 200


def comparison_page(found: Comparison, title: str | None = None) -> str:
    """Return a comparison of two models as an HTML page that needs no network."""
    jinja2 = optional.require("jinja2", "report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.globals.update(f=_formats)
    disjoint, changed = np.flatnonzero(found.disjoint), np.flatnonzero(found.changed)
    template = environment.from_string(own_file("comparison.html"))
    html: str = template.render(
        title="Two versions of a model" if title is None else title,
        found=found,
        style=own_file("page.css"),
        bars=_bars(found),
        promised=isinstance(found.promise, Guarantee),
        disjoint=_lines(found, disjoint),
        changed=_lines(found, changed),
        moves=_moves(found),
        n_disjoint=len(disjoint),
        n_changed=len(changed),
    )
    return html.strip() + "\n"


def _bars(found: Comparison) -> list[dict[str, Any]]:
    parts = {"same set": found.stayed, "other set, shares a label": found.changed, "disjoint": found.disjoint}
    return [{"name": name, "n": int(part.sum()), "share": float(part.mean())} for name, part in parts.items()]


def _lines(found: Comparison, points: NDArray[np.intp]) -> list[dict[str, Any]]:
    """Return the first of these points with both of their sets in words."""
    return [
        {
            "point": int(point),
            "old": _in_words(found, found.old_sets[point]),
            "new": _in_words(found, found.new_sets[point]),
        }
        for point in points[:_MOST_LINES]
    ]


def _moves(found: Comparison) -> list[dict[str, Any]]:
    """Return how often each set turned into each other one, most often first."""
    both = np.concatenate([found.old_sets, found.new_sets], axis=1)[~found.stayed]
    if len(both) == 0:
        return []
    pairs, times = np.unique(both, axis=0, return_counts=True)
    width = len(found.classes)
    return [
        {
            "old": _in_words(found, pairs[k, :width]),
            "new": _in_words(found, pairs[k, width:]),
            "disjoint": not (pairs[k, :width] & pairs[k, width:]).any(),
            "n": int(times[k]),
        }
        for k in np.argsort(-times, kind="stable")[:_MOST_LINES]
    ]


def _in_words(found: Comparison, members: NDArray[np.bool_]) -> str:
    return ", ".join(str(label) for label in found.classes[members]) or "no label"
