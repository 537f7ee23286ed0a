"""Training bags: groups as the unit of training, checkpoints, progress and prediction.

A learner that trains many bags at once has a method ``fit_bags(X, y, bags, seeds, *, classes, n_jobs, progress)`` that
yields groups. Messages name a bag by ``bags.bag_numbers`` where `bags` has that, some of the bags being trained only. A
group knows the ``numbers`` of its bags (places in `bags`), gives ``predict_proba(X)`` of shape
(group, points, classes), its ``members()``, and writes itself with ``save(folder)``. An ordinary estimator is a group
of one.
"""

import contextlib
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from steadyset._base import validation
from steadyset._base.one_thread import one_thread
from steadyset.ensemble import _checkpoint, _workers


class RowSets(Protocol):
    """Rows of training data by number: bags, or all rows but one."""

    def __getitem__(self, number: int, /) -> NDArray[np.intp]:
        """Return the row positions in the order in which the learner sees them."""


class Group(Protocol):
    """Bags that were trained together."""

    @property
    def numbers(self) -> Sequence[int]:
        """Return the bag numbers."""

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return probabilities of shape (bags, points, classes)."""

    def members(self) -> list[Any]:
        """Return the fitted estimators, one a bag."""


@dataclass(frozen=True)
class Member:
    """An ordinary fitted estimator as a group of one.

    `columns` are the label-space columns of the classes that its bag held; it was trained on their codes 0, 1, ...
    """

    estimator: Any
    columns: NDArray[np.intp]
    n_classes: int
    numbers: tuple[int, ...]
    features: NDArray[np.intp] | None = None

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return (1, points, classes); a class that the bag did not hold has probability 0."""
        seen = X if self.features is None else _safe_indexing(X, self.features, axis=1)
        n_points = _num_samples(X)
        aligned = np.zeros((1, n_points, self.n_classes))
        if n_points == 0:
            return aligned
        if hasattr(self.estimator, "predict_proba"):
            proba = np.asarray(self.estimator.predict_proba(seen))
            codes = np.asarray(getattr(self.estimator, "classes_", np.arange(len(self.columns)))).astype(np.intp)
            checked = validation.member_probabilities(proba, n_points, len(codes), self.numbers[0])
            if len(codes) == self.n_classes and np.array_equal(self.columns[codes], np.arange(self.n_classes)):
                return checked[None]
            aligned[0][:, self.columns[codes]] = checked
        else:
            votes = np.asarray(self.estimator.predict(seen)).astype(np.intp)
            aligned[0, np.arange(n_points), self.columns[votes]] = 1.0
        return aligned

    def members(self) -> list[Any]:
        """Return the estimator, in a list."""
        return [self.estimator]


@dataclass(frozen=True)
class Task:
    """Everything that training takes besides which bag, and what becomes of a trained group."""

    learner: Any
    X: Any
    codes: NDArray[np.intp]
    n_classes: int
    fit_params: Mapping[str, Any]
    X_eval: Any = None  # where given, only the predictions at these points are kept
    folder: Path | None = None  # the checkpoint
    config: Mapping[str, Any] = field(default_factory=get_config)  # scikit-learn's, which each thread has of its own

    def finish(self, group: Group) -> Any:
        """Turn a trained group into what is kept of it, and write that to the checkpoint."""
        kept = group if self.X_eval is None else np.asarray(group.predict_proba(self.X_eval))
        if self.folder is not None:
            _checkpoint.write(self.folder, tuple(group.numbers), kept)
        return kept


def with_folder(task: Task, folder: Path) -> Task:
    """Return the task with a checkpoint."""
    return replace(task, folder=folder)


def learner_seed(seed: int, bag: int) -> int:
    """Return the seed of a bag's learner: shared between fits that share the seed, whatever rows they have."""
    return int(np.random.SeedSequence(seed, spawn_key=(bag,)).generate_state(1)[0])


