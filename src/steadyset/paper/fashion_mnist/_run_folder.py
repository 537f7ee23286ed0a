"""A run's folder: finished fits, the time they took, and what was asked for."""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steadyset._base import whole_files


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file in one step: it is whole or as it was."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step: it is whole or as it was."""
    with whole_files.replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


class RunFolder:
    """The folder of one run; a call that finds an earlier one's finished work goes on from there.

    Parameters
    ----------
    path : path
        Made where it is missing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise OSError(f"the run folder must be writable; got {str(self.path)!r}: {error}.") from error

    @property
    def _clock(self) -> Path:
        return self.path / "times.json"

    def times(self) -> dict[str, dict[str, float]]:
        """Return wall and CPU seconds of each stage, over all calls; time lost to a kill is not among them."""
        if not self._clock.exists():
            return {}
        read: dict[str, dict[str, float]] = json.loads(self._clock.read_text(encoding="utf-8"))
        return read

    @contextmanager
    def timed(self, stage: str) -> Iterator["StageClock"]:
        """Time a stage; `tick` keeps what has passed, so that a kill loses only the work since."""
        clock = StageClock(self, stage)
        try:
            yield clock
        finally:
            clock.tick()

    def forget_time(self, stage: str) -> None:
        """Start a stage's time from nothing: it is done anew."""
        times = self.times()
        if times.pop(stage, None) is not None:
            write_json(self._clock, times)

    def _add(self, stage: str, wall: float, cpu: float) -> None:
        times = self.times()
        entry = times.setdefault(stage, {"wall_seconds": 0.0, "cpu_seconds": 0.0})
        entry["wall_seconds"] += wall
        entry["cpu_seconds"] += cpu
        write_json(self._clock, times)


class StageClock:
    """Time since the last tick of one stage."""

    def __init__(self, run: RunFolder, stage: str) -> None:
        self._run, self._stage = run, stage
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def tick(self) -> None:
        """Add what has passed since the last tick to the run's record."""
        wall, cpu = time.perf_counter(), time.process_time()
        self._run._add(self._stage, wall - self._wall, cpu - self._cpu)
        self._wall, self._cpu = wall, cpu
