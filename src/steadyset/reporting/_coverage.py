"""Covering sets beside the sets of the rule in use: what is promised of them, and what was measured."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import CoveragePromise, CoveringRun
from steadyset.bags import BagPredictions
from steadyset.ensemble import StableClassifier, label_proba_for_covering
from steadyset.metrics import Estimate, ScoreTable, by_class, by_size, mean_set_size, set_report
from steadyset.reporting._inputs import Inputs

CONFORMAL, STABLE, BOTH = "covering alone", "stable alone", "both"
_COLUMNS = ("size", "coverage", "correct_single")


@dataclass(frozen=True)
class Covering:
    """The sets of both promises, and those of each by itself."""

    promise: CoveragePromise
    sets: dict[str, NDArray[np.bool_]]
    scores: ScoreTable  # a row for each of the three
    classes: ScoreTable | None  # of both; None where there are no labels
    sizes: ScoreTable | None

    def numbers(self) -> dict[str, Any]:
        """Return what the page shows, as plain data."""
        lines = []
        for row in self.scores.rows:
            line = dict(zip(self.scores.columns, row, strict=True))
            measured = {name: _plain(line[name]) for name in _COLUMNS if name in line}
            empty = int((~self.sets[line["rule"]].any(axis=1)).sum())
            lines.append({"sets": line["rule"], **measured, "n_empty": empty})
        return {
            "asked": self.promise.coverage,
            "proved": self.promise.proved_coverage,
            "sentence": str(self.promise),
            "rules": lines,
            "by_class": [
                {**line, "class": str(line["class"])}
                for line in _lines(self.classes, ("class", "n_samples", "coverage", "size"))
            ],
            "by_size": _lines(self.sizes, ("size", "n_sets", "coverage")),
        }


class CoveringPass:
    """Covering sets whose points come block by block."""

    def __init__(self, inputs: Inputs, coverage: float, n_jobs: int | None) -> None:
        model = inputs.made_by
        if not isinstance(model, StableClassifier):
            raise ValueError(
                "coverage must be None unless the model is a StableClassifier fitted with oob_score=True; got "
                f"{coverage} and a {type(model).__name__}."
            )
        self._promise = CoveragePromise.of(coverage)
        self._run = CoveringRun(inputs.bags, label_proba_for_covering(model), coverage, n_jobs)
        self._parts: list[NDArray[np.bool_]] = []

    def add(self, block: BagPredictions) -> None:
        """Take in the next points."""
        self._parts.append(self._run.sets(block))

    def result(self, stable: NDArray[np.bool_], proba: NDArray[np.float64], inputs: Inputs) -> Covering:
        """Return the sets and their scores; `stable` are those of the rule in use."""
        conformal = np.concatenate(self._parts)
        sets = {CONFORMAL: conformal, STABLE: stable, BOTH: conformal | stable}
        if inputs.columns is None:
            rows = tuple((name, mean_set_size(mask)) for name, mask in sets.items())
            return Covering(self._promise, sets, ScoreTable(("rule", "size"), rows, ("", "lower")), None, None)
        scores = set_report(inputs.columns, sets, proba)
        labels = inputs.classes
        classes = by_class(labels[inputs.columns], sets[BOTH], classes=labels)
        return Covering(self._promise, sets, scores, classes, by_size(inputs.columns, sets[BOTH]))


def _lines(table: ScoreTable | None, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    if table is None:
        return []
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return [{name: _plain(row[name]) for name in columns} for row in rows]


def _plain(value: Any) -> Any:
    if not isinstance(value, Estimate):
        return value
    error = value.standard_error
    return {"value": float(value) if value == value else None, "standard_error": error if error == error else None}
