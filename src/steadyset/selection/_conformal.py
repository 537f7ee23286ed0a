"""Split conformal prediction as a rule: sets that hold the true label as often as asked for."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import set_validation, validation
from steadyset.selection import _arrays
from steadyset.selection._kernels import (
    KernelArguments,
    RuleId,
    check_calibrated_labels,
    select_conformal,
    sum_slack_of,
)
from steadyset.selection._rule import Rule

ScoreName = Literal["lac", "aps"]
_KERNELS = {"lac": RuleId.LAC, "aps": RuleId.APS}
_SCORES = tuple(_KERNELS)
_ONE_MORE = 2.0**-20  # of a threshold that is compared in float32: sets are rounded outward


def conformal_rule(
    y_cal: Any,
    proba_cal: Any,
    coverage: float = 0.9,
    score: ScoreName = "aps",
    classes: Any = None,
    by_class: bool = False,
    random_state: int | None = None,
) -> "ConformalRule":
    """Return a rule whose sets hold the true label with at least the given probability (split conformal prediction).

    Parameters
    ----------
    y_cal : sequence of n labels
        The true labels of the calibration rows, on which nothing was trained or chosen.
    proba_cal : array of shape (n, n_classes)
        What the model says of them: probabilities.
    coverage : float, default=0.9
        Above 0 and below 1.
    score : {"aps", "lac"}, default="aps"
        How badly a label fits. "lac": 1 - p_l; the smallest sets on average, some of them empty. "aps": the mass of the
        labels that are at least as probable as l; larger where the model is unsure, and empty only where the leading
        label alone has more mass than the threshold.
    classes : sequence of labels, optional
        The label of each column; by default the labels are column numbers.
    by_class : bool, default=False
        Whether each label has a threshold of its own, from its own calibration rows: the promise then holds for every
        class by itself. A class with too few rows is in every set.
    random_state : int, optional
        With "aps": the score of a label is the mass of the more probable ones and a random share of its own, so that
        the coverage is not above what was asked for. The share is drawn by the seed and the row's probabilities, so
        that equal rows have equal sets. By default nothing is random, and the sets are a little larger.

    Returns
    -------
    ConformalRule

    See Also
    --------
    Union : Coverage and stability in one set.

    Notes
    -----
    The threshold is the ceil(coverage (n + 1))-th smallest score of the calibration rows, the share read as the decimal
    that it prints as; infinite where there are too few rows.

    Theory: :doc:`/theory/coverage`.

    Examples
    --------
    >>> import steadyset as ss
    >>> proba = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    >>> rule = ss.conformal_rule([0, 1, 1, 2], proba, coverage=0.7, score="lac")
    >>> rule
    ConformalRule(score='lac', coverage=0.7, thresholds=(0.7,), n_calibration=(4,), by_class=False, random_state=None)
    >>> rule([0.6, 0.35, 0.05])
    array([ True,  True, False])
    >>> print(rule)
    Sets hold the true label with probability at least 0.7 (LAC scores of 4 calibration rows), for rows exchangeable \
with those, on which nothing was trained.
    """
    validation.choice(score, "score", _SCORES)
    share = validation.level(coverage, "coverage")
    seed = None if random_state is None else validation.seed(random_state, "random_state")
    if seed is not None and score != "aps":
        raise ValueError(f'random_state must be None unless score="aps"; got {random_state!r}.')
    if not isinstance(by_class, bool | np.bool_):
        raise TypeError(f"by_class must be True or False; got {validation.shown(by_class)}.")
    proba = _arrays.as_numpy(_probabilities(proba_cal).w)
    if proba.ndim != 2 or not len(proba):
        raise ValueError(f"proba_cal must have two axes, rows and labels, and a row; got shape {proba.shape}.")
    columns = set_validation.columns_of(
        y_cal,
        set_validation.class_labels(classes, proba.shape[1]),
        len(proba),
        "y_cal",
        "proba_cal",
        "column numbers, or labels with classes naming the columns" if classes is None else "labels that classes names",
    )
    scores = true_label_scores(proba, columns, score, None if seed is None else _uniforms(seed, proba))
    parts = [scores[columns == label] for label in range(proba.shape[1])] if by_class else [scores]
    return ConformalRule(
        score=score,
        coverage=share,
        thresholds=tuple(conformal_threshold(part, share) for part in parts),
        n_calibration=tuple(map(len, parts)),
        by_class=bool(by_class),
        random_state=seed,
    )


def conformal_threshold(scores: NDArray[np.float64], coverage: float) -> float:
    """Return the ceil(coverage (n + 1))-th smallest of n scores, infinity where there are fewer."""
    rank = math.ceil(Fraction(repr(coverage)) * (len(scores) + 1))
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= len(scores) else math.inf


def true_label_scores(
    proba: NDArray[np.float64], columns: NDArray[np.intp], score: str, shares: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the score of the true label of each row, added up as the sets add it up."""
    own = proba[np.arange(len(proba)), columns][:, None]
    if score == "lac":
        return np.asarray(1 - own[:, 0])
    if shares is not None:
        order = np.argsort(-proba, axis=1, kind="stable")
        return np.asarray(_smoothed(proba, order, shares)[order == columns[:, None]])
    ordered = -np.sort(-proba, axis=1)
    return np.asarray(np.where(ordered >= own, np.cumsum(ordered, axis=1), 0.0).max(axis=1))


