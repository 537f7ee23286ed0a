"""`steadyset audit`: which training rows turn which predictions around."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from steadyset.cli import _options
from steadyset.cli._answers import echo_json, make_table, without_none
from steadyset.cli._errors import note, sentences

if TYPE_CHECKING:
    from steadyset.audit import StabilityAudit

EXAMPLES = """
Examples:

  steadyset audit model.skops new.csv
      every training row left out, at every row of new.csv

  steadyset audit model.skops new.csv --points 2000 --left-out 1000 --seed 1
      at 2,000 rows drawn at random, for 1,000 training rows drawn at random

  steadyset audit predictions
      what the bags of a folder of steadyset collect predict, at its points

  steadyset audit model.skops new.csv --json > audit.json
      for machines
"""


@_options.grouped
def audit(
    model: _options.Source,
    data: _options.PointData = None,
    left_out: Annotated[
        str, typer.Option(metavar="all|N", help="The training rows to leave out; a number draws that many at random.")
    ] = "all",
    points: Annotated[
        int | None, typer.Option(metavar="N", help="Audit at N rows of DATA, drawn at random; default: at all of them.")
    ] = None,
    epsilon: _options.NewEpsilon = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write one line per row of DATA, .csv or .parquet."),
    ] = None,
    seed: _options.Seed = 0,
    *,
    options: _options.ModelOptions,
) -> None:
    """Leave out every training row, one at a time, and count the predictions that it contradicts.

    Nothing is fitted again: the model without a row is the mean of the bags that do not hold it.
    """
    with sentences("audit"):
        units: Any = "all" if left_out == "all" else _count(left_out)
        from steadyset._base import whole_files
        from steadyset.cli import _session
        from steadyset.tables import output_format

        if output is not None:
            whole_files.check_output(output, *([] if data is None else [data]), model)
            if output_format(output) == "npy":
                raise ValueError(f"output must end in .csv or .parquet; got {output!r}.")
        threads = None if options.n_jobs == -1 else options.n_jobs
        asked = {"left_out": units, "random_state": seed, "n_jobs": threads}
        work, rows, ids = (_of_folder if os.path.isdir(model) else _of_model)(
            model, data, points, epsilon, seed, options
        )
        with _session.told_once(options.quiet), _session.bar("points", options.quiet) as advance:
            found = work(**asked, progress=advance)
        if output is not None:
            _write_points(found, rows, output)
        _tell(found, ids, rows, options.as_json)


_Work = tuple[Callable[..., "StabilityAudit"], NDArray[np.intp], NDArray[Any] | None]  # the audit, points, ids of rows


def _of_model(
    model: str, data: str | None, points: int | None, epsilon: float | None, seed: int, options: _options.ModelOptions
) -> _Work:
    from steadyset.cli import _session

    read = _session.open_both(model, _session.needed(data), options)
    X, rows = _session.drawn(read.X, points, seed)
    clf = read.model.classifier
    named = read.model.id_column is not None and hasattr(clf, "bags_")
    return partial(clf.audit, X, read.rule(epsilon)), rows, clf.bags_.sample_ids if named else None


def _of_folder(
    model: str, data: str | None, points: int | None, epsilon: float | None, seed: int, options: _options.ModelOptions
) -> _Work:
    from steadyset.audit import audit_bags
    from steadyset.cli import _predictions

    read = _predictions.open_predictions(model, data, None, options)
    predictions, rows = read.drawn(points, seed)
    ids = predictions.bags.ids
    return (
        partial(audit_bags, predictions, _predictions.rule_at(epsilon)),
        rows,
        ids.values if ids.kind == "given" else None,
    )


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"left_out must be all or a number of rows; got {text!r}.") from None


def _write_points(found: "StabilityAudit", rows: NDArray[np.intp], output: str) -> None:
    from steadyset.tables import as_table, open_writer

    with open_writer(output) as writer:
        frame = found.to_frame("points")
        frame.insert(0, "row", rows + 1)
        writer.write(as_table(dict(frame.items()), output))


@dataclass(frozen=True)
class _Influence:
    """A training row, or a group of them, that stands clear of the noise; rows are counted from 1."""

    row: int | None
    id: str | None
    flips: int
    score: float  # how far it shifts the votes, in standard errors


def _influences(found: "StabilityAudit", ids: NDArray[Any] | None) -> list[_Influence]:
    listed = []
    for unit in found.influential()[:20]:
        row: int | None = None
        name: str | None = str(found.left_out[unit])
        if found.unit == "row":
            row, name = int(found.left_out[unit]) + 1, None if ids is None else str(ids[found.left_out[unit]])
        listed.append(_Influence(row, name, int(found.row_influence[unit]), float(found.row_score[unit])))
    return listed


def _tell(found: "StabilityAudit", ids: NDArray[Any] | None, rows: NDArray[np.intp], as_json: bool) -> None:
    influences = _influences(found, ids)
    order = np.argsort(-found.instability, kind="stable")[:10]
    worst = [int(point) for point in order if found.instability[point] > 0]
    if as_json:
        echo_json(_as_json(found, rows, worst, influences))
        return
    from steadyset.cli import _audit_words

    typer.echo(_audit_words.in_words(found, rows))
    if not worst:
        dropped = f"any one of the {found.n_units:,} training {found.unit}s" + (" drawn" if found.sampled else "")
        typer.echo(f"In words: dropping {dropped} contradicts the set of no row of the table.")
        return
    note("rows of the table and of the training data are counted from 1")
    from rich.console import Console

    unstable = [(f"{rows[p] + 1:,}", f"{found.instability[p]:.4g}", f"{found.jaccard[p]:.4f}") for p in worst]
    units = f"training {found.unit}s"
    columns = ("row", f"share of {units}", "mean Jaccard index")
    Console().print(make_table(columns, unstable, title=f"rows of the table that most {units} contradict"))
    if influences:
        shifting = [
            (str(unit.id) if unit.row is None else f"{unit.row:,}", f"{unit.flips:,}", f"{unit.score:.1f}")
            for unit in influences
        ]
        columns = (found.unit, "flips", "shift in standard errors")
        Console().print(make_table(columns, shifting, title=f"{units} that stand clear of the noise"))


def _as_json(
    found: "StabilityAudit", rows: NDArray[np.intp], worst: Sequence[int], influences: Sequence[_Influence]
) -> dict[str, Any]:
    low, high = found.interval(simultaneous=False)
    of_points = {"instability": found.instability, "low": low, "high": high}
    return {
        "algorithm": found.algorithm,
        "rule": found.rule,
        "n_points": found.n_points,
        "n_left_out": found.n_units,
        "sampled": found.sampled,
        "unit": found.unit,
        "unanswered": found.unanswered.tolist() if found.unit == "group" else (found.unanswered + 1).tolist(),
        "max_instability": found.max_instability,
        "mean_instability": float(found.instability.mean()),
        "points_ever_in_conflict": int((found.instability > 0).sum()),
        "mean_jaccard": float(found.jaccard.mean()),
        "settled_points": int(found.settled.sum()),
        "worst_points": [
            {"row": int(rows[p]) + 1} | {name: float(values[p]) for name, values in of_points.items()} for p in worst
        ],
        "influential_rows": [without_none(influence) for influence in influences],
    }
