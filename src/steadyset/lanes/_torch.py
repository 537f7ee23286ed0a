"""The same network as a PyTorch module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import optional
from steadyset.lanes._layers import AvgPool2d, Conv2d, Dropout, Flatten, Layer, Linear, MaxPool2d, Tanh


def sequential(
    layers: tuple[Layer, ...], shapes: tuple[tuple[str, tuple[int, ...]], ...], parameters: NDArray[np.float32]
) -> Any:
    """Return an `nn.Sequential` of these layers with these parameters, given in PyTorch's order."""
    torch = optional.require("torch", "torch")
    sizes = dict(shapes)
    module = torch.nn.Sequential(
        *(_module(torch.nn, layer, sizes.get(f"{i}.weight")) for i, layer in enumerate(layers))
    )
    at = 0
    state = {}
    for name, shape in shapes:
        size = int(np.prod(shape))
        state[name] = torch.from_numpy(parameters[at : at + size].reshape(shape).copy())
        at += size
    module.load_state_dict(state)
    return module.eval()


def _module(nn: Any, layer: Layer, weight: tuple[int, ...] | None) -> Any:
    if isinstance(layer, Conv2d):
        assert weight is not None
        return nn.Conv2d(weight[1], weight[0], weight[2:], padding=layer.padding)
    if isinstance(layer, Linear):
        assert weight is not None
        return nn.Linear(weight[1], weight[0])
    if isinstance(layer, MaxPool2d | AvgPool2d):
        return (nn.MaxPool2d if isinstance(layer, MaxPool2d) else nn.AvgPool2d)(layer.kernel_size)
    if isinstance(layer, Dropout):
        return nn.Dropout(layer.p)
    if isinstance(layer, Flatten):
        return nn.Flatten()
    return nn.Tanh() if isinstance(layer, Tanh) else nn.ReLU()
