"""From layers and the shape of the data to a native network, and one sentence for each way it cannot fit."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base.validation import shown, whole
from steadyset.lanes._layers import AvgPool2d, Conv2d, Dropout, Flatten, Layer, Linear, MaxPool2d, ReLU, Tanh
from steadyset.lanes._settings import LARGEST, below_one, count

_KINDS = {
    Conv2d: "conv",
    MaxPool2d: "max_pool",
    AvgPool2d: "avg_pool",
    ReLU: "relu",
    Tanh: "tanh",
    Flatten: "flatten",
    Dropout: "dropout",
    Linear: "linear",
}
DEFAULT_LAYERS: tuple[Layer, ...] = (Linear(64), ReLU(), Linear())


Shapes = tuple[tuple[str, tuple[int, ...]], ...]  # each parameter's name and shape


class LayerSpec(NamedTuple):
    """One layer as native/lanes/network.hpp reads it; `size` is its outputs, or the side of its pooling windows."""

    kind: str
    size: int = 0
    kernel_height: int = 0
    kernel_width: int = 0
    padding: int = 0
    rate: float = 0.0


@dataclass(frozen=True)
class _FittedLayer:
    """A layer for its input: its spec, the shapes of its parameters (weight, bias) and the shape of its output."""

    spec: LayerSpec
    parameters: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]


@dataclass(frozen=True)
class Architecture:
    """Layers that fit together and their input, and the name and shape of each parameter in PyTorch's order."""

    input_shape: tuple[int, int, int]
    specs: tuple[LayerSpec, ...]
    parameters: Shapes

    def network(self) -> _native.LanesNetwork:
        """Return the native network."""
        return _native.LanesNetwork.make(*self.input_shape, list(self.specs))


def named(parameters: NDArray[np.float32], shapes: Shapes) -> dict[str, NDArray[np.float32]]:
    """Return each parameter by its name and in its shape, after the first axes of `parameters`."""
    ends = np.cumsum([math.prod(shape) for _, shape in shapes])
    parts = zip(shapes, np.split(parameters, ends[:-1], axis=-1), strict=True)
    return {name: part.reshape(*parameters.shape[:-1], *shape) for (name, shape), part in parts}


def checked_layers(layers: Any) -> tuple[Layer, ...]:
    """Return the layers as a tuple; None stands for one hidden layer of 64."""
    allowed = "a sequence of layers from steadyset.lanes"
    if layers is None:
        return DEFAULT_LAYERS
    if not isinstance(layers, Iterable):
        raise TypeError(f"layers must be {allowed}; got {shown(layers)}.")
    result = tuple(layers)
    for i, layer in enumerate(result):
        if type(layer) not in _KINDS:
            raise TypeError(f"layers must be {allowed}; got {shown(layer)} at position {i}.")
    if not result or not isinstance(result[-1], Linear):
        came = "no layers" if not result else shown(result[-1])
        raise ValueError(f"layers must end with Linear(), whose outputs are the classes; got {came}.")
    return result


def architecture(layers: Any, row_shape: tuple[int, ...], n_classes: int) -> Architecture:
    """Return the network of these layers for rows of this shape: (features,), (H, W) or (C, H, W)."""
    chain = checked_layers(layers)
    shape = (1, *row_shape) if len(row_shape) == 2 else tuple(row_shape)
    input_shape = (shape[0], 1, 1) if len(shape) == 1 else (shape[0], shape[1], shape[2])
    specs: list[LayerSpec] = []
    parameters: list[tuple[str, tuple[int, ...]]] = []
    for i, layer in enumerate(chain):
        fitted = _fit(layer, f"layers[{i}]", shape, n_classes if i == len(chain) - 1 else None)
        if math.prod(fitted.output) > LARGEST or sum(map(math.prod, fitted.parameters)) > LARGEST:
            raise ValueError(f"layers[{i}] must have fewer than 2^31 values and parameters; got {shown(layer)}.")
        specs.append(fitted.spec)
        parameters += [(f"{i}.{name}", s) for name, s in zip(("weight", "bias"), fitted.parameters, strict=False)]
        shape = fitted.output
    return Architecture(input_shape, tuple(specs), tuple(parameters))


