"""The `steadyset` command: one module a subcommand."""

import typer

from steadyset.cli import demo, explore, plan, reproduce

app = typer.Typer(
    name="steadyset",
    help="Label sets that hold steady when a training row is dropped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Label sets that hold steady when a training row is dropped."""


app.command()(demo.demo)
app.command(epilog=plan.EXAMPLES)(plan.plan)
app.command()(explore.explore)
app.add_typer(reproduce.app, name="reproduce")


def main() -> None:
    """Run the command line."""
    app()
