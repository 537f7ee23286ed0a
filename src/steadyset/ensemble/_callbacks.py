"""Progress: scikit-learn's callbacks where this version has them, a bar of our own where it has not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["CallbackSupportMixin", "bag_bar", "bag_progress", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, ProgressBar, with_callbacks
except ImportError:  # scikit-learn before callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's class of that name."""

    ProgressBar = None

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


@contextmanager
def bag_progress(estimator: Any, total: int, verbose: int) -> Iterator[Callable[[int], None]]:
    """Give a function to call with the number of bags that have been finished."""
    if ProgressBar is not None:
        with _callbacks(estimator, total, verbose) as advance:
            yield advance
    else:
        with bag_bar(total, verbose, f"{type(estimator).__name__} - bags") as advance:
            yield advance


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


@contextmanager
def _callbacks(estimator: Any, total: int, verbose: int) -> Iterator[Callable[[int], None]]:
    own_bar = bool(verbose) and not hasattr(estimator, "_skl_callbacks")
    if own_bar:
        estimator.set_callbacks(ProgressBar())
    try:
        context = estimator._init_callback_context(max_subtasks=total)
        context.call_on_fit_task_begin(estimator=estimator)

        def advance(n: int) -> None:
            for _ in range(n if hasattr(estimator, "_skl_callbacks") else 0):
                step = context.subcontext(task_name="bag")
                step.call_on_fit_task_begin(estimator=estimator)
                step.call_on_fit_task_end(estimator=estimator)

        yield advance
        context.call_on_fit_task_end(estimator=estimator)
    finally:
        if own_bar:
            estimator.set_callbacks()
