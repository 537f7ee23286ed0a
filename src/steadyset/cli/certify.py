"""`steadyset certify`: what is proved of the set of each point."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from steadyset.cli import _options
from steadyset.cli._answers import echo_json
from steadyset.cli._errors import sentences

if TYPE_CHECKING:
    from steadyset.audit import Certificates

EXAMPLES = """
Examples:

  steadyset certify model.skops new.csv
      what no dropped training row can do, at every row of new.csv

  steadyset certify predictions --alpha 0.01 --json
      of a folder of steadyset collect, at another level, for machines
"""


@_options.grouped
def certify(
    model: _options.Source,
    data: _options.PointData = None,
    alpha: Annotated[float, typer.Option(metavar="NUMBER", help="The level of the probabilistic statements.")] = 0.05,
    epsilon: _options.NewEpsilon = None,
    *,
    options: _options.ModelOptions,
) -> None:
    """Prove what can be proved of the label set of each row of a table, from the bags that were drawn."""
    with sentences("certify"):
        from steadyset.cli import _session

        with _session.told_once(options.quiet):
            found = (_of_folder if os.path.isdir(model) else _of_model)(model, data, alpha, epsilon, options)
        if options.as_json:
            echo_json({"rule": found.rule, "alpha": found.alpha, "n_points": found.n_points, **asdict(found.overview)})
        else:
            typer.echo(found.summary())


def _of_model(
    model: str, data: str | None, alpha: float, epsilon: float | None, options: _options.ModelOptions
) -> "Certificates":
    from steadyset.cli import _session
    from steadyset.ensemble import StableClassifier

    read = _session.open_both(model, _session.needed(data), options)
    clf = read.model.classifier
    if not isinstance(clf, StableClassifier):
        raise ValueError(f"{model!r} must hold bags that were drawn; got nearest neighbours, whose audit is certain.")
    return clf.certify(read.X, alpha, read.rule(epsilon))


def _of_folder(
    model: str, data: str | None, alpha: float, epsilon: float | None, options: _options.ModelOptions
) -> "Certificates":
    from steadyset.audit import certify
    from steadyset.cli import _predictions

    read = _predictions.open_predictions(model, data, None, options)
    return certify(read.predictions, _predictions.rule_at(epsilon), alpha)
