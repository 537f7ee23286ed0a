"""One fit of a StableClassifier: its seed, its bags and its checkpoint."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from steadyset._base import validation
from steadyset.bags import Bags, draw_bags
from steadyset.ensemble import _checkpoint, _tasks
from steadyset.ensemble._fit_inputs import FitInputs
from steadyset.ensemble._prediction import points_per_block
from steadyset.ensemble._row_groups import BagRows


@dataclass(frozen=True)
class BagFit:
    """What is fitted, from which seed, and where finished bags are kept."""

    model: Any
    data: FitInputs
    seed: int

    def draw(self, n_bags: int) -> Bags:
        """Return the first `n_bags` bags: they depend on the seed and their number alone."""
        data = self.data
        return draw_bags(data.n_samples, n_bags, data.bag_size, data.resampling, self.seed, data.ids)

    def run(
        self, bags: Bags, numbers: Sequence[int], advance: Callable[[int], object], X_eval: Any = None
    ) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Yield (bag numbers, their group), or (bag numbers, its predictions at X_eval) where that is given."""
        data, learner = self.data, self.model._learner()
        block = points_per_block(len(bags), len(data.classes))
        task = _tasks.Task(learner, data.X, data.codes, data.classes, data.fit_params, X_eval, block=block)
        if self.model.checkpoint is not None:
            name = _fingerprint(learner, data, self.seed, X_eval)
            task = task.in_folder(_checkpoint.open_folder(self.model.checkpoint, name))
        seed_of = partial(_tasks.learner_seed, self.seed)
        row_sets = BagRows(bags, data.groups)
        return _tasks.resume_and_train(task, row_sets, numbers, seed_of, self.model.n_jobs, advance=advance)


def bag_fit(model: Any, data: FitInputs, seed: int | None = None) -> BagFit:
    """Return the fit that a model's parameters describe; without a seed, one from its random state.

    With neither, it is the seed that the checkpoint keeps.
    """
    if seed is None:
        seed = validation.random_seed(model.random_state)
        if model.random_state is None and model.checkpoint is not None:
            seed = _checkpoint.kept_seed(model.checkpoint, _fingerprint(model._learner(), data, None), seed)
    return BagFit(model, data, seed)


def _fingerprint(learner: Any, data: FitInputs, seed: int | None, *more: Any) -> str:
    rows = (data.X, data.codes, data.classes, data.ids, data.fit_params)
    if data.groups is not None:
        more = (*more, data.groups.rows, data.groups.ends)
    return _checkpoint.fingerprint(learner, *rows, data.bag_size, data.resampling == "bootstrap", seed, *more)
