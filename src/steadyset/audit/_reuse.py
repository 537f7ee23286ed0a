"""The audit: every leave-one-out model from the bags that were drawn, without refitting."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steadyset._base import cpu, validation
from steadyset._base.words import counted
from steadyset.audit import _kernel, _taken_bags
from steadyset.audit._decision import Decision, decision
from steadyset.audit._left_out import drawn_rows
from steadyset.audit._models import ReferenceModel
from steadyset.audit._stability_audit import StabilityAudit
from steadyset.audit._taken_bags import TakenBags
from steadyset.audit._tally import MonteCarlo, Subject, Tally
from steadyset.bags import BagPredictions, Bags, checked_predictions, sum_bags
from steadyset.selection import rule_name

Progress = Callable[[int, int], object]


def audit_bags(
    bag_predictions: BagPredictions,
    rule: Any,
    *,
    left_out: Any = "all",
    averaging: Literal["all", "equal"] = "all",
    prune: bool = True,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StabilityAudit:
    """Measure, at each point, how many training rows change its label set into a disjoint one when left out.

    The model without row i is the mean over the bags that do not hold i; given who is in which bag, these are bags of
    the data without i, drawn in the same way. All rows are answered exactly, without refitting.

    Parameters
    ----------
    bag_predictions : BagPredictions
        At least two bags.
    rule : Rule or callable
        A selection rule. A callable gets the (n_points, n_classes) probabilities of one model at a time and returns a
        bool array of the same shape, with a label in every row. If it takes `random_state`, it gets the same seed
        for every model.
    left_out : "all", int or sequence of row positions, default="all"
        The rows to leave out, one at a time; a number draws that many at random, without replacement.
    averaging : {"all", "equal"}, default="all"
        "all": each model is the mean of all its bags. "equal": the same number of bags for every model, the full one
        included, drawn from those available.
    prune : bool, default=True
        Whether points that a bound settles for all rows are left at that. Conflicts and Jaccard indices are the same
        either way; shifts and scores of settled points are found only without pruning.
    random_state : int or None, default=None
        Seed of every draw: sampled rows, "equal" averaging, randomised rules.
    n_jobs : int or None, default=None
        Threads; None for the CPUs that this process may use.
    progress : callable, optional
        Called as ``progress(done, total)`` now and then.

    Returns
    -------
    StabilityAudit

    See Also
    --------
    audit_groups : Leave out groups of rows.
    certify : What is proved of each prediction.

    Notes
    -----
    The difference of two means holds Monte Carlo noise, about sigma^2 (1/B_i - 1/B) in mean square, beside the row's
    own effect, which is of the order 1/n. Against infinitely many bags the instability is biased upwards.

    Theory: :doc:`/theory/audit`.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=50, n_bags=200, bag_size=25)
    >>> proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=(200, 4))
    >>> audit = ss.audit_bags(ss.BagPredictions(proba, bags, "abc"), ss.InflatedArgmax(0.005))
    >>> audit.instability, audit.at(0)
    (array([0.6 , 0.28, 0.08, 0.32]), array([0.62, 0.36, 0.08, 0.4 ]))
    """
    predictions = _checked(bag_predictions)
    options = AuditOptions(left_out, averaging, prune, random_state, n_jobs, progress)
    run = AuditRun.of_rows(predictions.bags, rule, predictions.n_points, options)
    run.add(predictions)
    return run.result()


def audit_groups(
    bag_predictions: BagPredictions,
    rule: Any,
    groups: Any,
    *,
    prune: bool = True,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StabilityAudit:
    """Measure how many groups of training rows change a point's label set into a disjoint one when left out.

    The model without a group is the mean over the bags that hold none of its rows. No theorem of this library covers
    the leaving out of groups: the bags were drawn row by row.

    Parameters
    ----------
    bag_predictions : BagPredictions
    rule : Rule or callable
        As for :func:`audit_bags`.
    groups : sequence of n_samples labels
        The group of each training row, integers or strings.
    prune, random_state, n_jobs, progress
        As for :func:`audit_bags`.

    Returns
    -------
    StabilityAudit
        ``left_out`` are the labels of the groups. Groups of which every bag holds some row are in ``unanswered``.

    Notes
    -----
    Theory: :doc:`/theory/audit`.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=50, n_bags=200, bag_size=10)
    >>> proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=(200, 4))
    >>> patients = np.arange(50) // 5
    >>> audit = ss.audit_groups(ss.BagPredictions(proba, bags, "abc"), ss.Argmax(), patients)
    >>> audit.left_out
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    predictions = _checked(bag_predictions)
    labels, bags = np.asarray(groups), predictions.bags
    if labels.shape != (bags.n_samples,) or labels.dtype.kind not in "iuU":
        raise ValueError(
            f"groups must be an integer or a string for each of the {bags.n_samples} rows; "
            f"got {validation.shown(groups)}."
        )
    options = AuditOptions(prune=prune, random_state=random_state, n_jobs=n_jobs, progress=progress)
    seed = validation.random_seed(random_state)
    how = decision(rule, seed)
    names, codes = np.unique(labels, return_inverse=True)
    algorithm = (
        f"Leave-one-group-out models by reuse of bags, each the mean of those of the {bags.n_bags:,} bags that hold no "
        "row of the group, compared with the mean of all bags. Outside the theorems: bags were drawn by rows."
    )
    subject = Subject(
        algorithm, rule_name(rule), how.path_epsilon, bags.n_samples, bags.n_bags, names, names[:0], unit="group"
    )
    taken = _taken_bags.without_groups(bags, codes, len(names))
    run = AuditRun(how, taken, subject, predictions.n_points, options)
    run.add(predictions)
    return run.result()


