"""`steadyset explore`: the explorer in the browser."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from steadyset import explorer
from steadyset.cli._errors import sentences


def explore(
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the page; in the user's cache without it.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print where the page is.")] = False,
) -> None:
    """Open the explorer: drag probabilities and see their label sets; type a vector; work out a guarantee.

    The page needs no network and sends nothing anywhere.
    """
    with sentences("explore"):
        page = explorer.write(output)
    typer.echo(str(page))
    if not no_open and not webbrowser.open(page.as_uri()):
        typer.echo("steadyset explore: no browser could be started; open the file above in one.", err=True)
