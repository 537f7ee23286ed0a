"""The networks of the Fashion-MNIST experiment: bags, base fits and left-out fits, resumable."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import drawn_rows
from steadyset.bags import BagPredictions, bag_seed, draw_bags
from steadyset.ensemble import AllButOne, RowSets, Task, fingerprint, open_folder, resume_and_train
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
    left_out_independent: NDArray[np.float64] | None  # without each of the first few rows, each with its own seed


def train(
    images: Images, sizes: Sizes, recipe: Recipe, run: RunFolder, n_jobs: int | None, advance: Advance
) -> Predictions:
    """Train everything that the run's folder does not hold yet."""
    stages, n = _stages(images, sizes, recipe, run, n_jobs, advance), len(images.y_train)
    of_bags = stages.of_bags(sizes)
    base_seed = partial(bag_seed, _root(sizes.seed, _BASE))
    all_rows = [np.arange(n)] * sizes.base_fits
    base = stages.predictions("base fits", all_rows, range(sizes.base_fits), base_seed)
    rows = drawn_rows(sizes.left_out, n, _root(sizes.seed, _ROWS)).rows
    numbers = [int(row) for row in rows]
    left_out = stages.predictions("left-out fits", AllButOne(n), numbers, lambda row: base_seed(0))
    independent = None
    if sizes.independent_fits:
        own_seed = partial(bag_seed, _root(sizes.seed, _LEFT_OUT))
        independent = stages.predictions(INDEPENDENT, AllButOne(n), numbers[: sizes.independent_fits], own_seed)
    return Predictions(of_bags, base, rows, left_out, independent)


def train_bags(
    images: Images, sizes: Sizes, recipe: Recipe, run: RunFolder, n_jobs: int | None, advance: Advance
) -> BagPredictions:
    """Train the bags alone."""
    return _stages(images, sizes, recipe, run, n_jobs, advance).of_bags(sizes)


def _stages(
    images: Images, sizes: Sizes, recipe: Recipe, run: RunFolder, n_jobs: int | None, advance: Advance
) -> "_Stages":
    classes, codes = np.unique(images.y_train, return_inverse=True)
    task = Task(recipe.learner(), images.X_train, codes, classes, {}, images.X_test)
    same = fingerprint(images.X_train, images.y_train, images.X_test, asdict(recipe), sizes.seed)
    return _Stages(run, same, task, n_jobs, advance)


def _root(seed: int, kind: int) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=(0, kind)).generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class _Stages:
    """The stages of one run: what its folder holds is read, the rest is trained."""

    run: RunFolder
    same: str  # names data, recipe and seed
    task: Task
    n_jobs: int | None
    advance: Advance

    def of_bags(self, sizes: Sizes) -> BagPredictions:
        """Return the predictions of the bags."""
        n = len(self.task.codes)
        bags = draw_bags(n, sizes.n_bags, sizes.bag_size, seed=sizes.seed, sample_ids=np.arange(n))
        seed_of = partial(bag_seed, sizes.seed)
        proba = self.predictions("bags", bags, range(sizes.n_bags), seed_of, f"{self.same}-{sizes.bag_size}")
        return BagPredictions(proba, bags, self.task.classes)

    def predictions(
        self,
        name: str,
        row_sets: RowSets,
        numbers: Sequence[int],
        seed_of: Callable[[int], int],
        folder: str | None = None,
    ) -> NDArray[np.float64]:
        """Return the predictions of the networks with these numbers, those of earlier calls from the run's folder."""
        stage_folder = self.run.path / name.replace(",", "").replace(" ", "-")
        task = self.task.in_folder(open_folder(stage_folder, folder or self.same))
        place = {number: k for k, number in enumerate(numbers)}
        proba = np.empty((len(place), len(task.X_eval), len(task.classes)))
        ticks: list[Callable[[], None]] = []  # one, from the moment at which training starts
        with ExitStack() as timed:
            results = resume_and_train(
                task,
                row_sets,
                numbers,
                seed_of,
                self.n_jobs,
                advance=lambda n: self.advance(name, n / len(place)),
                before_training=lambda: ticks.append(timed.enter_context(self.run.timed(name))),
            )
            for done, part in results:
                proba[[place[number] for number in done]] = part
                for tick in ticks:
                    tick()
        return proba
