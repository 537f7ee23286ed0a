"""Progress of a long run: a bar in a terminal, a line now and then in a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 60.0
_SECONDS_OF_READING = 5.0  # finished networks are read faster than this one after another, and trained more slowly


@contextmanager
def show_time_left(console: Console) -> Iterator[Callable[[str, float], None]]:
    """Give a function to call with (stage, share of the whole run that was finished)."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, speed_estimate_period=600) as bar:
        line = bar.add_task("", total=1.0)

        def advance(stage: str, share: float) -> None:
            bar.update(line, description=stage, advance=share)

        yield advance


class _Lines:
    """At most one line per minute; the time left is worked out from what this call has trained."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._done = self._from = 0.0
        self._training = False
        self._start = self._before = self._last = time.monotonic()

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        self._training |= now - self._before >= _SECONDS_OF_READING
        self._before = now
        self._done += share
        if not self._training:  # finished by an earlier call: read, not trained
            self._from, self._start = self._done, now
            return
        if now - self._last < _SECONDS_BETWEEN_LINES and self._done < 1 - 1e-9:
            return
        self._last = now
        pace = (self._done - self._from) / (now - self._start)
        left = (1 - self._done) / pace
        self._console.print(
            f"{stage}: {self._done:.1%} of the run, about {left / 60:.1f} minutes left", highlight=False
        )
