"""Networks trained many at a time: each bag has its own lanes of the CPU's vectors."""

from steadyset.lanes._group import LaneGroup
from steadyset.lanes._layers import (
    AvgPool2d,
    Conv2d,
    Dropout,
    Flatten,
    Linear,
    MaxPool2d,
    ReLU,
    Tanh,
    lenet5,
)
from steadyset.lanes._net import NetClassifier

__all__ = [
    "AvgPool2d",
    "Conv2d",
    "Dropout",
    "Flatten",
    "LaneGroup",
    "Linear",
    "MaxPool2d",
    "NetClassifier",
    "ReLU",
    "Tanh",
    "lenet5",
]
