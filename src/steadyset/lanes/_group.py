"""A group of bags that were trained together, and predict and are saved together."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from steadyset._base.saved_folders import labels_from_json
from steadyset._base.validation import shown
from steadyset.lanes import _layers, _persist
from steadyset.lanes._architecture import named
from steadyset.lanes._settings import settings_of
from steadyset.lanes._trainer import Trained, joined_runs, predict_many

if TYPE_CHECKING:
    from steadyset.lanes._net import NetClassifier

_FILE = "group.safetensors"
_STATISTICS = ("losses", "center", "deviation")


class LaneGroup:
    """Bags that were trained together by :meth:`NetClassifier.fit_bags`.

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
    >>> from steadyset import lanes
    >>> X, y = load_iris(return_X_y=True)
    >>> bags = [np.arange(0, 150, 2), np.arange(1, 150, 2)]
    >>> net = lanes.NetClassifier([lanes.Linear()], epochs=2)
    >>> group = next(net.fit_bags(X, y, bags, seeds=[1, 2]))
    >>> group.numbers, group.predict_proba(X).shape
    ((0, 1), (2, 150, 3))
    """

    def __init__(
        self, prototype: "NetClassifier", numbers: Sequence[int], seeds: Sequence[int], trained: Trained
    ) -> None:
        self._prototype = prototype
        self._trained = trained
        self.numbers = tuple(numbers)
        self.seeds = tuple(seeds)
        self.classes_ = prototype.classes_

    def __repr__(self) -> str:
        return f"LaneGroup(bags {shown(self.numbers)})"

    def predict_proba(self, X: Any, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the probabilities that each bag's network gives to each point.

        Parameters
        ----------
        X : array-like of shape (n_points, ...)
            Points of the shape that the bags were trained on.
        n_jobs : int or None, default=None
            Threads; None means 1 unless in a joblib context.

        Returns
        -------
        proba : ndarray of shape (n_bags, n_points, n_classes)
        """
        net = self._prototype
        x = net._points(X)
        proba = predict_many(net._architecture().network(), self._trained, x, net._affine(x), n_jobs)
        overflown = np.isnan(proba[:, :, 0])
        if overflown.any():
            model, point = np.argwhere(overflown)[0]
            raise FloatingPointError(
                f"the network of bag {self.numbers[model]} (seed {self.seeds[model]}) must give finite logits; got "
                f"others at row {point} of X: its weights or that row's values are too large."
            )
        return proba

    def members(self) -> list["NetClassifier"]:
        """Return each bag's network as a fitted classifier of its own.

        Returns
        -------
        members : list of NetClassifier
        """
        return [self._prototype._member(seed, self._trained.at(i)) for i, seed in enumerate(self.seeds)]

    def gathered(self, runs: Sequence[tuple["LaneGroup", int, int]]) -> "LaneGroup":
        """Return a group of some networks of this group and of others of the same layers.

        Parameters
        ----------
        runs : sequence of (LaneGroup, int, int)
            Neighbours by their group, the first one's place there and their end.

        Returns
        -------
        group : LaneGroup
        """
        trained = joined_runs([(group._trained, first, last) for group, first, last in runs])
        numbers = [number for group, first, last in runs for number in group.numbers[first:last]]
        seeds = [seed for group, first, last in runs for seed in group.seeds[first:last]]
        return LaneGroup(self._prototype, numbers, seeds, trained)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the group to `folder` as one safetensors file, whole or not at all.

        The weights carry the names of PyTorch's `nn.Sequential`, with the bags as first axis.

        Parameters
        ----------
        folder : path
            Made when it does not exist.
        """
        tensors = {name: getattr(self._trained, name) for name in _STATISTICS}
        tensors |= named(self._trained.parameters, self._prototype._architecture().parameters)
        _persist.write(Path(folder) / _FILE, self._about(), tensors)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "LaneGroup":
        """Read a group that :meth:`save` wrote; nothing in the file is executed.

        Parameters
        ----------
        folder : path

        Returns
        -------
        group : LaneGroup
        """
        path = Path(folder) / _FILE
        about, tensors = _persist.read(path)
        try:
            if tensors["losses"].shape[1:] != (about["arguments"]["epochs"],):  # before a rate is made for each of them
                raise ValueError("its losses are not those of its epochs")
            prototype = _prototype_of(about)
            numbers, seeds = _whole_numbers(about["numbers"]), _whole_numbers(about["seeds"])
            if not numbers or len(set(numbers)) != len(numbers) or len(seeds) != len(numbers):
                raise ValueError("its bags are not numbered one by one")
            trained = _trained_of(prototype, tensors, len(numbers))
        except Exception as error:
            raise _persist.damaged(path, str(error).rstrip(".").replace("\n", " ")) from error
        return cls(prototype, numbers, seeds, trained)

    def _about(self) -> dict[str, Any]:
        net = self._prototype
        arguments = net.get_params(deep=False)
        layers = arguments.pop("layers")
        arguments.pop("random_state")
        if arguments["schedule"] is not None and not isinstance(arguments["schedule"], str):
            arguments["schedule"] = [float(value) for value in arguments["schedule"]]
        return {
            "arguments": {k: v.item() if isinstance(v, np.generic) else v for k, v in arguments.items()},
            "layers": None if layers is None else [[type(layer).__name__, vars(layer)] for layer in layers],
            "classes": net.classes_.tolist(),
            "classes_dtype": net.classes_.dtype.str,
            "input_shape": list(net.input_shape_),
            "n_features_in": net.n_features_in_,
            "feature_names": list(net.feature_names_in_) if hasattr(net, "feature_names_in_") else None,
            "numbers": list(self.numbers),
            "seeds": list(self.seeds),
        }


def _whole_numbers(values: Any) -> list[int]:
    if not isinstance(values, list) or not all(type(value) is int and value >= 0 for value in values):
        raise ValueError("bag numbers and seeds must be whole numbers")
    return values


def _trained_of(net: "NetClassifier", tensors: dict[str, NDArray[np.float32]], bags: int) -> Trained:
    """Return the models, if there is every tensor of the network and of its training, in its shape, and no other."""
    shapes = dict(net._architecture().parameters)
    features = math.prod(net.input_shape_)
    statistics: dict[str, tuple[int, ...]] = {"losses": (net.epochs,)}
    if net.scale == "standard":
        statistics |= {"center": (features,), "deviation": (features,)}
    expected = {name: (bags, *shape) for name, shape in (shapes | statistics).items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != expected:
        raise ValueError("its tensors are not those of its layers")
    if any(tensor.dtype != np.float32 for tensor in tensors.values()):
        raise ValueError("its tensors are not 32-bit numbers")
    parameters = np.concatenate([tensors[name].reshape(bags, -1) for name in shapes], axis=1)
    return Trained(parameters, tensors["losses"], tensors.get("center"), tensors.get("deviation"))


def _prototype_of(about: dict[str, Any]) -> "NetClassifier":
    from steadyset.lanes._net import NetClassifier

    layers = None if about["layers"] is None else [_layer_of(*each) for each in about["layers"]]
    net = NetClassifier(layers, **about["arguments"])
    settings_of(net, is_uint8=False)
    net.classes_ = labels_from_json({"dtype": about["classes_dtype"], "values": about["classes"]})
    if len(set(net.classes_.tolist())) != len(net.classes_):
        raise ValueError("its classes are not distinct")
    net.input_shape_ = tuple(_whole_numbers(about["input_shape"]))
    net.n_features_in_ = about["n_features_in"]
    names = about["feature_names"]
    if not 1 <= len(net.input_shape_) <= 3 or net.n_features_in_ != net.input_shape_[0]:
        raise ValueError("its points have no shape")
    if names is not None:
        if len(names) != net.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ValueError("its features have other names")
        net.feature_names_in_ = np.asarray(names, dtype=object)
    return net


def _layer_of(name: str, fields: dict[str, Any]) -> Any:
    kinds = {kind.__name__: kind for kind in get_args(_layers.Layer)}
    return kinds[name](**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})
