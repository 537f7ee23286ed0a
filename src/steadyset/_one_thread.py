"""One thread for numerical libraries while a bag is fitted or predicted, so that their number cannot change bits."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0  # how many threads of this process are inside
_blas_limit: Any = None
_controller: Any = None
_modules_seen = -1


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread; safe to enter from several threads at once.

    BLAS keeps one number for the whole process, so that the first thread to enter sets it and the last one to leave
    puts it back; OpenMP keeps one for each thread.
    """
    global _inside, _blas_limit
    with _lock:
        controller = _current_controller()
        if _inside == 0:
            _blas_limit = controller.select(user_api="blas").limit(limits=1)
        _inside += 1
    own = controller.select(user_api="openmp").limit(limits=1)
    try:
        yield
    finally:
        own.restore_original_limits()
        with _lock:
            _inside -= 1
            if _inside == 0:
                _blas_limit.restore_original_limits()


def _current_controller() -> Any:
    # Looking for the loaded libraries takes milliseconds, so that it is done only when something was imported since.
    global _controller, _modules_seen
    if _controller is None or len(sys.modules) != _modules_seen:
        _controller, _modules_seen = ThreadpoolController(), len(sys.modules)
    return _controller
