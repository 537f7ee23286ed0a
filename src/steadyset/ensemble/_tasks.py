"""Training sets of rows, one learner each: what the checkpoint has is taken up, the rest is trained."""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from steadyset._base.one_thread import one_thread
from steadyset._base.sklearn_doors import num_samples, params_of_rows, take
from steadyset.ensemble import _checkpoint, _clusters, _labels, _workers
from steadyset.ensemble._members import Group, Member, probabilities
from steadyset.ensemble._prediction import in_blocks
from steadyset.ensemble._thread_counts import one_thread_each


class RowSets(Protocol):
    """Sets of training rows by number: bags, or all rows but one."""

    def __getitem__(self, number: int, /) -> NDArray[np.intp]:
        """Return the row positions in the order in which the learner sees them."""


class AllButOne:
    """Number i is all of n rows but row i; number n is all of them."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __getitem__(self, number: int) -> NDArray[np.intp]:
        rows = np.arange(self._n)
        return rows if number == self._n else np.delete(rows, number)


@dataclass(frozen=True)
class Task:
    """Everything that training takes besides the rows and the seed, and what becomes of a trained group."""

    learner: Any
    X: Any
    codes: NDArray[np.intp]  # the column of each row's label in `classes`
    classes: NDArray[Any]
    fit_params: Mapping[str, Any]
    X_eval: Any = None  # where given, only the predictions at these points are kept
    folder: Path | None = None  # the checkpoint
    block: int | None = None  # points that are predicted at a time; None for all

    def in_folder(self, folder: Path) -> "Task":
        """Return the task with a checkpoint."""
        return replace(self, folder=folder)

    @property
    def data(self) -> tuple[Any, ...]:
        """What is large: a backend that is given these as arguments of their own places each once per worker."""
        return self.X, self.codes, self.X_eval, *self.fit_params.values()

    def without_data(self) -> "Task":
        """Return the task without what is large."""
        return replace(self, X=None, codes=np.empty(0, np.intp), X_eval=None, fit_params=dict.fromkeys(self.fit_params))

    def with_data(self, X: Any, codes: Any, X_eval: Any, *values: Any) -> "Task":
        """Return the task with its data."""
        fit_params = dict(zip(self.fit_params, values, strict=True))
        return replace(self, X=X, codes=codes, X_eval=X_eval, fit_params=fit_params)

    def finish(self, group: Group) -> Any:
        """Turn a trained group into what is kept of it, and write that to the checkpoint."""
        kept: Any = group
        if self.X_eval is not None:
            blocks = in_blocks(self.X_eval, self.block or num_samples(self.X_eval))
            parts = [probabilities(group, points) for _, points in blocks]
            kept = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if self.folder is not None:
            _checkpoint.write(self.folder, tuple(group.numbers), kept)
        return kept


def resume_and_train(
    task: Task,
    row_sets: RowSets,
    numbers: Sequence[int],
    seed_of: Callable[[int], int],
    n_jobs: int | None,
    *,
    advance: Callable[[int], object] = lambda n: None,
    before_training: Callable[[], object] = lambda: None,
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Train a learner on each of these sets of rows, but for those that the task's checkpoint has.

    Yields the numbers of a group and what is kept of it: first those of the checkpoint, then those trained now, in the
    order of `numbers`. `seed_of` gives the learner's seed for a number. `advance` is called with how many more are
    done, resumed ones included, and `before_training` once, unless nothing is left to train.
    """
    left = set(numbers)
    if task.folder is not None:
        shape = None if task.X_eval is None else (num_samples(task.X_eval), len(task.classes))
        for done, kept in _checkpoint.finished(task.folder, numbers, shape=shape):
            left.difference_update(done)
            advance(len(done))
            yield done, kept
    if not left:
        return
    before_training()
    train = _train_apart
    if hasattr(task.learner, "fit_bags"):
        train = _train_together_elsewhere if _clusters.is_elsewhere() else _train_together
    for done, kept in train(task, row_sets, [b for b in numbers if b in left], seed_of, n_jobs):
        advance(len(done))
        yield done, kept


