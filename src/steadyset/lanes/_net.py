"""NetClassifier: a small network as a scikit-learn classifier that trains many bags at once."""

import os
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from steadyset._base.rows import is_plain, known_codes, label_positions
from steadyset._base.sklearn_doors import check_sample_weight
from steadyset._base.validation import word_seed
from steadyset.lanes import _settings
from steadyset.lanes._architecture import Architecture, architecture, checked_layers
from steadyset.lanes._group import LaneGroup
from steadyset.lanes._layers import Layer
from steadyset.lanes._trainer import Progress, Trained, TrainingData, train_groups


class NetClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A small network with softmax cross-entropy loss, trained by stochastic gradient descent.

    The meaning of every layer and setting is PyTorch's: default initial weights, a new shuffle each epoch, the last
    short batch kept, the loss averaged over the batch. Many bags train at once (:meth:`fit_bags`), each in its own
    lanes of the CPU's vectors; a bag's result depends on its rows, its seed and the CPU's instruction set alone, never
    on the bags trained beside it or on `n_jobs`.

    Parameters
    ----------
    layers : sequence of layers or None, default=None
        From ``steadyset.lanes``; the last one must be `Linear()`. None stands for `Linear(64), ReLU(), Linear()`.
    epochs : int, default=20
        Passes over the training rows.
    batch_size : int, default=32
        Rows per step.
    learning_rate : float, default=0.01
        Learning rate of the first epoch.
    momentum : float, default=0.9
        Momentum of SGD; Adam does not use it.
    nesterov : bool, default=False
        Nesterov's momentum.
    weight_decay : float, default=0.0
        L2 penalty on weights and biases, as in torch.optim.
    optimizer : {"sgd", "adam"}, default="sgd"
        As torch.optim defines them.
    schedule : None, "cosine", "linear" or sequence of float, default=None
        What the learning rate is multiplied by in each epoch: 1, half a cosine from 1 towards 0, a line from 1 towards
        0, or the given numbers.
    scale : None, "minus_one_one" or "standard", default="standard"
        "minus_one_one" maps [0, 255] (uint8) or [0, 1] (floats) to [-1, 1], the paper's scaling of pixels. "standard"
        subtracts the mean and divides by the standard deviation of each feature over the training rows of the bag.
    random_state : int, RandomState or None, default=None
        An int from 0 to 2^64 - 1 is the seed itself: of the initial weights, the shuffles and dropout.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    parameters_ : ndarray of shape (n_parameters,)
        Weights and biases, layer by layer in PyTorch's order.
    loss_curve_ : ndarray of shape (epochs,)
        Mean training loss of each epoch.
    input_shape_ : tuple of int
        Shape of one row of X.
    n_features_in_ : int
        Size of the second axis of X.
    feature_names_in_ : ndarray
        Names of the columns, where X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from steadyset import lanes
    >>> X, y = load_digits(return_X_y=True)
    >>> net = lanes.NetClassifier([lanes.Linear(64), lanes.ReLU(), lanes.Linear()], epochs=5, random_state=0)
    >>> net.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) > 0.85
    True
    """

    classes_: NDArray[Any]
    parameters_: NDArray[np.float32]
    loss_curve_: NDArray[np.float32]
    input_shape_: tuple[int, ...]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        layers: Sequence[Layer] | None = None,
        *,
        epochs: int = 20,
        batch_size: int = 32,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        nesterov: bool = False,
        weight_decay: float = 0.0,
        optimizer: Literal["sgd", "adam"] = "sgd",
        schedule: str | Sequence[float] | None = None,
        scale: Literal["minus_one_one", "standard"] | None = "standard",
        random_state: Any = None,
    ) -> None:
        self.layers = layers
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.nesterov = nesterov
        self.weight_decay = weight_decay
        self.optimizer = optimizer
        self.schedule = schedule
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "NetClassifier":
        """Train on all rows.

        Parameters
        ----------
        X : array-like of shape (n, features), (n, H, W) or (n, C, H, W)
            uint8 and float32 are read as they are, other numbers become float32.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,) or None, default=None
            What the loss of each row is multiplied by.

        Returns
        -------
        self : NetClassifier
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
        X: ArrayLike,
        y: ArrayLike,
        bags: Any,
        seeds: Sequence[int],
        *,
        classes: ArrayLike | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Iterator[LaneGroup]:
        """Train one network on each bag and yield them in groups of up to sixteen, in the order of the bags.

        The estimator itself stays unfitted. A member equals, bit for bit, a clone with `random_state=seed` that is
        fitted on the rows of its bag, with the same classes.

        Parameters
        ----------
        X, y, sample_weight : array-like
            All training rows, their labels and weights, as in :meth:`fit`; a bag's rows are read in place.
        bags : sequence of integer arrays
            `bags[b]` are the rows of bag b.
        seeds : sequence of int
            One seed from 0 to 2^64 - 1 for each bag.
        classes : array-like or None, default=None
            The label space; None takes the labels in y.
        n_jobs : int or None, default=None
            Threads; None means 1 unless in a joblib context.
        progress : callable or None, default=None
            Called in this thread with (bag numbers of a group, epochs that all of them have finished, epochs).

        Yields
        ------
        group : LaneGroup
        """
        prototype = clone(self)
        x, labels = prototype._learn_shapes(X, y, classes)
        settings = _settings.settings_of(prototype, x.dtype == np.uint8)
        network = prototype._architecture().network()
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, x, dtype=np.float32, ensure_non_negative=True)
            weights = np.require(weights, requirements=["C", "A"])
        checked = [word_seed(seed, f"seeds[{b}]") for b, seed in enumerate(seeds)]
        if len(bags) != len(checked):
            raise ValueError(f"seeds must hold one seed for each of the {len(bags)} bags; got {len(checked)}.")
        rows = [np.arange(len(x))] if len(checked) == 1 and isinstance(bags[0], slice) else bags
        data = TrainingData(x, labels, weights, rows, checked)
        return (
            LaneGroup(prototype, numbers, [checked[b] for b in numbers], trained)
            for numbers, trained in train_groups(network, data, settings, n_jobs, progress)
        )

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like
            Points of the shape that the network was trained on.

        Returns
        -------
        proba : ndarray of shape (n_points, n_classes)
        """
        return np.asarray(self._alone().predict_proba(X)[0])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable label of each point.

        Parameters
        ----------
        X : as in `predict_proba`

        Returns
        -------
        labels : ndarray of shape (n_points,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def scaled(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return what the network sees of X: scaled, images as (n, C, H, W). The module of `to_torch` takes this.

        Parameters
        ----------
        X : as in `predict_proba`

        Returns
        -------
        x : ndarray of float32
        """
        check_is_fitted(self)
        x = self._points(X)
        a, b = self._affine(x)
        flat = x.reshape(len(x), -1).astype(np.float32) * np.float32(a) + np.float32(b)
        if self._center is not None:
            flat = (flat - self._center) * self._deviation
        shape = self._architecture().input_shape if len(self.input_shape_) > 1 else self.input_shape_
        return flat.reshape(len(x), *shape)

    def to_torch(self) -> Any:
        """Return the same network, with the same weights, as a `torch.nn.Sequential` in evaluation mode.

        It takes :meth:`scaled` points and returns logits.

        Returns
        -------
        module : torch.nn.Sequential
        """
        check_is_fitted(self)
        from steadyset.lanes._torch import sequential

        return sequential(checked_layers(self.layers), self._architecture().parameters, self.parameters_)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted network to `folder` as safetensors.

        Parameters
        ----------
        folder : path
        """
        self._alone().save(folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "NetClassifier":
        """Read a network that :meth:`save` wrote; nothing in the file is executed.

        Parameters
        ----------
        folder : path

        Returns
        -------
        net : NetClassifier
        """
        return LaneGroup.load(folder).members()[0]

    def _learn_shapes(self, X: Any, y: Any, classes: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Check the training data, keep their shapes, and return rows and label positions."""
        read: dict[str, Any] = {"dtype": [np.float32, np.uint8], "order": "C", "allow_nd": True}
        labels = known_codes(y, classes)
        if labels is not None and type(X) is np.ndarray and X.shape[:1] == labels.shape:
            self.classes_, self.n_features_in_ = classes, X.shape[1]
            x = _plain_numbers(X) if is_plain(self, X) else None
            if x is None:
                x = validate_data(self, X, **read)
        else:
            x, y = validate_data(self, X, y, **read)
            check_classification_targets(y)
            labels, self.classes_ = label_positions(y, classes)
        x = np.require(x, requirements=["C", "A"])  # slices of bytes need not be aligned
        if x.ndim > 4:
            raise ValueError(f"X must have shape (n, features), (n, H, W) or (n, C, H, W); got {x.shape}.")
        if 0 in x.shape[1:]:
            raise ValueError(f"X must have at least one feature; got shape {x.shape}.")
        self.input_shape_ = x.shape[1:]
        return x, labels.astype(np.int32)

    def _points(self, X: Any) -> NDArray[Any]:
        def check(shape: tuple[int, ...]) -> None:
            if tuple(shape[1:]) != self.input_shape_:
                raise ValueError(
                    f"X must hold points of shape {self.input_shape_}, as in fit; got an array of shape {shape}."
                )

        images = len(self.input_shape_) > 1
        if images and hasattr(X, "shape"):
            check(X.shape)
        x: NDArray[Any] = validate_data(self, X, reset=False, dtype=[np.float32, np.uint8], order="C", allow_nd=images)
        x = np.require(x, requirements=["C", "A"])
        check(x.shape)
        return x

    def _architecture(self) -> Architecture:
        return architecture(self.layers, self.input_shape_, len(self.classes_))

    def _affine(self, x: NDArray[Any]) -> tuple[float, float]:
        return _settings.affine(self.scale, x.dtype == np.uint8)

    def _alone(self) -> LaneGroup:
        """Return the fitted network as a group of one."""
        check_is_fitted(self)
        trained = Trained(self.parameters_, self.loss_curve_, self._center, self._deviation)
        return LaneGroup(self, [0], [self._seed], trained.at(None))

    def _member(self, seed: int, trained: Trained) -> "NetClassifier":
        """Return a fitted classifier with the one model `trained`, and the shapes that this one has learned."""
        member: NetClassifier = clone(self).set_params(random_state=seed)
        member._adopt(self)
        own = deepcopy(trained)  # not views, which would keep the whole group in memory
        member.parameters_, member.loss_curve_ = own.parameters, own.losses
        member._center, member._deviation = own.center, own.deviation
        member._seed = seed
        return member

    def _adopt(self, member: "NetClassifier") -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        for name, value in vars(member).items():
            if name.startswith("_") or name.endswith("_"):
                setattr(self, name, value)


def _plain_numbers(X: NDArray[Any]) -> NDArray[Any] | None:
    """Return an array of numbers as it is read, in a fraction of the time that all checks take; None unless finite."""
    if X.dtype == np.uint8:
        return np.ascontiguousarray(X)
    with np.errstate(all="ignore"):
        x = np.ascontiguousarray(X, np.float32)
        return x if np.isfinite(x.sum()) else None
