"""The way to the native kernels for NumPy arrays."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu, validation

_WORTH_THREADS = 1 << 19  # entries: below it, starting threads costs more than they save


class RuleId(IntEnum):
    """The order of `RuleId` in native/selection/api.hpp."""

    ARGMAX = 0
    INFLATED_ARGMAX = 1
    FIXED_MARGIN = 2
    TOP_K = 3
    MASS_THRESHOLD = 4
    NDC = 5
    SVBOP = 6


@dataclass(frozen=True)
class KernelArguments:
    """A rule as the native kernels take it.

    `parameter` is its one real parameter (epsilon, tau, beta, or alpha of a utility), `discount` the beta of a utility,
    and `k` the number of labels of the top k.
    """

    rule: RuleId
    parameter: float = 0.0
    discount: float = 0.0
    k: int = 0


def select(proba: Any, rule: RuleId, parameter: float = 0.0, discount: float = 0.0, k: Any = 0) -> NDArray[np.bool_]:
    """Return the rule's mask for anything that NumPy reads."""
    scores, kind = validation.numpy_scores(proba)
    shape = scores.shape
    if rule == RuleId.TOP_K:
        k = validation.top_k(k, shape[-1])
    sum_slack = tie_slack = 0.0
    if rule > RuleId.TOP_K:  # rules on probabilities, whose rows are checked against the simplex
        sum_slack = validation.sum_slack("bfloat16" if kind == 3 else scores.dtype)
        tie_slack = validation.tie_slack("bfloat16" if kind == 3 else scores.dtype)
    mask = np.empty(shape, np.bool_)
    rows, out = _as_rows(scores), _as_rows(mask)
    threads = cpu.allowed_threads() if scores.size >= _WORTH_THREADS else 1
    failure = _native.select(rows, kind, rule, parameter, discount, k, sum_slack, tie_slack, out, threads)
    if failure is not None:
        _reject(failure, rows, kind, shape, sum_slack)
    return mask


def entry_epsilons(proba: Any) -> NDArray[np.float64]:
    """Return each label's entry epsilon for anything that NumPy reads."""
    scores, kind = validation.numpy_scores(proba)
    entries = np.empty(scores.shape, np.float64)
    rows, out = _as_rows(scores), _as_rows(entries)
    threads = cpu.allowed_threads() if scores.size >= _WORTH_THREADS else 1
    failure = _native.entry_epsilons(rows, kind, out, threads)
    if failure is not None:
        _reject(failure, rows, kind, scores.shape, 0.0)
    return entries


def _as_rows(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 2:
        return array
    return array[None] if array.ndim == 1 else array.reshape(-1, array.shape[-1])


def _reject(failure: tuple[int, int], rows: NDArray[Any], kind: int, shape: tuple[int, ...], slack: float) -> None:
    problem, row = failure
    values = rows[row]
    if kind == 3:  # bfloat16 is the upper half of a float32
        values = (values.astype(np.uint32) << 16).view(np.float32)
    validation.reject_row(problem, row, shape, values, slack)
