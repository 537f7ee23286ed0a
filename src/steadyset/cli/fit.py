"""`steadyset fit`: a table in, a model file out."""

import contextlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from steadyset.cli import _options, _role_columns
from steadyset.cli._answers import echo_json, guarantee_json, without_none
from steadyset.cli._errors import note, sentences
from steadyset.cli._out_of_bag import OutOfBag, out_of_bag

if TYPE_CHECKING:
    from steadyset.ensemble import StableClassifier
    from steadyset.guarantees import Guarantee
    from steadyset.neighbors import StableNeighborsClassifier
    from steadyset.tables import Column, TableModel, Target

EXAMPLES = """
Examples:

  steadyset fit train.csv --target species --output model.skops
      500 decision trees, each on half of the rows

  steadyset fit train.csv --target species --epsilon 0.1 --delta 0.05 --output model.skops
      bags as small as a promise of at most 5 in 100 needs

  steadyset fit train.parquet --target churn --id-column customer --drop notes --estimator hist-boosting
      --param max_iter=50 --n-bags 100 --output model.skops
      another estimator with a parameter; rows have names; a column is left out

  steadyset fit train.csv --target y --estimator sklearn.svm.SVC --param C=10 --output model.skops
      any scikit-learn classifier by its dotted name

  steadyset fit train.csv --target y --estimator neighbors --bag-size 0.1 --output model.skops
      nearest neighbours over infinitely many bags, exactly; columns of numbers only

  steadyset fit visits.csv --target ill --group patient --epsilon 0.2 --delta 0.05 --output model.skops
      the promise is about patients: all rows of one are dropped together

  steadyset fit train.csv --target y --checkpoint work --output model.skops
      after an interruption, the same command goes on where it stopped
"""


@dataclass(frozen=True)
class _Roles:
    """What columns of the table are for, by name; those without a role are features."""

    id_column: Annotated[
        str | None,
        typer.Option(
            "--id-column",
            "--id",
            metavar="NAME",
            help="A column of distinct names of the rows; no feature. Else rows are known by what they hold.",
        ),
    ] = None
    drop: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A column to leave out.")] = None
    feature: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column to take in, though it is the index of a frame.")
    ] = None
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column to take as categories, whatever it looks like.")
    ] = None
    weights: Annotated[str | None, typer.Option(metavar="NAME", help="A column of weights of the rows.")] = None
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A column of names of persons, machines or documents, whose rows are dropped together; no feature.",
        ),
    ] = None
    drop_unlabelled: Annotated[
        bool, typer.Option("--drop-unlabelled", help="Leave out rows whose label is missing.")
    ] = False

    def check(self, names: Sequence[str]) -> None:
        """Refuse a name that is no column."""
        from steadyset.tables import require_column

        single = {"id_column": self.id_column, "weights": self.weights, "group": self.group}
        named = {role: [name] for role, name in single.items() if name is not None}
        several = {"drop": self.drop, "feature": self.feature, "categorical": self.categorical}
        for role, given in {**named, **several}.items():
            for name in given or []:
                require_column(names, name, role)


