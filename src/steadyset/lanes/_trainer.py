"""Groups of bags over threads: the native code trains four models at a time, a group is sixteen."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base.rows import are_few, bag_rows
from steadyset._base.workers import AtOnce
from steadyset.lanes._settings import Settings

#: Models that the native code trains together, and bags of one group.
TOGETHER, GROUP = 4, 16

_POLL_SECONDS = 0.1  # how long Ctrl-C may wait, and how often progress is looked at
_AT_ONCE = 1 << 22  # parameters times rows of few epochs, which take milliseconds: no thread is worth starting

Progress = Callable[[tuple[int, ...], int, int], object]


@dataclass(frozen=True)
class Trained:
    """Models of one group, one row each."""

    parameters: NDArray[np.float32]
    losses: NDArray[np.float32]
    center: NDArray[np.float32] | None
    deviation: NDArray[np.float32] | None

    def at(self, index: Any) -> "Trained":
        """Return some of the models, or one without the first axis, by NumPy's indexing of each array."""
        return _combined([self], lambda arrays: arrays[0][index])


_ARRAYS = tuple(field.name for field in fields(Trained))


@dataclass(frozen=True)
class TrainingData:
    """All training rows with their labels, and the bags of them to train on, one seed per bag."""

    x: NDArray[Any]
    labels: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    bags: Any
    seeds: Sequence[int]


@dataclass(frozen=True)
class _Quartet:
    numbers: tuple[int, ...]
    seeds: tuple[int, ...]
    watch: _native.LanesWatch
    future: "Future[dict[str, Any]]"


def train_groups(
    network: _native.LanesNetwork,
    data: TrainingData,
    settings: Settings,
    n_jobs: int | None,
    progress: Progress | None,
) -> Iterator[tuple[tuple[int, ...], Trained]]:
    """Train all bags and yield them in order, sixteen at a time; the caller's thread only waits: Ctrl-C still works."""
    seeds = data.seeds
    names = getattr(data.bags, "bag_numbers", range(len(seeds)))  # of some of the bags, their numbers among all
    threads = effective_n_jobs(n_jobs)
    epochs = len(settings.rates)
    parts = [range(first, min(first + TOGETHER, len(seeds))) for first in range(0, len(seeds), TOGETHER)]
    # Enough that no thread waits for the caller, and that finished groups do not pile up.
    ahead = max(GROUP // TOGETHER, threads) + threads
    running: deque[_Quartet] = deque()
    few = are_few(data.bags, len(seeds), _AT_ONCE / max(1, epochs * network.n_parameters))
    pool = AtOnce() if few else ThreadPoolExecutor(threads, thread_name_prefix="steadyset-lanes")
    native_settings = settings.native()

    def submit(part: range) -> None:
        watch = _native.LanesWatch()
        rows = [bag_rows(data.bags[b], names[b], len(data.x)) for b in part]
        chosen = tuple(seeds[b] for b in part)
        future = pool.submit(
            network.train, data.x, data.labels, rows, list(chosen), native_settings, watch, weights=data.weights
        )
        running.append(_Quartet(tuple(part), chosen, watch, future))

    try:
        waiting = iter(parts)
        for first in range(0, len(parts), GROUP // TOGETHER):
            group = parts[first : first + GROUP // TOGETHER]
            numbers = tuple(b for part in group for b in part)
            done: list[Trained] = []
            shown_epochs = 0
            while len(done) < len(group):
                while len(running) < ahead and (part := next(waiting, None)) is not None:
                    submit(part)
                wait([running[0].future], timeout=_POLL_SECONDS)
                rest = list(running)[: len(group) - len(done)]
                finished = min((quartet.watch.epochs for quartet in rest), default=epochs)
                if progress is not None and finished > shown_epochs:
                    shown_epochs = finished
                    progress(numbers, finished, epochs)
                if running[0].future.done():
                    done.append(_result(running.popleft(), names, settings))
            yield numbers, joined(done)
    finally:
        for quartet in running:
            quartet.watch.stop()
            quartet.future.cancel()
        with contextlib.suppress(KeyboardInterrupt):
            pool.shutdown(wait=True)


def _result(quartet: _Quartet, names: Sequence[int], settings: Settings) -> Trained:
    """Return the models of four bags, or say which of them diverged."""
    result = quartet.future.result()
    if result["diverged"] is not None:
        position, step = result["diverged"]
        bag = names[quartet.numbers[position]]
        raise FloatingPointError(
            f"training of bag {bag} (seed {quartet.seeds[position]}) diverged, its loss, weights or logits are "
            f"not finite at step {step}: a smaller learning_rate than {max(settings.rates):g} or another scale of X "
            "may help."
        )
    standard = result["center"].size > 0
    return Trained(
        result["parameters"],
        result["losses"],
        result["center"] if standard else None,
        result["scale"] if standard else None,
    )


def joined(parts: list[Trained]) -> Trained:
    """Return the models of several groups as those of one."""
    return _combined(parts, np.concatenate)


def joined_runs(runs: Sequence[tuple[Trained, int, int]]) -> Trained:
    """Return models `first` to `last` - 1 of each of several groups as those of one."""
    cuts = [slice(first, last) for _, first, last in runs]
    return _combined(
        [trained for trained, _, _ in runs],
        lambda arrays: np.concatenate([array[cut] for array, cut in zip(arrays, cuts, strict=True)]),
    )


def _combined(parts: list[Trained], combine: Callable[[list[Any]], Any]) -> Trained:
    """Return what `combine` makes of the parts' arrays, field by field; what is missing stays so."""
    columns = ([getattr(part, name) for part in parts] for name in _ARRAYS)
    made: list[Any] = [None if arrays[0] is None else combine(arrays) for arrays in columns]
    return Trained(*made)


def predict_many(
    network: _native.LanesNetwork,
    trained: Trained,
    x: NDArray[Any],
    affine: tuple[float, float],
    n_jobs: int | None = None,
    rows_at_once: int = 2048,
) -> NDArray[np.float64]:
    """Return the probabilities of every model for every row, (models, rows, classes): NaN where logits overflow."""
    models = len(trained.parameters)
    out = np.empty((models, len(x), network.n_classes))
    watch = _native.LanesWatch()

    def run(first: int) -> None:
        four = slice(first, first + TOGETHER)
        some = trained.at(four)
        for row in range(0, len(x), rows_at_once):
            rows = x[row : row + rows_at_once]
            network.predict(rows, some.parameters, some.center, some.deviation, *affine, out[four], row, watch)

    starts = range(0, models, TOGETHER)
    threads = min(effective_n_jobs(n_jobs), len(starts))
    if threads <= 1:
        for first in starts:
            run(first)
        return out
    with ThreadPoolExecutor(threads, thread_name_prefix="steadyset-lanes") as pool:
        try:
            futures = [pool.submit(run, first) for first in starts]
            while wait(futures, timeout=_POLL_SECONDS).not_done:
                pass
        except BaseException:
            watch.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    for future in futures:
        future.result()
    return out
