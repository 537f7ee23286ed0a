"""Progress: scikit-learn's callbacks where this version has them, a bar of our own where it has not."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from steadyset._base import sklearn_doors


def bag_progress(estimator: Any, total: int, verbose: int) -> AbstractContextManager[Callable[[int], None]]:
    """Give a function to call with the number of bags that have been finished."""
    if sklearn_doors.HAS_CALLBACKS:
        return sklearn_doors.callback_progress(estimator, total, verbose, "bag")
    return bag_bar(total, verbose, f"{type(estimator).__name__} - bags")


@contextmanager
def bag_bar(total: int, verbose: int, name: str) -> Iterator[Callable[[int], None]]:
    """Show a bar of our own, where it is asked for."""
    if not verbose:
        yield lambda n: None
        return
    from rich.progress import Progress

    with Progress() as bar:
        line = bar.add_task(name, total=total)
        yield lambda n: bar.advance(line, n)