@_options.grouped
def fit(
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or npz (arrays X and y), or - for CSV.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="The model file, .skops.")],
    target: Annotated[str, typer.Option(metavar="NAME", help="The column of the labels.")] = "y",
    estimator: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="forest, tree, extra-trees, hist-boosting, logistic, knn, svm, naive-bayes, mlp, net, lightgbm, "
            "xgboost, or a dotted name such as sklearn.svm.SVC; neighbors averages over all bags there are.",
            autocompletion=lambda: _short_names(),
        ),
    ] = "forest",
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the estimator; may be repeated.")
    ] = None,
    n_bags: Annotated[
        str,
        typer.Option("--n-bags", "--n-estimators", metavar="N|auto", help="Number of bags; auto with --delta."),
    ] = "500",
    bag_size: Annotated[
        str,
        typer.Option(
            metavar="ROWS|SHARE", help="Rows per bag, or their share (with a point: 0.5); with --delta, at most."
        ),
    ] = "0.5",
    delta: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="A promise to keep, such as 0.05: bags are as small as it takes."),
    ] = None,
    *,
    rule: _options.RuleOptions,
    roles: _Roles,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the bags and their learners.")] = 0,
    n_jobs: _options.Jobs = -1,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Keep finished bags there (joblib files: keep the folder to yourself)."),
    ] = None,
    model_format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="skops; or joblib, which runs code when it is read.")
    ] = "skops",
    score: Annotated[
        bool, typer.Option(help="Work out the out-of-bag score, and keep what `predict --coverage` needs.")
    ] = True,
    keep_ids: Annotated[
        bool, typer.Option("--ids/--no-ids", help="Whether the file holds ids or digests of the training rows.")
    ] = True,
    options: _options.TableOptions,
) -> None:
    """Fit an ensemble to a table, write it to a file, and say what is guaranteed.

    Texts are taken as categories, ISO dates as days; missing values may stay missing. Encoders are fitted inside each
    bag, as the guarantee asks.
    """
    with sentences("fit"):
        chosen_rule = rule.make()
        from steadyset._base import whole_files
        from steadyset.cli import _session
        from steadyset.ensemble import StableClassifier
        from steadyset.neighbors import StableNeighborsClassifier
        from steadyset.tables import TableModel, current_versions, make_estimator, parse_params, read_table, save_model

        if model_format not in ("skops", "joblib"):
            raise ValueError(f"format must be skops or joblib; got {model_format!r}.")
        learner = make_estimator(estimator, parse_params(param or []))
        size = _options.number(bag_size, f"bag_size must be a number of rows or a share such as 0.5; got {bag_size!r}.")
        clf: Any
        if isinstance(learner, StableNeighborsClassifier):
            clf = learner.set_params(max_samples=size, delta=delta, rule=chosen_rule, n_jobs=n_jobs)
        else:
            clf = StableClassifier(
                learner,
                "auto" if n_bags == "auto" else _options.whole(n_bags, "n_bags", ' or "auto"'),
                delta=delta,
                max_samples=size,
                rule=chosen_rule,
                random_state=seed,
                n_jobs=n_jobs,
                checkpoint=checkpoint,
                verbose=int(_session.shows_progress(options.quiet)),
            )
        missing = options.missing or []
        csv = options.format(*missing)
        whole_files.check_output(output, data)
        table = read_table(data, csv, text=[name for name in (roles.id_column, roles.group) if name is not None])
        with _session.told_once(options.quiet):
            rows = _training_rows(table, target, roles, options.quiet)
            seconds = (_keep if clf is learner else _train)(clf, rows)
            scores = out_of_bag(clf, rows.X, rows.labels) if score else None
        facts = {
            "missing": missing,
            "estimator": estimator,
            "out_of_bag": None if scores is None else without_none(scores),
            "n_rows": len(rows.labels),
            "roles": {"group": roles.group, "weights": roles.weights},
        }
        if not keep_ids and clf is not learner:
            clf.bags_ = clf.bags_.without_ids()
            for name in ("row_digests_", "unit_digests_", "group_labels_"):
                clf.__dict__.pop(name, None)
        made = TableModel(clf, tuple(rows.columns), rows.target, roles.id_column, current_versions(), facts)
        untrusted = save_model(made, output, joblib_format=model_format == "joblib")
        _tell(_Fitted(made, seconds, scores, output, untrusted), options)


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """The rows of a table as an ensemble is fitted to them."""

    X: Any
    labels: NDArray[Any]
    columns: "list[Column]"
    target: "Target"
    ids: list[str] | None
    groups: list[str] | None
    weights: NDArray[np.float64] | None


@dataclass(frozen=True)
class _Fitted:
    """A model that was written to a file, and what is worth telling about it."""

    model: "TableModel"
    seconds: float
    out_of_bag: OutOfBag | None
    output: str
    untrusted: list[str]


def _training_rows(table: Any, target_name: str, roles: _Roles, quiet: bool) -> _TrainingRows:
    from steadyset.cli import _session
    from steadyset.tables import (
        choose_columns,
        choose_target,
        index_columns,
        require_all_known,
        target_labels,
        to_frame,
    )

    names = table.column_names
    roles.check(names)
    target = choose_target(table, target_name)
    labels, known = target_labels(table, target)
    if roles.drop_unlabelled and not known.all():
        if not quiet:
            note(f"{int((~known).sum()):,} rows without a label are left out")
        table = table.filter(known)
        labels, known = target_labels(table, target)
    require_all_known(known, target)
    away = {target_name, roles.id_column, roles.group, roles.weights, *(roles.drop or [])}
    asked = {*(roles.feature or []), *(roles.categorical or [])}
    index = [name for name in index_columns(table.schema) if name not in away | asked]
    features = [name for name in names if name not in away and name not in index]
    if index and not quiet:
        _session.note_index(index, "--feature")
    columns = choose_columns(table, features, roles.categorical or ())
    X = to_frame(table, columns)
    weights = None if roles.weights is None else _role_columns.weights(table, roles.weights)
    ids = None if roles.id_column is None else _role_columns.row_names(table, roles.id_column)
    groups = None if roles.group is None else _role_columns.names(table, roles.group, "group")
    return _TrainingRows(X, labels, columns, target, ids, groups, weights)


def _train(clf: "StableClassifier", rows: _TrainingRows) -> float:
    """Fit the ensemble, with encoders where its learner needs them; return the seconds of the fit."""
    from steadyset.ensemble import remember_training_rows
    from steadyset.tables import with_encoders

    if not _trains_together(clf.estimator, rows.X):
        clf.set_params(estimator=with_encoders(clf.estimator, rows.columns))
    fit_params = {} if rows.weights is None else _role_columns.weight_params(clf.estimator, rows.weights)
    started = time.perf_counter()
    with contextlib.redirect_stdout(sys.stderr):  # progress bars; stdout is for results
        ids: Any = rows.ids if rows.groups is None else "group"  # names of groups stay with them as those of rows do
        clf.fit(rows.X, rows.labels, sample_ids=ids, groups=rows.groups, **fit_params)
    seconds = time.perf_counter() - started
    if any(given is not None for given in (rows.ids, rows.groups, rows.weights)):
        # Then the bags' ids are not those of rows and labels alone.
        remember_training_rows(clf, rows.X, rows.labels)
    clf.set_params(checkpoint=None, verbose=0)  # they belong to this run, not to the model
    return seconds


