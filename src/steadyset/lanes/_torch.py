"""The same network as a PyTorch module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import optional
from steadyset.lanes._architecture import Shapes, named
from steadyset.lanes._layers import Conv2d, Layer


def sequential(layers: tuple[Layer, ...], shapes: Shapes, parameters: NDArray[np.float32]) -> Any:
    """Return an `nn.Sequential` of these layers with these parameters, given in PyTorch's order."""
    torch = optional.require("torch", "torch")
    modules = (_module(torch.nn, layer, dict(shapes).get(f"{i}.weight")) for i, layer in enumerate(layers))
    module = torch.nn.Sequential(*modules)
    state = named(parameters, shapes)
    module.load_state_dict({name: torch.from_numpy(values.copy()) for name, values in state.items()})
    return module.eval()


def _module(nn: Any, layer: Layer, weight: tuple[int, ...] | None) -> Any:
    module = getattr(nn, type(layer).__name__)  # the layers have PyTorch's names
    if weight is None:
        return module(**vars(layer))
    outputs, inputs, *kernel = weight
    more = (kernel, 1, layer.padding) if isinstance(layer, Conv2d) else ()
    return module(inputs, outputs, *more)
