"""Tasks on a cluster: what is large is placed once, a task that is lost with its worker runs again."""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

import joblib
import numpy as np
from joblib._parallel_backends import LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend

#: Backends whose workers are threads or processes of this machine; Ray's is a subclass of one, so that types count.
LOCAL = (SequentialBackend, ThreadingBackend, LokyBackend, MultiprocessingBackend)

_ATTEMPTS = 4  # as Ray: three more where a worker is lost


def is_elsewhere() -> bool:
    """Return whether the active backend of joblib is that of a cluster, and we are not on one of its workers."""
    backend, _ = joblib.parallel.get_active_backend()
    return type(backend) not in LOCAL and not backend.nesting_level


def n_workers(n_jobs: int | None) -> int:
    """Return how many tasks run at once where the active backend is; Ray is started if nobody did."""
    backend, _ = joblib.parallel.get_active_backend()
    if is_elsewhere() and _is_of_ray(backend):
        _started_ray()
    return int(joblib.effective_n_jobs(n_jobs))


def keeps_what_is_shared() -> bool:
    """Return whether a worker of the active backend keeps what is shared for all of its tasks, as Dask's do."""
    backend, _ = joblib.parallel.get_active_backend()
    return _scatter_of(backend) is not None


def in_parallel(
    work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None, shared: Sequence[Any]
) -> Iterator[Any]:
    """Yield what the work gives for each tuple of arguments and the shared ones behind it, in order."""
    backend, _ = joblib.parallel.get_active_backend()
    arguments = iter(arguments)
    if _is_of_ray(backend):
        yield from _by_ray(backend, work, arguments, n_jobs, shared)
        return
    how = "generator" if backend.supports_return_generator else "list"
    unanswered: deque[tuple[Any, ...]] = deque()
    left: Iterable[tuple[Any, ...]] = arguments
    for attempt in range(_ATTEMPTS):
        placed = _scattered(backend, shared)
        calls = _calls(_AnyPlace(work, placed, shared), left, placed, unanswered)
        # Dask keeps all copies of data that 20 tasks wait for; with fewer, those on workers of such tasks.
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as=how, pre_dispatch="20 + 2 * n_jobs")
        try:
            for result in parallel(calls):
                unanswered.popleft()
                yield result
            return
        except CancelledError:  # a worker was lost with the only copy of the data
            if attempt == _ATTEMPTS - 1:
                raise
        left = itertools.chain(list(unanswered), arguments)
        unanswered.clear()


class _AnyPlace:
    """Work as it goes to a worker, which has the data by then, and as joblib does it here where one worker is left."""

    def __init__(self, work: Callable[..., Any], placed: Sequence[Any], shared: Sequence[Any]) -> None:
        self._work = work
        self._here = [(name, each) for name, each in zip(placed, shared, strict=True) if name is not each]

    def __getstate__(self) -> dict[str, Any]:
        return {"_work": self._work, "_here": []}

    def __call__(self, *arguments: Any) -> Any:
        found = [next((each for name, each in self._here if name is given), given) for given in arguments]
        return _call(self._work, *found)


def _calls(
    work: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    placed: Sequence[Any],
    begun: deque[tuple[Any, ...]],
) -> Iterator[Any]:
    """Yield the calls, and write down the arguments of those that were begun."""
    for each in arguments:
        begun.append(each)
        yield joblib.delayed(work)(*each, *placed)


def _scattered(backend: Any, shared: Sequence[Any]) -> Sequence[Any]:
    """Return the shared arguments as they go with every call: with Dask, as names of what each worker has by then.

    Left to itself, joblib gives them to one worker, which then keeps most of few tasks.
    """
    scatter = _scatter_of(backend)
    if scatter is None:
        return shared
    # One at a time: a list is sent twice to some workers. A hash would give what two calls send one name, and the first
    # that is done would take it from the other.
    return [None if each is None else scatter([each], broadcast=True, hash=False)[0] for each in shared]


def _scatter_of(backend: Any) -> Callable[..., Any] | None:
    return getattr(getattr(backend, "client", None), "scatter", None)


def _is_of_ray(backend: Any) -> bool:
    return type(backend).__module__.startswith("ray.")


def _started_ray() -> Any:
    import ray

    if not ray.is_initialized():
        ray.init()  # the cluster that RAY_ADDRESS names, or one of this machine
    return ray


def _by_ray(
    backend: Any,
    work: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    shared: Sequence[Any],
) -> Iterator[Any]:
    """Yield the results of tasks of Ray's own, at most `n_jobs` at a time.

    Ray's backend for joblib has a pool of actors instead: every task carries all of its data, and an actor that dies
    takes its tasks along.
    """
    ray, at_once = _started_ray(), n_workers(n_jobs)
    if at_once >= ray.cluster_resources().get("CPU", 0):
        at_once *= 2  # Ray runs what it has room for, and the next task is there when a worker has done one
    task = ray.remote(_call).options(**(backend.ray_remote_args or {}))
    placed = [None if each is None else ray.put(each) for each in shared]
    results: deque[Any] = deque()
    running: list[Any] = []
    try:
        for each in arguments:
            if len(running) == at_once:
                _, running = ray.wait(running)
            running.append(task.remote(work, *each, *placed))
            results.append(running[-1])
            while results[0] not in running:
                yield _result(ray, results.popleft())
        while results:
            yield _result(ray, results.popleft())
    finally:
        for left in results:
            ray.cancel(left)


def _call(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do the work in this process, as a worker process at home does it.

    Joblib's backend for Dask is the active one on its workers too. It would send on what a learner runs in parallel by
    itself, a whole bag with it, to processes that hold nothing to one thread.
    """
    with joblib.parallel_config(backend="threading"):
        return work(*map(_aligned, arguments))


def _aligned(given: Any) -> Any:
    """Return what came over a network at addresses of its type: elsewhere NumPy does without BLAS, and sums differ."""
    arrays = [given]
    if hasattr(given, "iloc"):  # pandas
        arrays = [given.values] if given.ndim == 1 else [given.iloc[:, i].values for i in range(given.shape[1])]
    is_aligned = all(each.flags.aligned for each in arrays if isinstance(each, np.ndarray))
    return given if is_aligned else given.copy()


def _result(ray: Any, task: Any) -> Any:
    """Return what a task gave, or raise what it raised, as at home."""
    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
