"""Audits that train: honest leave-one-out fits, and the deployed ensemble's own leave-one-out models."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from steadyset._base import validation
from steadyset._base.label_codes import encode
from steadyset._base.rows import as_rows
from steadyset._base.sklearn_doors import num_samples
from steadyset.audit import StabilityAudit, audit_models, drawn_rows
from steadyset.bags import CodedLabels, bag_seed, sum_bags
from steadyset.ensemble import _checkpoint, _learners, _row_ids
from steadyset.ensemble._callbacks import bag_bar
from steadyset.ensemble._classifier import StableClassifier
from steadyset.ensemble._prediction import points_per_block
from steadyset.ensemble._row_groups import BagRows
from steadyset.ensemble._tasks import AllButOne, RowSets, Task, resume_and_train


def audit_refit(
    estimator_or_fitted: Any,
    X: Any,
    y: Any,
    X_eval: Any,
    rule: Any,
    *,
    left_out: Any = 500,
    shared_seed: bool = True,
    random_state: int | None = None,
    n_jobs: int | None = None,
    checkpoint: Any = None,
    verbose: int = 0,
    fit_params: dict[str, Any] | None = None,
) -> StabilityAudit:
    """Measure instability by training the models without a row.

    An unfitted classifier is fitted on all rows and once more without each row that is left out. For a fitted
    :class:`StableClassifier` this is the *coupled refit*: only the bags that held the row are fitted again, on the row
    that the hash brings in and with the same seed. It is the deployed algorithm's own model without the row, bit for
    bit what a fit from scratch with the same seed, ids, bag size and label space would give.

    Parameters
    ----------
    estimator_or_fitted : classifier
        Any scikit-learn classifier, or a fitted StableClassifier of hash bags: subbagging, rows with ids.
    X, y : as in `fit`
        The training data; for a fitted model the rows and labels it was fitted on, in the same order, which is checked
        where ids are made of the rows' content.
    X_eval : as in `fit`
        The points to audit.
    rule : Rule or callable
        As for :func:`steadyset.audit_bags`.
    left_out : "all", int or sequence of row positions, default=500
        The rows to leave out, one at a time; a number draws that many at random, or all if there are fewer. For a
        model that was fitted with groups these are places in its ``group_labels_``.
    shared_seed : bool, default=True
        For an unfitted classifier: whether all fits share one seed, as in the paper's definition. Otherwise each has
        its own, and the noise of the seed is measured too. The bags of a fitted model always keep theirs.
    random_state : int or None, default=None
        Seed of the fits and of the rows that are drawn.
    n_jobs, checkpoint, verbose
        As in :class:`StableClassifier`, for fits instead of bags.
    fit_params : dict, optional
        Further parameters of the classifier's `fit`; those with one value per row are sliced.

    Returns
    -------
    StabilityAudit

    See Also
    --------
    audit_bags : Every row, without training.

    Notes
    -----
    Theory: :doc:`/theory/audit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True)
    >>> audit = ss.audit_refit(DecisionTreeClassifier(), X, y, X, ss.Argmax(), left_out=20, random_state=0)
    >>> audit.n_units, audit.max_instability < 1
    (20, True)
    """
    seed = validation.random_seed(random_state)
    validation.rule(rule)
    rows = as_rows(X)
    fitted = estimator_or_fitted if isinstance(estimator_or_fitted, StableClassifier) else None
    groups = None if fitted is None else fitted._row_groups
    n = num_samples(rows) if groups is None else groups.n_groups
    if isinstance(left_out, int) and not isinstance(left_out, bool):
        left_out = min(left_out, n)
    drawn = drawn_rows(left_out, n, seed)
    units = drawn.rows
    points = as_rows(X_eval, "X_eval")
    run = _Run(n_jobs, checkpoint, verbose, dict(fit_params or {}))
    if fitted is not None:
        check_is_fitted(fitted)
        reference, models = _coupled(fitted, rows, y, points, units, run)
        n_bags, algorithm = fitted.bags_.n_bags, _COUPLED.format(fitted.bags_.ids.unit)
    else:
        reference, models = _plain(estimator_or_fitted, rows, y, points, units, shared_seed, seed, run)
        seeds = "the same learner seed for all" if shared_seed else "a learner seed of its own for each"
        learner = f"{type(estimator_or_fitted).__name__} without each row, {seeds}"
        n_bags, algorithm = 1, f"Honest refits of {learner}, compared with the fit on all rows."
    found = audit_models(reference, models, rule, drawn, algorithm=algorithm, n_samples=n, n_bags=n_bags, seed=seed)
    return found if groups is None else found.with_labels(groups.labels)


_COUPLED = (
    "The deployed ensemble's own leave-one-out models: the bags that held the {0} fitted again without it, on the "
    "{0} that the hash brings in and with the same seeds, compared with the ensemble on all rows."
)
#: The probabilities of the model on all rows, and those without each row, by the row's place among those left out.
_Models = tuple[NDArray[np.float64], Iterator[tuple[int, NDArray[np.float64]]]]


@dataclass(frozen=True)
class _Run:
    """How fits are run."""

    n_jobs: int | None
    checkpoint: Any
    verbose: int
    fit_params: dict[str, Any]

    def predictions(
        self, task: Task, row_sets: RowSets, numbers: list[int], seed_of: Callable[[int], int], kind: str, *more: Any
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield (number, predictions of the model trained on that set of rows), finished ones from the checkpoint."""
        if self.checkpoint is not None:
            name = (kind, task.learner, task.X, task.codes, task.classes, task.fit_params, task.X_eval, *more)
            task = task.in_folder(_checkpoint.open_folder(self.checkpoint, _checkpoint.fingerprint(*name)))
        with bag_bar(len(numbers), self.verbose, "audit_refit - fits") as advance:
            for done, proba in resume_and_train(task, row_sets, numbers, seed_of, self.n_jobs, advance=advance):
                yield from zip(done, proba, strict=True)


def _plain(
    learner: Any, X: Any, y: Any, points: Any, units: NDArray[np.intp], shared: bool, seed: int, run: _Run
) -> _Models:
    _learners.check(learner, "estimator_or_fitted")
    codes, classes = encode(y, None)
    check_consistent_length(X, codes)
    task = Task(learner, X, codes, classes, run.fit_params, points)
    all_rows = len(codes)  # the number of the fit on all of them

    def seed_of(number: int) -> int:
        return bag_seed(seed, 0 if shared or number == all_rows else number + 1)

    numbers = [all_rows, *units.tolist()]  # a learner that cannot fit the data fails at once
    fits = run.predictions(task, AllButOne(all_rows), numbers, seed_of, "all but one", bool(shared), seed)
    found = {number: np.asarray(proba, np.float64) for number, proba in fits}
    return found[all_rows], ((k, found[row]) for k, row in enumerate(units.tolist()))


class _SwappedBags:
    """Number i * n_bags + b is bag b of the data without unit i, which gives way to the next smallest hash."""

    def __init__(self, bag_rows: BagRows) -> None:
        self._bag_rows = bag_rows

    def __getitem__(self, number: int) -> NDArray[np.intp]:
        unit, bag = divmod(number, len(self._bag_rows))
        return self._bag_rows.without(bag, unit)


def _coupled(model: StableClassifier, X: Any, y: Any, points: Any, units: NDArray[np.intp], run: _Run) -> _Models:
    bags, seed = model.bags_, model.seed_
    if bags.coupling != "hash" or seed is None or bags.ids.values is None:
        raise ValueError(
            "a fitted StableClassifier must have hash bags for the coupled refit, subbags of rows with ids; got others."
        )
    codes, _ = encode(y, model.classes_)
    groups = model._row_groups
    n_rows = bags.n_samples if groups is None else len(groups.rows)
    if len(codes) != n_rows or num_samples(X) != n_rows:
        raise ValueError(f"X and y must be the {n_rows} rows of the fit; got {len(codes)}.")
    _row_ids.require_same_rows(bags, groups, X, CodedLabels(model.classes_, codes), run.fit_params)
    block = points_per_block(bags.n_bags, len(model.classes_))
    task = Task(model._learner(), X, codes, model.classes_, run.fit_params, points, block=block)
    proba = np.array(model.bag_predictions(points).proba)
    units = bags.ids.dropped(units)  # of equal rows the last one's id goes
    held = {row: np.flatnonzero(bags.holds(row)) for row in units.tolist()}
    n_bags = bags.n_bags
    numbers = [row * n_bags + int(b) for row, of_row in held.items() for b in of_row]

    def seed_of(number: int) -> int:
        return bag_seed(seed, number % n_bags)

    drawn = (bags.ids, bags.bag_size, seed, n_bags, *(() if groups is None else (groups.rows, groups.ends)))
    results = run.predictions(task, _SwappedBags(BagRows(bags, groups)), numbers, seed_of, "coupled", *drawn)
    reference = sum_bags(proba) / n_bags

    def models() -> Iterator[tuple[int, NDArray[np.float64]]]:
        changed: dict[int, dict[int, NDArray[Any]]] = {row: {} for row in held}
        places = {row: np.flatnonzero(units == row).tolist() for row in held}
        yield from ((place, reference) for row, of_row in held.items() if len(of_row) == 0 for place in places[row])
        for number, part in results:
            row, bag = divmod(number, n_bags)
            changed[row][bag] = part
            if len(changed[row]) == len(held[row]):
                model = _with_votes(proba, changed.pop(row)) / n_bags
                yield from ((place, model) for place in places[row])

    return reference, models()


def _with_votes(proba: NDArray[Any], votes: dict[int, NDArray[Any]]) -> NDArray[np.float64]:
    """Return the sum over the bags with some of their votes replaced."""
    bags = list(votes)
    before = proba[bags]
    proba[bags] = list(votes.values())
    total = sum_bags(proba)
    proba[bags] = before
    return total
