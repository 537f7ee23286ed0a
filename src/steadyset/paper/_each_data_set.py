"""The same work on many data sets, of which those that are done outlive an interruption."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import joblib

Result = Mapping[str, Any]


class Finished:
    """A file with a line for each data set that is done, beside the settings that it was done with.

    Lines of other settings, and a last one that was cut off, are passed over.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path, self._settings = path, dict(settings)
        self._known: dict[tuple[str, int], Result] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for line in text.splitlines():
            try:
                read = json.loads(line)
            except ValueError:
                continue
            if isinstance(read, dict) and read.get("settings") == self._settings:
                self._known[read["set_up"], read["number"]] = read["result"]
        self._cut_off = bool(text) and not text.endswith("\n")

    def each(self, set_up: str, one: Callable[[int], Result], number: int, n_jobs: int | None = None) -> list[Result]:
        """Return what the work gives for data sets 0, 1, ...; what comes is written before the next is waited for."""
        left = [place for place in range(number) if (set_up, place) not in self._known]
        calls = (joblib.delayed(one)(place) for place in left)
        for place, result in zip(left, joblib.Parallel(n_jobs=n_jobs, return_as="generator")(calls), strict=True):
            self._known[set_up, place] = result
            self._write({"settings": self._settings, "set_up": set_up, "number": place, "result": result})
        return [self._known[set_up, place] for place in range(number)]

    def forget(self) -> None:
        """Remove the file, once what it was kept for is written."""
        self._path.unlink(missing_ok=True)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(("\n" if self._cut_off else "") + json.dumps(line) + "\n")
        self._cut_off = False
