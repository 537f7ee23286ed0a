"""The paper's pictures of the simplex: argmax, fixed margin and inflated argmax for three labels."""

from pathlib import Path
from typing import Any

from steadyset._base import validation
from steadyset.paper import _output
from steadyset.plot import Edge, compute_simplex_regions, simplex_regions
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
    rules: tuple[Rule, ...] = (Argmax(), FixedMargin(epsilon), InflatedArgmax(epsilon))
    figure = _output.new_figure((12.0, 4.1))
    for ax, rule in zip(figure.subplots(1, 3), rules, strict=True):
        ax.set_title(rule.display_name + (rf", $\varepsilon$ = {epsilon:g}" if rule.has_epsilon else ""))
        simplex_regions(rule, ax=ax)
    numbers = {
        "epsilon": epsilon,
        "boundaries": "closed, within the simplex; vectors (w_1, w_2, w_3); arcs have a centre and a radius",
        "rules": {rule.display_name: _numbers(rule) for rule in rules},
    }
    return _output.save(figure, numbers, folder, "simplex")


def _numbers(rule: Rule) -> list[dict[str, Any]]:
    return [
        {"set": [j + 1 for j in region.labels], "boundary": [_line(edge) for edge in region.edges]}
        for region in compute_simplex_regions(rule).regions
    ]


def _line(edge: Edge) -> dict[str, Any]:
    ends = {"from": edge.start.tolist(), "to": edge.stop.tolist()}
    return ends if edge.centre is None else {**ends, "centre": edge.centre.tolist(), "radius": edge.radius}
