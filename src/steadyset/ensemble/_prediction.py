"""What trained groups predict: bag by bag, and the mean, whose order of summation never changes."""

import contextlib
import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from steadyset._base.one_thread import one_thread
from steadyset._base.outside_rows import in_memory
from steadyset._base.sklearn_doors import num_samples, take
from steadyset.bags import BLOCK
from steadyset.ensemble._clusters import LOCAL, is_elsewhere, n_workers
from steadyset.ensemble._members import Group, probabilities
from steadyset.ensemble._workers import in_parallel

#: Bytes of what the bags predict at the points of one block, as float64.
_BLOCK_BYTES = 256 << 20


def points_per_block(n_bags: int, n_classes: int) -> int:
    """Return how many points are predicted at a time.

    Everything that predicts does so in these blocks, from the first point on: a learner may round otherwise where it is
    given more points at once.
    """
    points = _BLOCK_BYTES // (8 * n_bags * n_classes)
    return max(points - points % 64, 64) if points > 64 else max(points, 1)


def in_blocks(X: Any, step: int) -> Iterator[tuple[slice, Any]]:
    """Yield the points of X block by block, each with its place."""
    n = num_samples(X)
    if n <= step:
        yield slice(0, n), in_memory(X)
        return
    for start in range(0, n, step):
        place = slice(start, min(start + step, n))
        yield place, take(X, np.arange(place.start, place.stop))


def mean_probabilities(groups: Sequence[Group], X: Any, n_bags: int, n_jobs: int | None) -> NDArray[np.float64]:
    """Return the mean over the bags, summed in float64 in blocks of consecutive bags."""
    if _sum_themselves(groups) and not is_elsewhere():
        ours: Sequence[Any] = groups
        total, rows = np.zeros((num_samples(X), len(ours[0].classes_))), None
        with _quiet():
            for group in ours:
                rows = group.prepared(X, n_jobs, rows)
                group.add_proba(rows, total, BLOCK, n_jobs)
        return total / n_bags
    single = all(len(group.numbers) == 1 for group in groups)
    if single and len(groups) >= 2 * BLOCK * n_workers(n_jobs):
        sums = _in_threads(_sum_several, _runs(groups, BLOCK), X, n_jobs)
    elif _begin_with_blocks(groups) and is_elsewhere():
        sums = itertools.chain.from_iterable(_in_threads(_sums_of_blocks, _runs(groups, 1), X, n_jobs))
    else:
        bags = bag_probabilities(groups, X, n_jobs)
        sums = (_sum(proba for _, proba in run) for _, run in itertools.groupby(bags, key=lambda bag: bag[0] // BLOCK))
    return _sum(sums) / n_bags


def bag_probabilities(groups: Sequence[Group], X: Any, n_jobs: int | None) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (bag number, its probabilities at X) in the order of the bags."""
    ready: dict[int, NDArray[Any]] = {}
    following = 0
    length = 4 if all(len(group.numbers) == 1 for group in groups) or not is_elsewhere() else 1
    parts = itertools.chain.from_iterable(_in_threads(_predict_several, _runs(groups, length), X, n_jobs))
    for group, proba in zip(groups, parts, strict=True):
        ready.update(zip(group.numbers, proba, strict=True))
        while following in ready:
            yield following, ready.pop(following)
            following += 1


def _sum_themselves(groups: Sequence[Any]) -> bool:
    """Return whether the groups can sum their bags themselves, block by block."""
    return all(hasattr(group, "add_proba") for group in groups) and _begin_with_blocks(groups)


def _begin_with_blocks(groups: Sequence[Any]) -> bool:
    """Return whether the groups hold all bags in their order, and each begins where a block does."""
    following = 0
    for group in groups:
        numbers = tuple(group.numbers)
        if following % BLOCK or numbers != tuple(range(following, following + len(numbers))):
            return False
        following += len(numbers)
    return True


def together(groups: Sequence[Group], X: Any, n_bags: int, n_jobs: int | None) -> NDArray[Any] | None:
    """Return what every bag predicts at X, (bags, points, classes), where groups write it in place; else None."""
    if not groups or not _sum_themselves(groups) or is_elsewhere():
        return None
    ours: Sequence[Any] = groups
    proba, rows = np.zeros((n_bags, num_samples(X), len(ours[0].classes_))), None
    with _quiet():
        for group in ours:
            rows = group.prepared(X, n_jobs, rows)
            group.put_proba(rows, proba[group.numbers[0] : group.numbers[-1] + 1], n_jobs)
    return proba


def gathered(results: Iterable[tuple[Sequence[int], NDArray[Any]]], n_bags: int) -> NDArray[Any]:
    """Return the probabilities of all bags in one array, from pairs of bag numbers and theirs."""
    proba: Any = None
    for numbers, part in results:
        if proba is None:
            proba = np.empty((n_bags, *part.shape[1:]), part.dtype)
        proba[list(numbers)] = part
    return np.asarray(proba)


def _runs(groups: Sequence[Group], length: int) -> list[Sequence[Group]]:
    return [groups[start : start + length] for start in range(0, len(groups), length)]


def _in_threads(work: Any, runs: list[Sequence[Group]], X: Any, n_jobs: int | None) -> Iterator[Any]:
    if not is_elsewhere() and (n_workers(n_jobs) == 1 or len(runs) == 1):
        yield from (work(run, X) for run in runs)
        return
    # Threads share the models; most prediction code releases the GIL.
    yield from in_parallel(work, ((run,) for run in runs), n_jobs, "threads", (X,))


def _predict_several(groups: Sequence[Group], X: Any) -> list[NDArray[Any]]:
    with _as_one_of_many():
        return [probabilities(group, X) for group in groups]


def _sums_of_blocks(groups: Sequence[Group], X: Any) -> list[NDArray[np.float64]]:
    with _as_one_of_many():
        parts = [probabilities(group, X) for group in groups]
        return [_sum(part[first : first + BLOCK]) for part in parts for first in range(0, len(part), BLOCK)]


def _sum_several(groups: Sequence[Group], X: Any) -> NDArray[np.float64]:
    with one_thread(), _quiet():
        return _sum(probabilities(group, X)[0] for group in groups)


def _sum(parts: Iterable[NDArray[Any]]) -> NDArray[np.float64]:
    """Return the float64 sum, one part after the other."""
    total: Any = None
    for part in parts:
        total = part.astype(np.float64) if total is None else np.add(total, part, out=total)
    return np.asarray(total)


@contextlib.contextmanager
def _as_one_of_many() -> Iterator[None]:
    """Use one thread, and of a cluster no other worker."""
    elsewhere = type(joblib.parallel.get_active_backend()[0]) not in LOCAL
    with (
        one_thread(),
        _quiet(),
        joblib.parallel_config(backend="sequential") if elsewhere else contextlib.nullcontext(),
    ):
        yield


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep members silent about feature names: the ensemble has already warned."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (does not have|has) (valid )?feature names")
        yield
