"""`steadyset select`: probabilities in, label sets out."""

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from steadyset.cli import _options
from steadyset.cli._answers import echo_json
from steadyset.cli._errors import note, sentences
from steadyset.selection import Rule

if TYPE_CHECKING:
    from steadyset.tables import Probabilities, SetOutput

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


@_options.grouped
def select(
    probs: Annotated[str, typer.Argument(metavar="PROBS", help="CSV, Parquet or npy of probabilities, or -.")],
    output: _options.Sets = "-",
    *,
    rule: _options.RuleOptions,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Columns of probabilities; a star stands for the label, as in 'proba_*'."),
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Columns to carry over.")] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Labels of the columns, instead of their names.")
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Divide each row by its sum: for votes and counts.")
    ] = False,
    form: _options.Form = "both",
    joiner: _options.Joiner = "|",
    csv: _options.CsvOptions,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Select a set of labels for each row of probabilities.

    The file is read, answered and written block by block. CSV and Parquet output has the columns `set` (labels joined),
    `size` and `in_...`, one per label; npy output is a bool array.
    """
    with sentences("select"):
        chosen = rule.make()
        from steadyset.cli import _session
        from steadyset.tables import open_probabilities

        named = [] if classes is None else [name.strip() for name in classes.split(",")]
        sets = _session.open_sets(output, form, joiner, as_json, probs)
        source = open_probabilities(probs, csv.format(), columns or [], keep or [], named)
        sets.check_labels(source.labels)
        if sets.kind == "npy" and source.kept:
            raise ValueError("an .npy output has no room for columns to keep: write CSV or Parquet.")
        if source.index and not quiet:
            _session.note_index(source.index, "--columns")
        found = _select(source, chosen, sets, normalize)
        if as_json:
            echo_json(asdict(found))
        elif not quiet:
            note(
                f"{found.n_rows:,} rows, {found.n_classes} labels, mean set size {found.mean_set_size:.4g}, "
                f"{found.share_of_single_labels:.1%} single labels; "
                f"{found.rows_per_second_after_reading:,.0f} rows per second after reading"
            )


@dataclass(frozen=True)
class _Seconds:
    """What each step took."""

    reading: float
    selecting: float
    writing: float


@dataclass(frozen=True)
class _Selected:
    """What was selected: the names and the order of the JSON output."""

    rule: str
    n_rows: int
    n_classes: int
    mean_set_size: float
    share_of_single_labels: float
    output: str
    seconds: _Seconds
    rows_per_second_selecting: float
    rows_per_second_after_reading: float


def _select(source: "Probabilities", rule: Rule, sets: "SetOutput", normalize: bool) -> _Selected:
    """Read, select and write block by block."""
    from steadyset.tables import check_block, open_writer

    reading = selecting = writing = 0.0
    rows = size = single = 0
    with open_writer(sets.path) as writer:
        started = time.perf_counter()
        for proba, kept in source.blocks:
            read = time.perf_counter()
            mask = np.asarray(rule(check_block(proba, rows, normalize)))
            sizes = mask.sum(axis=1, dtype=np.int64)
            rows, size, single = rows + len(mask), size + int(sizes.sum()), single + int((sizes == 1).sum())
            selected = time.perf_counter()
            writer.write(mask if sets.kind == "npy" else _block_table(mask, kept, source, sets))
            written = time.perf_counter()
            reading += read - started
            selecting += selected - read
            writing += written - selected
            started = written
        if rows == 0:
            raise ValueError(f"{source.path!r} must have at least one row; got none.")
    return _Selected(
        rule=repr(rule),
        n_rows=rows,
        n_classes=len(source.labels),
        mean_set_size=size / rows,
        share_of_single_labels=single / rows,
        output=sets.path,
        seconds=_Seconds(round(reading, 6), round(selecting, 6), round(writing, 6)),
        rows_per_second_selecting=rows / max(selecting, 1e-9),
        rows_per_second_after_reading=rows / max(selecting + writing, 1e-9),
    )


def _block_table(mask: NDArray[np.bool_], kept: Any, source: "Probabilities", sets: "SetOutput") -> Any:
    from steadyset.tables import as_table

    carried = {} if kept is None else {name: kept[name] for name in source.kept}
    return as_table(carried | sets.columns(mask, source.labels), sets.path)