@dataclass(frozen=True)
class AuditOptions:
    """What :func:`audit_bags` takes besides the predictions and the rule."""

    left_out: Any = "all"
    averaging: Literal["all", "equal"] = "all"
    prune: bool = True
    random_state: int | None = None
    n_jobs: int | None = None
    progress: Progress | None = None


class AuditRun:
    """An audit whose points come block by block: whatever the blocks, the result is the same to the bit.

    Only a rule that does not go by row, such as a callable from elsewhere, has to see all points at once.
    """

    def __init__(self, how: Decision, taken: TakenBags, subject: Subject, n_points: int, options: AuditOptions) -> None:
        answered = taken.counts > 0
        if not answered.any():
            raise ValueError(
                f"bag_predictions must have a bag without some row that is left out; got {subject.n_bags} bags that "
                "hold all of them: draw more or smaller bags."
            )
        units = subject.left_out
        self._subject = replace(subject, left_out=units[answered], unanswered=units[~answered])
        self._taken = taken if answered.all() else taken.answered(answered)
        self._how, self._n_points, self._prune = how, n_points, options.prune
        self._threads, self._progress = cpu.threads(options.n_jobs), options.progress or (lambda done, total: None)
        self._tally = Tally(MonteCarlo.unknown(n_points, self._taken.noise, self._taken.tail))
        self._first, self._told = 0, 0
        self._modelled = 0  # points at which whole models have been compared

    @classmethod
    def of_rows(cls, bags: Bags, rule: Any, n_points: int, options: AuditOptions) -> "AuditRun":
        """Return the audit that leaves out the units of the bags, rows or groups, one at a time."""
        validation.choice(options.averaging, "averaging", ("all", "equal"))
        seed = validation.random_seed(options.random_state)
        asked = drawn_rows(options.left_out, bags.n_samples, seed)
        rows, unit = asked.rows, bags.ids.unit
        how = decision(rule, seed)
        if options.averaging == "all":
            taken = _taken_bags.all_free(bags, rows)
            which = f"each the mean of those of the {bags.n_bags:,} bags that do not hold the {unit}"
        else:
            taken = _taken_bags.equal_numbers(bags, rows, seed)
            drawn = counted(int(taken.counts.max()), "bag")
            which = f"each the mean of {drawn} drawn from those that do not hold the {unit}"
        algorithm = f"Leave-one-out models by reuse of bags, {which}, compared with the mean of "
        algorithm += "all bags." if options.averaging == "all" else "as many bags drawn from all."
        subject = Subject(
            algorithm,
            rule_name(rule),
            how.path_epsilon,
            bags.n_samples,
            bags.n_bags,
            rows,
            rows[:0],
            asked.sampled,
            unit,
        )
        return cls(how, taken, subject, n_points, options)

    @property
    def needs_all_points(self) -> bool:
        """Whether the rule has to see all points of a model at once."""
        return not self._how.by_row

    def add(self, predictions: BagPredictions) -> None:
        """Audit the next points."""
        how, taken, tally = self._how, self._taken, self._tally
        mean = _reference_mean(predictions, taken)
        full = _kernel.FullModel(predictions.proba, mean, how.apply(mean), self._first)
        if not how.kernels:
            _try_out(how, full, taken)
        least = int(min(taken.counts.min(), taken.reference.sum()))
        pruning = self._prune and how.lone_margin is not None
        bound = _with_slack(how.lone_margin or 0.0, predictions.n_bags) if pruning else math.inf
        spread, settled = _kernel.survey(predictions.proba, mean, least, bound, self._threads)
        tally.survey(self._first, spread, settled)
        for chunk in _kernel.compared(full, np.flatnonzero(~settled), taken, how, self._threads):
            tally.add(chunk)
            self._tell(tally.done)
        self._tell(tally.done)
        if not how.kernels:
            reference = ReferenceModel(mean, how)
            for number, model in _kernel.models(predictions.proba, taken, self._threads):
                tally.add_model(number, reference.compared(model), self._first)
                share = number + 1 if self.needs_all_points else predictions.n_points * (number + 1) // taken.n_units
                self._tell(tally.done + self._modelled + share)
            self._modelled += predictions.n_points
        self._first += predictions.n_points

    def result(self) -> StabilityAudit:
        """Return what was found, once all points are there."""
        return self._tally.audit(self._subject)

    def _tell(self, done: int) -> None:
        if done > self._told:
            self._told = done
            whole_models = self._taken.n_units if self.needs_all_points else self._n_points
            self._progress(done, self._n_points + (0 if self._how.kernels else whole_models))


