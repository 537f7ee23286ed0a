"""A group of bags that were trained together, and predict and are saved together."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.validation import shown
from steadyset.lanes import _layers, _persist
from steadyset.lanes._architecture import named
from steadyset.lanes._trainer import Trained, predict_many

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
        return predict_many(net._architecture().network(), self._trained, x, net._affine(x), n_jobs)

    def members(self) -> list["NetClassifier"]:
        """Return each bag's network as a fitted classifier of its own.

        Returns
        -------
        members : list of NetClassifier
        """
        return [self._prototype._member(seed, self._trained.at(i)) for i, seed in enumerate(self.seeds)]

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
        about, tensors = _persist.read(Path(folder) / _FILE)
        prototype = _prototype_of(about)
        names = [name for name, _ in prototype._architecture().parameters]
        bags = len(about["numbers"])
        try:
            parameters = np.concatenate([tensors[name].reshape(bags, -1) for name in names], axis=1)
            trained = Trained(parameters, tensors["losses"], tensors.get("center"), tensors.get("deviation"))
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"folder must hold a group that steadyset saved; got damaged weights in {folder}."
            ) from error
        return cls(prototype, about["numbers"], about["seeds"], trained)

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


def _prototype_of(about: dict[str, Any]) -> "NetClassifier":
    from steadyset.lanes._net import NetClassifier

    def layer(name: str, fields: dict[str, Any]) -> Any:
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
        return getattr(_layers, name)(**fields)

    layers = None if about["layers"] is None else [layer(*each) for each in about["layers"]]
    net = NetClassifier(layers, **about["arguments"])
    net.classes_ = np.asarray(about["classes"], dtype=about["classes_dtype"])
    net.input_shape_ = tuple(about["input_shape"])
    net.n_features_in_ = about["n_features_in"]
    if about["feature_names"] is not None:
        net.feature_names_in_ = np.asarray(about["feature_names"], dtype=object)
    return net
