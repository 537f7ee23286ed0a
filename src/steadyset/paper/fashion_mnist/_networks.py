"""The networks of the Fashion-MNIST experiment: bags, base fits and left-out fits, resumable."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import drawn_rows
from steadyset.bags import BagPredictions, draw_bags
from steadyset.ensemble import _checkpoint, _training
from steadyset.lanes import NetClassifier, lenet5
from steadyset.paper.fashion_mnist._data import Images
from steadyset.paper.fashion_mnist._run_folder import RunFolder

Advance = Callable[[str, float], object]

#: The stage that the paper has not: left-out fits whose seeds differ.
INDEPENDENT = "left-out fits, independent seeds"

# Every kind of fit draws its learners' seeds from a root of its own: none has the seed of another kind.
_BASE, _LEFT_OUT, _ROWS = 1, 2, 3


@dataclass(frozen=True)
class Recipe:
    """How one network is trained: the paper's choices."""

    epochs: int = 5
    batch_size: int = 4
    learning_rate: float = 0.001
    momentum: float = 0.9

    def learner(self) -> NetClassifier:
        """Return the paper's network, PyTorch's GarmentClassifier, untrained."""
        return NetClassifier(lenet5(), scale="minus_one_one", **asdict(self))


@dataclass(frozen=True)
class Sizes:
    """How many networks are trained, and from which seed."""

    n_bags: int = 1000
    bag_size: int = 30000
    left_out: int = 500
    base_fits: int = 16
    independent_fits: int = 0
    seed: int = 0

    def work(self, n: int) -> dict[str, float]:
        """Return the rows that each stage trains on: what its time is in proportion to."""
        stages = {
            "bags": self.n_bags * self.bag_size,
            "base fits": self.base_fits * n,
            "left-out fits": self.left_out * (n - 1),
        }
        if self.independent_fits:
            stages[INDEPENDENT] = self.independent_fits * (n - 1)
        return {stage: float(rows) for stage, rows in stages.items()}


@dataclass(frozen=True, eq=False)
class Predictions:
    """What every network predicts at the test images."""

    bags: BagPredictions
    base: NDArray[np.float64]  # (fits, points, classes): the first is the one that left-out fits are compared with
    rows: NDArray[np.intp]  # the rows that are left out
    left_out: NDArray[np.float64]  # (rows, points, classes), with the seed of the first base fit
    left_out_independent: NDArray[np.float64] | None  # without the first so many of the rows, each with its own seed


def train(
    images: Images, sizes: Sizes, recipe: Recipe, run: RunFolder, n_jobs: int | None, advance: Advance
) -> Predictions:
    """Train everything that the run's folder does not hold yet."""
    classes, codes = np.unique(images.y_train, return_inverse=True)
    task = _training.Task(recipe.learner(), images.X_train, codes, len(classes), {}, images.X_test)
    same = _checkpoint.fingerprint(images.X_train, images.y_train, images.X_test, asdict(recipe), sizes.seed)
    stage = partial(_stage, run, same, task, n_jobs, advance)
    n = len(codes)

    bags = draw_bags(n, sizes.n_bags, sizes.bag_size, seed=sizes.seed)
    of_bags = stage("bags", bags, range(sizes.n_bags), partial(_training.learner_seed, sizes.seed), str(sizes.bag_size))
    base_seed = partial(_training.learner_seed, _root(sizes.seed, _BASE))
    base = stage("base fits", _AllRows(n), range(sizes.base_fits), base_seed)
    rows, _ = drawn_rows(sizes.left_out, n, _root(sizes.seed, _ROWS))
    numbers = [int(row) for row in rows]
    left_out = stage("left-out fits", _AllButOne(n), numbers, lambda row: base_seed(0))
    independent = None
    if sizes.independent_fits:
        own_seed = partial(_training.learner_seed, _root(sizes.seed, _LEFT_OUT))
        independent = stage(INDEPENDENT, _AllButOne(n), numbers[: sizes.independent_fits], own_seed)
    return Predictions(BagPredictions(of_bags, bags, classes), base, rows, left_out, independent)


def _root(seed: int, kind: int) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=(0, kind)).generate_state(1, np.uint64)[0])


class _AllRows:
    def __init__(self, n: int) -> None:
        self._n = n

    def __getitem__(self, number: int) -> NDArray[np.intp]:
        return np.arange(self._n)


class _AllButOne(_AllRows):
    """Number i is all rows but row i."""

    def __getitem__(self, number: int) -> NDArray[np.intp]:
        return np.delete(np.arange(self._n), number)


def _stage(
    run: RunFolder,
    same: str,
    task: _training.Task,
    n_jobs: int | None,
    advance: Advance,
    name: str,
    row_sets: Any,
    numbers: Sequence[int],
    seed_of: Callable[[int], int],
    kind: str = "",
) -> NDArray[np.float64]:
    """Return the predictions of the networks with these numbers, those of earlier calls from the run's folder."""
    folder = _checkpoint.open_folder(run.path / name.replace(",", "").replace(" ", "-"), f"{same}{kind and '-'}{kind}")
    task = _training.with_folder(task, folder)
    place = {number: k for k, number in enumerate(numbers)}
    proba = np.empty((len(place), len(task.X_eval), task.n_classes))
    left = dict(place)

    def keep(done: Sequence[int], part: NDArray[Any]) -> None:
        proba[[left.pop(number) for number in done]] = part
        advance(name, len(done) / len(place))

    for done, part in _checkpoint.finished(folder, numbers, arrays=True):
        keep(done, part)
    if left:
        with run.timed(name) as clock:
            for done, part in _training.train(task, row_sets, sorted(left), seed_of, n_jobs):
                keep(done, part)
                clock.tick()
    return proba
