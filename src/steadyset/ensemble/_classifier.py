"""StableClassifier: bag any classifier, average, select a set, say what is guaranteed."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from steadyset._base import validation
from steadyset.bags import BLOCK, BagPredictions, Bags, draw_bags
from steadyset.ensemble import _checkpoint, _fit_inputs, _training
from steadyset.ensemble._callbacks import CallbackSupportMixin, bag_progress, with_callbacks
from steadyset.ensemble._out_of_bag import OutOfBag
from steadyset.ensemble._self_audit import SelfAudit
from steadyset.guarantees import Guarantee, selection_stability
from steadyset.selection import FixedMargin, InflatedArgmax, with_epsilon


class StableClassifier(OutOfBag, SelfAudit, CallbackSupportMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
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
        Rows in a bag; a float is a share of the training rows, rounded down.
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
        Rows in a bag. To refit without a row, pass it as `max_samples`.
    seed_ : int
        A fit with it as `random_state` repeats this one.
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
        self.verbose = verbose

    @with_callbacks
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
            Further parameters of the base estimator's `fit`; those of one value a row are sliced by bag.

        Returns
        -------
        self
        """
        data = self._inputs(X, y, sample_ids, sample_weight, fit_params)
        kept: list[Any] = []
        if self.warm_start and hasattr(self, "groups_"):
            kept = _fit_inputs.groups_to_keep(self, data)
        seed = self.seed_ if kept and self.seed_ is not None else self._fresh_seed(data)
        bags = self._draw(data, seed)
        task = self._task(data, bags, seed)
        done = sum(len(group.numbers) for group in kept)
        groups = kept + [group for _, group in self._run(task, bags, seed, done)]
        self.classes_, self.bags_, self.bag_size_, self.seed_ = data.classes, bags, bags.bag_size, seed
        self.groups_ = sorted(groups, key=lambda group: group.numbers[0])
        self.__dict__.pop("estimators_", None)
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
        data = self._inputs(X, y, sample_ids, sample_weight, fit_params)
        seed = self._fresh_seed(data)
        bags = self._draw(data, seed)
        points = validate_data(self, _fit_inputs.as_rows(X_eval, "X_eval"), skip_check_array=True, reset=False)
        task = self._task(data, bags, seed, X_eval=points)
        proba: Any = None
        for numbers, part in self._run(task, bags, seed):
            if proba is None:
                proba = np.empty((len(bags), *part.shape[1:]), part.dtype)
            proba[list(numbers)] = part
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
        if all(len(group.numbers) == 1 for group in self.groups_):
            sums = _training.sum_blocks(self.groups_, self._points(X), BLOCK, self.n_jobs)
        else:
            bags = self._bag_probabilities(X)
            sums = (_training.add(p for _, p in run) for _, run in groupby(bags, key=lambda bag: bag[0] // BLOCK))
        return _training.add(sums) / self.bags_.n_bags

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
        proba: Any = None
        for number, part in self._bag_probabilities(X):
            if proba is None:
                proba = np.empty((self.bags_.n_bags, *part.shape), part.dtype)
            proba[number] = part
        return BagPredictions(proba, self.bags_, self.classes_)

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
        bags: Bags = self.bags_
        if bags.resampling is None:
            raise ValueError("guarantee needs bags whose draw is known; got adopted ones, which can only be audited.")
        rule, n_classes = self._rule(), len(self.classes_)
        compatible = getattr(rule, "compatible_epsilon", lambda n: None)(n_classes)
        if compatible is None or compatible == 0:
            raise ValueError(f"rule must be one that a theorem makes compatible for {n_classes} labels; got {rule!r}.")
        return selection_stability(
            n_samples=bags.n_samples,
            epsilon=min(float(compatible), 2.0),  # no two probability vectors are farther apart
            bag_size=bags.bag_size or 0,
            n_classes=n_classes,
            n_bags=bags.n_bags,
            resampling=bags.resampling,
            coupling=bags.coupling,
            theorem=theorem,  # type: ignore[arg-type]
            any_rule=not isinstance(rule, InflatedArgmax | FixedMargin),
        )

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

        members, bags, labels, template = _adoption.adopt(fitted, rows, n_samples, classes)
        size = bags.bag_size if bags.bag_size is not None else 0.5
        model = cls(template, len(members), max_samples=size, rule=rule, epsilon=epsilon)
        model._rule()
        model.groups_, model.bags_, model.bag_size_, model.classes_ = members, bags, bags.bag_size, labels
        model.seed_ = None
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(model, name, getattr(fitted, name))
        return model

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted estimators, one a bag."""
        if "groups_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} is not fitted yet and has no estimators_.")
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
        """Return how metadata is routed: `sample_ids` stays here, the rest goes to the base estimator's fit.

        Returns
        -------
        MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._learner(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        )

    @property
    def rule_(self) -> Any:
        """The rule in use: `rule`, or the inflated argmax at `epsilon`."""
        return self._rule()

    def _learner(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _rule(self) -> Any:
        if self.rule is None:
            return InflatedArgmax(self.epsilon)
        if not callable(self.rule):
            raise TypeError(f"rule must be a rule object or a callable; got {validation.shown(self.rule)}.")
        return self.rule

    def _inputs(self, X: Any, y: Any, sample_ids: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Any:
        self._rule()
        validation.count(self.n_estimators, "n_estimators")
        data = _fit_inputs.check(self, X, y, sample_ids, sample_weight, fit_params)
        kind = "bootstrap" if self.bootstrap else "subbagging"
        return replace(
            data, bag_size=validation.resolve_bag_size(self.max_samples, data.n_samples, kind, "max_samples")
        )

    def _fresh_seed(self, data: Any) -> int:
        seed = _fit_inputs.seed_from(self.random_state)
        if self.random_state is None and self.checkpoint is not None:
            return _checkpoint.kept_seed(self.checkpoint, self._fingerprint(data, None), seed)
        return seed

    def _draw(self, data: Any, seed: int) -> Bags:
        kind: Any = "bootstrap" if self.bootstrap else "subbagging"
        return draw_bags(data.n_samples, self.n_estimators, data.bag_size, kind, seed, data.sample_ids)

    def _fingerprint(self, data: Any, seed: int | None, *more: Any) -> str:
        parts = (
            data.X,
            data.codes,
            data.classes,
            data.sample_ids,
            data.fit_params,
            data.bag_size,
            self.bootstrap,
            seed,
        )
        return _checkpoint.fingerprint(self._learner(), *parts, *more)

    def _task(self, data: Any, bags: Bags, seed: int, X_eval: Any = None) -> _training.Task:
        folder = None
        if self.checkpoint is not None:
            folder = _checkpoint.open_folder(self.checkpoint, self._fingerprint(data, seed, X_eval))
        return _training.Task(self._learner(), data.X, data.codes, len(data.classes), data.fit_params, X_eval, folder)

    def _run(self, task: _training.Task, bags: Bags, seed: int, done: int = 0) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Yield (bag numbers, what is kept of the group): what the checkpoint has, then what is trained now."""
        wanted = range(done, len(bags))
        left = set(wanted)
        with bag_progress(self, len(wanted), self.verbose) as advance:
            if task.folder is not None:
                for numbers, kept in _checkpoint.finished(task.folder, wanted, arrays=task.X_eval is not None):
                    left.difference_update(numbers)
                    advance(len(numbers))
                    yield numbers, kept
            if left:
                seed_of = partial(_training.learner_seed, seed)
                for numbers, kept in _training.train(task, bags, sorted(left), seed_of, self.n_jobs):
                    advance(len(numbers))
                    yield numbers, kept

    def _points(self, X: Any) -> Any:
        return validate_data(self, _fit_inputs.as_rows(X), skip_check_array=True, reset=False)

    def _bag_probabilities(self, X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield (bag number, its probabilities at X) in the order of the bags."""
        check_is_fitted(self)
        points = self._points(X)
        ready: dict[int, NDArray[Any]] = {}
        following = 0
        for group, proba in zip(self.groups_, _training.predict_each(self.groups_, points, self.n_jobs), strict=True):
            ready.update(zip(group.numbers, proba, strict=True))
            while following in ready:
                yield following, ready.pop(following)
                following += 1
