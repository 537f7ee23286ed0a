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
from steadyset.bags import Bags, draw_bags, guarantee_of_rule
from steadyset.ensemble import (
    bag_bar,
    chosen_ids,
    in_parallel,
    learner_seed,
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


def draw(model: Any, data: Data, sample_ids: Any, seed: int) -> Bags:
    """Return the bags that a model's parameters describe."""
    n, n_bags = num_samples(data.X), validation.count(model.n_estimators, "n_estimators")
    if n < 2:
        raise ValueError(f"X must have at least 2 rows to draw bags from; got n_samples={n}.")
    resampling: Literal["bootstrap", "subbagging"] = "bootstrap" if model.bootstrap else "subbagging"
    size = validation.resolve_bag_size(model.max_samples, n, resampling, "max_samples")
    ids = chosen_ids(sample_ids, data.X, data.y, data.fit_params)
    return draw_bags(n, n_bags, size, resampling, seed, ids)


def gathered(
    work: Callable[[Rows, int], Any], learner: Any, data: Data, bags: Bags, seed: int, model: Any
) -> list[Any]:
    """Return what the work gives for each bag, in their order; an error names its bag."""
    place = preferred(learner, data.X)
    length = run_length(place, len(bags), joblib.effective_n_jobs(model.n_jobs))
    runs = [range(start, min(start + length, len(bags))) for start in range(0, len(bags), length)]
    arguments = ((work, data, [(bags[b], b, learner_seed(seed, b)) for b in run]) for run in runs)
    found: list[Any] = []
    with bag_bar(len(bags), model.verbose, f"{type(model).__name__} - bags") as advance:
        for some in in_parallel(_work_on_several, arguments, model.n_jobs, place):
            found += some
            advance(len(some))
    return found


def _work_on_several(
    work: Callable[[Rows, int], Any], data: Data, run: Sequence[tuple[NDArray[np.intp], int, int]]
) -> list[Any]:
    leave_interrupts_to_the_caller()
    found = []
    for rows, bag, seed in run:
        try:
            with one_thread():
                found.append(work(data.of_bag(rows, seed), bag))
        except Exception as error:
            raise named_by_bag(error, bag, seed) from error
    return found


def guarantee(model: Any, rule: Any, n_classes: int | None, theorem: str) -> Guarantee:
    """Return what is guaranteed of a rule on a model's bags."""
    found = guarantee_of_rule(model.bags_, rule, n_classes, theorem=theorem)
    return replace(found, assumptions=found.assumptions + size_assumption(model))
