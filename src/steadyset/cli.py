"""The `steadyset` command."""

import typer

from steadyset import _demo

app = typer.Typer(
    name="steadyset",
    help="Label sets that hold steady when a training row is dropped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Label sets that hold steady when a training row is dropped."""


@app.command()
def demo() -> None:
    """Show every selection rule on a bagged classifier of handwritten digits."""
    _demo.run()


def main() -> None:
    """Run the command line."""
    app()
