"""`steadyset predict`: a model and a table in, label sets, probabilities and labels out."""

import json
from typing import Annotated, Any

import numpy as np
import typer

from steadyset.cli import _options
from steadyset.cli._errors import note, sentences

EXAMPLES = """
Examples:

  steadyset predict model.skops new.csv --output predictions.csv
      a line for each row: label, set, size, probabilities

  steadyset predict model.skops new.parquet --epsilon 0.1 --output predictions.parquet
      another epsilon; nothing is fitted again

  steadyset predict model.skops new.csv | head
      to standard output
"""


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file of `steadyset fit`.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or npz, or - for CSV.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help=".csv, .parquet, .npy, or -.")] = "-",
    epsilon: Annotated[float | None, typer.Option(metavar="NUMBER", help="Another epsilon than the model's.")] = None,
    id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="A column to carry over; default: the one of the fit.")
    ] = None,
    form: _options.Form = "both",
    joiner: _options.Joiner = "|",
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
    """Predict the sets, probabilities and labels of the rows of a table.

    Where the table has the target column, its labels are used to measure the sets. The guarantee is about the sets;
    the single label is not covered by it. An .npy output holds the sets alone.
    """
    with sentences("predict"):
        if as_json and output == "-":
            raise ValueError("--json needs --output FILE: both would go to standard output.")
        _options.check_form(form)
        from steadyset._base import whole_files
        from steadyset.cli import _session
        from steadyset.tables import _write
        from steadyset.tables._target import require_column

        kind = _write.output_format(output)
        if output != "-":
            whole_files.check_output(output, data, model)
        csv = _session.csv_format(separator, decimal, encoding, missing)
        read = _session.open_both(model, data, csv, trust, trust_joblib, quiet, id_column)
        if id_column is not None:
            require_column(read.table.column_names, id_column, "id_column")
        clf = read.model.classifier.set_params(n_jobs=n_jobs)
        with _session.told_once(quiet):
            proba, mask = _predicted(clf, read.X, epsilon, quiet)
        labels = [str(label) for label in clf.classes_.tolist()]
        _write.check_joiner(labels, joiner, form)
        with _write.open_writer(output) as writer:
            if kind == "npy":
                writer.write(mask)
            else:
                writer.write(_table(read, proba, mask, labels, id_column, form, joiner, output))
        _tell(read, proba, mask, output, as_json, quiet)


def _predicted(clf: Any, X: Any, epsilon: float | None, quiet: bool) -> tuple[Any, Any]:
    """Return probabilities and sets, block by block, so that a long table shows progress."""
    from steadyset._base import validation
    from steadyset.cli import _session
    from steadyset.selection import with_epsilon

    rule = clf._rule() if epsilon is None else with_epsilon(clf._rule(), epsilon)
    step, parts = 20_000, []
    with _session.bar("rows", quiet) as advance:
        for start in range(0, len(X), step):
            parts.append(clf.predict_proba(X.iloc[start : start + step]))
            advance(min(start + step, len(X)), len(X))
    proba = np.concatenate(parts)
    return proba, validation.rule_mask(rule, proba)


def _table(
    read: Any, proba: Any, mask: Any, labels: list[str], ids: str | None, form: str, joiner: str, output: str
) -> Any:
    from steadyset._base.optional import require
    from steadyset.tables import _write

    arrow = require("pyarrow", "data")

    carried = ids or read.model.id_column
    columns: dict[str, Any] = {}
    if carried is not None and carried in read.table.column_names:
        columns[carried] = read.table[carried]
    clf = read.model.classifier
    columns["label"] = arrow.array(clf.classes_[np.argmax(proba, axis=1)].tolist())
    columns |= _write.set_columns(mask, labels, form, joiner)
    columns |= {f"proba_{label}": arrow.array(np.ascontiguousarray(proba[:, j])) for j, label in enumerate(labels)}
    return _write.as_table(columns, output)


def _tell(read: Any, proba: Any, mask: Any, output: str, as_json: bool, quiet: bool) -> None:
    found: dict[str, Any] = {
        "output": output,
        "n_rows": len(mask),
        "mean_set_size": float(mask.sum(axis=1).mean()),
        "share_of_single_labels": float((mask.sum(axis=1) == 1).mean()),
        "metrics": None,
    }
    report = None
    if read.labels is not None:
        from steadyset import metrics

        clf, known = read.model.classifier, read.known
        y = read.labels[known]
        report = metrics.set_report(y, {"sets": mask[known]}, proba[known], classes=clf.classes_)
        single = clf.classes_[np.argmax(proba[known], axis=1)]
        names, values = report.columns[1:], report.rows[0][1:]
        measured = {
            n: {"value": _plain(v), "standard_error": _plain(v.standard_error)}
            for n, v in zip(names, values, strict=True)
        }
        found["metrics"] = {"n_rows": int(known.sum()), "accuracy": float((single == y).mean()), **measured}
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    elif not quiet:
        note(
            f"{found['n_rows']:,} rows, mean set size {found['mean_set_size']:.4g}, "
            f"{found['share_of_single_labels']:.1%} single labels"
        )
        if report is not None:
            rows = found["metrics"]["n_rows"]
            note(
                f"the target column measures the sets of {rows:,} rows (standard errors in brackets); accuracy of the "
                f"single label {found['metrics']['accuracy']:.4f}"
            )
            typer.echo(str(report), err=True)


def _plain(value: Any) -> float | None:
    return None if value != value else float(value)
