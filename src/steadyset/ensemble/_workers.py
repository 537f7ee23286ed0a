"""Where bags are fitted: in threads or processes, and what a worker returns to the system between two bags."""

import ctypes
import multiprocessing
import signal
import threading
from functools import cache
from typing import Any, Literal

import joblib
import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import BaseDecisionTree

from steadyset._base.sklearn_doors import is_linear_classifier

#: From this size of X on, a linear model spends its time in BLAS, without Python's lock.
LARGE_X = 16 * 2**20
#: From this size on, a bag's freed memory is worth giving back.
_LARGE_BAG = 2**20


def preferred(learner: Any, X: Any) -> Literal["threads", "processes"]:
    """Return where this learner fits fastest on X, with one copy of X where it can be: joblib takes it as a hint.

    Threads share X as it is; processes need a copy to map. Threads pay where fitting is native code that runs without
    Python's lock.
    """
    if isinstance(learner, BaseDecisionTree):
        return "threads"
    large = isinstance(X, np.ndarray) and X.dtype.kind in "fiu" and X.nbytes >= LARGE_X
    return "threads" if large and _is_linear(learner) else "processes"


def run_length(place: str, n_bags: int, n_jobs: int) -> int:
    """Return how many bags a worker gets at a time: handing out one bag takes as long as fitting a small tree.

    Processes get theirs in batches from joblib. Every worker has at least eight turns, so that none waits at the end.
    """
    return max(1, min(4, n_bags // (8 * n_jobs))) if place == "threads" else 1


def as_they_come() -> str:
    """Return how joblib is to hand back results: one by one where the backend can do that."""
    backend, _ = joblib.parallel.get_active_backend()
    return "generator" if backend.supports_return_generator else "list"


def _is_linear(learner: Any) -> bool:
    if isinstance(learner, Pipeline):
        return all(step in (None, "passthrough") or _is_linear(step) for _, step in learner.steps)
    return isinstance(learner, StandardScaler) or is_linear_classifier(learner)


def leave_interrupts_to_the_caller() -> None:
    """Ignore Ctrl-C in a worker process of joblib: the caller gets it too and ends its workers.

    A worker between two tasks would only print a traceback.
    """
    ours = multiprocessing.current_process().name.startswith("LokyProcess")
    if ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def give_back(bag_bytes: int) -> None:
    """Return what a fit on a bag of this size has freed to the system: glibc keeps up to twice the largest array."""
    if bag_bytes >= _LARGE_BAG and (trim := _malloc_trim()) is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # not glibc
        return None