@final
@dataclass(frozen=True)
class ConformalRule(Rule):
    """Sets of split conformal prediction; :func:`conformal_rule` makes it from calibration rows.

    Its promise is coverage. No theorem makes it compatible: for a promise of stability, unite it with a rule that is,
    ``ss.Union(rule, ss.InflatedArgmax(epsilon))``.

    Parameters
    ----------
    score : {"lac", "aps"}
    coverage : float
        The share that was asked for.
    thresholds : tuple of float
        The largest score of a label in a set: one for all labels or, with `by_class`, one for each.
    n_calibration : tuple of int
        The calibration rows behind each threshold.
    by_class : bool, default False
    random_state : int, optional
        The seed of the random shares of a randomised rule. A share is drawn by the seed and the row's probabilities:
        the same row gives the same set, wherever it stands in a call.

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.ConformalRule(score="aps", coverage=0.9, thresholds=(0.95,), n_calibration=(99,))
    >>> rule([[0.6, 0.3, 0.1], [0.96, 0.03, 0.01]])
    array([[ True,  True, False],
           [False, False, False]])
    >>> rule.compatible_epsilon(3) is None
    True
    """

    score: str
    coverage: float
    thresholds: tuple[float, ...]
    n_calibration: tuple[int, ...]
    by_class: bool = False
    random_state: int | None = None

    may_be_empty = by_row = True  # random shares, too, go by the row

    def __post_init__(self) -> None:
        validation.choice(self.score, "score", _SCORES)
        validation.level(self.coverage, "coverage")
        for name in ("thresholds", "n_calibration"):
            if not isinstance(getattr(self, name), tuple):
                raise TypeError(f"{name} must be a tuple; got {validation.shown(getattr(self, name))}.")
        for threshold in self.thresholds:
            validation.number(threshold, "thresholds", "numbers, or infinite", lambda value: not math.isnan(value))
        if not self.thresholds or len(self.thresholds) != len(self.n_calibration):
            raise ValueError(
                f"thresholds and n_calibration must have the same length of at least 1; got {len(self.thresholds)} and "
                f"{len(self.n_calibration)}."
            )
        if not self.by_class and len(self.thresholds) > 1:
            raise ValueError(f"thresholds must be a single one unless by_class=True; got {len(self.thresholds)}.")
        for rows in self.n_calibration:
            validation.whole(rows, "n_calibration", "whole numbers that are at least 0", 0)
        if self.random_state is not None:
            validation.seed(self.random_state, "random_state")

    def __str__(self) -> str:
        where = " of its own class" if self.by_class else ""
        rows = f"{min(self.n_calibration):,} to {max(self.n_calibration):,}" if self.by_class else self.n_calibration[0]
        rows = rows if isinstance(rows, str) else f"{rows:,}"
        whose = "for every class by itself, " if self.by_class else ""
        return (
            f"Sets hold the true label with probability at least {self.coverage:g} ({self.score.upper()} scores of "
            f"{rows} calibration rows{where}), {whose}for rows exchangeable with those, on which nothing was trained."
        )

    @property
    def display_name(self) -> str:
        """The score and the coverage."""
        return f"conformal {self.score.upper()} {self.coverage:g}"

    def __call__(self, proba: Any) -> Any:
        if self.random_state is None and not _arrays.is_foreign(proba):
            return select_conformal(proba, _KERNELS[self.score], self.thresholds, self.by_class)
        scores = _probabilities(proba)
        if self.by_class:
            check_calibrated_labels(scores.n_labels, self.thresholds)
        if self.random_state is not None:
            return self._randomised(proba, scores)
        return _lac_sets(scores, self.thresholds) if self.score == "lac" else _aps_sets(scores, self.thresholds)

    @property
    def kernel(self) -> KernelArguments | None:
        """What the native kernels take, unless the rule is randomised."""
        if self.random_state is not None:
            return None
        return KernelArguments(_KERNELS[self.score], thresholds=self.thresholds)

    def _randomised(self, proba: Any, scores: _arrays.Scores) -> Any:
        shape = tuple(scores.w.shape)
        w = _arrays.as_numpy(scores.w).reshape(-1, shape[-1])
        order = np.argsort(-w, axis=1, kind="stable")
        most = np.asarray(self.thresholds)
        bound = most[order] if self.by_class else most[0]
        sets = np.empty(w.shape, np.bool_)
        smoothed = _smoothed(w, order, _uniforms(self.random_state or 0, w))
        np.put_along_axis(sets, order, smoothed <= bound, axis=1)
        sets = sets.reshape(shape)
        if not _arrays.is_of_other_library(proba):
            return sets
        return array_api_compat.array_namespace(proba).asarray(sets, device=array_api_compat.device(proba))

    def compatible_epsilon(self, n_classes: int | None) -> None:
        """Return None: the sets may change however little the probabilities move."""
        return


