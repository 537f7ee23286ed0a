"""A group of trees in flat arrays: they predict together, and are saved together."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base.sklearn_doors import num_samples
from steadyset._base.validation import shown
from steadyset.trees import _arrays, _packed
from steadyset.trees._columns import Columns

if TYPE_CHECKING:
    from steadyset.trees._tree import TreeClassifier


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows to predict, as keys; `columns` are those that they were read by."""

    columns: Columns
    keys: NDArray[Any]


class TreeGroup:
    """Trees that were grown together by :meth:`TreeClassifier.fit_bags`, in flat arrays.

    Attributes
    ----------
    numbers : tuple of int
        The number of each bag.
    seeds : tuple of int
        The seed of each bag.
    classes_ : ndarray
        The labels, in the order of the columns of `predict_proba`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from steadyset import trees
    >>> X, y = load_iris(return_X_y=True)
    >>> bags = [np.arange(0, 150, 2), np.arange(1, 150, 2)]
    >>> group = next(trees.TreeClassifier().fit_bags(X, y, bags, seeds=[1, 2]))
    >>> group.numbers, group.predict_proba(X).shape
    ((0, 1), (2, 150, 3))
    """

    def __init__(
        self, prototype: "TreeClassifier", numbers: Sequence[int], seeds: Sequence[int], forest: _native.TreesForest
    ) -> None:
        self._prototype = prototype
        self._forest = forest
        self.numbers = tuple(numbers)
        self.seeds = tuple(seeds)
        self.classes_ = prototype.classes_

    def __repr__(self) -> str:
        return f"TreeGroup(bags {shown(self.numbers)}, {self._forest.n_nodes:,} nodes)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_forest": _packed.state(self._forest)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forest = _packed.forest_of(state["_forest"])

    def predict_proba(self, X: Any, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the probabilities that each bag's tree gives to each point.

        Parameters
        ----------
        X : array-like or frame of shape (n_points, n_features)
            Columns as in fit.
        n_jobs : int or None, default=None
            Threads; None means 1 unless in a joblib context.

        Returns
        -------
        proba : ndarray of shape (n_bags, n_points, n_classes)
        """
        out = np.zeros((len(self.numbers), num_samples(X), len(self.classes_)))
        self.put_proba(self.prepared(X, n_jobs), out, n_jobs)
        return out

    def prepared(self, X: Any, n_jobs: int | None = None, last: Any = None) -> TreeRows:
        """Return rows as trees read them, for any group of the same fit.

        Parameters
        ----------
        X, n_jobs : as in `predict_proba`
        last : TreeRows or None, default=None
            What another group made of the same X: returned where this group reads it too.

        Returns
        -------
        rows : TreeRows
        """
        columns = self._prototype._columns
        if isinstance(last, TreeRows) and last.columns == columns:
            return last
        return TreeRows(columns, self._prototype._keys(X, effective_n_jobs(n_jobs)))

    def add_proba(self, rows: TreeRows, sums: NDArray[np.float64], block: int, n_jobs: int | None = None) -> None:
        """Add the sums of each block of consecutive bags to those of all, in the order of the bags.

        Parameters
        ----------
        rows : TreeRows
            From `prepared`.
        sums : ndarray of shape (n_points, n_classes)
        block : int
            Bags per block.
        n_jobs : as in `predict_proba`
        """
        self._forest.add_shares(rows.keys, block, sums, effective_n_jobs(n_jobs))

    def put_proba(self, rows: TreeRows, out: NDArray[np.float64], n_jobs: int | None = None) -> None:
        """Write the probabilities that each bag's tree gives to each point into an array of zeros.

        Parameters
        ----------
        rows : TreeRows
            From `prepared`.
        out : ndarray of shape (n_bags, n_points, n_classes)
            Contiguous; holds zeros.
        n_jobs : as in `predict_proba`
        """
        self._forest.put_shares(rows.keys, out, effective_n_jobs(n_jobs))

    def apply(self, X: Any, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the leaf that each point ends in, by its number in the tree, level by level from 0.

        Parameters
        ----------
        X, n_jobs : as in `predict_proba`

        Returns
        -------
        leaves : ndarray of shape (n_points, n_bags)
        """
        rows = self.prepared(X, n_jobs)
        out = np.empty((len(rows.keys), len(self.numbers)), np.int64)
        self._forest.leaves(rows.keys, out, effective_n_jobs(n_jobs))
        return out

    def members(self) -> list["TreeClassifier"]:
        """Return each bag's tree as a fitted classifier of its own.

        Returns
        -------
        members : list of TreeClassifier
        """
        return [
            self._prototype._member(seed, forest)
            for seed, forest in zip(self.seeds, _arrays.split_trees(self._forest), strict=True)
        ]

    def gathered(self, runs: Sequence[tuple["TreeGroup", int, int]]) -> "TreeGroup":
        """Return a group of some trees of this group and of others of the same columns.

        Parameters
        ----------
        runs : sequence of (TreeGroup, int, int)
            Neighbours by their group, the first one's place there and their end.

        Returns
        -------
        group : TreeGroup
        """
        forest = _native.TreesForest.joined_runs([(group._forest, first, last) for group, first, last in runs])
        numbers = [number for group, first, last in runs for number in group.numbers[first:last]]
        seeds = [seed for group, first, last in runs for seed in group.seeds[first:last]]
        return TreeGroup(self._prototype, numbers, seeds, forest)

    def reads(self, X: Any) -> bool:
        """Return whether a fit to this table would have learned the same of its columns: types, names, categories.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        same : bool
        """
        return self._prototype._learns_same(X)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The mean over the bags of each tree's normalised decrease of impurity by feature."""
        return np.asarray(_arrays.importances(self._forest).mean(axis=0))

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the trees to `folder` as plain arrays, whole or not at all.

        Parameters
        ----------
        folder : path
            Made when it does not exist.
        overwrite : bool, default=False
            Whether saved trees may be replaced.
        """
        from steadyset.trees import _saved

        _saved.write(folder, self, overwrite)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "TreeGroup":
        """Read trees that :meth:`save` wrote; nothing in the files is executed.

        Parameters
        ----------
        folder : path

        Returns
        -------
        group : TreeGroup
        """
        from steadyset.trees import _saved

        return _saved.read(folder)
