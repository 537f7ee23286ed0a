"""`steadyset plan`: what is guaranteed before training."""

from typing import Annotated

import typer

from steadyset.cli._answers import echo_json
from steadyset.cli._errors import sentences

EXAMPLES = """
Examples:

  steadyset plan --n-samples 60000 --n-classes 10
      what is guaranteed for a few bag sizes and numbers of bags

  steadyset plan --n-samples 60000 --n-classes 10 --bag-size 0.5 --delta 0.05
      how many bags reach 0.05

  steadyset plan --n-samples 60000 --n-classes 10 --delta 0.05
      the same for a few bag sizes, and the largest bags that keep it, with what training them costs

  steadyset plan --data train.csv --target species --delta 0.05
      these, tried on data: accuracy and set size by 25 bags of each size

  steadyset plan --n-samples 60000 --n-bags 1000 --n-bags inf --delta 0.01 --solve epsilon
      which epsilon reaches 0.01

  steadyset plan --n-samples 60000 --epsilon 0.05 --epsilon 0.1 --n-bags inf --delta 0 --solve bag_size
      how small bags must be for no row to matter at all

  steadyset plan --n-samples 60000 --n-classes 10 --epsilon 0.3 --bag-size 0.1 --n-added 3000
      what is guaranteed when next month's rows come
"""


def plan(
    n_samples: Annotated[list[str] | None, typer.Option(metavar="ROWS", help="Training rows.")] = None,
    n_classes: Annotated[str | None, typer.Option(metavar="LABELS", help="Size of the label space, if known.")] = None,
    epsilon: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="Epsilon of the rule.")] = None,
    bag_size: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROWS|SHARE|small",
            help="Rows per bag, or their share (with a point: 0.5), or the largest bags with which no row can matter.",
        ),
    ] = None,
    n_bags: Annotated[list[str] | None, typer.Option(metavar="BAGS|inf", help="Number of bags.")] = None,
    delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="The guarantee to reach.")] = None,
    solve: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to solve for with --delta: n_bags (the default), n_samples, bag_size or epsilon.",
        ),
    ] = None,
    resampling: Annotated[str, typer.Option(metavar="KIND", help="subbagging or bootstrap.")] = "subbagging",
    coupling: Annotated[str | None, typer.Option(metavar="KIND", help="hash, independent or any.")] = None,
    theorem: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="best, paper, second-moment, exact-second-moment, exponential, small-bags or two-labels.",
        ),
    ] = "best",
    sigma2: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="A bound on the variance over bags at a point, if known.",
        ),
    ] = None,
    n_dropped: Annotated[str, typer.Option(metavar="ROWS", help="Rows dropped at once.")] = "1",
    n_added: Annotated[
        str, typer.Option(metavar="ROWS", help="Rows that come instead, exchangeable with the old ones.")
    ] = "0",
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --delta: a table to try the choices on, by 25 bags of each size."),
    ] = None,
    target: Annotated[str, typer.Option(metavar="NAME", help="Its column of labels.")] = "y",
    estimator: Annotated[str, typer.Option(metavar="NAME", help="What is tried, as in `steadyset fit`.")] = "forest",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what is guaranteed before training, or solve for what a guarantee needs.

    --n-samples, --epsilon, --bag-size and --n-bags may be repeated: the choices are shown side by side.
    """
    axes = {"n_samples": n_samples, "epsilon": epsilon, "bag_size": bag_size, "n_bags": n_bags}
    numbers = {"n_classes": n_classes, "sigma2": sigma2, "n_dropped": n_dropped, "n_added": n_added, "delta": delta}
    with sentences("plan"):
        from rich.console import Console

        from steadyset.cli import _plan_choices, _plan_table

        if data is not None:
            if delta is None:
                raise ValueError("delta must be given where the choices are tried on data; got nothing.")
            tried = _plan_choices.tried(data, target, estimator, delta, epsilon, n_bags)
            if as_json:
                echo_json(_plan_choices.as_json(tried))
            else:
                typer.echo(str(tried))
            return
        read = {name: _plan_table.parse([text], name)[0] for name, text in numbers.items() if text is not None}
        wanted = read.pop("delta", None)
        if solve is not None and wanted is None:
            raise ValueError(f"delta must be given when {solve} is solved for; got nothing.")
        unknown = solve if wanted is None else solve or "n_bags"
        common = {**read, "resampling": resampling, "coupling": coupling, "theorem": theorem}
        choices = {name: _plan_table.parse(texts or [], name) for name, texts in axes.items()}
        found = _plan_table.cells(choices, common, unknown, wanted)
        beside = None
        if wanted is not None and solve is None and not bag_size:
            beside = _plan_choices.beside(choices, common, wanted)
    if as_json:
        kept = {} if beside is None else {"plan": _plan_choices.as_json(beside)}
        echo_json({**_plan_table.as_json(found, unknown, wanted), **kept})
    else:
        _plan_table.show(found, unknown, wanted, Console())
        if beside is not None:
            typer.echo(f"\n{beside}")
