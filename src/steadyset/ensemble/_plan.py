"""The plan: what keeps a promise, the choices side by side, and on data what they cost in accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steadyset._base import notebook, validation
from steadyset._base.label_codes import encode
from steadyset._base.rows import as_rows
from steadyset._base.sklearn_doors import num_samples
from steadyset.ensemble._classifier import StableClassifier
from steadyset.guarantees import Guarantee, OutOfReachError, Promise, kept
from steadyset.metrics import ScoreTable, mean_set_size
from steadyset.selection import InflatedArgmax

_EPSILONS, _BAGS = (0.05, 0.1, 0.2), (100, 500, 2_000)
_TRIAL = 2  # in front of the seed of a trial: no fit draws the same bags
_DASH = "–"


@dataclass(frozen=True)
class Choice:
    """One way to keep a promise.

    Parameters
    ----------
    epsilon : float
    n_bags : int
    guarantee : Guarantee or None
        What it promises, bag size included; None where no bag size keeps the promise.
    reason : str or None, default=None
        Why none does, and what would.
    accuracy, set_size : float or None, default=None
        What a small trial found for bags of this size: the accuracy of the most probable label, and the mean number of
        labels in a set, of rows judged by the bags that do not hold them.
    """

    epsilon: float
    n_bags: int
    guarantee: Guarantee | None
    reason: str | None = None
    accuracy: float | None = None
    set_size: float | None = None

    @property
    def bag_size(self) -> int | None:
        """Rows per bag, or groups; None where no size keeps the promise."""
        return None if self.guarantee is None else self.guarantee.bag_size

    @property
    def row_fits(self) -> int | None:
        """What training costs: the rows of all bags together."""
        return None if self.bag_size is None else self.bag_size * self.n_bags


@dataclass(frozen=True)
class Plan:
    """Ways to keep a promise, side by side; print it for the table, :func:`steadyset.plot.plan_tradeoff` draws it.

    Parameters
    ----------
    delta : float
        The promise.
    n_samples, n_classes : int
    choices : tuple of Choice
    trial_bags : int, default=0
        How many bags each bag size was tried with; 0 without data.

    Examples
    --------
    >>> import steadyset as ss
    >>> print(ss.plan(4_800, 6, delta=0.05, n_bags=500))
    A promise of at most 0.05 with 4,800 rows and 6 labels:
    epsilon  bags  bag size   row-fits  promise
    0.05      500       300    150,000    0.048
    0.1       500      1250    625,000    0.046
    0.2       500      2400  1,200,000    0.008
    """

    delta: float
    n_samples: int
    n_classes: int
    choices: tuple[Choice, ...]
    trial_bags: int = 0

    @property
    def table(self) -> ScoreTable:
        """The choices as a table: epsilon, bags, bag size, training cost in row-fits, promise, and the trial."""
        tried = self.trial_bags > 0
        rows = []
        for choice in self.choices:
            promise, cost = choice.guarantee, choice.row_fits
            row = [f"{choice.epsilon:g}", choice.n_bags, _DASH if choice.bag_size is None else choice.bag_size]
            row += [_DASH if cost is None else f"{cost:,}", float("nan") if promise is None else promise.delta]
            rows.append((*row, *((_or_nan(choice.accuracy), _or_nan(choice.set_size)) if tried else ())))
        columns = ("epsilon", "bags", "bag size", "row-fits", "promise", *(("accuracy", "set size") if tried else ()))
        return ScoreTable(columns, tuple(rows), ("",) * len(columns))

    def __str__(self) -> str:
        return "\n".join([f"{self._head}:", str(self.table), *self._notes()])

    def _repr_html_(self) -> str:
        return notebook.card(self._head, self._notes(), self.table._repr_html_())

    @property
    def _head(self) -> str:
        return f"A promise of at most {self.delta:g} with {self.n_samples:,} rows and {self.n_classes} labels"

    def _notes(self) -> list[str]:
        """Return what is to be said of the numbers, and why a promise cannot be kept where it cannot."""
        reasons = list(dict.fromkeys(choice.reason for choice in self.choices if choice.reason is not None))
        if not self.trial_bags:
            return reasons
        trial = (
            f"Accuracy and set size are those of a trial with {self.trial_bags} bags of each size, which no model "
            "gets: a fit draws its own."
        )
        return [trial, *reasons]


def plan(
    n_samples: int | None = None,
    n_classes: int | None = None,
    *,
    delta: float = 0.05,
    epsilon: float | Sequence[float] = _EPSILONS,
    n_bags: int | Sequence[int] = _BAGS,
    max_samples: float = 0.5,
    X: Any = None,
    y: Any = None,
    estimator: Any = None,
    trial_bags: int = 25,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Plan:
    """Set the ways to keep a promise side by side, and try them on data where there are any.

    Parameters
    ----------
    n_samples, n_classes : int, optional
        Training rows and labels; those of `X` and `y` where these are given.
    delta : float, default=0.05
        The promise: the chance that a dropped row turns a set into a disjoint one is to be at most this.
    epsilon : float or sequence of float, default=(0.05, 0.1, 0.2)
        Epsilons of the inflated argmax to choose from.
    n_bags : int or sequence of int, default=(100, 500, 2000)
        Numbers of bags to choose from.
    max_samples : int or float, default=0.5
        The largest bags, as in :class:`StableClassifier`.
    X, y : as in `fit`, optional
        Data for a small trial: for each bag size an ensemble of `trial_bags` bags, whose accuracy and sets are judged
        on the rows that a bag does not hold.
    estimator : classifier, optional
        What is tried; None as in :class:`StableClassifier`.
    trial_bags : int, default=25
    random_state : int, default=0
        Seeds the trial; no fit draws the same bags from it, so that the trial's do not serve the promise.
    n_jobs : int, optional
        As in :class:`StableClassifier`.

    Returns
    -------
    Plan
        A choice for each epsilon and number of bags, with the largest bags that keep the promise.

    See Also
    --------
    StableClassifier : Its `delta` draws these bags.

    Notes
    -----
    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import steadyset as ss
    >>> plan = ss.plan(4_800, 6, delta=0.05, epsilon=0.1, n_bags=500)
    >>> plan.choices[0].bag_size, plan.choices[0].row_fits
    (1250, 625000)
    """
    wanted = validation.delta(delta)
    tried = X is not None
    if tried != (y is not None):
        raise ValueError(f"X and y must be given together; got {'X' if tried else 'y'} alone.")
    if tried:
        rows, columns = as_rows(X), encode(y, None)[1]
        for name, given, found in (("n_samples", n_samples, num_samples(rows)), ("n_classes", n_classes, len(columns))):
            if given not in (None, found):
                raise ValueError(f"{name} must be left out or {found}, that of the data; got {given}.")
        n_samples, n_classes = num_samples(rows), len(columns)
    n, L = validation.count(n_samples, "n_samples", 2), validation.label_count(n_classes)
    largest = validation.resolve_bag_size(max_samples, n, "subbagging", "max_samples")
    epsilons = [validation.positive(value, "epsilon") for value in _some(epsilon, "epsilon")]
    numbers = [validation.count(value, "n_bags") for value in _some(n_bags, "n_bags")]
    choices = [_choice(Promise(wanted, n, largest, B, InflatedArgmax(eps), L)) for eps in epsilons for B in numbers]
    if tried:
        n_trial = validation.count(trial_bags, "trial_bags", 2)
        trial = StableClassifier(estimator, n_trial, random_state=_trial_seed(random_state), n_jobs=n_jobs)
        choices = _tried(trial, choices, X, y)
    return Plan(wanted, n, L, tuple(choices), trial_bags if tried else 0)


def _some(given: Any, name: str) -> list[Any]:
    values: list[Any] = np.atleast_1d(given).tolist()
    if not values:
        raise ValueError(f"{name} must have at least one value to choose from; got none.")
    return values


def _choice(promise: Promise) -> Choice:
    try:
        return Choice(promise.rule.epsilon, promise.n_bags or 0, kept(promise))
    except OutOfReachError as error:
        return Choice(promise.rule.epsilon, promise.n_bags or 0, None, str(error))


def _tried(trial: StableClassifier, choices: Sequence[Choice], X: Any, y: Any) -> list[Choice]:
    """Return the choices with what a trial of each bag size found."""
    found = {}
    for size in sorted({choice.bag_size for choice in choices if choice.bag_size is not None}):
        fitted = trial.set_params(max_samples=size).fit(X, y)
        proba = fitted.oob_proba(X)
        known = ~np.isnan(proba).any(axis=1)
        codes, _ = encode(y, None)
        found[size] = proba[known], float(np.mean(np.argmax(proba[known], axis=1) == codes[known]))
    tried = []
    for choice in choices:
        if choice.bag_size is None:
            tried.append(choice)
            continue
        proba, accuracy = found[choice.bag_size]
        sets = InflatedArgmax(choice.epsilon)(proba)
        tried.append(replace(choice, accuracy=accuracy, set_size=float(mean_set_size(sets))))
    return tried


def _trial_seed(random_state: Any) -> int:
    seed = validation.random_seed(random_state)
    return int(np.random.SeedSequence([_TRIAL, seed]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
