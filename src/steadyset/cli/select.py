"""`steadyset select`: probabilities in, label sets out."""

import json
import os
import time
from typing import Annotated, Any

import numpy as np
import typer

from steadyset.cli import _options
from steadyset.cli._errors import note, sentences

EXAMPLES = """
Examples:

  steadyset select proba.csv --epsilon 0.05 --output sets.csv
      the inflated argmax; the columns of proba.csv are the labels

  steadyset select proba.parquet --rule top_k --k 2 --output sets.parquet
      another rule; files may be larger than the memory

  steadyset select predictions.parquet --columns 'proba_*' --keep id --output sets.csv
      some of the columns hold probabilities; another one is carried over

  cat proba.csv | steadyset select - --rule argmax --form labels | head
      from standard input to standard output
"""


def select(
    probs: Annotated[str, typer.Argument(metavar="PROBS", help="CSV, Parquet or npy of probabilities, or -.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help=".csv, .parquet, .npy, or -.")] = "-",
    rule: _options.RuleName = "inflated_argmax",
    epsilon: _options.Epsilon = None,
    k: _options.K = None,
    tau: _options.Tau = None,
    beta: _options.Beta = None,
    utility: _options.Utility = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Columns of probabilities; a star stands for the label, as in 'proba_*'."),
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Columns to carry over.")] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Labels of the columns, where their names are not meant.")
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Divide each row by its sum: for votes and counts.")
    ] = False,
    form: _options.Form = "both",
    joiner: _options.Joiner = "|",
    separator: _options.Separator = None,
    decimal: _options.Decimal = ".",
    encoding: _options.Encoding = "utf-8",
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Select a set of labels for each row of probabilities.

    The file is read, answered and written block by block. CSV and Parquet output has the columns `set` (labels joined),
    `size` and `in_...`, one for each label; npy output is a bool array.
    """
    with sentences("select"):
        if as_json and output == "-":
            raise ValueError("--json needs --output FILE: both would go to standard output.")
        _options.check_form(form)
        chosen = _options.make_rule(rule, epsilon, k, tau, beta, utility)
        from steadyset.tables import CsvFormat

        csv = CsvFormat(_options.separator(separator), decimal, encoding)
        named = [] if classes is None else [name.strip() for name in classes.split(",")]
        found = _run(probs, output, chosen, csv, columns or [], keep or [], named, normalize, form, joiner)
        if as_json:
            typer.echo(json.dumps(found, indent=2))
        elif not quiet:
            note(
                f"{found['n_rows']:,} rows, {found['n_classes']} labels, mean set size {found['mean_set_size']:.4g}, "
                f"{found['share_of_single_labels']:.1%} single labels; "
                f"{found['rows_per_second_after_reading']:,.0f} rows a second after reading"
            )


def _run(
    probs: str,
    output: str,
    rule: Any,
    csv: Any,
    columns: list[str],
    keep: list[str],
    classes: list[str],
    normalize: bool,
    form: str,
    joiner: str,
) -> dict[str, Any]:
    from steadyset._base import whole_files
    from steadyset.tables import _blocks, _write

    kind = _write.output_format(output)
    if output != "-":
        whole_files.check_output(output, probs)
    source = _blocks.open_probabilities(probs, csv, columns, keep, classes)
    _write.check_joiner(source.labels, joiner, form)
    if kind == "npy" and source.kept:
        raise ValueError("an .npy output has no room for columns to keep: write CSV or Parquet.")
    seconds = {"reading": 0.0, "selecting": 0.0, "writing": 0.0}
    rows = size = single = 0
    with _write.open_writer(output) as writer:
        started = time.perf_counter()
        for proba, kept in source.blocks:
            read = time.perf_counter()
            mask = np.asarray(rule(_blocks.check_block(proba, rows, normalize)))
            sizes = mask.sum(axis=1, dtype=np.int64)
            rows, size, single = rows + len(mask), size + int(sizes.sum()), single + int((sizes == 1).sum())
            selected = time.perf_counter()
            writer.write(mask if kind == "npy" else _block_table(mask, kept, source, form, joiner, output))
            written = time.perf_counter()
            seconds["reading"] += read - started
            seconds["selecting"] += selected - read
            seconds["writing"] += written - selected
            started = written
        if rows == 0:
            raise ValueError(f"{os.fspath(probs)!r} must have at least one row; got none.")
    return {
        "rule": repr(rule),
        "n_rows": rows,
        "n_classes": len(source.labels),
        "mean_set_size": size / rows,
        "share_of_single_labels": single / rows,
        "output": output,
        "seconds": {name: round(value, 6) for name, value in seconds.items()},
        "rows_per_second_selecting": rows / max(seconds["selecting"], 1e-9),
        "rows_per_second_after_reading": rows / max(seconds["selecting"] + seconds["writing"], 1e-9),
    }


def _block_table(mask: Any, kept: Any, source: Any, form: str, joiner: str, output: str) -> Any:
    from steadyset.tables import _write

    carried = {} if kept is None else {name: kept[name] for name in source.kept}
    return _write.as_table(carried | _write.set_columns(mask, source.labels, form, joiner), output)
