"""What every bag chooses from its own rows: drawn, trained and gathered as a StableClassifier does it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.one_thread import one_thread
from steadyset._base.sklearn_doors import num_samples, params_of_rows, take
from steadyset.bags import Bags, bag_seed, draw_bags, guarantee_of_rule
from steadyset.choices import _finished_bags
from steadyset.ensemble import (
    bag_bar,
    chosen_ids,
    in_parallel,
    kept_seed,
    leave_interrupts_to_the_caller,
    named_by_bag,
    preferred,
    run_length,
    size_assumption,
)
from steadyset.guarantees import Guarantee


@dataclass(frozen=True)
class Rows:
    """The rows of one bag, and the seed of its learner."""

    X: Any
    y: Any
    fit_params: Mapping[str, Any]
    seed: int


@dataclass(frozen=True)
class Data:
    """The rows of all bags."""

    X: Any
    y: Any
    fit_params: Mapping[str, Any]

    def of_bag(self, rows: NDArray[np.intp], seed: int) -> Rows:
        """Return copies of a bag's rows."""
        y = None if self.y is None else take(self.y, rows)
        return Rows(take(self.X, rows), y, params_of_rows(self.X, self.fit_params, rows), seed)


def seed_of(model: Any, what: Any, data: Data) -> int:
    """Return the seed of a fit: from the model's random state, or the one that its checkpoint keeps."""
    seed = validation.random_seed(model.random_state)
    if model.random_state is None and _finished_bags.checked(model.checkpoint) is not None:
        return kept_seed(model.checkpoint, _finished_bags.named(what, data, model.max_samples, model.bootstrap), seed)
    return seed


def draw(model: Any, data: Data, sample_ids: Any, seed: int) -> Bags:
    """Return the bags that a model's parameters describe."""
    n, n_bags = num_samples(data.X), validation.count(model.n_estimators, "n_estimators")
    if n < 2:
        raise ValueError(f"X must have at least 2 rows to draw bags from; got n_samples={n}.")
    resampling: Literal["bootstrap", "subbagging"] = "bootstrap" if model.bootstrap else "subbagging"
    size = validation.resolve_bag_size(model.max_samples, n, resampling, "max_samples")
    ids = chosen_ids(sample_ids, data.X, data.y, data.fit_params)
    return draw_bags(n, n_bags, size, resampling, seed, ids)


@dataclass(frozen=True)
class Votes:
    """What every bag is asked: the work on its rows, and the learner that says where it is best done."""

    work: Callable[[Rows, int], Any]
    learner: Any
    data: Data
    bags: Bags
    seed: int

    def gathered(self, model: Any) -> list[Any]:
        """Return what the work gives for each bag, in their order; an error names its bag.

        What the checkpoint has is taken up; the rest is written there by whoever works on it, bag by bag.
        """
        data, bags = self.data, self.bags
        finished, found = None, {}
        if _finished_bags.checked(model.checkpoint) is not None:
            drawn = (bags.bag_size, bags.resampling, bags.ids, self.seed)
            finished = _finished_bags.opened(model.checkpoint, self.work, data, *drawn)
            found = finished.read(len(bags))
        left = [bag for bag in range(len(bags)) if bag not in found]
        place = preferred(self.learner, data.X)
        length = run_length(place, max(len(left), 1), joblib.effective_n_jobs(model.n_jobs))
        runs = [left[start : start + length] for start in range(0, len(left), length)]
        arguments = ((self.work, finished, [(bags[b], b, bag_seed(self.seed, b)) for b in run]) for run in runs)
        with bag_bar(len(bags), model.verbose, f"{type(model).__name__} - bags") as advance:
            if found:
                advance(len(found))
            for some in in_parallel(_work_on_several, arguments, model.n_jobs, place, (data,)):
                found.update(some)
                advance(len(some))
        return [found[bag] for bag in range(len(bags))]


def _work_on_several(
    work: Callable[[Rows, int], Any],
    finished: _finished_bags.FinishedBags | None,
    run: Sequence[tuple[NDArray[np.intp], int, int]],
    data: Data,
) -> dict[int, Any]:
    leave_interrupts_to_the_caller()
    found = {}
    for rows, bag, seed in run:
        try:
            with one_thread():
                found[bag] = work(data.of_bag(rows, seed), bag)
        except Exception as error:
            raise named_by_bag(error, bag, seed) from error
        if finished is not None:
            finished.write(bag, found[bag])
    return found


def guarantee(model: Any, rule: Any, n_classes: int | None, theorem: str) -> Guarantee:
    """Return what is guaranteed of a rule on a model's bags."""
    found = guarantee_of_rule(model.bags_, rule, n_classes, theorem=theorem)
    return replace(found, assumptions=found.assumptions + size_assumption(model))