def _reference_mean(predictions: BagPredictions, taken: TakenBags) -> NDArray[np.float64]:
    if taken.reference.all():
        return predictions.mean()
    return sum_bags(predictions.proba, taken.reference) / int(taken.reference.sum())


def _with_slack(margin: float, n_bags: int) -> float:
    """Return a lead in exact arithmetic that leaves the floating-point means, too, more than `margin` apart.

    A mean of B probabilities summed in blocks of 16 is off by at most (B/16 + 18) 2^-53, and so are the sums of the
    survey, relative to at most B/16 + 18 additions each; rules round outward by 8 units in the last place.
    """
    return margin * (1 + 2.0**-48) + (n_bags + 64) * 2.0**-49


def _try_out(how: Decision, full: _kernel.FullModel, taken: TakenBags) -> None:
    """Call a rule of the caller's a second time, and once on a leave-one-out model, before any long work starts."""
    if not np.array_equal(how.apply(full.mean), full.sets):
        raise ValueError(
            "rule must return the same sets when it is called again on the same probabilities; got others: a "
            "randomised rule has to take random_state."
        )
    how.apply(sum_bags(full.proba, taken.taken(0)) / taken.counts[0])


def _checked(bag_predictions: Any) -> BagPredictions:
    predictions = checked_predictions(bag_predictions)
    if predictions.n_bags < 2:
        raise ValueError("bag_predictions must have at least 2 bags to leave a row out; got 1.")
    if predictions.n_points < 1:
        raise ValueError("bag_predictions must have at least 1 point to audit; got 0.")
    return predictions
