"""Where bags are fitted: threads or processes, and what a worker gives back to the system between two bags."""

import ctypes
import multiprocessing
import signal
import threading
from functools import cache
from typing import Any, Literal

import numpy as np
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import BaseDecisionTree

#: From this size of X on, a linear model spends its time in BLAS, without Python's lock.
LARGE_X = 16 * 2**20
#: From this size on, a bag's freed memory is worth giving back.
_LARGE_BAG = 2**20


def preferred(learner: Any, X: Any) -> Literal["threads", "processes"]:
    """Return where this learner fits fastest on X, with one copy of X where it can be: joblib takes it as a hint.

    Threads share X as it is; processes need a copy to map. Threads pay where fitting happens in native code that leaves
    Python's lock alone.
    """
    if isinstance(learner, BaseDecisionTree):
        return "threads"
    large = isinstance(X, np.ndarray) and X.dtype.kind in "fiu" and X.nbytes >= LARGE_X
    return "threads" if large and _is_linear(learner) else "processes"


def run_length(place: str, n_bags: int, n_jobs: int) -> int:
    """Return how many bags a worker gets at a time: handing out a bag costs a thread more than a small tree's share.

    Processes get theirs in batches from joblib. Every worker has eight turns or more, so that none waits at the end.
    """
    return max(1, min(4, n_bags // (8 * n_jobs))) if place == "threads" else 1


def _is_linear(learner: Any) -> bool:
    if isinstance(learner, Pipeline):
        return all(step in (None, "passthrough") or _is_linear(step) for _, step in learner.steps)
    return isinstance(learner, LinearClassifierMixin | StandardScaler)


def leave_interrupts_to_the_caller() -> None:
    """In a process of joblib's, do nothing on Ctrl-C: the caller hears it too and ends its workers.

    A worker that is between two tasks would only print where it was.
    """
    ours = multiprocessing.current_process().name.startswith("LokyProcess")
    if ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def give_back(bag_bytes: int) -> None:
    """Give what a fit on so large a bag has freed back to the system: glibc keeps up to twice the largest array."""
    if bag_bytes >= _LARGE_BAG and (trim := _malloc_trim()) is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # not glibc
        return None
