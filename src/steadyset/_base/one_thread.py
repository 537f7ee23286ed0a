"""One thread for numerical libraries while a bag is fitted or predicted: the number of threads can change bits."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0  # how many threads of this process are inside
_blas_before: list[tuple[Any, int]] = []
_libraries: tuple[list[Any], list[Any]] = ([], [])
_modules_seen = -1


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread; safe to enter from several threads at once.

    BLAS keeps one number for the whole process: the first thread to enter sets it, the last one to leave puts it back.
    OpenMP keeps one number per thread.
    """
    global _inside, _blas_before
    with _lock:
        blas, openmp = _loaded_libraries()
        if _inside == 0:
            _blas_before = _limit(blas)
        _inside += 1
    own_before = _limit(openmp)
    try:
        yield
    finally:
        _restore(own_before)
        with _lock:
            _inside -= 1
            if _inside == 0:
                _restore(_blas_before)


def _limit(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Set the libraries that use more than one thread to one; return them with their numbers. It runs once per bag."""
    before = [(library, library.get_num_threads()) for library in libraries]
    changed = [(library, threads) for library, threads in before if threads is not None and threads != 1]
    for library, _ in changed:
        _set(library, 1)
    return changed


def _restore(changed: list[tuple[Any, int]]) -> None:
    for library, threads in changed:
        _set(library, threads)


def _set(library: Any, threads: int) -> None:
    # From 3.8 on, threadpoolctl remembers which thread first set OpenBLAS's number, and silently ignores every other
    # thread. Here any thread may be the first to enter or the last to leave, so that memory is cleared each time.
    free = getattr(library, "clear_controlling_thread", None)
    if free is not None:
        free(force=True)
    library.set_num_threads(threads)
    if free is not None:
        free(force=True)


def _loaded_libraries() -> tuple[list[Any], list[Any]]:
    # Looking for the loaded libraries takes milliseconds, so it is done again only after something was imported.
    global _libraries, _modules_seen
    if len(sys.modules) != _modules_seen:
        found = ThreadpoolController().lib_controllers
        _libraries = tuple([lib for lib in found if lib.user_api == api] for api in ("blas", "openmp"))  # type: ignore[assignment]
        _modules_seen = len(sys.modules)
    return _libraries
