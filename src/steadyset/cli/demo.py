"""`steadyset demo`: the whole story on handwritten digits."""

from pathlib import Path
from typing import Annotated

import typer

from steadyset.cli._errors import sentences


def demo(
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the HTML report.")] = Path(
        "steadyset-demo.html"
    ),
) -> None:
    """Show the whole story on handwritten digits, and write its HTML report."""
    with sentences("demo"):
        from steadyset.cli import _demo

        _demo.run(output=output)
