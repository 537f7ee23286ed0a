"""`steadyset report`: the evidence as one HTML file."""

import json
import os
from typing import Annotated

import typer

from steadyset.cli import _options
from steadyset.cli._errors import note, sentences

EXAMPLES = """
Examples:

  steadyset report model.skops test.csv --output report.html
      guarantee, audit and measures in one file that opens without a network

  steadyset report model.skops test.csv --title "Churn, March" --points 2000 --output report.html
      another title; at 2,000 rows drawn at random
"""


@_options.grouped
def report(
    model: _options.Model,
    data: _options.Data,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file.")],
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    points: Annotated[
        int | None, typer.Option(metavar="N", help="Use N rows of DATA, drawn at random; default: all of them.")
    ] = None,
    seed: _options.Seed = 0,
    *,
    options: _options.ModelOptions,
) -> None:
    """Write a report on a model at the rows of a table: one HTML file that needs no network.

    Where the table has the target column, the sets of all rules are measured with it.
    """
    with sentences("report"):
        import steadyset as ss
        from steadyset._base import whole_files
        from steadyset.cli import _session
        from steadyset.ensemble import training_rows_in_words

        whole_files.check_output(output, data, model)
        read = _session.open_both(model, data, options)
        X, rows = _session.drawn(read.X, points, seed)
        clf = read.model.classifier
        y = None if read.labels is None else read.labels[rows]
        if y is not None and not read.known[rows].all():
            X, y = X[read.known[rows]], y[read.known[rows]]
        with _session.told_once(options.quiet):
            made = ss.report(clf, X, y, title=title, n_jobs=options.n_jobs)
        made.save(output)
        seen = made.numbers["n_points_in_training"]
        if seen and not options.quiet:
            note(training_rows_in_words(seen, made.numbers["n_points"]))
        if options.as_json:
            size = os.path.getsize(output)
            answer = {"output": output, "n_rows": len(X), "bytes": size, "has_labels": y is not None}
            typer.echo(json.dumps({**answer, "n_training_rows": seen}))
        else:
            typer.echo(output)
