"""A run's folder: finished fits, the time they took, and what was asked for."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steadyset.paper import _output


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file in one step: it is whole or as it was."""
    _output.write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


class RunFolder:
    """The folder of one run; a call that finds an earlier one's finished work goes on from there.

    Parameters
    ----------
    path : path
        Made where it is missing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._clock = self.path / "times.json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise OSError(f"the run folder must be writable; got {str(self.path)!r}: {error}.") from error

    def times(self) -> dict[str, dict[str, float]]:
        """Return wall and CPU seconds of each stage, over all calls; time lost to a kill is not among them."""
        if not self._clock.exists():
            return {}
        read: dict[str, dict[str, float]] = json.loads(self._clock.read_text(encoding="utf-8"))
        return read

    @contextmanager
    def timed(self, stage: str) -> Iterator[Callable[[], None]]:
        """Time a stage; give a function that keeps the time since its last call: a kill loses only the work since."""
        last = time.perf_counter(), time.process_time()

        def tick() -> None:
            nonlocal last
            now = time.perf_counter(), time.process_time()
            times = self.times()
            entry = times.setdefault(stage, {"wall_seconds": 0.0, "cpu_seconds": 0.0})
            entry["wall_seconds"] += now[0] - last[0]
            entry["cpu_seconds"] += now[1] - last[1]
            write_json(self._clock, times)
            last = now

        try:
            yield tick
        finally:
            tick()

    def forget_time(self, stage: str) -> None:
        """Start a stage's time from nothing: it is done anew."""
        times = self.times()
        if times.pop(stage, None) is not None:
            write_json(self._clock, times)
