"""`steadyset fit`: a table in, a model file out."""

import contextlib
import json
import sys
import time
from dataclasses import asdict
from typing import Annotated, Any

import typer

from steadyset.cli import _options
from steadyset.cli._errors import note, sentences

_WEAK = 0.1  # a bound above it promises so little that more bags are worth naming

EXAMPLES = """
Examples:

  steadyset fit train.csv --target species --output model.skops
      500 decision trees, each on half of the rows

  steadyset fit train.parquet --target churn --id-column customer --drop notes --estimator hist-boosting
      --param max_iter=50 --n-bags 100 --output model.skops
      another estimator with a parameter; rows have names; a column is left out

  steadyset fit train.csv --target y --estimator sklearn.svm.SVC --param C=10 --output model.skops
      any scikit-learn classifier by its dotted name

  steadyset fit train.csv --target y --checkpoint work --output model.skops
      interrupted, the same command goes on where it was
"""


def fit(
    data: Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or npz (arrays X and y), or - for CSV.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="The model file, .skops.")],
    target: Annotated[str, typer.Option(metavar="NAME", help="The column of the labels.")] = "y",
    estimator: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="tree, forest, extra-trees, hist-boosting, logistic, knn, svm, naive-bayes, mlp, net, lightgbm, "
            "xgboost, or a dotted name such as sklearn.svm.SVC.",
            autocompletion=lambda: _short_names(),
        ),
    ] = "tree",
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the estimator; may be repeated.")
    ] = None,
    n_bags: Annotated[int, typer.Option("--n-bags", "--n-estimators", metavar="N", help="Number of bags.")] = 500,
    bag_size: Annotated[
        str, typer.Option(metavar="ROWS|SHARE", help="Rows in a bag, or their share (with a point: 0.5).")
    ] = "0.5",
    rule: _options.RuleName = "inflated_argmax",
    epsilon: _options.Epsilon = None,
    k: _options.K = None,
    tau: _options.Tau = None,
    beta: _options.Beta = None,
    utility: _options.Utility = None,
    id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="A column of distinct names of the rows; no feature.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A column to leave out.")] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column to take as categories, whatever it looks like.")
    ] = None,
    weights: Annotated[str | None, typer.Option(metavar="NAME", help="A column of weights of the rows.")] = None,
    drop_unlabelled: Annotated[
        bool, typer.Option("--drop-unlabelled", help="Leave out rows whose label is missing.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the bags and their learners.")] = 0,
    n_jobs: _options.Jobs = -1,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Keep finished bags there (joblib files: keep the folder to yourself)."),
    ] = None,
    model_format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="skops; or joblib, which runs code when it is read.")
    ] = "skops",
    score: Annotated[bool, typer.Option(help="Work out the out-of-bag score.")] = True,
    separator: _options.Separator = None,
    decimal: _options.Decimal = ".",
    encoding: _options.Encoding = "utf-8",
    missing: _options.Missing = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Fit an ensemble to a table, write it to a file, and say what is guaranteed.

    Texts are taken as categories, ISO dates as days; missing values may stay missing. Encoders are fitted inside each
    bag, as the guarantee asks.
    """
    with sentences("fit"):
        chosen_rule = _options.make_rule(rule, epsilon, k, tau, beta, utility)
        from steadyset._base import whole_files
        from steadyset.cli import _session
        from steadyset.tables import _read
        from steadyset.tables._estimators import make_estimator, parse_params

        if model_format not in ("skops", "joblib"):
            raise ValueError(f"format must be skops or joblib; got {model_format!r}.")
        size = _number(bag_size, "bag_size")
        learner = make_estimator(estimator, parse_params(param or []))
        csv = _session.csv_format(separator, decimal, encoding, missing)
        whole_files.check_output(output, data)
        table = _read.read_table(data, csv, text=[] if id_column is None else [id_column])
        _read.check_separator(table, data, csv)
        with _session.told_once(quiet):
            found = _fit(
                table,
                target,
                learner,
                {"id_column": id_column, "weights": weights, "drop": drop or [], "categorical": categorical or []},
                {
                    "n_estimators": n_bags,
                    "max_samples": size,
                    "rule": chosen_rule,
                    "random_state": seed,
                    "n_jobs": n_jobs,
                }
                | {"checkpoint": checkpoint, "verbose": int(_session.shows_progress(quiet))},
                drop_unlabelled,
                score,
                quiet,
                {"missing": list(missing or []), "estimator": estimator},
            )
        from steadyset.tables import save_model

        untrusted = save_model(found["model"], output, joblib_format=model_format == "joblib")
        _tell(found, output, untrusted, as_json, quiet)


def _fit(
    table: Any,
    target: str,
    learner: Any,
    columns: dict[str, Any],
    settings: dict[str, Any],
    drop_unlabelled: bool,
    score: bool,
    quiet: bool,
    facts: dict[str, Any],
) -> dict[str, Any]:
    from steadyset.ensemble import StableClassifier
    from steadyset.tables import TableModel, choose_target, to_labels, with_encoders
    from steadyset.tables._columns import choose_columns, to_frame
    from steadyset.tables._model import current_versions
    from steadyset.tables._target import require_all_known, require_column

    names = table.column_names
    for option in ("id_column", "weights"):
        if columns[option] is not None:
            require_column(names, columns[option], option)
    for option in ("drop", "categorical"):
        for name in columns[option]:
            require_column(names, name, option)
    goal = choose_target(table, target)
    if drop_unlabelled:
        _, known = to_labels(table, goal)
        if not known.all() and not quiet:
            note(f"{int((~known).sum()):,} rows without a label are left out")
        table = table.filter(known)
    labels, known = to_labels(table, goal)
    require_all_known(known, goal)
    away = {target, columns["id_column"], columns["weights"], *columns["drop"]}
    features = [name for name in names if name not in away]
    if "" in features:
        features.remove("")
        if not quiet:
            note("a column without a name is left out")
    kinds = choose_columns(table, features, columns["categorical"])
    X = to_frame(table, kinds)
    base = learner if _trains_together(learner, X) else with_encoders(learner, kinds)
    model = StableClassifier(base, **settings)
    weights = None if columns["weights"] is None else _weights(table, columns["weights"])
    fit_params = {} if weights is None else _weight_params(base, weights)
    ids = None if columns["id_column"] is None else _ids(table, columns["id_column"])
    started = time.perf_counter()
    with contextlib.redirect_stdout(sys.stderr):  # progress bars; stdout is for results
        model.fit(X, labels, sample_ids=ids, **fit_params)
    seconds = time.perf_counter() - started
    model.set_params(checkpoint=None, verbose=0)  # they belong to this run, not to the model
    out_of_bag = _out_of_bag(model, X, labels) if score else None
    facts = {**facts, "out_of_bag": out_of_bag, "n_rows": len(labels)}
    made = TableModel(model, tuple(kinds), goal, columns["id_column"], current_versions(), facts)
    return {"model": made, "seconds": seconds, "out_of_bag": out_of_bag}


def _trains_together(learner: Any, X: Any) -> bool:
    """Return whether the learner trains many bags at once and can read these columns without encoders."""
    return hasattr(learner, "fit_bags") and all(kind == "float64" for kind in X.dtypes) and not X.isna().any().any()


def _weights(table: Any, name: str) -> Any:
    from steadyset.tables import Column, to_frame

    weights = to_frame(table, [Column(name, "number")])[name].to_numpy()
    if not (weights >= 0).all():
        row = int((~(weights >= 0)).argmax()) + 1
        raise ValueError(f"weights must be numbers that are at least 0; got {weights[row - 1]} in row {row}.")
    return weights


def _weight_params(base: Any, weights: Any) -> dict[str, Any]:
    from sklearn.pipeline import Pipeline

    if not isinstance(base, Pipeline):
        return {"sample_weight": weights}
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(base[-1], "sample_weight"):
        raise ValueError(f"weights must be left out for {type(base[-1]).__name__}, whose fit does not take them.")
    return {"classifier__sample_weight": weights}


def _ids(table: Any, name: str) -> list[str]:
    from steadyset.tables._columns import as_text

    ids = as_text(table[name]).to_pylist()
    if None in ids:
        raise ValueError(f"id_column {name!r} must have a name for every row; got none in row {ids.index(None) + 1}.")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(text for text in ids if text in seen or seen.add(text))  # type: ignore[func-returns-value]
        raise ValueError(f"id_column {name!r} must have distinct names; got {twice!r} more than once.")
    return list(ids)


def _out_of_bag(model: Any, X: Any, labels: Any) -> dict[str, Any]:
    import numpy as np

    from steadyset import metrics
    from steadyset._base import validation

    proba = model.oob_proba(X)
    known = ~np.isnan(proba).any(axis=1)
    if not known.any():
        return {"n_rows": 0}
    sets = validation.rule_mask(model._rule(), proba[known])
    y, classes = labels[known], model.classes_
    accuracy = float(np.mean(classes[np.argmax(proba[known], axis=1)] == y))
    scores = {
        "coverage": metrics.coverage_score(y, sets, classes=classes),
        "correct_single": metrics.correct_single_score(y, sets, classes=classes),
        "mean_set_size": metrics.mean_set_size(sets),
    }
    return {"n_rows": int(known.sum()), "accuracy": accuracy, **{name: float(value) for name, value in scores.items()}}


def _tell(found: dict[str, Any], output: str, untrusted: list[str], as_json: bool, quiet: bool) -> None:
    made, scores = found["model"], found["out_of_bag"]
    model = made.classifier
    try:
        guarantee, words = model.guarantee(), None
    except ValueError as error:
        guarantee, words = None, f"No guarantee: {error}"
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "output": output,
                    "target": made.target.name,
                    "classes": model.classes_.tolist(),
                    "features": {column.name: column.kind for column in made.columns},
                    "n_rows": model.bags_.n_samples,
                    "n_bags": model.bags_.n_bags,
                    "bag_size": model.bag_size_,
                    "rule": repr(model._rule()),
                    "seconds": found["seconds"],
                    "guarantee": None
                    if guarantee is None
                    else {**asdict(guarantee), "vacuous": guarantee.vacuous, "sentence": str(guarantee)},
                    "out_of_bag": scores,
                    "types_to_trust": untrusted,
                },
                indent=2,
            )
        )
        return
    kinds = [column.kind for column in made.columns]
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("number", "category", "date") if kind in kinds)
    typer.echo(
        f"{output}: {model.bags_.n_bags:,} bags of {model.bag_size_:,} of {model.bags_.n_samples:,} rows, "
        f"{len(model.classes_)} labels, {len(kinds)} features ({counted}), {found['seconds']:.1f} s."
    )
    typer.echo(f"Guarantee: {guarantee}" if guarantee is not None else words)
    if guarantee is not None and guarantee.delta > _WEAK and not quiet:
        note(
            "more bags promise more; how many reach 0.05: steadyset plan "
            f"--n-samples {model.bags_.n_samples} --n-classes {len(model.classes_)} --bag-size {model.bag_size_} "
            f"--epsilon {guarantee.epsilon:g} --delta 0.05"
        )
    if scores and scores["n_rows"]:
        typer.echo(
            f"Out of bag: accuracy {scores['accuracy']:.4f} (of the most probable label); the sets hold the true "
            f"label for {scores['coverage']:.4f} of the rows and nothing else for {scores['correct_single']:.4f}, with "
            f"{scores['mean_set_size']:.3f} labels on average."
        )
    if untrusted and not quiet:
        options = " ".join(f"--trust {name}" for name in untrusted)
        note(f"other libraries' types are in the model: to read it, predict, audit and report need {options}")


def _number(text: str, name: str) -> float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"{name} must be a number of rows or a share such as 0.5; got {text!r}.")


def _short_names() -> list[str]:
    from steadyset.tables._estimators import SHORT_NAMES

    return list(SHORT_NAMES)
