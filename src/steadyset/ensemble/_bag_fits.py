"""One fit of a StableClassifier: its seed, its bags and its checkpoint."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from steadyset._base import digests, validation
from steadyset._base.outside_rows import OutsideRows
from steadyset.bags import Bags, Part, Redraw, bag_seed, draw_after, draw_bags
from steadyset.ensemble import _checkpoint, _few_rows, _tasks
from steadyset.ensemble._fit_inputs import FitInputs
from steadyset.ensemble._prediction import points_per_block
from steadyset.ensemble._row_groups import BagRows


@dataclass(frozen=True)
class BagFit:
    """What is fitted, from which seed, and where finished bags are kept."""

    model: Any
    data: FitInputs
    seed: int

    @cached_property
    def checkpoint_name(self) -> str:
        """The subfolder of the checkpoint that has the bags of this fit."""
        return _fingerprint(self.model._learner(), self.data, self.seed, None)

    def begin_after(self, before: str | None) -> None:
        """Note where the checkpoint keeps bags of a refit which fit it began from."""
        if self.model.checkpoint is not None and before not in (None, self.checkpoint_name):
            _checkpoint.begin_after(self.model.checkpoint, self.checkpoint_name, str(before))

    def draw(self, n_bags: int) -> Bags:
        """Return the first `n_bags` bags: they depend on the seed and their number alone, not on those before."""
        data = self.data
        return draw_bags(data.n_samples, n_bags, data.bag_size, data.resampling, self.seed, data.ids)

    def draw_after(self, before: Bags, n_bags: int) -> Redraw:
        """Return the same from the bags of an earlier table, with what changed where that is found on the way."""
        data = self.data
        same_draw = ((Part(self.seed, 0, n_bags),), data.bag_size, data.resampling)
        if (before.parts, before.bag_size, before.resampling) == same_draw:
            return draw_after(before, data.n_samples, data.ids)
        return Redraw(self.draw(n_bags))

    def run(
        self, bags: Bags, numbers: Sequence[int], advance: Callable[[int], object], X_eval: Any = None
    ) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Yield (bag numbers, their group), or (bag numbers, its predictions at X_eval) where that is given."""
        data, learner = self.data, self.model._learner()
        block = points_per_block(len(bags), len(data.classes))
        task = _tasks.Task(learner, data.X, data.codes, data.classes, data.fit_params, X_eval, block=block)
        row_sets: _tasks.RowSets = BagRows(bags, data.groups)
        outside = isinstance(data.X, OutsideRows)
        if len(numbers) < len(bags) and not outside:
            task, row_sets = _few_rows.of_these_bags(task, row_sets, numbers)
        if self.model.checkpoint is not None:
            name = self.checkpoint_name if X_eval is None else _fingerprint(learner, data, self.seed, X_eval)
            task = task.in_folder(_checkpoint.open_folder(self.model.checkpoint, name))
        seed_of = partial(bag_seed, self.seed)
        runs = _few_rows.runs_that_fit(task, row_sets, numbers) if outside else [(task, row_sets, numbers)]
        for part, sets, some in runs:
            yield from _tasks.resume_and_train(part, sets, some, seed_of, self.model.n_jobs, advance=advance)


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
    X = _digest_of_blocks(data.X) if isinstance(data.X, OutsideRows) else data.X
    rows = (X, data.codes, data.classes, data.ids, data.fit_params)
    if data.groups is not None:
        more = (*more, data.groups.rows, data.groups.ends)
    return _checkpoint.fingerprint(learner, *rows, data.bag_size, data.resampling == "bootstrap", seed, *more)


def _digest_of_blocks(X: OutsideRows) -> tuple[Any, ...]:
    return (
        X.shape,
        str(X.dtype),
        [digests.array_digest(np.frombuffer(block.tobytes(), np.uint8)) for block in X.blocks()],
    )
