"""StableFeatureSelector: which features are among the k most important, whichever training row is dropped."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from steadyset._base import optional, validation
from steadyset._base.rows import as_rows
from steadyset.audit import StabilityAudit, audit_bags
from steadyset.bags import BagPredictions, Bags
from steadyset.choices import _each_bag
from steadyset.choices._importances import importances
from steadyset.ensemble import one_thread_each, seeded
from steadyset.guarantees import Guarantee
from steadyset.selection import InflatedTopK, Rule, entry_epsilons, top_k


class StableFeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select features that may be among the k most important, whichever training row is dropped.

    Every bag fits the estimator on its own rows. Its importances, divided by their sum, are averaged over the bags, and
    the inflated top k of the mean is selected: at least k features, of which a fit without one row shares k unless the
    mean moves by epsilon or more.

    Parameters
    ----------
    estimator : estimator
        Any estimator that tells how important features are. Scalers and the like belong into it.
    k : int
        How many features are wanted, from 1 to their number.
    n_estimators : int, default=500
        Number of bags.
    importance_getter : str or callable, default="auto"
        "auto": ``feature_importances_``, or the absolute values of ``coef_``, summed over classes. "permutation": the
        mean loss of score on the bag's rows when a feature is shuffled, at least 0. Another string: the attribute, with
        dots, as in ``"named_steps.lasso.coef_"``. A callable gets the fitted estimator and returns one number of at
        least 0 per feature. A bag whose importances are all 0 votes for no feature.
    max_samples : int or float, default=0.5
        Rows per bag, as in :class:`steadyset.StableClassifier`.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement.
    epsilon : float, default=0.05
        Epsilon of the inflated top k.
    n_jobs : int, default=None
        Parallel jobs. Results are the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seeds the bags and their learners.
    checkpoint : path, default=None
        Folder for what finished bags chose: a fit that was interrupted goes on from there, to the same bits. Its files
        are joblib's, which run code when read: trusted input. A damaged file is worked out again.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features,)
        The features that are selected.
    importances_ : ndarray of shape (n_features,)
        The mean over the bags.
    bag_importances_ : ndarray of shape (n_bags, n_features)
    entry_epsilons_ : ndarray of shape (n_features,)
        The epsilon beyond which each feature is selected.
    bags_ : Bags
    bag_size_, seed_, n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where `X` has string column names.

    Notes
    -----
    Theory: :doc:`/theory/choices`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = ss.StableFeatureSelector(DecisionTreeClassifier(), k=2, n_estimators=50, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    bags_: Bags
    support_: NDArray[np.bool_]

    def __init__(
        self,
        estimator: Any,
        k: int,
        n_estimators: int = 500,
        *,
        importance_getter: Any = "auto",
        max_samples: float = 0.5,
        bootstrap: bool = False,
        epsilon: float = 0.05,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.k = k
        self.n_estimators = n_estimators
        self.importance_getter = importance_getter
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, sample_ids: Any = None, **fit_params: Any) -> "StableFeatureSelector":
        """Fit the estimator on every bag and select features.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
        sample_ids
            As in :meth:`steadyset.StableClassifier.fit`.
        **fit_params
            Of the estimator's `fit`; those with one value per row are sliced by bag.

        Returns
        -------
        self
        """
        validation.epsilon(self.epsilon)
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise TypeError(f"estimator must have fit; got {validation.shown(self.estimator)}.")
        if not (isinstance(self.importance_getter, str) or callable(self.importance_getter)):
            raise TypeError(
                'importance_getter must be "auto", "permutation", the name of an attribute or a callable; got '
                f"{validation.shown(self.importance_getter)}."
            )
        rows = validate_data(self, as_rows(X), skip_check_array=True)
        if not hasattr(rows, "columns"):  # frames reach the estimator as they are
            rows = check_array(rows, accept_sparse="csr", dtype=None, ensure_all_finite=False)
        if y is None and get_tags(self).target_tags.required:
            raise ValueError("y must be given: this estimator requires y to be passed, but the target y is None.")
        if y is not None:
            y = y if hasattr(y, "shape") else np.asarray(y)
            check_consistent_length(rows, y)
        n_features = int(rows.shape[1])
        allowed = f"a whole number from 1 to {n_features}, the number of features"
        k = validation.whole(self.k, "k", allowed, 1, n_features)
        data = _each_bag.Data(rows, y, fit_params)
        work = _BagImportances(one_thread_each(self.estimator), self.importance_getter, n_features)
        seed = _each_bag.seed_of(self, work, data)
        bags = _each_bag.draw(self, data, sample_ids, seed)
        found = np.array(_each_bag.Votes(work, self.estimator, data, bags, seed).gathered(self))
        self.bag_importances_, self.importances_ = found, found.mean(axis=0)
        self.support_ = np.asarray(InflatedTopK(k, self.epsilon)(self.importances_))
        self.entry_epsilons_ = np.asarray(entry_epsilons(self.importances_, k=k))
        self.bags_, self.bag_size_, self.seed_ = bags, bags.bag_size, seed
        return self

    def guarantee(self, theorem: str = "best") -> Guarantee:
        """Return how likely a dropped row is to leave fewer than k of the selected features.

        Parameters
        ----------
        theorem : str, default="best"
            As in :func:`steadyset.selection_stability`.

        Returns
        -------
        Guarantee
        """
        check_is_fitted(self)
        return _each_bag.guarantee(self, InflatedTopK(self.k, self.epsilon), self.n_features_in_, theorem)

    def audit(self, left_out: Any = "all", **options: Any) -> StabilityAudit:
        """Measure how many training rows leave fewer than k of the selected features, by reuse of bags.

        Parameters
        ----------
        left_out : "all", int or sequence of row positions, default="all"
        **options
            Those of :func:`steadyset.audit_bags`.

        Returns
        -------
        StabilityAudit
            Of one point, the selection.
        """
        check_is_fitted(self)
        none = np.maximum(1 - self.bag_importances_.sum(axis=1, keepdims=True), 0.0)
        votes = np.hstack([self.bag_importances_, np.where(none > 0.5, 1.0, 0.0)])[:, None, :]
        predictions = BagPredictions(votes, self.bags_, np.arange(self.n_features_in_ + 1))
        return audit_bags(predictions, _AmongFeatures(self.k, self.epsilon), left_out=left_out, **options)

    def rows_that_turn(self) -> NDArray[np.intp]:
        """Return, for each feature, how many training rows take it in or out when left out, by reuse of bags.

        Returns
        -------
        ndarray of int, shape (n_features,)
            Rows that every bag holds have no answer and are not counted.
        """
        check_is_fitted(self)
        rule, turned = InflatedTopK(self.k, self.epsilon), np.zeros(self.n_features_in_, np.intp)
        out = ~self.bags_.membership()
        numbers = out.sum(axis=0)
        answered = np.flatnonzero(numbers)
        for some in np.array_split(answered, max(1, len(answered) * self.n_features_in_ >> 22)):
            means = out[:, some].T.astype(np.float64) @ self.bag_importances_ / numbers[some, None]
            turned += (np.asarray(rule(means)) != self.support_).sum(axis=0)
        return turned

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each feature, the most important first.

        Returns
        -------
        pandas.DataFrame
            Columns: feature, selected, mean_importance, share_of_bags (in whose k largest it is), entry_epsilon, and
            rows_that_turn_it (see :meth:`rows_that_turn`).
        """
        check_is_fitted(self)
        pandas = optional.require("pandas", "data")
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        votes = np.asarray(top_k(self.bag_importances_, self.k)) & (self.bag_importances_ > 0)
        frame = pandas.DataFrame(
            {
                "feature": names,
                "selected": self.support_,
                "mean_importance": self.importances_,
                "share_of_bags": votes.mean(axis=0),
                "entry_epsilon": self.entry_epsilons_,
                "rows_that_turn_it": self.rows_that_turn(),
            }
        )
        order = np.argsort(-self.importances_, kind="stable")
        return frame.iloc[order].reset_index(drop=True)

    def summary(self) -> str:
        """Return the selection in a sentence."""
        check_is_fitted(self)
        number = int(self.support_.sum())
        return (
            f"{number} of {self.n_features_in_} features may be among the {self.k} most important at epsilon = "
            f"{self.epsilon:g}, by {len(self.bags_):,} bags of {self.bag_size_:,} rows."
        )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inner = get_tags(self.estimator)
        except (AttributeError, TypeError):
            return tags
        tags.input_tags = replace(inner.input_tags, pairwise=False)
        tags.target_tags = inner.target_tags
        return tags


