"""Where bags are fitted: in threads or processes, and what a worker returns to the system between two bags."""

import ctypes
import itertools
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import BaseDecisionTree

from steadyset._base.sklearn_doors import is_linear_classifier
from steadyset.bags import BLOCK
from steadyset.ensemble import _clusters

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


def task_runs(numbers: Sequence[int], n_workers: int) -> list[Sequence[int]]:
    """Return which bags the tasks of a cluster train together: whole blocks of the mean's order of summation.

    Where there are bags enough a worker has eight turns or more, of which the last are short, so that all workers end
    at about the same time; four of one length where every task prepares the whole table again.
    """
    shorter = _clusters.keeps_what_is_shared()
    left = -(-len(numbers) // BLOCK)
    longest = -(-left // ((8 if shorter else 4) * n_workers))
    ends = [0]
    while left:
        length = min(left, longest, -(-left // (2 * n_workers)) if shorter else longest)
        ends.append(ends[-1] + length * BLOCK)
        left -= length
    return [numbers[start:end] for start, end in itertools.pairwise(ends)]


def packed(rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return row positions as they go over a network: in half of the bytes."""
    small = _clusters.is_elsewhere() and (len(rows) == 0 or int(rows.max()) < 2**32)
    return rows.astype(np.uint32) if small else rows


def in_parallel(
    work: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    place: str,
    shared: Sequence[Any] = (),
) -> Iterator[Any]:
    """Yield what the work gives for each tuple of arguments, in order, under the caller's scikit-learn configuration.

    `shared` are the last arguments of every call, what is large: a cluster gets them once per worker.

    scikit-learn's own Parallel carries the warning filters too, and in threads it resets those of the whole process.
    """
    call = partial(_configured, get_config(), work)
    if _clusters.is_elsewhere():
        yield from _clusters.in_parallel(call, arguments, n_jobs, shared)
        return
    backend, _ = joblib.parallel.get_active_backend()
    how = "generator" if backend.supports_return_generator else "list"
    calls = (joblib.delayed(call)(*each, *shared) for each in arguments)
    yield from joblib.Parallel(n_jobs=n_jobs, return_as=how, prefer=place)(calls)


def _configured(config: Mapping[str, Any], work: Callable[..., Any], *arguments: Any) -> Any:
    with config_context(**config):
        return work(*arguments)


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
