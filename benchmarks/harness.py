"""Timing and reporting, the same for every benchmark."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.levels import numpy_features
from steadyset import _native

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Line:
    """One measured figure, and the mark that it has to reach."""

    what: str
    value: float
    mark: float | None = None
    at_least: bool = False
    unit: str = "x"

    @property
    def reached(self) -> bool:
        return self.mark is None or (self.value >= self.mark if self.at_least else self.value <= self.mark)


def interleaved_best(calls: dict[str, Callable[[], object]], rounds: int = 7, warm: bool = False) -> dict[str, float]:
    """Best seconds of each call, taken in turn so that a slow spell of the machine falls on all of them.

    Where calls make large arrays, `warm` has each made once before it counts: memory that a virtual machine has given
    back to its host in the meantime takes longer to get again than the work on it.
    """
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            if warm:
                call()
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def run_python(program: str, **env: str) -> str:
    """Standard output of a fresh interpreter that runs `program` in the project's root."""
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root, env={**os.environ, **env}
    )
    return done.stdout.strip()


def at_level(**marks: float) -> float | None:
    """The mark of the level in use, if it has one."""
    return marks.get(_native.isa())


def report(name: str, lines: list[Line]) -> bool:
    """Print a table, write it as JSON, and say whether every mark was reached."""
    table = Table(title=f"{name} at {_native.isa()} (NumPy: {', '.join(numpy_features()) or 'its baseline'})")
    for column in ("what", "measured", "mark", ""):
        table.add_column(column, justify="left" if column == "what" else "right")
    for line in lines:
        mark = "" if line.mark is None else f"{'>=' if line.at_least else '<='} {line.mark:g}"
        table.add_row(
            line.what,
            f"{line.value:.3g} {line.unit}",
            mark,
            "" if line.mark is None else "ok" if line.reached else "MISSED",
        )
    Console(width=120).print(table)
    RESULTS.mkdir(exist_ok=True)
    machine = {"processor": processor(), "cpus": os.cpu_count(), "python": platform.python_version()}
    record = {
        "machine": {**machine, "level": _native.isa(), "numpy": numpy_features()},
        "lines": [{**asdict(line), "reached": line.reached} for line in lines],
    }
    (RESULTS / f"{name}-{_native.isa()}.json").write_text(json.dumps(record, indent=1))
    return all(line.reached for line in lines)


def processor() -> str:
    """The CPU's name."""
    cpuinfo = Path("/proc/cpuinfo")
    names = (
        [row.split(":", 1)[1].strip() for row in cpuinfo.read_text().splitlines() if row.startswith("model name")]
        if cpuinfo.exists()
        else []
    )
    return names[0] if names else platform.processor()
