"""The audit: every leave-one-out model from the bags that were drawn, without refitting."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import NDArray

from steadyset._base import cpu, validation
from steadyset.audit import _kernel, _taken_bags
from steadyset.audit._decision import Decision, decision
from steadyset.audit._left_out import drawn_rows
from steadyset.audit._models import ReferenceModel
from steadyset.audit._stability_audit import StabilityAudit
from steadyset.audit._taken_bags import TakenBags
from steadyset.audit._tally import MonteCarlo, Subject, Tally
from steadyset.bags import BagPredictions, checked_predictions, sum_bags
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
    validation.choice(averaging, "averaging", ("all", "equal"))
    seed = validation.random_seed(random_state)
    asked = drawn_rows(left_out, predictions.bags.n_samples, seed)
    rows = asked.rows
    how = decision(rule, seed)
    if averaging == "all":
        taken = _taken_bags.all_free(predictions.bags, rows)
        which = f"each the mean of those of the {predictions.n_bags:,} bags that do not hold the row"
    else:
        taken = _taken_bags.equal_numbers(predictions.bags, rows, seed)
        which = f"each the mean of {int(taken.counts.max()):,} bags drawn from those that do not hold the row"
    algorithm = f"Leave-one-out models by reuse of bags, {which}, compared with the mean of "
    algorithm += "all bags." if averaging == "all" else "as many bags drawn from all."
    n_samples, epsilon = predictions.bags.n_samples, how.path_epsilon
    subject = Subject(algorithm, rule_name(rule), epsilon, n_samples, predictions.n_bags, rows, rows[:0], asked.sampled)
    return _audit(predictions, how, taken, subject, prune, _jobs(n_jobs), progress or (lambda done, total: None))


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
    labels = np.asarray(groups)
    if labels.shape != (predictions.bags.n_samples,) or labels.dtype.kind not in "iuU":
        raise ValueError(
            f"groups must be an integer or a string for each of the {predictions.bags.n_samples} rows; "
            f"got {validation.shown(groups)}."
        )
    seed = validation.random_seed(random_state)
    how = decision(rule, seed)
    names, codes = np.unique(labels, return_inverse=True)
    taken = _taken_bags.without_groups(predictions.bags, codes, len(names))
    algorithm = (
        f"Leave-one-group-out models by reuse of bags, each the mean of those of the {predictions.n_bags:,} bags that "
        "hold no row of the group, compared with the mean of all bags. Outside the theorems: bags were drawn by rows."
    )
    n_samples, epsilon = predictions.bags.n_samples, how.path_epsilon
    subject = Subject(
        algorithm, rule_name(rule), epsilon, n_samples, predictions.n_bags, names, names[:0], unit="group"
    )
    return _audit(predictions, how, taken, subject, prune, _jobs(n_jobs), progress or (lambda done, total: None))


def _audit(
    predictions: BagPredictions,
    how: Decision,
    taken: TakenBags,
    subject: Subject,
    prune: bool,
    threads: int,
    progress: Progress,
) -> StabilityAudit:
    answered = taken.counts > 0
    if not answered.any():
        raise ValueError(
            f"bag_predictions must have a bag without some row that is left out; got {predictions.n_bags} bags that "
            "hold all of them: draw more or smaller bags."
        )
    units = subject.left_out
    subject = replace(subject, left_out=units[answered], unanswered=units[~answered])
    if not answered.all():
        taken = taken.answered(answered)
    mean = _reference_mean(predictions, taken)
    full = _kernel.FullModel(predictions.proba, mean, how.apply(mean))
    if how.kernel is None:
        _try_out(how, full, taken)
    least = int(min(taken.counts.min(), taken.reference.sum()))
    pruning = prune and how.lone_margin is not None
    bound = _with_slack(how.lone_margin or 0.0, predictions.n_bags) if pruning else math.inf
    spread, settled = _kernel.survey(predictions.proba, mean, least, bound, threads)
    tally = Tally(MonteCarlo(spread, settled, taken.noise, taken.tail))
    points = np.flatnonzero(~settled)
    total = len(points) + (taken.n_units if how.kernel is None else 0)
    for chunk in _kernel.compared(full, points, taken, how, threads):
        tally.add(chunk)
        progress(tally.done, total)
    if how.kernel is None:
        reference = ReferenceModel(mean, how)
        for number, model in _kernel.models(predictions.proba, taken, threads):
            tally.add_model(number, reference.compared(model))
            progress(len(points) + number + 1, total)
    return tally.audit(subject)


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


def _jobs(n_jobs: Any) -> int:
    if n_jobs is None:
        return cpu.allowed_threads()
    number = validation.whole_number(n_jobs, "n_jobs", "None or a whole number that is not 0")
    if number == 0:
        raise ValueError("n_jobs must be None or a whole number that is not 0; got 0.")
    return int(joblib.effective_n_jobs(number))
