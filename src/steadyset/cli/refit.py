"""`steadyset refit`: a model file and a changed table in, the model of that table out."""

import contextlib
import sys
import time
import zipfile
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steadyset.cli import _options, _role_columns
from steadyset.cli._answers import echo_json, guarantee_json, without_none
from steadyset.cli._errors import note, sentences
from steadyset.cli._out_of_bag import OutOfBag, out_of_bag

if TYPE_CHECKING:
    from steadyset.tables import TableModel

EXAMPLES = """
Examples:

  steadyset refit model.skops train.csv
      train.csv has rows added, dropped or corrected since the fit; model.skops becomes its model

  steadyset refit model.skops train.csv --output new.skops
      the old model stays; `steadyset compare model.skops new.skops points.csv` sets them side by side

  steadyset refit model.skops train.csv --checkpoint work
      after an interruption, the same command goes on where it stopped
"""

_IN_A_FIT = "in a new `steadyset fit` of this table"


@_options.grouped
def refit(
    model: _options.Model,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="The whole new training table: CSV, Parquet or npz, or - for CSV.")
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="The new model file; default: MODEL itself.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Keep finished bags there; those of the old table are removed at the end."),
    ] = None,
    drop_unlabelled: Annotated[
        bool, typer.Option("--drop-unlabelled", help="Leave out rows whose label is missing.")
    ] = False,
    score: Annotated[bool, typer.Option(help="Work out the out-of-bag score.")] = True,
    *,
    options: _options.ModelOptions,
) -> None:
    """Take a changed training table in: only bags whose rows changed are trained, and the rest stays to the bit.

    Target, names of rows, groups and weights are the columns that they were in the fit. The file is replaced in one
    step, when the new model is whole; nothing of rows that are gone is left in it.
    """
    with sentences("refit"):
        from steadyset._base import whole_files
        from steadyset.cli import _session
        from steadyset.tables import current_versions, load_model, save_model

        target = model if output is None else output
        whole_files.check_output(target, data)
        old = load_model(model, trust=options.trust or (), trust_joblib=options.trust_joblib)
        rows = _training_rows(old, data, drop_unlabelled, options)
        clf = old.classifier
        started = time.perf_counter()
        with _session.told_once(options.quiet):
            _refit(clf, rows, checkpoint, options)
            seconds = time.perf_counter() - started
            scores = out_of_bag(clf, rows.X, rows.labels) if score else None
        told = None if scores is None else without_none(scores)
        facts = {**old.facts, "out_of_bag": told, "n_rows": len(rows.labels)}
        made = replace(old, columns=rows.columns, versions=current_versions(), facts=facts)
        changes = vars(clf).get("changes_")
        save_model(made, target, joblib_format=not zipfile.is_zipfile(model))
        _tell(_Refitted(made, changes, seconds, scores, target), options)


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """The rows of the new table, as the model was fitted to the old one."""

    X: Any
    labels: Any
    columns: tuple[Any, ...]
    given: dict[str, Any]


@dataclass(frozen=True)
class _Refitted:
    """A model that was written to a file, and what is worth telling about it."""

    model: "TableModel"
    changes: Any  # none of a model of all bags there are, which has none to train
    seconds: float
    out_of_bag: OutOfBag | None
    output: str


def _training_rows(
    old: "TableModel", data: str, drop_unlabelled: bool, options: _options.ModelOptions
) -> _TrainingRows:
    from steadyset.tables import (
        Column,
        choose_columns,
        read_table,
        require_all_known,
        require_column,
        target_labels,
        to_frame,
    )

    roles = dict(old.facts.get("roles") or {})
    names = {"id_column": old.id_column, "group": roles.get("group"), "weights": roles.get("weights")}
    saved = old.facts.get("missing") or []
    csv = options.format(*(options.missing or ()), *map(str, saved))
    table = read_table(data, csv, text=[name for name in (old.id_column, roles.get("group")) if name])
    for role, name in {"target": old.target.name, **names}.items():
        if name is not None:
            require_column(table.column_names, name, role)
    labels, known = target_labels(table, old.target)
    if drop_unlabelled and not known.all():
        table = table.filter(known)
        labels, known = target_labels(table, old.target)
    require_all_known(known, old.target)
    old.frame(table)  # says which columns are missing
    # The categories are those of the new table alone: nothing of rows that are gone is to stay.
    columns = tuple(
        choose_columns(table, [column.name], [column.name])[0]
        if column.kind == "category"
        else Column(column.name, column.kind)
        for column in old.columns
    )
    given: dict[str, Any] = {}
    if names["group"] is not None:
        given |= {"groups": _role_columns.names(table, names["group"], "group"), "sample_ids": "group"}
    elif names["id_column"] is not None:
        given["sample_ids"] = _role_columns.row_names(table, names["id_column"])
    if names["weights"] is not None:
        weights = _role_columns.weights(table, names["weights"])
        given |= _role_columns.weight_params(old.classifier.estimator_, weights)
    return _TrainingRows(to_frame(table, columns), labels, columns, given)


def _refit(clf: Any, rows: _TrainingRows, checkpoint: str | None, options: _options.ModelOptions) -> None:
    from steadyset.cli import _session
    from steadyset.ensemble import remember_training_rows

    clf.set_params(n_jobs=options.n_jobs)
    if not hasattr(clf, "bags_"):
        clf.refit(rows.X, rows.labels)
        return
    clf.set_params(checkpoint=checkpoint, verbose=int(_session.shows_progress(options.quiet)))
    with contextlib.redirect_stdout(sys.stderr):  # progress bars; stdout is for results
        clf.refit(rows.X, rows.labels, **rows.given)
    if rows.given:
        remember_training_rows(clf, rows.X, rows.labels)
    clf.set_params(checkpoint=None, verbose=0)  # they belong to this run, not to the model


def _tell(found: _Refitted, options: _options.ModelOptions) -> None:
    from steadyset.cli._promise_hint import Promised

    clf, scores = found.model.classifier, found.out_of_bag
    promised = Promised.by(clf)
    if options.as_json:
        answer = {
            "output": found.output,
            "n_rows": found.model.facts["n_rows"],
            "bag_size": clf.bag_size_,
            "changes": None if found.changes is None else asdict(found.changes),
            "seconds": found.seconds,
            "guarantee": None if promised.guarantee is None else guarantee_json(promised.guarantee),
            "out_of_bag": found.model.facts["out_of_bag"],
        }
        echo_json(answer)
        promised.note_mend(clf.rule_, options.quiet, _IN_A_FIT)
        return
    rows = f"{found.model.facts['n_rows']:,} rows."
    typer.echo(f"{found.output}: {rows if found.changes is None else found.changes}")
    typer.echo(promised.words)
    promised.note_mend(clf.rule_, options.quiet, _IN_A_FIT)
    if scores is not None and scores.n_rows:
        typer.echo(scores.in_words())
    if not options.quiet:
        note(f"{found.seconds:.1f} s")
