"""Two versions of a model side by side: which sets turned disjoint, changed or stayed, and what was promised."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from steadyset._base import validation
from steadyset._base.words import counted
from steadyset.ensemble import _fit_record
from steadyset.ensemble._classifier import StableClassifier
from steadyset.guarantees import Guarantee, selection_stability


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The label sets of two models at the same points.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels of both models, sorted.
    old_sets, new_sets : bool ndarrays of shape (n_points, n_classes)
    n_added, n_dropped : int or None
        Rows, or groups, that only the new model was fitted to, and that only the old one was; None where the models do
        not know. A row that was changed is both.
    promise : Guarantee or str
        What the theorem for added or dropped rows says of the share of disjoint sets, or why it says nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ss.StableClassifier(n_estimators=100, max_samples=20, epsilon=0.3, random_state=0).fit(X[1:], y[1:])
    >>> new = ss.StableClassifier(n_estimators=100, max_samples=20, epsilon=0.3, random_state=0).fit(X, y)
    >>> found = ss.compare(old, new, X)
    >>> found.n_added, found.n_dropped, int(found.disjoint.sum())
    (1, 0, 0)
    """

    classes: NDArray[Any]
    old_sets: NDArray[np.bool_]
    new_sets: NDArray[np.bool_]
    n_added: int | None
    n_dropped: int | None
    promise: Guarantee | str
    unit: str = "row"

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.old_sets)

    @property
    def disjoint(self) -> NDArray[np.bool_]:
        """Which points have sets that share no label: the new answer contradicts the old one."""
        return np.asarray(~(self.old_sets & self.new_sets).any(axis=1))

    @property
    def stayed(self) -> NDArray[np.bool_]:
        """Which points have the same set as before."""
        return np.asarray((self.old_sets == self.new_sets).all(axis=1))

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which points have another set than before that shares a label with it."""
        return ~(self.disjoint | self.stayed)

    def summary(self) -> str:
        """Return what was observed and what was promised, in sentences."""
        n_disjoint, n_changed, n_stayed = (int(part.sum()) for part in (self.disjoint, self.changed, self.stayed))
        observed = (
            f"Of {counted(self.n_points, 'point')}, {n_stayed:,} kept their set, {n_changed:,} changed it and share a "
            f"label with the old one, and {n_disjoint:,} ({n_disjoint / self.n_points:.2%}) turned disjoint."
        )
        if self.n_added is None or self.n_dropped is None:
            between = "Which rows the models were fitted to is not known."
        else:
            added, dropped = counted(self.n_added, self.unit), counted(self.n_dropped, self.unit)
            between = f"Between the models {added} came and {dropped} went."
        promised = f"Promised: {self.promise}" if isinstance(self.promise, Guarantee) else self.promise
        return f"{observed} {between} {promised}"

    def __repr__(self) -> str:
        return f"Comparison({self.summary()})"

    __str__ = summary


def compare(old: Any, new: Any, X: Any) -> Comparison:
    """Set two versions of a model side by side at some points.

    Parameters
    ----------
    old, new : StableClassifier
        Fitted, to a table and to what became of it: by `refit`, or by two fits.
    X : array, sparse matrix or frame
        The points.

    Returns
    -------
    Comparison

    See Also
    --------
    selection_stability : With `n_added` or `n_dropped`, the promise before the rows change.

    Notes
    -----
    The promise is the one for as many added rows, or dropped ones, on average over the data. It is about a point that
    was chosen before looking at either model, so that at many points the share of disjoint sets may be above it by
    chance. Where rows came and went at once no theorem speaks: two sets that each share a label with a third may share
    none. Theory: :doc:`/theory/guarantees`; how to: :doc:`/howto/refit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ss.StableClassifier(n_estimators=100, max_samples=20, epsilon=0.3, random_state=0).fit(X, y)
    >>> new = ss.StableClassifier(n_estimators=100, max_samples=20, epsilon=0.3, random_state=0).fit(X[1:], y[1:])
    >>> found = ss.compare(old, new, X)
    >>> found.promise.delta < 0.05, int(found.disjoint.sum())
    (True, 0)
    """
    for name, model in {"old": old, "new": new}.items():
        if not isinstance(model, StableClassifier):
            raise TypeError(f"{name} must be a fitted StableClassifier; got {validation.shown(model)}.")
        check_is_fitted(model)
    classes = np.union1d(old.classes_, new.classes_)
    before, now = (_in_columns(model.predict_set(X), model.classes_, classes) for model in (old, new))
    if len(before) == 0:
        raise ValueError("X must hold at least one point; got none.")
    moved = _moved(old, new)
    unit = new.bags_.ids.unit
    if moved is None:
        words = "No promise: which rows the models were fitted to is not known."
        return Comparison(classes, before, now, None, None, words, unit)
    return Comparison(classes, before, now, *moved, _promise(old, new, *moved), unit)


def _in_columns(sets: NDArray[np.bool_], own: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.bool_]:
    wide = np.zeros((len(sets), len(classes)), bool)
    wide[:, np.searchsorted(classes, own)] = sets
    return wide


def _moved(old: Any, new: Any) -> tuple[int, int] | None:
    """Return how many units only the new model has, and only the old one; None where that is not known."""
    ids = [(model.bags_.ids.kind, model.bags_.ids.unit) for model in (old, new)]
    before, now = _fit_record.remembered(old).units, _fit_record.remembered(new).units
    if ids[0] != ids[1] or before is None or now is None:
        return None
    if ids[0][0] != "given":
        return len(now) - int(np.isin(now, before).sum()), len(before) - int(np.isin(before, now).sum())
    had, has = _named(old, before), _named(new, now)
    return len(has - had), len(had - has)


def _named(model: Any, words: NDArray[np.uint64]) -> set[tuple[Any, int]]:
    """Return the name and the content of every unit."""
    return set(zip(model.bags_.ids.values.tolist(), words.tolist(), strict=True))


def _promise(old: Any, new: Any, n_added: int, n_dropped: int) -> Guarantee | str:
    unit = new.bags_.ids.unit
    if n_added and n_dropped:
        return f"No promise: no theorem covers {unit}s that come and {unit}s that go at once."
    if not n_added and not n_dropped:
        return f"The models have the same {unit}s."
    if not np.array_equal(old.classes_, new.classes_) or old.rule_ != new.rule_:
        return "No promise: the models have different label spaces or rules."
    drawn = [(bags.bag_size, bags.n_bags, bags.resampling, bags.seed) for bags in (old.bags_, new.bags_)]
    if drawn[0] != drawn[1] or drawn[0][2] is None or not _same_training(old, new):
        return "No promise: the models differ in learner, bag size, number of bags or seed."
    bags, rule = old.bags_, old.rule_
    if not hasattr(rule, "compatible_epsilon") or not rule.compatible_epsilon(len(old.classes_)):
        return "No promise: no theorem makes the rule compatible."
    try:
        found = selection_stability(
            n_samples=bags.n_samples,
            bag_size=bags.bag_size,
            n_bags=bags.n_bags,
            n_classes=len(old.classes_),
            resampling=bags.resampling,
            coupling=bags.coupling,
            rule=rule,
            n_dropped=n_dropped or 1,
            n_added=n_added,
        )
    except ValueError as error:
        return f"No promise: {error}"
    return found.about(unit)


def _same_training(old: Any, new: Any) -> bool:
    return _fit_record.remembered(old).training == _fit_record.remembered(new).training
