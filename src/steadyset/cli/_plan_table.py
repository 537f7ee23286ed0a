"""The plan: what is guaranteed for several choices side by side, or what a guarantee asks for."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from steadyset._base import validation
from steadyset.cli._answers import guarantee_json, make_table
from steadyset.cli._options import number
from steadyset.guarantees import (
    SMALLEST_EPSILON,
    VACUOUS,
    Guarantee,
    NoSolutionError,
    selection_stability,
    solve_stability,
)

AXES = ("n_samples", "epsilon", "bag_size", "n_bags")
DEFAULTS: dict[str, list[Any]] = {
    "n_samples": [],
    "epsilon": [0.05],
    "bag_size": [0.5, 0.1, "small"],
    "n_bags": [100, 1000, 10_000, None],
}


@dataclass(frozen=True)
class Cell:
    """One choice of everything that is not asked for, and the answer to it."""

    setting: dict[str, Any]
    guarantee: Guarantee | None
    answer: int | float | None = None
    reason: str | None = None  # why there is no answer


def parse(texts: Sequence[str], name: str) -> list[Any]:
    """Read the values of one axis: whole numbers, numbers with a point, "inf" for bags and "small" for bag sizes."""
    return [_parse_one(text.replace("_", "").replace(",", ""), name) for text in texts]


def _parse_one(text: str, name: str) -> Any:
    if name == "n_bags" and text == "inf":
        return None
    if name == "bag_size" and text == "small":
        return text
    words = {"n_bags": ' or "inf"', "bag_size": ' or "small"'}.get(name, "")
    return number(text, f"{name} must be a number{words}; got {validation.shown(text)}.")


def cells(
    axes: Mapping[str, Sequence[Any]], common: Mapping[str, Any], unknown: str | None, delta: float | None
) -> list[Cell]:
    """Answer every combination of the choices, in their order."""
    if unknown is not None:
        validation.choice(unknown, "solve", AXES)
        if axes[unknown]:
            raise ValueError(
                f"{unknown} must be left out when it is solved for; got {validation.shown(axes[unknown])}."
            )
    known = {name: list(axes[name]) or DEFAULTS[name] for name in AXES if name != unknown}
    if known.get("n_samples") == []:
        raise ValueError("n_samples must be given, unless it is solved for; got nothing.")
    if unknown in ("n_samples", "epsilon") and not axes["bag_size"]:
        known["bag_size"] = [0.5, 0.1, 0.01]
    combinations = [dict(zip(known, values, strict=True)) for values in itertools.product(*known.values())]
    return [_answer(setting, common, unknown, delta) for setting in combinations]


def _answer(setting: dict[str, Any], common: Mapping[str, Any], unknown: str | None, delta: float | None) -> Cell:
    try:
        if setting.get("bag_size") == "small":
            setting = {**setting, "bag_size": _small_bag(setting, common, unknown)}
        if unknown is None:
            return Cell(setting, selection_stability(**setting, **common))
        answer = solve_stability(unknown, delta=delta, **setting, **common)  # type: ignore[arg-type]
    except NoSolutionError as error:
        return Cell(setting, None, reason=str(error))
    return Cell(setting, selection_stability(**{**setting, unknown: answer}, **common), answer)


def _small_bag(setting: Mapping[str, Any], common: Mapping[str, Any], unknown: str | None) -> float:
    """Return the largest bag size with which no row can matter, in the limit of infinitely many bags."""
    if unknown in ("n_samples", "epsilon"):
        raise ValueError(f'bag_size must be a number when {unknown} is solved for; got "small".')
    limit = {**common, "coupling": None, "theorem": "small-bags", "sigma2": None}
    rule = {name: setting[name] for name in ("n_samples", "epsilon")}
    return solve_stability("bag_size", delta=0.0, **rule, **limit)


def as_json(found: Sequence[Cell], unknown: str | None, delta: float | None) -> dict[str, Any]:
    """Return the choices for JSON: the setting, the guarantee with its sentence, and what was solved for."""
    choices = []
    for cell in found:
        choice: dict[str, Any] = {"setting": cell.setting}
        if unknown is not None:
            choice |= {unknown: cell.answer, "reason": cell.reason}
        if cell.guarantee is not None:
            choice["guarantee"] = guarantee_json(cell.guarantee)
        choices.append(choice)
    return {"solve": unknown, "delta": delta, "choices": choices}


def show(found: Sequence[Cell], unknown: str | None, delta: float | None, console: Console) -> None:
    """Print the choices as a table: one column per number of bags, one row per choice of the rest."""
    shared = {name: {cell.setting[name] for cell in found} for name in AXES if name not in (unknown, "n_bags")}
    rows = [name for name, values in shared.items() if len(values) > 1 or name == "bag_size"] or ["epsilon"]
    title = ", ".join(f"{name} = {_shown(*values)}" for name, values in shared.items() if name not in rows)
    asked = "probability of a disjoint label set, at most" if unknown is None else f"{unknown} for delta = {delta:g}"
    console.print(f"{title}: {asked}" if title else asked)
    columns = list(dict.fromkeys(cell.setting.get("n_bags") for cell in found))
    headings = [
        "n_bags" if unknown == "n_bags" else "inf bags" if n_bags is None else f"{n_bags:,} bags" for n_bags in columns
    ]
    lines = [found[start : start + len(columns)] for start in range(0, len(found), len(columns))]
    texts = [[*(_shown(line[0].setting[name]) for name in rows), *map(_cell_text, line)] for line in lines]
    console.print(make_table([*rows, *headings], texts))
    for note in _notes(found):
        console.print(note)


def _cell_text(cell: Cell) -> str:
    if cell.reason is not None:
        return "none"
    assert cell.guarantee is not None
    every = " *" if cell.guarantee.every_row else ""
    if cell.answer is not None:
        return ("any" if cell.answer == SMALLEST_EPSILON else _shown(cell.answer)) + every
    if cell.guarantee.vacuous:
        return f"vacuous ({cell.guarantee.delta:.3g})"
    return f"{cell.guarantee.delta:.3g}{every}"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def _notes(found: Sequence[Cell]) -> list[str]:
    given = [cell.guarantee for cell in found if cell.guarantee is not None]
    notes = []
    if any(g.every_row for g in given):
        notes.append("* for every single row; the others are on average over the rows.")
    if any(g.vacuous for g in given):
        notes.append(f"vacuous: the bound is not below {VACUOUS:g} and promises nothing.")
    notes += [f"none: {reason}" for reason in dict.fromkeys(cell.reason for cell in found) if reason is not None]
    if given:
        notes.append(f"For example: {min(given, key=lambda g: (g.vacuous, g.n_bags is None, g.delta))}")
    return notes
