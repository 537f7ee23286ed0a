"""The `steadyset` command: one module per subcommand."""

import typer

from steadyset.cli import (
    audit,
    bags,
    certify,
    collect,
    compare,
    demo,
    explore,
    fit,
    plan,
    predict,
    refit,
    report,
    reproduce,
    select,
)

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
app.command(epilog=refit.EXAMPLES)(refit.refit)
app.command(epilog=predict.EXAMPLES)(predict.predict)
app.command(epilog=audit.EXAMPLES)(audit.audit)
app.command(epilog=certify.EXAMPLES)(certify.certify)
app.command(epilog=compare.EXAMPLES)(compare.compare)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=bags.EXAMPLES)(bags.bags)
app.command(epilog=collect.EXAMPLES)(collect.collect)
app.add_typer(reproduce.app, name="reproduce")
