"""Answers as JSON and as tables."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from steadyset.guarantees import Guarantee


def echo_json(answer: Any) -> None:
    """Print an answer as JSON."""
    typer.echo(json.dumps(answer, indent=2))


def without_none(answer: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that hold something."""
    return {name: value for name, value in asdict(answer).items() if value is not None}


def guarantee_json(guarantee: "Guarantee") -> dict[str, Any]:
    """Return a guarantee with its sentence."""
    return {**asdict(guarantee), "vacuous": guarantee.vacuous, "sentence": str(guarantee)}


def make_table(columns: Sequence[str], rows: Iterable[Iterable[str]], n_left: int = 0, **options: Any) -> "Table":
    """Return a table of texts; all columns but the first `n_left` are justified to the right."""
    from rich.table import Table

    table = Table(**options)
    for j, column in enumerate(columns):
        table.add_column(column, justify="left" if j < n_left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table
