"""Figures as files, with their numbers beside them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steadyset._base import optional, whole_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# No dates and no random ids, so that the same numbers give the same files.
_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200},
    "pdf": {"metadata": {"CreationDate": None}},
    "svg": {"metadata": {"Date": None}},
}


def new_figure(size: tuple[float, float]) -> "Figure":
    """Return a figure that belongs to no window."""
    figure: Figure = optional.require("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    return figure


def save(figure: "Figure", numbers: Mapping[str, Any], folder: str | Path, name: str) -> tuple[Path, ...]:
    """Write the figure as PNG, PDF and SVG and the numbers as JSON; return the files."""
    matplotlib = optional.require("matplotlib", "plot")
    folder = Path(folder)
    if folder.is_file():
        raise ValueError(f"folder must be a folder; got the file {str(folder)!r}.")
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with matplotlib.rc_context({"svg.hashsalt": name}):
        for kind, options in _FORMATS.items():
            files.append(folder / f"{name}.{kind}")
            with whole_files.replacing(files[-1]) as unfinished:
                figure.savefig(unfinished, **options)
    files.append(folder / f"{name}.json")
    write_text(files[-1], json.dumps(numbers, indent=2) + "\n")
    return tuple(files)


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step: it is whole or as it was."""
    with whole_files.replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