@dataclass(frozen=True)
class _BagImportances:
    """What a bag does: fit on its rows, and say how important each feature is."""

    estimator: Any
    getter: Any
    n_features: int

    def __call__(self, rows: _each_bag.Rows, bag: int) -> NDArray[np.float64]:
        fitted = seeded(self.estimator, rows.seed)
        fitted.fit(rows.X, *(() if rows.y is None else (rows.y,)), **rows.fit_params)
        return importances(fitted, self.getter, rows, self.n_features)


@dataclass(frozen=True, repr=False)
class _AmongFeatures(Rule):
    """The inflated top k of all columns but the last, which holds the bags that vote for none."""

    k: int
    epsilon: float

    def __repr__(self) -> str:
        return repr(InflatedTopK(self.k, self.epsilon))

    def __call__(self, proba: Any) -> Any:
        chosen = np.asarray(InflatedTopK(self.k, self.epsilon)(proba[..., :-1]))
        return np.concatenate([chosen, np.zeros_like(chosen[..., :1])], axis=-1)

    def compatible_epsilon(self, n_classes: int | None = None) -> float:
        """Return epsilon: a part of two vectors is no farther apart than they are."""
        return self.epsilon

    @property
    def n_common(self) -> int:
        """The k features that two selections must have in common."""
        return self.k
