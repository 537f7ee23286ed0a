"""StableClassifier: bag any classifier, average, select a set, say what is guaranteed."""

import warnings
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from steadyset._base.outside_rows import in_memory
from steadyset._base.sklearn_doors import CallbackSupportMixin, with_callbacks
from steadyset.audit import anytime_alpha
from steadyset.bags import BagPredictions, Redraw
from steadyset.ensemble import (
    _bag_fits,
    _checkpoint,
    _fit_inputs,
    _fit_record,
    _fit_until,
    _learners,
    _new_table,
    _out_of_bag,
    _prediction,
)
from steadyset.ensemble._callbacks import bag_progress
from steadyset.ensemble._fit_inputs import AsBefore, FitInputs
from steadyset.ensemble._fitted_bags import FittedBags
from steadyset.ensemble._new_table import TableChanges
from steadyset.ensemble._promise import BagPlan
from steadyset.trees import TreeClassifier

_OF_ONE_FIT = (
    *("estimators_", "oob_score_", "oob_decision_function_", "oob_label_proba_"),
    *("group_labels_", "group_rows_", "group_ends_"),
    *("changes_", "checkpoint_name_", "row_digests_", "certificates_", "certified_"),
)


class StableClassifier(CallbackSupportMixin, FittedBags, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
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
        Whether a further `fit` keeps the bags there are whose rows are the same and adds those missing to
        `n_estimators`; :meth:`refit` takes a changed table in.
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
    changes_ : TableChanges
        What the last :meth:`refit` or warm start found: rows added, dropped or changed, and bags trained again.
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

    seed_: int | None
    changes_: TableChanges
    checkpoint_name_: str

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
            Reaches the base estimator as what it is, sliced by rows. Of a Dask array, or of :class:`ParquetRows`, only
            the rows of some bags are in memory at a time; a memory map of NumPy is an array.
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
        if self.warm_start and self.__sklearn_is_fitted__():
            return self._fit_again(X, y, None, given)
        data = self._checked(X, y, **given)
        self._fit_bags(data, data.n_bags)
        self._score_out_of_bag(data)
        return self

    def refit(
        self,
        X: Any,
        y: Any,
        *,
        sample_ids: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        **fit_params: Any,
    ) -> "StableClassifier":
        """Take in a table with rows added, dropped or changed: only the bags whose rows changed are trained.

        The model is then the same, to the bit, as a fresh fit to the new table with this label space, bag size, number
        of bags and seed. ``changes_`` says what changed and how many bags were trained. Until all of them are, the
        model stays what it was, whatever interrupts.

        Parameters
        ----------
        X, y, sample_ids, groups, sample_weight, **fit_params
            As in :meth:`fit`, for the whole new table, with the columns and the kind of ids of the fit. A row is known
            by its id, and where these are given by what it holds as well.

        Returns
        -------
        self

        Notes
        -----
        The label space stays, and so do the bags' size and number, unless they would break the promise `delta` with
        fewer rows: then they are those of a fresh fit, with a warning. Parameters of the model that were set in the
        meantime count; those of another learner train every bag.

        With a `checkpoint`, an interrupted refit goes on where it stopped, and the bags of the old table are removed
        from there when it is done. How to have rows forgotten: :doc:`/howto/refit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import steadyset as ss
        >>> X, y = load_iris(return_X_y=True)
        >>> model = ss.StableClassifier(n_estimators=100, max_samples=10, random_state=0).fit(X, y)
        >>> print(model.refit(X[1:], y[1:]).changes_)
        10 of 100 bags were trained again: 1 row dropped, 149 rows kept.
        """
        check_is_fitted(self)
        _new_table.require_own_bags(self)
        rows = self._points(X)
        before = AsBefore(self.classes_, BagPlan(self.bags_.bag_size or 0, self.bags_.n_bags), self.bags_.ids)
        given = {"sample_ids": sample_ids, "groups": groups, "sample_weight": sample_weight, **fit_params}
        return self._fit_again(rows, y, before, given)

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
            warm = look == 1 and self.warm_start and self.__sklearn_is_fitted__()
            if warm:
                _new_table.require_comparable(self, data, n_bags)
            self._fit_bags(data, n_bags, keep=warm or look > 1)
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
        points = in_memory(self._points(X_eval, "X_eval"))
        with bag_progress(self, len(bags), self.verbose) as advance:
            proba = _prediction.gathered(fit.run(bags, range(len(bags)), advance, points), len(bags))
        return BagPredictions(proba, bags, data.classes)

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
    def estimator_(self) -> Any:
        """The learner whose clones are fitted: `estimator`, or a `TreeClassifier`."""
        check_is_fitted(self)
        return self._learner()

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("estimators_", None)  # they are in the groups
        state.pop("changes_", None)  # of the refit, which leaves the model that a fit would
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

    def _checked(self, X: Any, y: Any, before: AsBefore | None = None, /, **given: Any) -> FitInputs:
        self._rule()
        _learners.check(self._learner())
        return _fit_inputs.check(self, X, y, before, **given)

    def _fit_again(self, X: Any, y: Any, before: AsBefore | None, given: dict[str, Any]) -> "StableClassifier":
        """Become the fit to another table in one step, once it is whole; without `before`, as a warm start."""
        made = copy(self)
        data = made._checked(X, y, before, **given)
        _new_table.require_comparable(self, data, data.n_bags)
        made._fit_bags(data, data.n_bags, keep=True)
        made._score_out_of_bag(data)
        if before is None and not made.changes_.n_trained:
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new bags.", stacklevel=3)
        old = vars(self).get("checkpoint_name_")
        self.__dict__ = made.__dict__
        if old is not None and self.checkpoint is not None:
            _checkpoint.forget(self.checkpoint, old, self.checkpoint_name_)
        return self

    @with_callbacks
    def _fit_bags(self, data: FitInputs, n_bags: int, keep: bool = False) -> None:
        """Fit bags and become the ensemble of them; with `keep`, bags that the model has and that are the same stay."""
        fit = _bag_fits.bag_fit(self, data, self.seed_ if keep else None)
        drawn = fit.draw_after(self.bags_, n_bags) if keep else Redraw(fit.draw(n_bags))
        bags, found = drawn.bags, _fit_record.record(self._learner(), data, self.bags_.ids if keep else None)
        work, changes = _new_table.all_anew(n_bags), None
        if keep:
            work = _new_table.work_left(self, found, data, drawn)
            changes = _new_table.changes(self, found, data, work, drawn)
            fit.begin_after(vars(self).get("checkpoint_name_"))
        with bag_progress(self, work.n_bags, self.verbose) as advance:
            groups = work.done(lambda numbers: [group for _, group in fit.run(bags, numbers, advance)])
        for outdated in _OF_ONE_FIT:
            self.__dict__.pop(outdated, None)
        self.classes_, self.bags_, self.bag_size_, self.seed_ = data.classes, bags, bags.bag_size, fit.seed
        self.groups_ = groups
        _fit_record.keep(self, found)
        if self.checkpoint is not None:
            self.checkpoint_name_ = fit.checkpoint_name
        if changes is not None:
            self.changes_ = changes
        if data.groups is not None:
            together = data.groups
            self.group_labels_, self.group_rows_, self.group_ends_ = together.labels, together.rows, together.ends

    def _score_out_of_bag(self, data: FitInputs) -> None:
        if self.oob_score:
            proba = self.oob_proba(data.X)
            self.oob_decision_function_, self.oob_score_ = proba, _out_of_bag.accuracy(proba, data.codes)
            self.oob_label_proba_ = proba[np.arange(len(proba)), data.codes]
