"""The paper's pictures of the simplex: argmax, fixed margin and inflated argmax for three labels."""

from pathlib import Path
from typing import Any

from steadyset._base import validation
from steadyset.paper import _output
from steadyset.plot import Region, compute_simplex_regions, simplex_regions
from steadyset.selection import Argmax, FixedMargin, InflatedArgmax, Rule


def reproduce(folder: str | Path = ".", *, epsilon: float = 0.5) -> tuple[Path, ...]:
    """Draw the regions of the three rules and write their exact boundaries.

    Parameters
    ----------
    folder : path, default="."
        Where to write simplex.png, simplex.pdf, simplex.svg and simplex.json.
    epsilon : float, default=0.5
        The epsilon of the fixed margin and the inflated argmax.

    Returns
    -------
    tuple of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> from steadyset.paper import simplex
    >>> [file.name for file in simplex.reproduce(tempfile.mkdtemp())]
    ['simplex.png', 'simplex.pdf', 'simplex.svg', 'simplex.json']
    """
    epsilon = validation.epsilon(epsilon)
    rules: dict[str, Rule] = {
        "argmax": Argmax(),
        "fixed margin": FixedMargin(epsilon),
        "inflated argmax": InflatedArgmax(epsilon),
    }
    figure = _output.new_figure((12.0, 4.1))
    for ax, (name, rule) in zip(figure.subplots(1, 3), rules.items(), strict=True):
        ax.set_title(name if name == "argmax" else rf"{name}, $\varepsilon$ = {epsilon:g}")
        simplex_regions(rule, ax=ax)
    numbers = {
        "epsilon": epsilon,
        "boundaries": "closed, within the simplex; vectors (w_1, w_2, w_3); arcs have a centre and a radius",
        "rules": {name: _numbers(rule) for name, rule in rules.items()},
    }
    return _output.save(figure, numbers, folder, "simplex")


def _numbers(rule: Rule) -> list[dict[str, Any]]:
    return [
        {"set": [j + 1 for j in region.labels], "boundary": _boundary(region)}
        for region in compute_simplex_regions(rule).regions
    ]


def _boundary(region: Region) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for edge in region.edges:
        ends = {"from": edge.start.tolist(), "to": edge.stop.tolist()}
        arc = {} if edge.centre is None else {"centre": edge.centre.tolist(), "radius": edge.radius}
        found.append({**ends, **arc})
    return found
