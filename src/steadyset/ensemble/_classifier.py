"""StableClassifier: bag any classifier, average, select a set, say what is guaranteed."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from steadyset._base import validation
from steadyset._base.rows import as_rows
from steadyset._base.sklearn_doors import CallbackSupportMixin, with_callbacks
from steadyset.audit import Certificates, StabilityAudit, anytime_alpha, audit_bags, certify
from steadyset.bags import BagPredictions, Bags, guarantee_of_rule
from steadyset.ensemble import _bag_fits, _fit_inputs, _fit_until, _out_of_bag, _prediction
from steadyset.ensemble._callbacks import bag_progress
from steadyset.ensemble._fit_inputs import FitInputs
from steadyset.guarantees import Guarantee
from steadyset.selection import InflatedArgmax, with_epsilon


class StableClassifier(CallbackSupportMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Bag a classifier and predict sets of labels that hold steady when a training row is dropped.

    Every bag's learner sees its own rows only. Probabilities are averaged over the bags, and a selection rule turns
    them into sets. :meth:`guarantee` says how likely a dropped row is to turn a set into a contradictory one.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is a decision tree. One that has only `predict` votes. Everything learned from
        data (scalers, encoders) belongs into it, as a Pipeline: fitted outside the bag it voids the guarantee.
    n_estimators : int, default=500
        Number of bags.
    max_samples : int or float, default=0.5
        Rows per bag; a float is a share of the training rows, rounded down.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement. Guarantees are sharper without.
    rule : rule object or callable, default=None
        What selects the labels; None is the inflated argmax at `epsilon`. A rule given here wins over `epsilon`.
    epsilon : float, default=0.05
        Epsilon of the inflated argmax. Sets and guarantee both grow with it.
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
        kept as joblib files, which run code when read: trusted input.
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
        Trained on the codes 0, 1, ... of the classes in their bag.
    estimators_samples_ : list of ndarray
        The rows of each bag.
    bags_ : Bags
    bag_size_ : int
        Rows per bag. To refit without a row, pass it as `max_samples`.
    seed_ : int
        A fit with it as `random_state` repeats this one.
    estimator_ : estimator
        The learner of which every bag has a fitted clone.
    rule_ : rule object or callable
        The rule in use.
    oob_score_ : float
        Accuracy over the training rows that some bag does not hold; only with `oob_score=True`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        For each training row the mean over the bags that do not hold it, NaN where every bag holds it; only with
        `oob_score=True`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where `X` has string column names.

    Notes
    -----
    The guarantee is about the set of `predict_set`. The single label of `predict` is not covered by it.

    Theory: :doc:`/theory/guarantees`; how it works: :doc:`/guide/estimator`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ss.StableClassifier(n_estimators=100, random_state=0).fit(X, y)
    >>> ss.to_labels(model.predict_set(X[[0, 70]]), ["setosa", "versicolor", "virginica"])
    [('setosa',), ('versicolor',)]
    >>> model.guarantee().theorem
    'second-moment'
    """

    bags_: Bags
    seed_: int | None
    groups_: list[Any]

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 500,
        *,
        max_samples: float = 0.5,
        bootstrap: bool = False,
        rule: Any = None,
        epsilon: float = 0.05,
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
        self.classes = classes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.oob_score = oob_score
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, *, sample_ids: Any = None, sample_weight: Any = None, **fit_params: Any
    ) -> "StableClassifier":
        """Draw the bags and fit a learner on each.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, ...)
            Reaches the base estimator as what it is, sliced by rows.
        y : array of shape (n_samples,)
            Labels: strings, bools or integers.
        sample_ids : sequence of int or str, optional
            A distinct name for each row, which stays with it when others are dropped or moved.
        sample_weight : array of shape (n_samples,), optional
            Goes to the base estimator, sliced by bag, and never into the draw of bags.
        **fit_params
            Further parameters of the base estimator's `fit`; those with one value per row are sliced by bag.

        Returns
        -------
        self
        """
        data = self._checked(X, y, sample_ids=sample_ids, sample_weight=sample_weight, **fit_params)
        self._fit_bags(data, self.n_estimators, _fit_inputs.groups_to_keep(self, data, self.n_estimators))
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
        self, X: Any, y: Any, X_eval: Any, *, sample_ids: Any = None, sample_weight: Any = None, **fit_params: Any
    ) -> BagPredictions:
        """Fit a learner on each bag and keep only what it predicts at given points, no models.

        Parameters
        ----------
        X, y, sample_ids, sample_weight, **fit_params
            As in :meth:`fit`.
        X_eval : array, sparse matrix or frame
            The points to predict.

        Returns
        -------
        BagPredictions
            The same bits as ``fit(...).bag_predictions(X_eval)``.
        """
        data = self._checked(X, y, sample_ids=sample_ids, sample_weight=sample_weight, **fit_params)
        fit = _bag_fits.bag_fit(self, data)
        bags = fit.draw(self.n_estimators)
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
        check_is_fitted(self)
        return _prediction.mean_probabilities(self.groups_, self._points(X), self.bags_.n_bags, self.n_jobs)

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
        if epsilon is not None and rule is not None:
            raise ValueError(f"epsilon and rule must not both be given; got epsilon={epsilon!r} and rule={rule!r}.")
        chosen = self._rule() if rule is None else rule
        if epsilon is not None:
            chosen = with_epsilon(chosen, epsilon)
        return validation.rule_mask(chosen, self.predict_proba(X))

    def bag_predictions(self, X: Any) -> BagPredictions:
        """Return what every bag predicts: what audits and certificates work on.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        BagPredictions
        """
        results = (((bag,), proba[None]) for bag, proba in self._bag_probabilities(X))
        return BagPredictions(_prediction.gathered(results, self.bags_.n_bags), self.bags_, self.classes_)

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
        _out_of_bag.check_training_rows(X, self.bags_)
        return _out_of_bag.mean_probabilities(self._bag_probabilities(X), self.bags_, len(self.classes_))

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
            Those of :func:`steadyset.audit_bags`.

        Returns
        -------
        StabilityAudit
        """
        return audit_bags(self.bag_predictions(X), self.rule_ if rule is None else rule, **options)

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
        return certify(self.bag_predictions(X), self.rule_, alpha)

    def guarantee(self, theorem: str = "best") -> Guarantee:
        """Return what is guaranteed for what was really fitted: rows, bag size, bags, coupling, label space and rule.

        Parameters
        ----------
        theorem : {"best", "paper", "second-moment", "small-bags"}, default="best"
            As in :func:`steadyset.selection_stability`.

        Returns
        -------
        Guarantee
            About the sets of `predict_set`; the single label of `predict` is not covered, and preprocessing that was
            fitted outside the bag voids it. The theorems: :doc:`/theory/guarantees`.
        """
        check_is_fitted(self)
        return guarantee_of_rule(self.bags_, self._rule(), len(self.classes_), theorem=theorem)

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
        """The learner whose clones are fitted: `estimator`, or a decision tree."""
        check_is_fitted(self)
        return self._learner()

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted estimators, one per bag."""
        check_is_fitted(self)
        return [member for group in self.groups_ for member in group.members()]

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """The rows of each bag."""
        check_is_fitted(self)
        return list(self.bags_)

    def __sklearn_is_fitted__(self) -> bool:
        return "groups_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._learner())
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
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _rule(self) -> Any:
        return InflatedArgmax(self.epsilon) if self.rule is None else validation.rule(self.rule)

    def _checked(self, X: Any, y: Any, **given: Any) -> FitInputs:
        self._rule()
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
        for outdated in ("estimators_", "oob_score_", "oob_decision_function_"):
            self.__dict__.pop(outdated, None)

    def _score_out_of_bag(self, data: FitInputs) -> None:
        if self.oob_score:
            proba = self.oob_proba(data.X)
            self.oob_decision_function_, self.oob_score_ = proba, _out_of_bag.accuracy(proba, data.codes)

    def _points(self, X: Any, name: str = "X") -> Any:
        return validate_data(self, as_rows(X, name), skip_check_array=True, reset=False)

    def _bag_probabilities(self, X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
        check_is_fitted(self)
        return _prediction.bag_probabilities(self.groups_, self._points(X), self.n_jobs)