def _train_apart(
    task: Task, row_sets: RowSets, numbers: Sequence[int], seed_of: Callable[[int], int], n_jobs: int | None
) -> Iterator[tuple[tuple[int, ...], Any]]:
    place = _workers.preferred(task.learner, task.X)
    task = replace(task, learner=one_thread_each(task.learner))
    length = _workers.run_length(place, len(numbers), _clusters.n_workers(n_jobs))
    runs = [numbers[start : start + length] for start in range(0, len(numbers), length)]
    bare = task.without_data()
    arguments = ((bare, [(_workers.packed(row_sets[b]), b, seed_of(b)) for b in run]) for run in runs)
    results = _workers.in_parallel(_train_several, arguments, n_jobs, place, task.data)
    for b, kept in zip(numbers, itertools.chain.from_iterable(results), strict=True):
        yield (b,), kept


class _Rows(Sequence[Any]):
    """The rows of some bags, which go with their task; messages name the bags by `bag_numbers`, their own numbers.

    An array by itself joblib would give to one worker of a Dask cluster, and it would be lost with it.
    """

    def __init__(self, bags: RowSets, numbers: Sequence[int]) -> None:
        rows = [_workers.packed(bags[number]) for number in numbers]
        self._rows, self._ends = np.concatenate(rows), np.cumsum([len(some) for some in rows]).tolist()
        self.bag_numbers = list(numbers)

    def __len__(self) -> int:
        return len(self.bag_numbers)

    def __getitem__(self, place: Any) -> Any:
        start = self._ends[place - 1] if place else 0
        return self._rows[start : self._ends[place]].astype(np.intp)


class _Chosen(Sequence[Any]):
    """Some of the bags, by place; messages name them by `bag_numbers`, their own numbers."""

    def __init__(self, bags: RowSets, numbers: Sequence[int]) -> None:
        self._bags, self.bag_numbers = bags, numbers

    def __len__(self) -> int:
        return len(self.bag_numbers)

    def __getitem__(self, place: Any) -> Any:
        return self._bags[self.bag_numbers[place]]


def _train_together(
    task: Task, row_sets: RowSets, numbers: Sequence[int], seed_of: Callable[[int], int], n_jobs: int | None
) -> Iterator[tuple[tuple[int, ...], Any]]:
    yield from _trained_groups(task, _Chosen(row_sets, numbers), [seed_of(b) for b in numbers], n_jobs)