def _keep(clf: "StableNeighborsClassifier", rows: _TrainingRows) -> float:
    """Let stable neighbours keep the rows; return the seconds."""
    for role, given in {"weights": rows.weights, "group": rows.groups}.items():
        if given is not None:
            raise ValueError(f"{role} must be left out for neighbors, whose rows all count alike, one by one.")
    for column in rows.columns:
        if column.kind != "number":
            raise ValueError(
                f"estimator neighbors must have columns of numbers; got the {column.kind} {column.name!r}: leave it "
                "out with --drop, or write it as numbers by a rule that is not learned from these rows."
            )
    started = time.perf_counter()
    clf.fit(rows.X, rows.labels)
    return time.perf_counter() - started


@dataclass(frozen=True, eq=False)
class DataToTry:
    """Rows and labels of a table, and a learner that reads them."""

    X: Any
    labels: NDArray[Any]
    learner: Any


def data_to_try(data: str, target: str, learner: Any) -> DataToTry:
    """Return the rows of a table as a fit without further options would get them."""
    from steadyset.tables import CsvFormat, read_table, with_encoders

    rows = _training_rows(read_table(data, CsvFormat()), target, _Roles(), quiet=True)
    reads = _trains_together(learner, rows.X)
    return DataToTry(rows.X, rows.labels, learner if reads else with_encoders(learner, rows.columns))


@dataclass(frozen=True, eq=False)
class RowsToDraw:
    """The ids of the rows of a table, and the label space."""

    ids: Any
    classes: NDArray[Any]


def rows_to_draw(table: Any, target: str, id_column: str | None, drop: list[str] | None, quiet: bool) -> RowsToDraw:
    """Return what bags of a table are drawn from, as a fit with the same options would."""
    from steadyset.ensemble import chosen_ids

    rows = _training_rows(table, target, _Roles(id_column=id_column, drop=drop), quiet)
    return RowsToDraw(chosen_ids(rows.ids, rows.X, rows.labels, {}), np.unique(rows.labels))


def _trains_together(learner: Any, X: Any) -> bool:
    """Return whether the learner trains many bags at once and can read these columns without encoders."""
    from steadyset.tables import reads_frames

    if reads_frames(learner):
        return True
    return hasattr(learner, "fit_bags") and all(kind == "float64" for kind in X.dtypes) and not X.isna().any().any()


def _tell(found: _Fitted, options: _options.TableOptions) -> None:
    from steadyset.cli._promise_hint import Promised

    clf, columns = found.model.classifier, found.model.columns
    promised = Promised.by(clf)
    if options.as_json:
        echo_json(_as_json(found, promised.guarantee))
        promised.note_mend(clf.rule_, options.quiet)
        return
    kinds = [column.kind for column in columns]
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("number", "category", "date") if kind in kinds)
    typer.echo(
        f"{found.output}: {_bags_in_words(clf)}, "
        f"{len(clf.classes_)} labels, {len(kinds)} features ({counted}), {found.seconds:.1f} s."
    )
    typer.echo(promised.words)
    promised.note_mend(clf.rule_, options.quiet)
    scores = found.out_of_bag
    if scores is not None and scores.n_rows:
        typer.echo(scores.in_words())
    if found.untrusted and not options.quiet:
        trusted = " ".join(f"--trust {name}" for name in found.untrusted)
        note(f"other libraries' types are in the model: to read it, predict, audit and report need {trusted}")


def _bags_in_words(clf: Any) -> str:
    if not hasattr(clf, "bags_"):
        return f"infinitely many bags of {clf.bag_size_:,} of {clf.n_samples_fit_:,} rows"
    bags = clf.bags_
    return f"{bags.n_bags:,} bags of {clf.bag_size_:,} of {bags.n_samples:,} {bags.ids.unit}s"


def _as_json(found: _Fitted, guarantee: "Guarantee | None") -> dict[str, Any]:
    made, clf = found.model, found.model.classifier
    bags = getattr(clf, "bags_", None)  # none for a model of all bags there are
    return {
        "output": found.output,
        "target": made.target.name,
        "classes": clf.classes_.tolist(),
        "features": {column.name: column.kind for column in made.columns},
        "n_rows": made.facts["n_rows"],
        "unit": "row" if bags is None else bags.ids.unit,
        "n_units": clf.n_samples_fit_ if bags is None else bags.n_samples,
        "n_bags": None if bags is None else bags.n_bags,
        "bag_size": clf.bag_size_,
        "delta": clf.delta,
        "rule": repr(clf.rule_),
        "seconds": found.seconds,
        "guarantee": None if guarantee is None else guarantee_json(guarantee),
        "out_of_bag": made.facts["out_of_bag"],
        "types_to_trust": found.untrusted,
    }


def _short_names() -> list[str]:
    from steadyset.tables import SHORT_NAMES

    return list(SHORT_NAMES)
