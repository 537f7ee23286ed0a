"""`steadyset predict`: a model and a table in, label sets, probabilities and labels out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from steadyset._base import validation
from steadyset.cli import _options
from steadyset.cli._answers import echo_json
from steadyset.cli._errors import note, sentences

if TYPE_CHECKING:
    from steadyset.cli._session import Read
    from steadyset.ensemble import StableClassifier
    from steadyset.tables import SetOutput

EXAMPLES = """
Examples:

  steadyset predict model.skops new.csv --output predictions.csv
      one line per row: label, set, size, probabilities

  steadyset predict model.skops new.parquet --epsilon 0.1 --output predictions.parquet
      another epsilon; nothing is fitted again

  steadyset predict model.skops new.csv --coverage 0.9 --output predictions.csv
      sets that hold the true label about 9 times in 10, and hold steady too

  steadyset predict model.skops new.csv | head
      to standard output
"""


@_options.grouped
def predict(
    model: _options.Model,
    data: _options.Data,
    output: _options.Sets = "-",
    epsilon: _options.NewEpsilon = None,
    coverage: _options.Coverage = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id-column", "--id", metavar="NAME", help="A column to carry over; default: the one of the fit."
        ),
    ] = None,
    form: _options.Form = "both",
    joiner: _options.Joiner = "|",
    *,
    options: _options.ModelOptions,
) -> None:
    """Predict the sets, probabilities and labels of the rows of a table.

    Where the table has the target column, its labels are used to measure the sets. The guarantee is about the sets;
    the single label is not covered by it. An .npy output holds the sets alone.
    """
    with sentences("predict"):
        from steadyset.cli import _session
        from steadyset.tables import open_writer, require_column

        sets = _session.open_sets(output, form, joiner, options.as_json, data, model)
        read = _session.open_both(model, data, options, id_column)
        if id_column is not None:
            require_column(read.table.column_names, id_column, "id_column")
        _session.check_coverage(read.model.classifier, coverage)
        with _session.told_once(options.quiet):
            clf = read.model.classifier
            proba = _in_blocks(clf.predict_proba, read, options.quiet)
            if coverage is None:
                mask = validation.rule_mask(read.rule(epsilon), proba)
            else:
                mask = _in_blocks(lambda X: clf.predict_covering_set(X, coverage, epsilon), read, options.quiet)
        sets.check_labels(_label_texts(read.model.classifier))
        with open_writer(output) as writer:
            writer.write(mask if sets.kind == "npy" else _table(read, proba, mask, sets, id_column))
        promise = None if coverage is None else _Promise.of(clf, coverage, epsilon)
        _tell(_Predicted(read, proba, mask, promise), output, options)


def _label_texts(clf: "StableClassifier") -> list[str]:
    return [str(label) for label in clf.classes_.tolist()]


def _in_blocks(predict: Callable[[Any], Any], read: "Read", quiet: bool) -> Any:
    """Return what is predicted of all rows, block by block, so that a long table shows progress."""
    from steadyset.cli import _session

    n_rows, step, parts = len(read.X), 20_000, []
    with _session.bar("rows", quiet) as advance:
        for start in range(0, n_rows, step):
            parts.append(predict(read.X.iloc[start : start + step]))
            advance(min(start + step, n_rows), n_rows)
    return np.concatenate(parts)


def _table(read: "Read", proba: Any, mask: Any, sets: "SetOutput", ids: str | None) -> Any:
    from steadyset.tables import as_table

    carried = ids or read.model.id_column
    columns: dict[str, Any] = {}
    if carried is not None and carried in read.table.column_names:
        columns[carried] = read.table[carried]
    clf = read.model.classifier
    labels = _label_texts(clf)
    columns["label"] = clf.classes_[np.argmax(proba, axis=1)].tolist()
    columns |= sets.columns(mask, labels)
    columns |= {f"proba_{label}": proba[:, j] for j, label in enumerate(labels)}
    return as_table(columns, sets.path)


@dataclass(frozen=True)
class _Promise:
    """The two promises of covering sets, each in a sentence and in numbers."""

    words: tuple[str, str]
    numbers: dict[str, Any]

    @classmethod
    def of(cls, clf: "StableClassifier", coverage: float, epsilon: float | None) -> "_Promise":
        from steadyset.audit import CoveragePromise

        about = CoveragePromise.of(coverage)
        numbers: dict[str, Any] = {"asked": about.coverage, "proved": about.proved_coverage}
        try:
            steady = clf.covering_promise(coverage, epsilon).stability
        except ValueError as error:
            return cls((str(about), f"Stability: no guarantee: {error}"), {**numbers, "delta": None})
        return cls((str(about), f"Stability: {steady}"), {**numbers, "delta": steady.delta})


@dataclass(frozen=True)
class _Predicted:
    """Rows of a table with their probabilities and sets, and what is promised where a coverage was asked for."""

    read: "Read"
    proba: Any
    mask: Any
    promise: _Promise | None


@dataclass(frozen=True)
class _Measured:
    """What the target column says about the sets of the rows whose label is known."""

    n_rows: int
    n_seen: int | None  # in training; None where the model does not know
    accuracy: float  # of the single label
    report: Any  # the metrics of the sets, of one row

    def as_json(self) -> dict[str, Any]:
        values = zip(self.report.columns[1:], self.report.rows[0][1:], strict=True)
        metrics = {n: {"value": _plain(v), "standard_error": _plain(v.standard_error)} for n, v in values}
        counts = {"n_rows": self.n_rows, "n_training_rows": self.n_seen}
        return {**counts, "accuracy": self.accuracy, **metrics}


def _measure(read: "Read", proba: Any, mask: Any) -> _Measured:
    from steadyset import metrics
    from steadyset.ensemble import rows_seen_in_training

    known, classes = read.known, read.model.classifier.classes_
    y = read.labels[known]
    report = metrics.set_report(y, {"sets": mask[known]}, proba[known], classes=classes)
    single = classes[np.argmax(proba[known], axis=1)]
    seen = rows_seen_in_training(read.model.classifier, read.X[known], y)
    return _Measured(int(known.sum()), None if seen is None else int(seen.sum()), float((single == y).mean()), report)


def _tell(made: _Predicted, output: str, options: _options.ModelOptions) -> None:
    from steadyset.ensemble import training_rows_in_words

    read, proba, mask = made.read, made.proba, made.mask
    measured = None if read.labels is None else _measure(read, proba, mask)
    sizes = mask.sum(axis=1)
    mean_size, single = float(sizes.mean()), float((sizes == 1).mean())
    if options.as_json:
        found = {
            "output": output,
            "n_rows": len(mask),
            "mean_set_size": mean_size,
            "share_of_single_labels": single,
            "coverage": None if made.promise is None else made.promise.numbers,
            "metrics": None if measured is None else measured.as_json(),
        }
        echo_json(found)
    elif not options.quiet:
        note(f"{len(mask):,} rows, mean set size {mean_size:.4g}, {single:.1%} single labels")
        for words in made.promise.words if made.promise else ():
            note(words)
        if measured is not None:
            note(
                f"the target column measures the sets of {measured.n_rows:,} rows (standard errors in brackets); "
                f"accuracy of the single label {measured.accuracy:.4f}"
            )
            typer.echo(str(measured.report), err=True)
            if measured.n_seen:
                note(training_rows_in_words(measured.n_seen, measured.n_rows))


def _plain(value: Any) -> float | None:
    return None if value != value else float(value)