def _train_together_elsewhere(
    task: Task, row_sets: RowSets, numbers: Sequence[int], seed_of: Callable[[int], int], n_jobs: int | None
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Train groups of bags as tasks of the active backend."""
    runs = _workers.task_runs(numbers, _clusters.n_workers(n_jobs))
    bare = task.without_data()
    arguments = ((bare, _Rows(row_sets, run), [seed_of(b) for b in run]) for run in runs)
    shared = (_PreparedOnce(), *task.data)
    for trained in _workers.in_parallel(_train_run, arguments, n_jobs, "processes", shared):
        yield from trained


class _PreparedOnce:
    """The table of one fit as its learner reads it: the first task of a worker prepares it for those that follow.

    It goes to a worker empty, along with the table, and is dropped with it. Every fit has one of its own: a table may
    have changed in place since the last one.
    """

    def __init__(self) -> None:
        self._lock, self._rows = threading.Lock(), None

    def __reduce__(self) -> tuple[Any, ...]:
        return _PreparedOnce, ()

    def rows(self, learner: Any, X: Any) -> Any:
        """Return X as `fit_bags` of this learner takes it."""
        if not hasattr(learner, "prepared_rows"):
            return X
        with self._lock:
            if self._rows is None:
                self._rows = learner.prepared_rows(X, n_jobs=1)
            return self._rows


def _train_run(
    bare: Task, rows: _Rows, seeds: Sequence[int], prepared: _PreparedOnce, *data: Any
) -> list[tuple[tuple[int, ...], Any]]:
    _workers.leave_interrupts_to_the_caller()
    task = bare.with_data(*data)
    with one_thread():
        task = replace(task, X=prepared.rows(task.learner, task.X))
        return list(_trained_groups(task, rows, seeds, 1))


def _trained_groups(
    task: Task, bags: _Chosen | _Rows, seeds: Sequence[int], n_jobs: int | None
) -> Iterator[tuple[tuple[int, ...], Any]]:
    groups = task.learner.fit_bags(
        task.X,
        task.classes[task.codes],
        bags,
        seeds,
        classes=task.classes,
        n_jobs=n_jobs,
        progress=None,
        **task.fit_params,
    )
    for group in groups:
        held = tuple(int(bags.bag_numbers[place]) for place in group.numbers)
        group.numbers = held
        yield held, task.finish(group)


def _train_several(bare: Task, run: Sequence[tuple[NDArray[Any], int, int]], *data: Any) -> list[Any]:
    _workers.leave_interrupts_to_the_caller()
    task = bare.with_data(*data)
    return [_train_one(task, rows.astype(np.intp, copy=False), bag, seed) for rows, bag, seed in run]


def _train_one(task: Task, rows: NDArray[np.intp], bag: int, seed: int) -> Any:
    try:
        with one_thread():
            return task.finish(_fit_member(task, rows, bag, seed))
    except Exception as error:
        raise named_by_bag(error, bag, seed) from error


def _fit_member(task: Task, rows: NDArray[np.intp], bag: int, seed: int) -> Member:
    """Fit one bag on its own rows, indexed: zero weights would let the learner see the others."""
    codes, n_classes = task.codes[rows], len(task.classes)
    columns = np.flatnonzero(np.bincount(codes, minlength=n_classes))
    if len(columns) == 1:  # many classifiers refuse a single class; there is nothing to learn
        only = DummyClassifier(strategy="most_frequent").fit([[0.0]], task.classes[columns])
        return Member(only, columns, n_classes, (bag,))

    def fit(names: NDArray[Any]) -> Any:
        estimator = seeded(task.learner, seed)
        _labels.name_keys(estimator, task.classes, columns, names)
        taken = take(task.X, rows)
        size = getattr(taken, "nbytes", 0)
        estimator.fit(taken, names[np.searchsorted(columns, codes)], **params_of_rows(task.X, task.fit_params, rows))
        del taken
        _workers.give_back(size)
        return estimator

    # Labels to evaluate on, as in eval_set, would stay the user's own.
    may_be_coded = not any(name.rpartition("__")[2].startswith("eval_") for name in task.fit_params)
    estimator, naming = _labels.fit_by_label(fit, task.classes, columns, may_be_coded)
    told = getattr(estimator, "classes_", None)
    if told is None:
        return Member(estimator, columns, n_classes, (bag,), labels=naming.names)
    return Member(estimator, naming.columns_of(told, bag), n_classes, (bag,))


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone whose random states, its parts' included, are set from the seed."""
    copy = clone(estimator)
    owners = _with_random_state(copy)
    states = np.random.SeedSequence(seed).generate_state(len(owners)) if owners else ()
    for owner, state in zip(owners, states, strict=True):
        owner.random_state = int(state)  # as set_params would, without listing all parameters again
    return copy


def _with_random_state(estimator: Any) -> list[Any]:
    """Return the estimator and those of its parts that have a random state, in the order of their names."""
    if _labels.is_plain(estimator):
        return [estimator] if hasattr(estimator, "random_state") else []
    params = estimator.get_params(deep=True)
    names = sorted(name for name in params if name == "random_state" or name.endswith("__random_state"))
    return [estimator if name == "random_state" else params[name.removesuffix("__random_state")] for name in names]


def named_by_bag(error: Exception, bag: int, seed: int) -> Exception:
    """Return the error with the bag and its seed in front, of the same kind where that can be made."""
    message = f"bag {bag} (learner seed {seed}) failed: {error}"
    try:
        renamed = type(error)(message)
    except Exception:
        return RuntimeError(message)
    return renamed if str(renamed) == message else RuntimeError(message)