def _fit(layer: Layer, name: str, shape: tuple[int, ...], n_classes: int | None) -> _FittedLayer:
    """Fit a layer to inputs of this shape; `n_classes` is given for the last layer alone."""
    kind = _KINDS[type(layer)]
    if isinstance(layer, Linear):
        outputs = _outputs(layer, name, n_classes)
        if len(shape) != 1:
            raise ValueError(
                f"{name} must come after Flatten(), because it takes flat rows; got rows of shape {shape}."
            )
        return _FittedLayer(LayerSpec(kind, outputs), ((outputs, shape[0]), (outputs,)), (outputs,))
    if isinstance(layer, Conv2d):
        return _fit_conv(layer, name, _image(shape, name, layer))
    if isinstance(layer, MaxPool2d | AvgPool2d):
        channels, height, width = _image(shape, name, layer)
        side = count(layer.kernel_size, f"kernel_size of {name}")
        if side > min(height, width):
            raise ValueError(
                f"kernel_size of {name} must be at most {min(height, width)}, the smaller side of its "
                f"{height} x {width} input; got {side}."
            )
        return _FittedLayer(LayerSpec(kind, side), (), (channels, height // side, width // side))
    if isinstance(layer, Dropout):
        return _FittedLayer(LayerSpec(kind, rate=below_one(layer.p, f"p of {name}")), (), shape)
    out = (math.prod(shape),) if isinstance(layer, Flatten) else shape
    return _FittedLayer(LayerSpec(kind), (), out)


def _fit_conv(layer: Conv2d, name: str, shape: tuple[int, int, int]) -> _FittedLayer:
    channels, height, width = shape
    outputs = count(layer.out_channels, f"out_channels of {name}")
    sides = layer.kernel_size if isinstance(layer.kernel_size, tuple | list) else (layer.kernel_size, layer.kernel_size)
    if len(sides) != 2:
        raise ValueError(f"kernel_size of {name} must be a number or a pair; got {shown(layer.kernel_size)}.")
    tall, wide = (count(side, f"kernel_size of {name}") for side in sides)
    padding = whole(layer.padding, f"padding of {name}", "a whole number that is at least 0", 0, LARGEST // 8)
    if tall > height + 2 * padding or wide > width + 2 * padding:
        raise ValueError(
            f"kernel_size of {name} must be at most its padded input, {height + 2 * padding} x {width + 2 * padding}; "
            f"got {tall} x {wide}."
        )
    out = (outputs, height + 2 * padding - tall + 1, width + 2 * padding - wide + 1)
    spec = LayerSpec("conv", outputs, tall, wide, padding)
    return _FittedLayer(spec, ((outputs, channels, tall, wide), (outputs,)), out)


def _image(shape: tuple[int, ...], name: str, layer: Layer) -> tuple[int, int, int]:
    if len(shape) != 3:
        raise ValueError(
            f"{name} must take images, X of shape (n, H, W) or (n, C, H, W); "
            f"got flat rows of {shape[0]} values before {shown(layer)}."
        )
    return shape[0], shape[1], shape[2]


def _outputs(layer: Linear, name: str, n_classes: int | None) -> int:
    if layer.out_features is None:
        if n_classes is None:
            raise ValueError(
                f"out_features of {name} must be a number, because only the last layer's is known; got None."
            )
        return n_classes
    outputs = count(layer.out_features, f"out_features of {name}")
    if n_classes is not None and outputs != n_classes:
        raise ValueError(f"out_features of {name} must be None or {n_classes}, the number of classes; got {outputs}.")
    return outputs
