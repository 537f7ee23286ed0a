"""StableSearch: which settings of a search hold steady when a training row is dropped."""

import inspect
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from steadyset._base import validation
from steadyset._base.rows import as_rows
from steadyset.audit import StabilityAudit
from steadyset.bags import Bags
from steadyset.choices import _each_bag, _settings
from steadyset.choices._stable_choice import StableChoice, stable_choice
from steadyset.choices._votes import equals_itself
from steadyset.guarantees import Guarantee
from steadyset.selection import InflatedArgmax


class StableSearch(MetaEstimatorMixin, BaseEstimator):
    """Search for settings on many bags, and name all those that hold steady.

    Every bag runs the search on its own rows, without a last refit, and votes for the setting that won. The inflated
    argmax of the votes is the set of settings. What is stabilised is the choice, so that it does not matter whether
    the models classify, regress or cluster.

    Parameters
    ----------
    search : object or callable
        A GridSearchCV, RandomizedSearchCV, halving search, or any object with `fit` and then `best_params_`; or a
        callable that gets a bag's X, y (where there is one) and `random_state` (where it takes one) and returns
        anything hashable. Random candidates are drawn once for all bags.
    n_estimators : int, default=500
        Number of bags.
    max_samples : int or float, default=0.5
        Rows per bag, as in :class:`steadyset.StableClassifier`.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement.
    epsilon : float, default=0.1
        Epsilon of the inflated argmax.
    refit : bool, default=False
        Whether the search's estimator is fitted on all rows with each setting of the set, as ``estimators_``.
    n_jobs : int, default=None
        Parallel jobs over the bags. Results are the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seeds the bags, the candidates and the searches.
    checkpoint : path, default=None
        Folder for what finished bags chose: a fit that was interrupted goes on from there, to the same bits. Its files
        are joblib's, which run code when read: trusted input. A damaged file is worked out again.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    choice_ : StableChoice
        The vote: shares, entry epsilons, the set.
    candidates_ : list
        The settings of the set as `best_params_` gave them, the largest share first.
    estimators_ : list of fitted estimators
        One per setting of the set; only with ``refit=True``. Random states that are None are set from `random_state`.
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
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}, cv=3)
    >>> search = ss.StableSearch(grid, n_estimators=20, random_state=0).fit(X, y)
    >>> search.candidates_
    [{'max_depth': 2}]
    """

    bags_: Bags
    choice_: StableChoice

    def __init__(
        self,
        search: Any,
        n_estimators: int = 500,
        *,
        max_samples: float = 0.5,
        bootstrap: bool = False,
        epsilon: float = 0.1,
        refit: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: Any = None,
        verbose: int = 0,
    ) -> None:
        self.search = search
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.epsilon = epsilon
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, sample_ids: Any = None, **fit_params: Any) -> "StableSearch":
        """Run the search on every bag and count the votes.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, ...)
        y : array of shape (n_samples,), optional
            None for searches without a target.
        sample_ids
            As in :meth:`steadyset.StableClassifier.fit`.
        **fit_params
            Of the search's `fit`; those with one value per row are sliced by bag.

        Returns
        -------
        self
        """
        validation.epsilon(self.epsilon)
        _check(self.search, self.refit)
        rows = validate_data(self, as_rows(X), skip_check_array=True)
        if y is not None:
            check_consistent_length(rows, y)
        data = _each_bag.Data(rows, y, fit_params)
        seed = _each_bag.seed_of(self, self.search, data)
        bags = _each_bag.draw(self, data, sample_ids, seed)
        work = _bag_search(self.search, seed)
        learner = getattr(self.search, "estimator", None)
        chosen = _each_bag.Votes(work, learner, data, bags, seed).gathered(self)
        settings = dict(reversed(chosen))
        self.choice_ = stable_choice([_Setting(form, settings[form]) for form, _ in chosen], self.epsilon, bags)
        self.bags_, self.bag_size_, self.seed_ = bags, bags.bag_size, seed
        if self.refit:
            own = {name: value for name, value in fit_params.items() if name != "groups"}  # those are the splitter's
            target = () if y is None else (y,)
            fits = (_with_setting(self.search.estimator, setting, seed) for setting in self.candidates_)
            self.estimators_ = [fit.fit(rows, *target, **own) for fit in fits]
        return self

    @property
    def candidates_(self) -> list[Any]:
        """The settings that hold steady, the largest share first."""
        check_is_fitted(self)
        return [setting.value for setting in self.choice_.candidates]  # type: ignore[attr-defined]

    def guarantee(self, theorem: str = "best") -> Guarantee:
        """Return how likely a dropped row is to make the sets of settings disjoint.

        Parameters
        ----------
        theorem : str, default="best"
            As in :func:`steadyset.selection_stability`.

        Returns
        -------
        Guarantee
        """
        check_is_fitted(self)
        return _each_bag.guarantee(self, InflatedArgmax(self.epsilon), None, theorem)

    def audit(self, left_out: Any = "all", random_state: int | None = None) -> StabilityAudit:
        """Measure how many training rows turn the set of settings into a disjoint one, by reuse of bags.

        Parameters
        ----------
        left_out, random_state
            As in :func:`steadyset.audit_bags`.

        Returns
        -------
        StabilityAudit
            Of one point, the choice.
        """
        check_is_fitted(self)
        return self.choice_.audit(left_out, random_state)

    def summary(self) -> str:
        """Return the choice in a sentence or two."""
        check_is_fitted(self)
        return self.choice_.summary()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "choice_")


