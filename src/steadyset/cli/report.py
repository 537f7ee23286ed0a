"""`steadyset report`: the evidence as one HTML file."""

import json
import os
from typing import Annotated

import typer

from steadyset.cli import _options
from steadyset.cli._errors import sentences

EXAMPLES = """
Examples:

  steadyset report model.skops test.csv --output report.html
      guarantee, audit and measures in one file that opens without a network

  steadyset report model.skops test.csv --title "Churn, March" --points 2000 --output report.html
      another title; at 2,000 rows drawn at random
"""


def report(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file of `steadyset fit`.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or npz, or - for CSV.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file.")],
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    points: Annotated[
        int | None, typer.Option(metavar="N", help="Use N rows of DATA, drawn at random; default: all of them.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of what is drawn at random.")] = 0,
    n_jobs: _options.Jobs = -1,
    trust: _options.Trust = None,
    trust_joblib: _options.TrustJoblib = False,
    separator: _options.Separator = None,
    decimal: _options.Decimal = ".",
    encoding: _options.Encoding = "utf-8",
    missing: _options.Missing = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Write a report on a model at the rows of a table: one HTML file that needs no network.

    Where the table has the target column, the sets of all rules are measured with it.
    """
    with sentences("report"):
        import steadyset as ss
        from steadyset._base import whole_files
        from steadyset.cli import _session

        whole_files.check_output(output, data, model)
        csv = _session.csv_format(separator, decimal, encoding, missing)
        read = _session.open_both(model, data, csv, trust, trust_joblib, quiet)
        X, rows = _session.drawn(read.X, points, seed)
        clf = read.model.classifier.set_params(n_jobs=n_jobs)
        y = None if read.labels is None else read.labels[rows]
        if y is not None and not read.known[rows].all():
            X, y = X[read.known[rows]], y[read.known[rows]]
        _session.check_memory(clf, len(X))
        with _session.told_once(quiet):
            made = ss.report(clf, X, y, title=title, n_jobs=n_jobs)
        made.save(output)
        if as_json:
            size = os.path.getsize(output)
            typer.echo(json.dumps({"output": output, "n_rows": len(X), "bytes": size, "has_labels": y is not None}))
        else:
            typer.echo(output)