def train(
    task: Task, bags: RowSets, numbers: Sequence[int], seed_of: Callable[[int], int], n_jobs: int | None
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Train the bags with these numbers; yield (bag numbers, what is kept of their group) in order."""
    if hasattr(task.learner, "fit_bags"):
        yield from _train_together(task, bags, numbers, seed_of, n_jobs)
        return
    place = _workers.preferred(task.learner, task.X)
    length = _workers.run_length(place, len(numbers), joblib.effective_n_jobs(n_jobs))
    runs = [numbers[start : start + length] for start in range(0, len(numbers), length)]
    calls = (joblib.delayed(_train_several)(task, [(bags[b], b, seed_of(b)) for b in run]) for run in runs)
    results = joblib.Parallel(n_jobs=n_jobs, return_as=_as_they_come(), prefer=place)(calls)
    for run, several in zip(runs, results, strict=True):
        for b, kept in zip(run, several, strict=True):
            yield (b,), kept


def _as_they_come() -> str:
    backend, _ = joblib.parallel.get_active_backend()
    return "generator" if backend.supports_return_generator else "list"


class _Chosen(Sequence[Any]):
    """Some of the bags, by place; `bag_numbers` are their own numbers, which messages are to name."""

    def __init__(self, bags: RowSets, numbers: Sequence[int]) -> None:
        self._bags, self.bag_numbers = bags, numbers

    def __len__(self) -> int:
        return len(self.bag_numbers)

    def __getitem__(self, place: Any) -> Any:
        return self._bags[self.bag_numbers[place]]


def _train_together(
    task: Task, bags: RowSets, numbers: Sequence[int], seed_of: Callable[[int], int], n_jobs: int | None
) -> Iterator[tuple[tuple[int, ...], Any]]:
    seeds = [seed_of(b) for b in numbers]
    groups = task.learner.fit_bags(
        task.X,
        task.codes,
        _Chosen(bags, numbers),
        seeds,
        classes=np.arange(task.n_classes),
        n_jobs=n_jobs,
        progress=None,
        **task.fit_params,
    )
    for group in groups:
        held = tuple(int(numbers[place]) for place in group.numbers)
        group.numbers = held
        yield held, task.finish(group)


def _train_several(task: Task, run: Sequence[tuple[NDArray[np.intp], int, int]]) -> list[Any]:
    _workers.leave_interrupts_to_the_caller()
    return [_train_one(task, rows, bag, seed) for rows, bag, seed in run]


def _train_one(task: Task, rows: NDArray[np.intp], bag: int, seed: int) -> Any:
    try:
        with one_thread(), config_context(**task.config):
            return task.finish(fit_member(task, rows, bag, seed))
    except Exception as error:
        raise _named(error, bag, seed) from error


def fit_member(task: Task, rows: NDArray[np.intp], bag: int, seed: int) -> Member:
    """Fit one bag on its own rows, indexed: zero weights would let the learner see the others."""
    codes = task.codes[rows]
    present = np.flatnonzero(np.bincount(codes, minlength=task.n_classes))
    local = codes if len(present) == task.n_classes else np.searchsorted(present, codes)
    if len(present) == 1:  # many classifiers refuse a single class; there is nothing to learn
        only = DummyClassifier(strategy="most_frequent").fit([[0.0]], [0])
        return Member(only, present, task.n_classes, (bag,))
    estimator = seeded(task.learner, seed)
    params = _check_method_params(task.X, task.fit_params, indices=rows)
    taken = rows_of(task.X, rows)
    size = getattr(taken, "nbytes", 0)
    estimator.fit(taken, local, **params)
    del taken
    _workers.give_back(size)
    return Member(estimator, present, task.n_classes, (bag,))


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return a copy of these rows, as the kind of thing that X is."""
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


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
    parts = [v for v in vars(estimator).values() if hasattr(v, "get_params") or isinstance(v, list | tuple | dict)]
    if not parts:  # a plain estimator: no need to list its parameters
        return [estimator] if hasattr(estimator, "random_state") else []
    params = estimator.get_params(deep=True)
    names = sorted(name for name in params if name == "random_state" or name.endswith("__random_state"))
    return [estimator if name == "random_state" else params[name.removesuffix("__random_state")] for name in names]


def _named(error: Exception, bag: int, seed: int) -> Exception:
    """Return the error with the bag and its seed in front, of the same kind where that can be made."""
    message = f"bag {bag} (learner seed {seed}) failed: {error}"
    try:
        renamed = type(error)(message)
    except Exception:
        return RuntimeError(message)
    return renamed if str(renamed) == message else RuntimeError(message)


def predict_each(groups: Sequence[Group], X: Any, n_jobs: int | None) -> Iterator[NDArray[Any]]:
    """Yield each group's probabilities at X, in the order of the groups."""
    for parts in _in_threads(_predict_several, _runs(groups, 4), X, n_jobs):
        yield from parts


def sum_blocks(groups: Sequence[Group], X: Any, block: int, n_jobs: int | None) -> Iterator[NDArray[np.float64]]:
    """Yield the float64 sums of blocks of consecutive bags, each in ascending order; groups of one bag only."""
    if len(groups) >= 2 * block * joblib.effective_n_jobs(n_jobs):
        yield from _in_threads(_sum_several, _runs(groups, block), X, n_jobs)
        return
    parts = (part[0] for part in predict_each(groups, X, n_jobs))
    for size in map(len, _runs(groups, block)):
        yield add(itertools.islice(parts, size))


def _runs(groups: Sequence[Group], length: int) -> list[Sequence[Group]]:
    return [groups[start : start + length] for start in range(0, len(groups), length)]


def _in_threads(work: Any, runs: list[Sequence[Group]], X: Any, n_jobs: int | None) -> Iterator[Any]:
    if joblib.effective_n_jobs(n_jobs) == 1 or len(runs) == 1:
        yield from (work(run, X) for run in runs)
        return
    # Threads share the models; most prediction code releases the GIL.
    calls = (joblib.delayed(work)(run, X) for run in runs)
    yield from joblib.Parallel(n_jobs=n_jobs, return_as=_as_they_come(), prefer="threads")(calls)


def _predict_several(groups: Sequence[Group], X: Any) -> list[NDArray[Any]]:
    with one_thread(), _quiet():
        return [group.predict_proba(X) for group in groups]


def _sum_several(groups: Sequence[Group], X: Any) -> NDArray[np.float64]:
    with one_thread(), _quiet():
        return add(group.predict_proba(X)[0] for group in groups)


def add(parts: Iterable[NDArray[Any]]) -> NDArray[np.float64]:
    """Return the float64 sum, one part after the other."""
    total: Any = None
    for part in parts:
        total = part.astype(np.float64) if total is None else np.add(total, part, out=total)
    return np.asarray(total)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what the ensemble itself has already said of feature names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (does not have|has) (valid )?feature names")
        yield
