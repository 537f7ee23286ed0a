"""What a fitted ensemble answers: probabilities, sets, out-of-bag sets, audits, certificates and its guarantee."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from steadyset._base import validation
from steadyset._base.outside_rows import in_memory
from steadyset._base.rows import as_rows, is_plain
from steadyset._base.sklearn_doors import num_samples
from steadyset.audit import (
    AuditOptions,
    AuditRun,
    Certificates,
    CertifyRun,
    CoveringPromise,
    CoveringRun,
    StabilityAudit,
)
from steadyset.bags import BagPredictions, Bags, exact_predictions, guarantee_of_rule
from steadyset.ensemble import _out_of_bag, _prediction, _promise
from steadyset.ensemble._members import feature_importances
from steadyset.ensemble._row_groups import BagRows, RowGroups
from steadyset.guarantees import Guarantee
from steadyset.selection import SetPredictor, chosen_rule


class FittedBags(SetPredictor):
    """The part of a :class:`StableClassifier` that needs nothing but its trained groups and its bags."""

    bags_: Bags
    groups_: list[Any]
    group_rows_: NDArray[np.intp]
    group_ends_: NDArray[np.intp]
    n_features_in_: int
    n_jobs: int | None

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the mean of the bags' probabilities.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_points, n_classes)
            Columns follow ``classes_``.
        """
        blocks = self._blocks(X)
        n_bags, jobs = self.bags_.n_bags, self.n_jobs
        means = [_prediction.mean_probabilities(self.groups_, block, n_bags, jobs) for _, block in blocks]
        return means[0] if len(means) == 1 else np.concatenate(means)

    def predict_covering_set(self, X: Any, coverage: float = 0.9, epsilon: float | None = None) -> NDArray[np.bool_]:
        """Return sets with two promises: they hold the true label, and they hold steady.

        The conformal set of jackknife+ after bagging, from the bags that leave each training row out, united with the
        set of `predict_set`. No calibration rows are held back. It needs a fit with `oob_score=True`.

        Parameters
        ----------
        X : as in `fit`
        coverage : float, default=0.9
            How often the sets are to hold the true label; :meth:`covering_promise` says what is proved.
        epsilon : float, optional
            As in `predict_set`.

        Returns
        -------
        bool ndarray of shape (n_points, n_classes)

        Notes
        -----
        Theory: :doc:`/theory/coverage`.
        """
        check_is_fitted(self)
        rule = chosen_rule(self._rule(), epsilon, None)
        run = CoveringRun(self.bags_, _out_of_bag.label_proba_for_covering(self), coverage, self.n_jobs)
        sets = [run.sets(block) | validation.rule_mask(rule, block.mean()) for block in self.prediction_blocks(X)]
        return sets[0] if len(sets) == 1 else np.concatenate(sets)

    def covering_promise(self, coverage: float = 0.9, epsilon: float | None = None) -> CoveringPromise:
        """Return what is promised of the sets of `predict_covering_set`: coverage and stability, named apart.

        Parameters
        ----------
        coverage, epsilon
            As in `predict_covering_set`.

        Returns
        -------
        CoveringPromise
        """
        check_is_fitted(self)
        rule = chosen_rule(self._rule(), epsilon, None)
        return CoveringPromise.of(coverage, guarantee_of_rule(self.bags_, rule, len(self.classes_)))

    def bag_predictions(self, X: Any) -> BagPredictions:
        """Return what every bag predicts: what audits and certificates work on.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        BagPredictions
        """
        check_is_fitted(self)
        points = in_memory(self._points(X))
        proba: Any = _prediction.together(self.groups_, points, self.bags_.n_bags, self.n_jobs)
        if proba is not None:
            return exact_predictions(proba, self.bags_, self.classes_)
        for place, block in self._blocks(points):
            for bag, part in _prediction.bag_probabilities(self.groups_, block, self.n_jobs):
                if proba is None:
                    proba = np.empty((self.bags_.n_bags, num_samples(points), part.shape[1]), part.dtype)
                proba[bag, place] = part
        return BagPredictions(proba, self.bags_, self.classes_)

    def prediction_blocks(self, X: Any) -> Iterator[BagPredictions]:
        """Yield what every bag predicts, block by block over the points: never more than 256 MB of it at a time.

        Parameters
        ----------
        X : as in `fit`

        Yields
        ------
        BagPredictions
            Of some of the points, in their order; all of them together are :meth:`bag_predictions`, to the bit.
        """
        for _, block in self._blocks(X):
            n_bags = self.bags_.n_bags
            proba = _prediction.together(self.groups_, block, n_bags, self.n_jobs)
            if proba is not None:
                yield exact_predictions(proba, self.bags_, self.classes_)
                continue
            bags = _prediction.bag_probabilities(self.groups_, block, self.n_jobs)
            gathered = _prediction.gathered((((bag,), part[None]) for bag, part in bags), n_bags)
            yield BagPredictions(gathered, self.bags_, self.classes_)

    def oob_proba(self, X: Any) -> NDArray[np.float64]:
        """Return for each training row the mean over the bags that do not hold it.

        Parameters
        ----------
        X : as in `fit`
            The training rows, in the order of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            NaN for a row that every bag holds.
        """
        check_is_fitted(self)
        groups = self._row_groups
        n = self.bags_.n_samples if groups is None else len(groups.rows)
        _out_of_bag.check_training_rows(X, n)
        bags = self._bag_probabilities(X)
        return _out_of_bag.mean_probabilities(bags, BagRows(self.bags_, groups), n, len(self.classes_))

    def oob_set(self, X: Any) -> NDArray[np.bool_]:
        """Return the label set of each training row from the bags that do not hold it.

        Parameters
        ----------
        X : as in `oob_proba`
            It is an error when every bag holds one of the rows.

        Returns
        -------
        bool ndarray of shape (n_samples, n_classes)
        """
        return _out_of_bag.sets(self.oob_proba(X), self.rule_)

    def audit(self, X: Any, rule: Any = None, **options: Any) -> StabilityAudit:
        """Measure how many training rows turn each point's set into a disjoint one when left out, without refitting.

        Parameters
        ----------
        X : as in `fit`
            The points to audit.
        rule : rule object or callable, optional
            Default: the model's own.
        **options
            Those of :func:`steadyset.audit_bags`; where the fit had `groups`, `left_out` are places in
            ``group_labels_``.

        Returns
        -------
        StabilityAudit
            Of the groups, where the fit had any.

        Notes
        -----
        Points are predicted and audited block by block, so that what the bags predict is never held at once. Only a
        rule that does not go by row, such as a callable of one's own, sees all points of a model at a time,
        and then it is.
        """
        check_is_fitted(self)
        points = self._points(X)
        run = AuditRun.of_rows(
            self.bags_, self.rule_ if rule is None else rule, num_samples(points), AuditOptions(**options)
        )
        blocks = [self.bag_predictions(points)] if run.needs_all_points else self.prediction_blocks(points)
        for block in blocks:
            run.add(block)
        groups = self._row_groups
        return run.result() if groups is None else run.result().with_labels(groups.labels)

    def certify(self, X: Any, alpha: float = 0.05, rule: Any = None) -> Certificates:
        """Prove what can be proved of the set of each point.

        Parameters
        ----------
        X : as in `fit`
            The points.
        alpha : float, default=0.05
            The level of the probabilistic statements.
        rule : rule object, optional
            Default: the model's own.

        Returns
        -------
        Certificates
        """
        check_is_fitted(self)
        points = self._points(X)
        run = CertifyRun(self.bags_, self.rule_ if rule is None else rule, alpha, num_samples(points))
        for block in self.prediction_blocks(points):
            run.add(block)
        return run.result()

    def guarantee(self, theorem: str = "best") -> Guarantee:
        """Return what is guaranteed for what was really fitted: rows, bag size, bags, coupling, label space and rule.

        Parameters
        ----------
        theorem : str, default="best"
            As in :func:`steadyset.selection_stability`.

        Returns
        -------
        Guarantee
            About the sets of `predict_set`; the single label of `predict` is not covered, and preprocessing that was
            fitted outside the bag voids it. The theorems: :doc:`/theory/guarantees`.
        """
        check_is_fitted(self)
        found = guarantee_of_rule(self.bags_, self._rule(), len(self.classes_), theorem=theorem)
        return replace(found, assumptions=found.assumptions + _promise.size_assumption(self))

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted estimators, one per bag."""
        check_is_fitted(self)
        return [member for group in self.groups_ for member in group.members()]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The mean over the bags of the learners' ``feature_importances_``, where they have them."""
        check_is_fitted(self)
        return feature_importances(self.groups_, self.n_features_in_)

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """The rows of each bag."""
        check_is_fitted(self)
        rows = BagRows(self.bags_, self._row_groups)
        return [rows[bag] for bag in range(len(rows))]

    @property
    def _row_groups(self) -> RowGroups | None:
        """Which training rows are dropped together, None where each goes alone; labels may have been left out."""
        if "group_rows_" not in self.__dict__:
            return None
        labels = self.__dict__.get("group_labels_", np.arange(len(self.group_ends_)))
        return RowGroups(labels, self.group_rows_, self.group_ends_)

    def _points(self, X: Any, name: str = "X") -> Any:
        rows = as_rows(X, name)
        if is_plain(self, rows) and rows.shape[1] == vars(self).get("n_features_in_"):
            return rows
        return validate_data(self, rows, skip_check_array=True, reset=False)

    def _blocks(self, X: Any) -> Iterator[tuple[slice, Any]]:
        check_is_fitted(self)
        step = _prediction.points_per_block(self.bags_.n_bags, len(self.classes_))
        return _prediction.in_blocks(self._points(X), step)

    def _bag_probabilities(self, X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
        check_is_fitted(self)
        return _prediction.bag_probabilities(self.groups_, in_memory(self._points(X)), self.n_jobs)
