"""What every check is made of: a condition that holds, or a file that is refused."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class RefusedError(ValueError):
    """The file would make an object whose parts contradict each other."""


class UnknownError(ValueError):
    """The file would make an object in a form that nothing here checks: it loads only for who trusts it."""


def insist(holds: bool, what: str) -> None:
    """Refuse the file where a condition does not hold."""
    if not holds:
        raise RefusedError(f"it holds {what}")


def count(value: Any, what: str, least: int = 1) -> int:
    """Return a whole number of at least `least`."""
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)
    insist(whole and least <= int(value) < 2**53, what)
    return int(value)


def array(value: Any, kinds: str, ndim: int, what: str) -> NDArray[Any]:
    """Return an array whose dtype is of one of these kinds, with that many axes."""
    fine = isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == ndim
    insist(fine, what)
    checked: NDArray[Any] = value
    return checked


def within(values: NDArray[Any], low: int, high: int, what: str) -> None:
    """Refuse numbers below `low` or not below `high`."""
    insist(values.size == 0 or (int(values.min()) >= low and int(values.max()) < high), what)
