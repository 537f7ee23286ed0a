"""StableClassifier: bag any classifier, average, select a set, say what is guaranteed."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from steadyset._base import validation
from steadyset._base.rows import as_rows
from steadyset._base.sklearn_doors import CallbackSupportMixin, num_samples, with_callbacks
from steadyset.audit import (
    AuditOptions,
    AuditRun,
    Certificates,
    CertifyRun,
    CoveringPromise,
    CoveringRun,
    StabilityAudit,
    anytime_alpha,
)
from steadyset.bags import BagPredictions, Bags, exact_predictions, guarantee_of_rule
from steadyset.ensemble import _bag_fits, _fit_inputs, _fit_until, _learners, _out_of_bag, _prediction, _promise
from steadyset.ensemble._callbacks import bag_progress
from steadyset.ensemble._fit_inputs import FitInputs
from steadyset.ensemble._members import feature_importances
from steadyset.ensemble._row_groups import BagRows, RowGroups
from steadyset.guarantees import Guarantee
from steadyset.selection import InflatedArgmax, chosen_rule
from steadyset.trees import TreeClassifier

_OF_GROUPS = ("group_labels_", "group_rows_", "group_ends_")


class StableClassifier(CallbackSupportMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Bag a classifier and predict sets of labels that hold steady when a training row is dropped.

    Every bag's learner sees its own rows only. Probabilities are averaged over the bags, and a selection rule turns
    them into sets. :meth:`guarantee` says how likely a dropped row is to turn a set into a contradictory one.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is a decision tree that looks at the square root of the features at each
        split, :class:`steadyset.trees.TreeClassifier`, which grows many bags at once. One that has only `predict`
        votes. Everything learned from data (scalers, encoders) belongs into it, as a Pipeline: fitted outside the bag
        it voids the guarantee. A `class_weight` names the labels of `y`; those that a bag does not hold are left out of
        it there. Where a learner has threads of its own, the clones of a bag use one, unless it was given another
        number than its default.
    n_estimators : int or "auto", default=500
        Number of bags. "auto", with `delta`: as many as bags of `max_samples` need, rounded up to the grid of sizes;
        10,000 at most, and then bags are as much smaller as it takes, with a warning.
    max_samples : int or float, default=0.5
        Rows per bag; with `delta`, at most. A float is a share of the training rows, rounded to a grid that a dropped
        row seldom moves: the nearest multiple of 1, 2, 5, 10, 20, 50, ..., the largest of these up to a sixteenth of
        the rows in a bag.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement. Guarantees are sharper without.
    rule : rule object or callable, default=None
        What selects the labels; None is the inflated argmax at `epsilon`. A rule given here wins over `epsilon`.
    epsilon : float, default=0.05
        Epsilon of the inflated argmax. Sets and guarantee both grow with it.
    delta : float, default=None
        A promise to keep: the chance, on average over the rows, that dropping one turns the set of a point into a
        disjoint one is to be at most this. Bags are then the largest on the grid of sizes, up to `max_samples`, whose
        :meth:`guarantee` is at most `delta`. Where there are none, `fit` says which epsilon, bags or rows would do.
    classes : sequence of labels, default=None
        The label space, where it is larger than the labels in `y`.
    n_jobs : int, default=None
        Parallel jobs, as in joblib. Results are the same to the bit for any number and backend.
    random_state : int, RandomState instance or None, default=None
        Seeds the bags and their learners. The seed is kept as ``seed_``.
    warm_start : bool, default=False
        Whether a further `fit` on the same data keeps the bags there are and adds those missing to `n_estimators`.
    checkpoint : path, default=None
        Folder for finished bags: a fit that was interrupted goes on from there, to the same bits. Fitted estimators are
        kept as joblib files, which run code when read: trusted input. A damaged file is trained again.
    oob_score : bool, default=False
        Whether `fit` estimates the accuracy of `predict`, each row judged by the bags that do not hold it. Every bag
        predicts the training rows for it.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The label space, sorted.
    estimators_ : list of fitted estimators
        Trained on the labels of `y`, so that ``classes_`` of each are those in its bag, or the label space where bags
        are trained together, as by the default. One that refuses them, as XGBoost's refuse all but 0, 1, ..., is
        trained on the codes 0, 1, ... of the labels in its bag.
    estimators_samples_ : list of ndarray
        The rows of each bag.
    bags_ : Bags
    bag_size_ : int
        Rows per bag. A refit without a row has the same, or :meth:`guarantee` says what to pass for it.
    group_labels_ : ndarray
        The labels of the `groups` of the fit, sorted: bags and audits know a group by its place here. Only where there
        were any; then `bag_size_` and `bags_` count groups.
    seed_ : int
        A fit with it as `random_state` repeats this one.
    estimator_ : estimator
        The learner of which every bag has a fitted clone.
    rule_ : rule object or callable
        The rule in use.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the bags, for learners that have importances.
    oob_score_ : float
        Accuracy over the training rows that some bag does not hold; only with `oob_score=True`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        For each training row the mean over the bags that do not hold it, NaN where every bag holds it; only with
        `oob_score=True`.
    oob_label_proba_ : ndarray of shape (n_samples,)
        Of that, the column of the row's own label: what `predict_covering_set` needs; only with `oob_score=True`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where `X` has string column names.

    Notes
    -----
    The guarantee is about the set of `predict_set`. The single label of `predict` is not covered by it.

    Of scikit-learn's estimator checks, `check_sample_weight_equivalence_on_dense_data` and `..._on_sparse_data` fail by
    design, because weights never enter the draw of bags: name them in `expected_failed_checks` of `check_estimator`.

    Theory: :doc:`/theory/guarantees`; how it works: :doc:`/guide/estimator`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ss.StableClassifier(n_estimators=100, epsilon=0.3, random_state=0).fit(X, y)
    >>> ss.to_labels(model.predict_set(X[[0, 60]]), ["setosa", "versicolor", "virginica"])
    [('setosa',), ('versicolor',)]
    >>> promised = ss.StableClassifier(n_estimators=500, epsilon=0.2, delta=0.05, random_state=0).fit(X, y)
    >>> promised.guarantee().delta <= 0.05, promised.bag_size_
    (True, 44)
    """

    bags_: Bags
    seed_: int | None
    groups_: list[Any]
    group_rows_: NDArray[np.intp]
    group_ends_: NDArray[np.intp]

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: Any = 500,
        *,
        max_samples: float = 0.5,
        bootstrap: bool = False,
        rule: Any = None,
        epsilon: float = 0.05,
        delta: float | None = None,
        classes: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        checkpoint: Any = None,
        oob_score: bool = False,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.rule = rule
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.oob_score = oob_score
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_ids: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        **fit_params: Any,
    ) -> "StableClassifier":
        """Draw the bags and fit a learner on each.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, ...)
            Reaches the base estimator as what it is, sliced by rows.
        y : array of shape (n_samples,)
            Labels: strings, bools or integers. They reach the base estimator as they are.
        sample_ids : None, "index", "position" or sequence of int or str, default=None
            What the bags know a row by when others are dropped or moved. None: the row's own content, label, weight and
            fit parameters, hashed (:func:`steadyset.content_ids`). "index": the index of a frame. A sequence: a
            distinct name for each row, which also lets the guarantee speak of rows that are changed. "position": the
            place in the table, which a dropped row moves, so that every bag is drawn anew. With `groups` the ids are
            those of groups: None is the content of a group's rows, "group" its label, and a sequence of ids of the rows
            makes one of those in it.
        groups : sequence of n_samples int or str, default=None
            Rows with the same label, of one person, machine or document, belong together and are dropped together.
            Bags are then drawn over groups, and everything counts them: bag sizes, guarantee, audit, certificates.
        sample_weight : array of shape (n_samples,), optional
            Goes to the base estimator, sliced by bag. It makes no row more likely to be in a bag.
        **fit_params
            Further parameters of the base estimator's `fit`; those with one value per row are sliced by bag.

        Returns
        -------
        self
        """
        given = {"sample_ids": sample_ids, "groups": groups, "sample_weight": sample_weight, **fit_params}
        data = self._checked(X, y, **given)
        self._fit_bags(data, data.n_bags, _fit_inputs.groups_to_keep(self, data, data.n_bags))
        self._score_out_of_bag(data)
        return self

    def fit_until(
        self,
        X: Any,
        y: Any,
        X_eval: Any,
        delta: float = 0.0,
        alpha: float = 0.05,
        max_estimators: int = 10_000,
        *,
        share: float = 1.0,
        **fit_params: Any,
    ) -> "StableClassifier":
        """Double the bags until enough points are certified, then stop.

        The first look is at `n_estimators` bags. At the k-th look the level is alpha / (k (k + 1)), so that the
        certificates of the last look hold at level `alpha` however many looks there were
        (:doc:`/theory/certificates`).

        Parameters
        ----------
        X, y : as in `fit`
        X_eval : as in `fit`
            The points to certify.
        delta : float, default=0.0
            A point is certified where at most this share of the rows can make a conflict (Theorem 4).
        alpha : float, default=0.05
        max_estimators : int, default=10_000
            Stop at this many bags, certified or not.
        share : float, default=1.0
            The share of points that has to be certified.
        **fit_params
            As in :meth:`fit`.

        Returns
        -------
        self
            With ``certificates_``, those of the last look, and ``certified_``, whether they reached `share`.
        """
        if self.delta is not None:
            raise ValueError(
                f"the model's delta must be None for fit_until; got {self.delta}: no promise covers a number of bags "
                "that certificates decide."
            )
        goal = _fit_until.goal(self.n_estimators, delta, max_estimators, share)
        data = self._checked(X, y, **fit_params)
        for look, n_bags in enumerate(goal.numbers_of_bags, start=1):
            kept = _fit_inputs.groups_to_keep(self, data, n_bags) if look == 1 else self.groups_
            self._fit_bags(data, n_bags, kept)
            self.certificates_ = self.certify(X_eval, anytime_alpha(alpha, look))
            self.certified_ = goal.is_reached(self.certificates_)
            if self.certified_:
                break
        self._score_out_of_bag(data)
        return self

    @with_callbacks
    def fit_predict_bags(
        self,
        X: Any,
        y: Any,
        X_eval: Any,
        *,
        sample_ids: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        **fit_params: Any,
    ) -> BagPredictions:
        """Fit a learner on each bag and keep only what it predicts at given points, no models.

        Parameters
        ----------
        X, y, sample_ids, groups, sample_weight, **fit_params
            As in :meth:`fit`.
        X_eval : array, sparse matrix or frame
            The points to predict.

        Returns
        -------
        BagPredictions
            The same bits as ``fit(...).bag_predictions(X_eval)``.
        """
        given = {"sample_ids": sample_ids, "groups": groups, "sample_weight": sample_weight, **fit_params}
        data = self._checked(X, y, **given)
        fit = _bag_fits.bag_fit(self, data)
        bags = fit.draw(data.n_bags)
        points = self._points(X_eval, "X_eval")
        with bag_progress(self, len(bags), self.verbose) as advance:
            proba = _prediction.gathered(fit.run(bags, range(len(bags)), advance, points), len(bags))
        return BagPredictions(proba, bags, data.classes)

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

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each point; no guarantee covers a single label.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[best])

    def predict_set(self, X: Any, epsilon: float | None = None, rule: Any = None) -> NDArray[np.bool_]:
        """Return the set of labels of each point.

        Parameters
        ----------
        X : as in `fit`
        epsilon : float, optional
            Another epsilon than the one given at first; nothing is fitted again.
        rule : rule object or callable, optional
            Another rule. Both at once is an error.

        Returns
        -------
        bool ndarray of shape (n_points, n_classes)
            Columns follow ``classes_``.
        """
        chosen = chosen_rule(self._rule(), epsilon, rule)
        return validation.rule_mask(chosen, self.predict_proba(X))

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
        points = self._points(X)
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
        rule that is a callable of one's own sees all points of a model at a time, and then it is.
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

    def certify(self, X: Any, alpha: float = 0.05) -> Certificates:
        """Prove what can be proved of the set of each point.

        Parameters
        ----------
        X : as in `fit`
            The points.
        alpha : float, default=0.05
            The level of the probabilistic statements.

        Returns
        -------
        Certificates
        """
        check_is_fitted(self)
        points = self._points(X)
        run = CertifyRun(self.bags_, self.rule_, alpha, num_samples(points))
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

    @classmethod
    def from_fitted(
        cls,
        fitted: Any,
        *,
        rows: Any = None,
        n_samples: int | None = None,
        classes: Any = None,
        rule: Any = None,
        epsilon: float = 0.05,
    ) -> "StableClassifier":
        """Adopt members that were trained elsewhere.

        Sets, bag predictions and audits work as for bags of our own. How the bags were drawn is not known, or not known
        to be a function of their rows alone (scikit-learn's forests and bagging hand rows outside the bag to the
        learner with weight zero), so that guarantees and certificates are refused.

        Parameters
        ----------
        fitted : RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier or list of classifiers
            Fitted.
        rows : list of integer arrays, optional
            For a list: the training rows of each member.
        n_samples : int, optional
            For a list: the number of training rows.
        classes : sequence of labels, optional
            For a list: the label space; the default is every label that a member knows.
        rule, epsilon
            As in the constructor.

        Returns
        -------
        StableClassifier
            Fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> import steadyset as ss
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
        >>> adopted = ss.StableClassifier.from_fitted(forest)
        >>> bool((adopted.predict_proba(X) - forest.predict_proba(X)).max() < 1e-12)
        True
        """
        from steadyset.ensemble import _adoption

        found = _adoption.adopt(fitted, rows, n_samples, classes)
        size = found.bags.bag_size
        share = 0.5 if size is None else size
        model = cls(found.template, len(found.members), max_samples=share, rule=rule, epsilon=epsilon)
        model._rule()
        model.groups_, model.bags_, model.bag_size_ = found.members, found.bags, size
        model.classes_, model.seed_ = found.classes, None
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(model, name, getattr(fitted, name))
        return model

    @property
    def rule_(self) -> Any:
        """The rule in use: `rule`, or the inflated argmax at `epsilon`."""
        check_is_fitted(self)
        return self._rule()

    @property
    def estimator_(self) -> Any:
        """The learner whose clones are fitted: `estimator`, or a `TreeClassifier`."""
        check_is_fitted(self)
        return self._learner()

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

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("estimators_", None)  # they are in the groups
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return "groups_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = _learners.tags(self._learner())
        if inner is not None:
            tags.input_tags = replace(inner.input_tags, pairwise=False)
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed: `sample_ids` stays here, the rest goes to the base estimator's fit."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._learner(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        )

    def _learner(self) -> Any:
        return TreeClassifier(max_features="sqrt") if self.estimator is None else self.estimator

    def _rule(self) -> Any:
        return InflatedArgmax(self.epsilon) if self.rule is None else validation.rule(self.rule)

    def _checked(self, X: Any, y: Any, **given: Any) -> FitInputs:
        self._rule()
        _learners.check(self._learner())
        return _fit_inputs.check(self, X, y, **given)

    @with_callbacks
    def _fit_bags(self, data: FitInputs, n_bags: int, kept: list[Any]) -> None:
        """Fit the bags that are missing to `n_bags`, and become the ensemble of all of them."""
        fit = _bag_fits.bag_fit(self, data, self.seed_ if kept else None)
        bags = fit.draw(n_bags)
        missing = range(sum(len(group.numbers) for group in kept), n_bags)
        with bag_progress(self, len(missing), self.verbose) as advance:
            groups = kept + [group for _, group in fit.run(bags, missing, advance)]
        self.classes_, self.bags_, self.bag_size_, self.seed_ = data.classes, bags, bags.bag_size, fit.seed
        self.groups_ = sorted(groups, key=lambda group: group.numbers[0])
        for outdated in ("estimators_", "oob_score_", "oob_decision_function_", "oob_label_proba_", *_OF_GROUPS):
            self.__dict__.pop(outdated, None)
        if data.groups is not None:
            together = data.groups
            self.group_labels_, self.group_rows_, self.group_ends_ = together.labels, together.rows, together.ends

    def _score_out_of_bag(self, data: FitInputs) -> None:
        if self.oob_score:
            proba = self.oob_proba(data.X)
            self.oob_decision_function_, self.oob_score_ = proba, _out_of_bag.accuracy(proba, data.codes)
            self.oob_label_proba_ = proba[np.arange(len(proba)), data.codes]

    @property
    def _row_groups(self) -> RowGroups | None:
        """Which training rows are dropped together, None where each goes alone; labels may have been left out."""
        if "group_rows_" not in self.__dict__:
            return None
        labels = self.__dict__.get("group_labels_", np.arange(len(self.group_ends_)))
        return RowGroups(labels, self.group_rows_, self.group_ends_)

    def _points(self, X: Any, name: str = "X") -> Any:
        return validate_data(self, as_rows(X, name), skip_check_array=True, reset=False)

    def _blocks(self, X: Any) -> Iterator[tuple[slice, Any]]:
        check_is_fitted(self)
        step = _prediction.points_per_block(self.bags_.n_bags, len(self.classes_))
        return _prediction.in_blocks(self._points(X), step)

    def _bag_probabilities(self, X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
        check_is_fitted(self)
        return _prediction.bag_probabilities(self.groups_, self._points(X), self.n_jobs)
