"""The page: numbers in, one HTML file out, with everything it needs inside."""

import json
from importlib.resources import files
from typing import Any

import numpy as np

from steadyset._base import optional
from steadyset.ensemble import training_rows_in_words
from steadyset.guarantees import TITLES, VACUOUS, javascript
from steadyset.reporting import _formats, _numbers, _slider
from steadyset.reporting._evidence import Evidence


def libraries() -> tuple[Any, Any]:
    """Return jinja2 and plotly.offline, or say what to install, before any long work starts."""
    return optional.require("jinja2", "report"), optional.require("plotly.offline", "report")


def page(found: Evidence, numbers: dict[str, Any], examples: list[dict[str, Any]], title: str) -> str:
    """Return the page as HTML."""
    jinja2, plotly = libraries()
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.globals.update(f=_formats, words=_numbers, training_rows_in_words=training_rows_in_words)
    template = environment.from_string(own_file("page.html"))
    html: str = template.render(
        title=title,
        numbers=numbers,
        live=_numbers.live(found, numbers),
        moves=found.inputs.moves,
        examples=examples,
        has_labels=found.inputs.columns is not None,
        shows_images=found.inputs.shape is not None,
        data=_script_json(_data(found, numbers)),
        style=own_file("page.css"),
        guarantees=javascript(),
        script=own_file("page.js"),
        plotly=plotly.get_plotlyjs(),
    )
    return html.strip() + "\n"


def own_file(name: str) -> str:
    """Return a file of this room as text."""
    return (files("steadyset.reporting") / name).read_text(encoding="utf-8")


def _script_json(data: Any) -> str:
    """Return JSON that no value can break out of a script element with."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII only
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _data(found: Evidence, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return what the page's script works on."""
    inputs = found.inputs
    return {
        "epsilon": inputs.epsilon,
        "moves": found.inputs.moves,
        "points": found.path.n_points,
        "units": found.path.n_units,
        "unit": numbers["unit"],
        "classes": numbers["classes"],
        "truth": None if inputs.columns is None else _slider.packed(inputs.columns, "<u4"),
        "steps": _slider.as_data(found.steps),
        "rows": _slider.unit_steps(found.leading[: _numbers.MOST_ROWS], found.path, found.last, found.steps.step),
        "bound": inputs.source.setting(found.proba.shape[1]) if found.inputs.moves else None,
        "titles": TITLES,
        "vacuous": VACUOUS,
        "certificates": _certificates(found),
    }


def _certificates(found: Evidence) -> dict[str, Any] | None:
    """Return what Theorem 4 is made of at each certified point: the two bounds, and what its radius depends on.

    That is the gaps below the largest probability of all labels that the slider can select, and of the next one.
    """
    proved = found.certificates
    if isinstance(proved, str) or not found.inputs.moves:
        return None
    rows = -np.sort(-found.proba[found.certified], axis=1)
    largest = int((found.entries.inflated[found.certified] < found.steps.top).sum(axis=1).max(initial=0))
    names = (
        "no_row_at_once",
        "vacuous_at_once",
        "cleared_points",
        "cleared_rows",
        "median_poisoning",
        "most_poisoning",
    )
    certain = [[epsilon, *(getattr(at, name) for name in names)] for epsilon, at in found.certain_at.items()]
    return {
        "certain": certain,
        "rows": proved.n_samples,
        "influence": proved.influence,
        "points": _slider.packed(found.certified, "<u4"),
        "width": min(largest + 1, rows.shape[1]),
        "gaps": _slider.packed((rows[:, :1] - rows)[:, : largest + 1], "<f8"),
        "spread": _slider.packed(proved.spread_bound, "<f8"),
        "distance": _slider.packed(proved.distance_bound, "<f8"),
    }
