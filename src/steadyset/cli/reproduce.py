"""`steadyset reproduce`: the paper's tables and figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from steadyset.cli._errors import sentences
from steadyset.paper import set_size as _set_size
from steadyset.paper import simplex as _simplex

app = typer.Typer(
    help="Draw a figure of the paper: PNG, PDF and SVG files, with the numbers as JSON.", no_args_is_help=True
)
_Folder = Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the files.")]


@app.command()
def simplex(
    folder: _Folder = Path("."),
    epsilon: Annotated[float, typer.Option(help="Epsilon of the fixed margin and the inflated argmax.")] = 0.5,
) -> None:
    """Draw which set each rule returns on the simplex of three labels."""
    _write("simplex", lambda: _simplex.reproduce(folder, epsilon=epsilon))


@app.command("set-size")
def set_size(
    folder: _Folder = Path("."),
    n_draws: Annotated[int, typer.Option(help="Random vectors for each number of labels.")] = 1000,
    seed: Annotated[int, typer.Option(help="Where the draws start.")] = 0,
) -> None:
    """Draw the mean set size of the inflated argmax and the fixed margin against the number of labels."""
    _write("set-size", lambda: _set_size.reproduce(folder, n_draws=n_draws, seed=seed))


def _write(name: str, make: Callable[[], tuple[Path, ...]]) -> None:
    with sentences(f"reproduce {name}"):
        files = make()
    for file in files:
        typer.echo(str(file))
