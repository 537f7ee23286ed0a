"""Predictions of bags in a folder, which commands take in place of a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.bags import BagPredictions
from steadyset.cli._options import ModelOptions
from steadyset.selection import InflatedArgmax
from steadyset.tables import choose_columns, choose_target, index_columns, read_table, target_labels, to_frame


@dataclass(frozen=True, eq=False)
class ReadPredictions:
    """Predictions, and the table of their points where it is given: features, and labels where it has the target."""

    predictions: BagPredictions
    X: Any
    labels: NDArray[Any] | None
    known: NDArray[np.bool_] | None

    def drawn(self, points: int | None, seed: int) -> tuple[BagPredictions, NDArray[np.intp]]:
        """Return the predictions at that many points, drawn at random, and their positions; all if there are fewer."""
        n = self.predictions.n_points
        if points is None or points >= n:
            return self.predictions, np.arange(n)
        if points < 1:
            raise ValueError(f"points must be a whole number that is at least 1; got {points}.")
        rows = np.sort(np.random.default_rng(seed).choice(n, points, replace=False))
        return self.predictions.at_points(rows), rows


def rule_at(epsilon: float | None) -> InflatedArgmax:
    """Return the rule for predictions, which have none of their own."""
    return InflatedArgmax(0.05 if epsilon is None else epsilon)


def open_predictions(folder: str, data: str | None, target: str | None, options: ModelOptions) -> ReadPredictions:
    """Read predictions, and the table of the points they are at."""
    predictions = BagPredictions.load(folder)
    if data is None:
        return ReadPredictions(predictions, None, None, None)
    table = read_table(data, options.format(*(options.missing or ())))
    if table.num_rows != predictions.n_points:
        raise ValueError(
            f"DATA must have a row for each of the {predictions.n_points:,} points of {folder!r}; "
            f"got {table.num_rows:,}."
        )
    away = {target, *index_columns(table.schema)}
    X = to_frame(table, choose_columns(table, [name for name in table.column_names if name not in away]))
    if target is None:
        return ReadPredictions(predictions, X, None, None)
    labels, known = target_labels(table, choose_target(table, target))
    return ReadPredictions(predictions, X, labels, known & np.isin(labels, predictions.classes))
