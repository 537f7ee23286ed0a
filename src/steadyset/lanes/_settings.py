"""How a network is trained: the estimator's parameters, checked, as the native code takes them."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steadyset._base.validation import number, shown, whole

SCALES = (None, "minus_one_one", "standard")
LARGEST = 2**31 - 1  # of the native code's whole numbers


@dataclass(frozen=True)
class Settings:
    """Everything but layers, rows and seeds that decides how a network is trained, under the native code's names."""

    batch_size: int
    rates: list[float]  # the learning rate of each epoch
    optimizer: str
    momentum: float
    weight_decay: float
    nesterov: bool
    standard: bool  # whether each bag's own statistics scale its features, instead of scale and shift
    scale: float
    shift: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def native(self) -> dict[str, Any]:
        """Return the settings as the native trainer takes them."""
        return asdict(self)


def settings_of(net: Any, is_uint8: bool) -> Settings:
    """Return the settings of an estimator, checked, for data of this kind."""
    epochs = count(net.epochs, "epochs")
    if net.optimizer not in ("sgd", "adam"):
        raise ValueError(f'optimizer must be "sgd" or "adam"; got {shown(net.optimizer)}.')
    if not isinstance(net.nesterov, bool | np.bool_):
        raise TypeError(f"nesterov must be True or False; got {shown(net.nesterov)}.")
    momentum = below_one(net.momentum, "momentum")
    if net.nesterov and (momentum == 0 or net.optimizer != "sgd"):
        raise ValueError(
            f'nesterov needs optimizer="sgd" and a momentum above 0; got {net.optimizer!r} and {momentum:g}.'
        )
    rate = _number(net.learning_rate, "learning_rate")
    scale, shift = affine(net.scale, is_uint8)
    return Settings(
        batch_size=count(net.batch_size, "batch_size"),
        rates=[rate * factor for factor in factors(net.schedule, epochs)],
        optimizer=net.optimizer,
        momentum=momentum,
        weight_decay=_number(net.weight_decay, "weight_decay"),
        nesterov=bool(net.nesterov),
        standard=net.scale == "standard",
        scale=scale,
        shift=shift,
    )


def affine(scale: Any, is_uint8: bool) -> tuple[float, float]:
    """Return (a, b) of the map a x + b that `scale` stands for; "standard" has its own statistics instead."""
    if not (scale is None or (isinstance(scale, str) and scale in SCALES)):
        raise ValueError(f'scale must be None, "minus_one_one" or "standard"; got {shown(scale)}.')
    if scale == "minus_one_one":
        return (2 / 255, -1.0) if is_uint8 else (2.0, -1.0)
    return 1.0, 0.0


def factors(schedule: Any, epochs: int) -> list[float]:
    """Return what the learning rate is multiplied by in each epoch."""
    if schedule is None:
        return [1.0] * epochs
    if isinstance(schedule, str):
        if schedule == "cosine":
            return [(1 + math.cos(math.pi * epoch / epochs)) / 2 for epoch in range(epochs)]
        if schedule == "linear":
            return [1 - epoch / epochs for epoch in range(epochs)]
    allowed = f'None, "cosine", "linear" or {epochs} numbers, one for each epoch'
    if isinstance(schedule, str) or not isinstance(schedule, Iterable):
        raise ValueError(f"schedule must be {allowed}; got {shown(schedule)}.")
    numbers = [_number(value, "schedule") for value in schedule]
    if len(numbers) != epochs:
        raise ValueError(f"schedule must be {allowed}; got {len(numbers)} numbers.")
    return numbers


def count(value: Any, name: str) -> int:
    """Return `value` as an int from 1 to 2^31 - 1."""
    return whole(value, name, "a whole number that is at least 1", 1, LARGEST)


def below_one(value: Any, name: str) -> float:
    """Return `value` as a float from 0 to 1, 1 excluded."""
    return number(value, name, "a number that is at least 0 and below 1", lambda x: 0 <= x < 1)


def _number(value: Any, name: str) -> float:
    return number(value, name, "a finite number that is at least 0", lambda x: 0 <= x < math.inf)
