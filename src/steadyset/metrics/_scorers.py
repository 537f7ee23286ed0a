"""Scorers for scikit-learn's model selection, on estimators that predict label sets."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steadyset._base import set_validation, validation
from steadyset.metrics._scores import correct_single_score, coverage_score, mean_set_size, u65_score, u80_score


@dataclass(frozen=True)
class SetScorer:
    """A metric of label sets as a scorer: called with (estimator, X, y), higher is better.

    The estimator has `predict_set` and `classes_`, and `predict_proba` where the metric asks for `proba`. A label in
    `y` that the estimator never saw, as in a fold without it, is a label that no set holds.

    Parameters
    ----------
    metric : callable
        A function with parameters among `y_true`, `sets`, `proba`, `classes` and `sample_weight`.
    sign : {1, -1}
        -1 where lower values of the metric are better.
    options : dict
        Further keyword arguments of the metric.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.metrics.SetScorer(ss.metrics.u65_score).sign
    1
    """

    metric: Callable[..., float]
    sign: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        wanted = inspect.signature(self.metric).parameters
        sets = set_validation.sample_sets(estimator.predict_set(X))
        known = set_validation.class_labels(estimator.classes_, sets.shape[1])
        unseen = [label for label in dict.fromkeys(set_validation.listed(y, "y")) if label not in set(known)]
        given = {
            "y_true": y,
            "sets": np.pad(sets, ((0, 0), (0, len(unseen)))),
            "classes": known + unseen,
            "sample_weight": sample_weight,
        }
        if "proba" in wanted:
            given["proba"] = np.pad(np.asarray(estimator.predict_proba(X)), ((0, 0), (0, len(unseen))))
        given = {name: value for name, value in given.items() if name in wanted}
        return self.sign * float(self.metric(**given, **self.options))


def make_set_scorer(metric: Callable[..., float], *, greater_is_better: bool = True, **options: Any) -> SetScorer:
    """Make a scorer from a metric of label sets, for `scoring=` in GridSearchCV, cross_validate and the like.

    Parameters
    ----------
    metric : callable
        A function of this module, or any with parameters among `y_true`, `sets`, `proba`, `classes` and
        `sample_weight`; each is given what it asks for.
    greater_is_better : bool, default=True
        False turns the sign, so that a higher score is always better.
    **options : keyword arguments
        Passed to the metric as they are.

    Returns
    -------
    SetScorer
        A callable (estimator, X, y).

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> class Both:
    ...     classes_ = np.array(["a", "b"])
    ...
    ...     def predict_set(self, X):
    ...         return np.ones((len(X), 2), bool)
    >>> scorer = ss.metrics.make_set_scorer(ss.metrics.utility_score, utility="u80")
    >>> round(scorer(Both(), [[0.0], [1.0]], ["a", "b"]), 3)
    0.8
    >>> ss.metrics.make_set_scorer(ss.metrics.mean_set_size, greater_is_better=False)(Both(), [[0.0]], ["a"])
    -2.0
    """
    if not callable(metric):
        raise TypeError(f"metric must be a function of label sets; got {validation.shown(metric)}.")
    return SetScorer(metric, 1 if greater_is_better else -1, options)


SCORERS: dict[str, SetScorer] = {
    "correct_single": make_set_scorer(correct_single_score),
    "neg_mean_set_size": make_set_scorer(mean_set_size, greater_is_better=False),
    "coverage": make_set_scorer(coverage_score),
    "u65": make_set_scorer(u65_score),
    "u80": make_set_scorer(u80_score),
}
