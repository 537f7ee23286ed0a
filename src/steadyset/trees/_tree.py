"""TreeClassifier: a decision tree as a scikit-learn classifier that grows many bags at once."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from steadyset import _native
from steadyset._base.rows import is_plain, known_codes, label_positions
from steadyset._base.sklearn_doors import check_sample_weight
from steadyset._base.validation import word_seed
from steadyset.trees import _arrays, _columns, _packed
from steadyset.trees._class_weights import weigher
from steadyset.trees._group import TreeGroup
from steadyset.trees._grow import Progress, RankedRows, TrainingData, grow_groups
from steadyset.trees._settings import settings_of

_MOST_CLASSES = 65_535
_NUMBERS = [np.float64, np.float32, *(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64))]


class TreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree with the parameters of scikit-learn's, grown exactly, many bags at once (`fit_bags`).

    Every feature is ranked once, over all rows, and all bags share the ranks. Comparing two rows involves no third one,
    and thresholds are midpoints of neighbouring values of the bag: a bag's tree is, to the bit, the tree of its rows
    alone (:doc:`/guide/trees`).

    Values keep their precision: float32 and float64 as they are, whole numbers and bools exactly. NaN goes to the side
    that is better, and where a node has none, to the side with more rows. Strings and categories of pandas and polars
    need no encoder: they are ordered by name, or as their type orders them, and a split takes all categories up to one
    of them to the left.

    Parameters
    ----------
    criterion : {"gini", "entropy"}, default="gini"
        What a split decreases.
    splitter : {"best", "random"}, default="best"
        The best threshold of each feature, or one drawn between the node's extreme values.
    max_depth : int or None, default=None
        Levels of splits.
    max_leaf_nodes : int or None, default=None
        Where given, nodes are split in the order of their decrease of impurity until there are this many leaves.
    min_samples_split : int or float, default=2
        Rows that a node needs to be split; a float is a share of the training rows, rounded up.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split needs; a float is a share of the training rows, rounded up.
    min_impurity_decrease : float, default=0.0
        What a split has to decrease the impurity by, weighted with the node's share of the rows.
    max_features : None, "sqrt", "log2", int or float, default=None
        Features, drawn at random, that a node looks at; None is all of them. Features that are constant at the node
        count, but the search goes on until one is not.
    class_weight : None, "balanced", dict or list of (label, weight), default=None
        What the weights of rows are multiplied by. "balanced" is from the rows of the bag.
    random_state : int, RandomState or None, default=None
        An int from 0 to 2^64 - 1 is the seed itself: of the order in which features are looked at, which decides
        between equally good splits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the decrease of impurity.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray
        Their names, where X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from steadyset.trees import TreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> tree.score(X, y) > 0.95
    True
    """

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _columns: _columns.Columns
    _forest: _native.TreesForest
    _seed: int

    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy"] = "gini",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        class_weight: Mapping[Any, float] | Sequence[tuple[Any, float]] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_features = max_features
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "TreeClassifier":
        """Grow the tree on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, features)
            Numbers, strings and categories; a sparse matrix is made dense.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,) or None, default=None
            A row of weight 0 is not in the tree.

        Returns
        -------
        self : TreeClassifier
        """
        if isinstance(self.random_state, int | np.integer) and not isinstance(self.random_state, bool):
            seed = word_seed(self.random_state, "random_state")
        else:
            seed = int(check_random_state(self.random_state).randint(2**31))
        (group,) = self.fit_bags(X, y, [slice(None)], [seed], sample_weight=sample_weight)
        self._adopt(group.members()[0])
        return self

    def fit_bags(
        self,
        X: Any,
        y: ArrayLike,
        bags: Any,
        seeds: Sequence[int],
        *,
        classes: ArrayLike | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Iterator[TreeGroup]:
        """Grow one tree on each bag and yield them in groups, in the order of the bags.

        The estimator itself stays unfitted. A member equals, bit for bit, a clone with `random_state=seed` that is
        fitted on the rows of its bag alone, whatever the other rows hold.

        Parameters
        ----------
        X, y, sample_weight : as in :meth:`fit`
            All training rows; a bag's rows are read in place. X may be what :meth:`prepared_rows` made of it.
        bags : sequence of integer arrays
            `bags[b]` are the rows of bag b; a row that is drawn twice counts twice.
        seeds : sequence of int
            One seed from 0 to 2^64 - 1 for each bag.
        classes : array-like or None, default=None
            The label space; None takes the labels in y.
        n_jobs : int or None, default=None
            Threads; None means 1 unless in a joblib context.
        progress : callable or None, default=None
            Called in this thread with (bag numbers of a group, trees of it that are grown, trees of it).

        Yields
        ------
        group : TreeGroup
        """
        prototype = clone(self)
        table, labels = prototype._learn(X, y, classes, n_jobs)
        settings = settings_of(prototype, prototype.n_features_in_)
        given = None
        if sample_weight is not None:
            given = check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
        checked = [word_seed(seed, f"seeds[{b}]") for b, seed in enumerate(seeds)]
        if len(bags) != len(checked):
            raise ValueError(f"seeds must hold one seed for each of the {len(bags)} bags; got {len(checked)}.")
        rows = [np.arange(table.n)] if len(checked) == 1 and isinstance(bags[0], slice) else bags
        weigh = weigher(prototype.class_weight, prototype.classes_, labels, given)
        data = TrainingData(table, labels, len(prototype.classes_), rows, checked, weigh)
        return (
            TreeGroup(prototype, numbers, [checked[b] for b in numbers], forest)
            for numbers, forest in grow_groups(data, settings, n_jobs, progress)
        )

    def prepared_rows(self, X: Any, n_jobs: int | None = None) -> RankedRows:
        """Return training rows as `fit_bags` reads them, ranked, so that several calls need not rank them again.

        Parameters
        ----------
        X : as in :meth:`fit`
        n_jobs : as in :meth:`fit_bags`

        Returns
        -------
        rows : RankedRows
            They do not change where X does.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from steadyset.trees import TreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = TreeClassifier()
        >>> rows = tree.prepared_rows(X)
        >>> [next(tree.fit_bags(rows, y, [range(0, 150, step)], seeds=[0])).numbers for step in (2, 3)]
        [(0,), (0,)]
        """
        prototype: TreeClassifier = clone(self)
        return prototype._ranked(X, n_jobs)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each class among the training rows of a point's leaf.

        Parameters
        ----------
        X : array-like or frame of shape (n_points, n_features)

        Returns
        -------
        proba : ndarray of shape (n_points, n_classes)
        """
        return np.asarray(self._alone().predict_proba(X)[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most frequent label of a point's leaf.

        Parameters
        ----------
        X : as in `predict_proba`

        Returns
        -------
        labels : ndarray of shape (n_points,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf that each point ends in, by its number in the tree, level by level from 0.

        Parameters
        ----------
        X : as in `predict_proba`

        Returns
        -------
        leaves : ndarray of shape (n_points,)
        """
        return self._alone().apply(X)[:, 0]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each feature in the decrease of impurity."""
        check_is_fitted(self)
        return np.asarray(_arrays.importances(self._forest)[0])

    def to_sklearn(self) -> Any:
        """Return the same tree as a fitted `DecisionTreeClassifier`, for `plot_tree`, `export_text` and the like.

        It reads X as float32, as all trees of scikit-learn do: where that rounding moves a value across a threshold, it
        predicts otherwise. Categories are their places in their order.

        Returns
        -------
        tree : DecisionTreeClassifier
        """
        check_is_fitted(self)
        from steadyset.trees._sklearn import decision_tree

        return decision_tree(self)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted tree to `folder` as plain arrays.

        Parameters
        ----------
        folder : path
        overwrite : bool, default=False
            Whether saved trees may be replaced.
        """
        self._alone().save(folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "TreeClassifier":
        """Read a tree that :meth:`save` wrote; nothing in the files is executed.

        Parameters
        ----------
        folder : path

        Returns
        -------
        tree : TreeClassifier
        """
        return TreeGroup.load(folder).members()[0]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_forest")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_forest" in state:
            state["_forest"] = _packed.state(self._forest)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_forest" in state:
            self._forest = _packed.forest_of(state["_forest"])

    def _learn(self, X: Any, y: Any, classes: Any, n_jobs: int | None) -> tuple[_native.TreesTable, NDArray[np.uint16]]:
        """Check the training data, keep their columns and classes, and return ranked rows and label positions."""
        if y is None:
            raise ValueError("y must be given: TreeClassifier requires y to be passed, but the target y is None.")
        rows = X if isinstance(X, RankedRows) else self._ranked(X, n_jobs)
        self._columns, self.n_features_in_ = rows.columns, len(rows.columns.kinds)
        if rows.names is not None:
            self.feature_names_in_ = rows.names
        places = known_codes(y, classes)
        if places is not None and len(places) == len(rows):
            self.classes_ = classes
        else:
            labels = column_or_1d(y, warn=True)
            check_consistent_length(rows, labels)
            assert_all_finite(labels, input_name="y")
            check_classification_targets(labels)
            places, self.classes_ = label_positions(labels, classes)
        if len(self.classes_) > _MOST_CLASSES:
            raise ValueError(f"classes must be at most {_MOST_CLASSES:,}; got {len(self.classes_):,}.")
        return rows.table, places.astype(np.uint16)

    def _ranked(self, X: Any, n_jobs: int | None) -> RankedRows:
        rows = self._checked(X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        columns, threads = _columns.learn(rows, names), effective_n_jobs(n_jobs)
        keys = columns.keys(rows, by_column=True, threads=threads)
        return RankedRows(_native.TreesTable(keys, columns.kinds, threads), columns, names)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return X as an array of numbers, or as the frame or the array of objects that it is."""
        known = X.ndim == 2 and X.dtype in _NUMBERS if is_plain(self, X) else False
        if known and (reset or X.shape[1] == self.n_features_in_):
            self.n_features_in_ = X.shape[1]
            return X
        if issparse(X):
            X = X.toarray()
        plain = not _columns.is_frame(X)
        if plain and not (isinstance(X, np.ndarray) and X.dtype.kind in "OU"):
            return validate_data(self, X, reset=reset, dtype=_NUMBERS, ensure_all_finite=False)
        rows = X.astype(object) if plain and X.dtype.kind == "U" else X
        if len(rows.shape) != 2 or 0 in rows.shape:
            raise ValueError(f"X must have two axes, rows and features, of at least 1; got shape {tuple(rows.shape)}.")
        return validate_data(self, rows, reset=reset, skip_check_array=True)

    def _keys(self, X: Any, threads: int) -> NDArray[Any]:
        return self._columns.keys(self._checked(X, reset=False), threads=threads)

    def _learns_same(self, X: Any) -> bool:
        """Return whether a fit to this table would learn the same of its columns."""
        return _columns.learn(self._checked(X, reset=False), getattr(self, "feature_names_in_", None)) == self._columns

    def _alone(self) -> TreeGroup:
        """Return the fitted tree as a group of one."""
        check_is_fitted(self)
        return TreeGroup(self, [0], [self._seed], self._forest)

    def _member(self, seed: int, forest: _native.TreesForest) -> "TreeClassifier":
        """Return a fitted classifier with the one tree, and the columns that this one has learned."""
        member: TreeClassifier = clone(self).set_params(random_state=seed)
        member._adopt(self)
        member._forest, member._seed = forest, seed
        return member

    def _adopt(self, member: "TreeClassifier") -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        for name, value in vars(member).items():
            if name.startswith("_") or name.endswith("_"):
                setattr(self, name, value)
