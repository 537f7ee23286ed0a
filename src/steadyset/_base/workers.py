"""Threads that live for a call, for work that releases the GIL."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

_POLL_SECONDS = 0.1  # how long Ctrl-C may wait


@contextlib.contextmanager
def workers(threads: int) -> Iterator[Callable[[Callable[[Any], object], Iterable[Any]], None]]:
    """Give a function that calls another for each of some things and returns when all are done.

    The caller's thread only waits, so that Ctrl-C works: what has not begun by then is not done, and a generator is
    left where it yields. One thread is the caller's own.
    """
    if threads <= 1:
        yield _in_turn
        return
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait  # a few milliseconds

    stopped = threading.Event()
    with ThreadPoolExecutor(threads, thread_name_prefix="steadyset") as pool:

        def over(work: Callable[[Any], object], things: Iterable[Any]) -> None:
            futures = [pool.submit(_done, work, thing, stopped) for thing in things]
            try:
                left = set(futures)
                while left:
                    done, left = wait(left, _POLL_SECONDS, FIRST_EXCEPTION)
                    for future in done:
                        future.result()
            except BaseException:
                stopped.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

        yield over


def _in_turn(work: Callable[[Any], object], things: Iterable[Any]) -> None:
    for thing in things:
        _done(work, thing)


def _done(work: Callable[[Any], object], thing: Any, stopped: threading.Event | None = None) -> None:
    steps = work(thing)
    if isinstance(steps, Iterator):
        for _ in steps:
            if stopped is not None and stopped.is_set():
                return


class AtOnce:
    """An executor for work that is done before a thread could be started: it does it in the caller's thread."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> "Future[Any]":
        """Return what the work gives, or raised."""
        from concurrent.futures import Future

        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments, **named))
        except Exception as error:
            done.set_exception(error)
        return done

    def shutdown(self, wait: bool = True) -> None:
        """Do nothing: all work is done."""
