"""The `steadyset` command: one module per subcommand."""

import typer

from steadyset.cli import audit, demo, explore, fit, plan, predict, report, reproduce, select

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
app.command(epilog=select.EXAMPLES)(select.select)
app.command(epilog=fit.EXAMPLES)(fit.fit)
app.command(epilog=predict.EXAMPLES)(predict.predict)
app.command(epilog=audit.EXAMPLES)(audit.audit)
app.command(epilog=report.EXAMPLES)(report.report)
app.add_typer(reproduce.app, name="reproduce")
