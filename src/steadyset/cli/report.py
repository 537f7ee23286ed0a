"""`steadyset report`: the evidence as one HTML file."""

import json
import os
from typing import Annotated, Any

import numpy as np
import typer

from steadyset.cli import _options
from steadyset.cli._errors import note, sentences

EXAMPLES = """
Examples:

  steadyset report model.skops test.csv --output report.html
      guarantee, audit and measures in one file that opens without a network

  steadyset report model.skops test.csv --title "Churn, March" --points 2000 --output report.html
      another title; at 2,000 rows drawn at random

  steadyset report model.skops test.csv --coverage 0.9 --output report.html
      with sets that hold the true label about 9 times in 10, and what that costs

  steadyset report predictions test.csv --target species --epsilon 0.1 --output report.html
      on a folder of steadyset collect, and the table of its points
"""


@_options.grouped
def report(
    model: _options.Source,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file.")],
    data: _options.PointData = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    points: Annotated[
        int | None, typer.Option(metavar="N", help="Use N rows of DATA, drawn at random; default: all of them.")
    ] = None,
    epsilon: _options.NewEpsilon = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="For a folder: the column of DATA that holds the labels.")
    ] = None,
    coverage: _options.Coverage = None,
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

        whole_files.check_output(output, *([] if data is None else [data]), model)
        of_folder = os.path.isdir(model)
        if target is not None and not of_folder:
            raise ValueError(f"target must be left out for a model file, which knows its own; got {target!r}.")
        source, X, y = (
            _points_of_folder(model, data, target, points, seed, options)
            if of_folder
            else _points_of_model(model, data, points, seed, options)
        )
        _session.check_coverage(source, coverage)
        with _session.told_once(options.quiet):
            made = ss.report(source, X, y, epsilon=epsilon, title=title, coverage=coverage, n_jobs=options.n_jobs)
        made.save(output)
        seen = made.numbers["n_points_in_training"]
        if seen and not options.quiet:
            note(training_rows_in_words(seen, made.numbers["n_points"]))
        if options.as_json:
            size = os.path.getsize(output)
            answer = {"output": output, "n_rows": made.numbers["n_points"], "bytes": size, "has_labels": y is not None}
            typer.echo(json.dumps({**answer, "n_training_rows": seen}))
        else:
            typer.echo(output)


_Points = tuple[Any, Any, Any]  # a model or predictions, the rows of the points, and their labels; None for none


def _points_of_model(
    model: str, data: str | None, points: int | None, seed: int, options: _options.ModelOptions
) -> _Points:
    from steadyset.cli import _session

    read = _session.open_both(model, _session.needed(data), options)
    X, rows = _session.drawn(read.X, points, seed)
    y = None if read.labels is None else read.labels[rows]
    if y is not None and not read.known[rows].all():
        X, y = X[read.known[rows]], y[read.known[rows]]
    return read.model.classifier, X, y


def _points_of_folder(
    model: str, data: str | None, target: str | None, points: int | None, seed: int, options: _options.ModelOptions
) -> _Points:
    from steadyset.cli import _predictions

    read = _predictions.open_predictions(model, data, target, options)
    predictions, rows = read.drawn(points, seed)
    if read.labels is None or read.known is None:
        return predictions, None if read.X is None else read.X.iloc[rows], None
    kept = np.flatnonzero(read.known[rows])
    return predictions.at_points(kept), read.X.iloc[rows[kept]], read.labels[rows[kept]]
