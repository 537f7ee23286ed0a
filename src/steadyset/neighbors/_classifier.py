"""StableNeighborsClassifier: k-nearest neighbours averaged over all bags, in closed form."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from steadyset._base import cpu, validation
from steadyset._base.label_codes import encode
from steadyset.audit import NearAudit, NearModels, StabilityAudit, audit_near_rows, drawn_rows
from steadyset.bags import content_words
from steadyset.guarantees import Guarantee
from steadyset.neighbors import _models, _promise, _saved
from steadyset.neighbors._bounds import EuclideanBounds
from steadyset.neighbors._certificates import NeighborCertificates, certified
from steadyset.neighbors._promise import Bagging
from steadyset.neighbors._search import METRICS, Index, bounds_of, nearest, points_at_a_time
from steadyset.neighbors._tables import Table, table_of
from steadyset.neighbors._weights import UNIT, NeighborWeights, neighbor_weights
from steadyset.selection import SetPredictor

_MODEL_NUMBERS = 1 << 22  # of the models without a row that are made at a time


class StableNeighborsClassifier(SetPredictor, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Average k-nearest neighbours over all bags there are, exactly, and predict sets of labels that hold steady.

    The mean over all bags is a weighted vote of the nearest rows, whose weights depend on their rank alone. So nothing
    is drawn and nothing is trained, the guarantee is that of infinitely many bags, and the model without any one
    training row costs a sum.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that vote in a bag, each with the same weight. A bag of fewer rows votes with all of them.
    max_samples : int or float, default=0.5
        Rows per bag, as in :class:`StableClassifier`; with `delta`, the most that there may be.
    bootstrap : bool, default=False
        Whether the rows of a bag are drawn with replacement.
    epsilon : float, default=0.05
        Epsilon of the inflated argmax. Sets and guarantee both grow with it.
    rule : rule object or callable, default=None
        What selects the labels; None is the inflated argmax at `epsilon`. A rule given here wins over `epsilon`.
    delta : float, default=None
        A promise to keep: bags are the largest on the grid of sizes, up to `max_samples`, whose guarantee is at most
        this. 0 is for every row.
    metric : {"euclidean", "cosine", "manhattan"} or callable, default="euclidean"
        A callable takes a point and a row and returns a number; it is called for every pair.
    classes : sequence of labels, default=None
        The label space, where it is larger than the labels in `y`.
    n_jobs : int, default=None
        Threads; None for the CPUs that this process may use. Results are the same to the bit for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The label space, sorted.
    bag_size_ : int
        Rows per bag. A refit without a row has the same, or :meth:`guarantee` says to pass it as `max_samples`.
    rule_ : rule object or callable
        The rule in use.
    weights_ : ndarray of shape (n_ranks,)
        The weight of the nearest row, the second nearest and so on; all others together weigh less than 2**-63.
    n_samples_fit_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where `X` has string column names.

    See Also
    --------
    StableClassifier : The same for any learner, with bags that are drawn.

    Notes
    -----
    The order of two rows at a point depends on those two alone: on their distances, which are summed in a fixed order,
    and where these are equal on a digest of what the rows hold. Products of blocks in 32 bits only find candidates.
    Sparse rows have other digests than the same rows in dense form, so that ties may come in another order.

    Scaling that was learned from the training rows voids the guarantee, and so does an encoder that saw them
    (:doc:`/howto/deep-model`). The single label of `predict` is not covered by it.

    Theory: :doc:`/theory/neighbors`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ss.StableNeighborsClassifier(epsilon=0.3).fit(X, y)
    >>> ss.to_labels(model.predict_set(X[[0, 70]]), ["setosa", "versicolor", "virginica"])
    [('setosa',), ('versicolor', 'virginica')]
    >>> model.audit(X).max_instability
    0.0
    >>> f"{model.guarantee().delta:.3f}"
    '0.048'
    """

    rows_: NDArray[Any]
    columns_: NDArray[np.int32] | None
    ends_: NDArray[np.int64] | None
    words_: NDArray[np.uint64]
    codes_: NDArray[np.intp]
    center_: NDArray[np.float64] | None
    scale_: float | None

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        max_samples: float = 0.5,
        bootstrap: bool = False,
        epsilon: float = 0.05,
        rule: Any = None,
        delta: float | None = None,
        metric: str | Callable[[Any, Any], float] = "euclidean",
        classes: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.epsilon = epsilon
        self.rule = rule
        self.delta = delta
        self.metric = metric
        self.classes = classes
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> "StableNeighborsClassifier":
        """Keep the training rows.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Finite numbers. Arrays of float32 and float64, memory maps too, are kept as they are and not copied.
        y : array of shape (n_samples,)
            Labels: strings, bools or integers.

        Returns
        -------
        self
        """
        self._check_parameters()
        if y is None:
            raise ValueError(
                f"y must be given: {type(self).__name__} requires y to be passed, but the target y is None."
            )
        rows = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_consistent_length(rows, y)
        codes, classes = encode(y, self.classes)
        table = table_of(rows)
        size = self._bagging(len(classes)).size(table.n_rows)
        self.words_ = np.ascontiguousarray(content_words(rows, classes[codes]))
        self.rows_, self.columns_, self.ends_ = table.values, table.columns, table.ends
        self.codes_, self.classes_, self.bag_size_ = codes, classes, size
        return self._remember_bounds()

    def refit(self, X: Any, y: Any) -> "StableNeighborsClassifier":
        """Take another table in, with rows added, dropped or changed; the same bits as a fresh fit on it.

        Parameters
        ----------
        X, y : as in `fit`
            The whole new table, with the columns of the first.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        validate_data(self, X, accept_sparse="csr", reset=False, skip_check_array=True)
        return self.fit(X, y)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the mean over all bags of the share of each label among the neighbours.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_points, n_classes)
            Columns follow ``classes_``. Off by rounding only.
        """
        return np.concatenate([votes.proba for votes in self._votes(X)])

    def spread(self, X: Any) -> NDArray[np.float64]:
        """Return sigma^2 at each point: how far the votes of one bag lie from their mean, in mean square.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_points,)
            Exact but for rounding, which is added. As `sigma2` of :func:`steadyset.selection_stability` it gives the
            guarantee of a point.
        """
        return np.concatenate([votes.spread for votes in self._votes(X)])

    def oob_proba(self, X: Any) -> NDArray[np.float64]:
        """Return for each training row the mean over the bags that do not hold it: the model without it.

        Parameters
        ----------
        X : as in `fit`
            The training rows, in the order of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        points = self._points(X)
        if points.n_rows != self.n_samples_fit_:
            raise ValueError(f"X must be the {self.n_samples_fit_:,} rows of the fit; got {points.n_rows:,} rows.")
        found, start = [], 0
        for part in self._near_models(points, cpu.threads(self.n_jobs)):
            own = part.rows == np.arange(start, start + len(part.rows))[:, None]
            rank = np.where(own.any(axis=1), own.argmax(axis=1), -1)  # -1: one of many equal rows
            found.append(part.models[part.number[np.arange(len(rank)), rank]])
            start += len(rank)
        return np.concatenate(found)

    def audit(
        self,
        X: Any,
        rule: Any = None,
        *,
        left_out: Any = "all",
        random_state: int | None = None,
        n_jobs: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> StabilityAudit:
        """Measure, exactly, how many training rows turn each point's set into a disjoint one when left out.

        Parameters
        ----------
        X : as in `fit`
            The points to audit.
        rule : rule object or callable, optional
            Default: the model's own. A callable is called on the points of one model at a time.
        left_out, random_state, progress
            As for :func:`steadyset.audit_bags`.
        n_jobs : int, optional
            Default: the model's own.

        Returns
        -------
        StabilityAudit
            ``spread`` is sigma^2 itself. There is no Monte Carlo error, and no row has a score.
        """
        check_is_fitted(self)
        seed = validation.random_seed(random_state)
        n = self.n_samples_fit_
        points, threads = self._points(X), cpu.threads(self.n_jobs if n_jobs is None else n_jobs)
        asked = NearAudit(points.n_rows, n, drawn_rows(left_out, n, seed), self._algorithm(), seed, threads)
        chosen = self._rule() if rule is None else rule
        return audit_near_rows(self._blocks(points, threads), chosen, asked, progress)

    def certify(self, X: Any) -> NeighborCertificates:
        """Say of each point which training rows can turn its set into a disjoint one, exactly and with certainty.

        Parameters
        ----------
        X : as in `fit`
            The points.

        Returns
        -------
        NeighborCertificates
        """
        check_is_fitted(self)
        n, points, probas = self.n_samples_fit_, self._points(X), []
        threads = cpu.threads(self.n_jobs)
        asked = NearAudit(points.n_rows, n, drawn_rows("all", n, 0), self._algorithm(), threads=threads)

        def blocks() -> Iterator[_models.NeighborBlock]:
            for block in self._blocks(points, threads):
                probas.append(block.votes.proba)
                yield block

        found = audit_near_rows(blocks(), self._rule(), asked)
        kind = "bootstrap" if self.bootstrap else "subbagging"
        return certified(found, np.concatenate(probas), self._rule(), self.bag_size_, kind)

    def guarantee(self, theorem: str = "best", rule: Any = None) -> Guarantee:
        """Return what is guaranteed of every point: rows, bag size, label space and rule, infinitely many bags.

        Parameters
        ----------
        theorem : str, default="best"
            As in :func:`steadyset.selection_stability`.
        rule : rule object, optional
            Another rule than the model's own.

        Returns
        -------
        Guarantee
            With small bags the promise is 0, for every row. At one point a sharper one follows from :meth:`spread`.
        """
        check_is_fitted(self)
        bagging = self._bagging(len(self.classes_), rule)
        return _promise.guarantee(bagging, self.n_samples_fit_, self.bag_size_, self._weights().depth, theorem)

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model into a folder of plain ``.npy`` files and a JSON manifest, without pickle.

        Parameters
        ----------
        folder : path
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether a saved model that is already there may be replaced.
        """
        check_is_fitted(self)
        _saved.write(self, folder, overwrite)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "StableNeighborsClassifier":
        """Read what :meth:`save` wrote; anything else is refused. Large arrays are memory-mapped.

        Parameters
        ----------
        folder : path

        Returns
        -------
        StableNeighborsClassifier
        """
        model: StableNeighborsClassifier = _saved.read(cls, folder)
        return model._remember_bounds()

    @property
    def n_samples_fit_(self) -> int:
        """Number of training rows."""
        check_is_fitted(self)
        return len(self.codes_)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The weight of each rank."""
        return np.multiply(self._weights().whole, UNIT, dtype=np.float64)

    @property
    def row_digests_(self) -> NDArray[np.uint64]:
        """A digest of what each training row and its label hold."""
        return self.words_

    def __sklearn_is_fitted__(self) -> bool:
        return "codes_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _remember_bounds(self) -> "StableNeighborsClassifier":
        """Keep what suits the search to these rows; it does not change what is found."""
        bounds = bounds_of(self._table, self.metric)
        self.center_, self.scale_ = None, None
        if isinstance(bounds, EuclideanBounds):
            self.center_, self.scale_ = bounds.center, bounds.scale
        return self

    @property
    def _table(self) -> Table:
        return Table(self.rows_, self.n_features_in_, self.columns_, self.ends_)

    @property
    def _index(self) -> Index:
        table = self._table
        if self.metric != "euclidean" or self.center_ is None or self.scale_ is None:  # the metric may be set anew
            return Index(table, self.words_, self.metric, bounds_of(table, self.metric))
        return Index(table, self.words_, self.metric, EuclideanBounds(self.center_, self.scale_))

    def _check_parameters(self) -> None:
        self._rule()
        validation.count(self.n_neighbors, "n_neighbors")
        if not isinstance(self.bootstrap, bool | np.bool_):
            raise TypeError(f"bootstrap must be True or False; got {validation.shown(self.bootstrap)}.")
        if not callable(self.metric) and (not isinstance(self.metric, str) or self.metric not in METRICS):
            allowed = ", ".join(f'"{name}"' for name in METRICS)
            raise ValueError(f"metric must be {allowed} or a callable; got {validation.shown(self.metric)}.")

    def _bagging(self, n_classes: int, rule: Any = None) -> Bagging:
        kind = "bootstrap" if self.bootstrap else "subbagging"
        chosen = self._rule() if rule is None else rule
        return Bagging(self.max_samples, self.delta, chosen, n_classes, self.n_neighbors, kind)

    def _weights(self, fewer: int = 0) -> NeighborWeights:
        """Return the weights for all rows, or for some fewer."""
        check_is_fitted(self)
        return neighbor_weights(len(self.codes_) - fewer, self.bag_size_, self.n_neighbors, bool(self.bootstrap))

    def _points(self, X: Any) -> Table:
        return table_of(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False))

    @property
    def _labels(self) -> _models.Labels:
        return _models.Labels(np.ascontiguousarray(self.codes_, np.int64), len(self.classes_))

    def _votes(self, X: Any) -> Iterator[_models.Votes]:
        """Yield what the nearest rows vote for, some points at a time."""
        weights, points, threads = self._weights(), self._points(X), cpu.threads(self.n_jobs)
        for rows in self._nearest(points, weights.depth, threads):
            yield self._labels.votes(rows, weights, threads)

    def _nearest(self, points: Table, depth: int, threads: int) -> Iterator[NDArray[np.int32]]:
        """Yield the nearest rows, some points at a time."""
        many = points_at_a_time(depth)
        for start in range(0, points.n_rows, many):
            yield nearest(self._index, points.part(start, min(start + many, points.n_rows)), depth, threads)

    def _blocks(self, points: Table, threads: int) -> Iterator[_models.NeighborBlock]:
        """Yield the points, some at a time, with all that the models without each row are made of."""
        own, fewer, labels = self._weights(), self._weights(1), self._labels
        depth = min(max(own.depth, fewer.depth + 1), len(self.codes_))
        few = max(1, _MODEL_NUMBERS // (depth * labels.n_classes))
        for rows in self._nearest(points, depth, threads):
            yield _models.NeighborBlock(labels, rows, labels.votes(rows, own, threads), fewer, few, threads)

    def _near_models(self, points: Table, threads: int) -> Iterator[NearModels]:
        """Yield the models without each row, some points at a time."""
        for block in self._blocks(points, threads):
            for _, part in block.parts():
                yield part

    def _algorithm(self) -> str:
        drawn = "with" if self.bootstrap else "without"
        return (
            f"Leave-one-out models of infinitely many bags of {self.bag_size_:,} of {self.n_samples_fit_:,} rows, "
            f"drawn {drawn} replacement, exactly, compared with the model on all rows."
        )