@dataclass(frozen=True)
class _Setting:
    """A setting as bags vote for it: equal where its canonical form is."""

    form: Hashable
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Setting) and self.form == other.form

    def __hash__(self) -> int:
        return hash(self.form)

    def __repr__(self) -> str:
        if isinstance(self.value, dict):
            return ", ".join(f"{name}={value}" for name, value in self.value.items())
        return repr(self.value.item() if isinstance(self.value, np.generic) else self.value)

    __str__ = __repr__


@dataclass(frozen=True)
class _BagSearch:
    """What a bag does: search on its rows, and say what won."""

    search: Any
    decide: Callable[[Any], Any] | None = None

    def __call__(self, rows: _each_bag.Rows, bag: int) -> tuple[Hashable, Any]:
        target = () if rows.y is None else (rows.y,)
        if _is_function(self.search):
            takes_seed = "random_state" in inspect.signature(self.search).parameters
            seeded = {"random_state": rows.seed} if takes_seed else {}
            value = self.search(rows.X, *target, **rows.fit_params, **seeded)
        else:
            search = _settings.searched(self.search, rows.seed)
            search.fit(rows.X, *target, **rows.fit_params)
            if not (hasattr(search, "best_params_") or hasattr(search, "cv_results_")):
                raise _no_search(self.search)
            value = _settings.best(search, self.decide)
        try:
            return (_hashed if _is_function(self.search) else _settings.canonical)(value), value
        except (TypeError, RecursionError):  # what holds itself has no end
            raise TypeError(f"the choice must be hashable; got {validation.shown(value)}.") from None


def _bag_search(search: Any, seed: int) -> _BagSearch:
    if _is_function(search):
        return _BagSearch(search)
    return _BagSearch(_settings.settled(search, seed), _settings.decider(search))


def _hashed(value: Any) -> Hashable:
    hash(value)
    if not equals_itself(value):
        raise ValueError(f"the choice must equal itself, so that bags can agree; got {validation.shown(value)}.")
    return value  # type: ignore[no-any-return]


def _with_setting(estimator: Any, setting: dict[str, Any], seed: int) -> Any:
    """Return an estimator with a setting, of whose parts there are clones; random states that are None are set."""
    fit = clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in setting.items()})
    unset = sorted(
        name
        for name, value in fit.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    )
    states = np.random.SeedSequence(seed).generate_state(len(unset)) if unset else ()
    return fit.set_params(**{name: int(state) for name, state in zip(unset, states, strict=True)})


def _is_function(search: Any) -> bool:
    return callable(search) and not hasattr(search, "fit")


def _check(search: Any, refit: bool) -> None:
    if isinstance(search, type) or not (hasattr(search, "fit") or callable(search)):
        raise _no_search(search)
    if refit and not hasattr(search, "estimator"):
        raise ValueError(f"refit must be False for a search without an estimator; got {validation.shown(search)}.")
    from sklearn.model_selection import PredefinedSplit  # slow to import, and a search has imported it

    splits = getattr(search, "cv", None)
    if isinstance(splits, PredefinedSplit) or (isinstance(splits, Iterable) and not hasattr(splits, "split")):
        raise ValueError(
            "cv of the search must be a number of folds or a splitter, since every bag has rows of its own; got "
            f"{validation.shown(splits)}, which names rows of one table."
        )


def _no_search(search: Any) -> TypeError:
    return TypeError(
        "search must be an object with fit and best_params_, or a callable that returns a hashable choice; "
        f"got {validation.shown(search)}."
    )