def _lac_sets(scores: _arrays.Scores, thresholds: tuple[float, ...]) -> Any:
    """Return {l : 1 - p_l <= threshold}."""
    return 1 - scores.w <= _outward(scores, thresholds)


def _aps_sets(scores: _arrays.Scores, thresholds: tuple[float, ...]) -> Any:
    """Return {l : the mass of {k : p_k >= p_l} <= threshold}.

    The first label, in descending order, with which the mass passes the threshold is left out with all its ties.
    """
    xp, w = scores.xp, scores.w
    ordered = _arrays.descending(scores, w)
    mass = _arrays.cumulative(scores, ordered)
    below_all = xp.full_like(ordered, -1.0)

    def first_left_out(threshold: Any) -> Any:
        return xp.max(xp.where(mass > threshold, ordered, below_all), axis=-1, keepdims=True)

    bounds = _outward(scores, thresholds)
    if len(thresholds) == 1:
        return w > first_left_out(bounds[0])
    return xp.stack(
        [w[..., label] > first_left_out(bounds[label])[..., 0] for label in range(len(thresholds))], axis=-1
    )


def _outward(scores: _arrays.Scores, thresholds: tuple[float, ...]) -> Any:
    more = _ONE_MORE if scores.ulp > 2.0**-40 else 0.0
    return scores.constants([most + more for most in thresholds])


def _smoothed(proba: NDArray[np.float64], order: NDArray[np.intp], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores in descending order: the mass before each label and a share of its own."""
    ordered = np.take_along_axis(proba, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    return np.asarray(np.maximum(before, 0.0) + shares[:, None] * ordered)


def _uniforms(seed: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a number from [0, 1) for each row, drawn by its content and the seed: equal rows get equal ones."""
    cells = np.ascontiguousarray(np.column_stack([np.full(len(rows), float(seed)), rows]) + 0.0)  # no negative zeros
    ends = np.arange(1, len(rows) + 1) * cells.shape[1]
    digests = np.empty((len(rows), 2), np.uint64)
    _native.digest_rows(cells, None, ends, digests, 1)
    return np.asarray((digests[:, 0] >> np.uint64(11)) * 2.0**-53)


def _probabilities(proba: Any) -> _arrays.Scores:
    """Return validated rows of probabilities, widened: of NumPy as float64, of another library as it has them."""
    if _arrays.is_of_other_library(proba):
        return _arrays.foreign_scores(proba, probabilities=True)
    values, kind = validation.numpy_scores(proba)
    slack = sum_slack_of(values, kind)
    if kind == 3:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    wide = values.astype(np.float64)
    rows = wide.reshape(-1, wide.shape[-1])
    failure = validation.first_bad_row(rows, probabilities=True, slack=slack)
    if failure is not None:
        validation.reject_row(failure[0], failure[1], wide.shape, rows[failure[1]], slack)
    return _arrays.Scores(array_api_compat.array_namespace(wide), wide, 2.0**-52, 53, 2.0**-1022, False)
