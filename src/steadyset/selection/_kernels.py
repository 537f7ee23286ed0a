"""The way to the native kernels, for NumPy arrays and for those of other libraries on the CPU."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu, validation
from steadyset.selection import _host

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
    INFLATED_TOP_K = 7
    LAC = 8
    APS = 9


_WITH_K = {RuleId.TOP_K, RuleId.INFLATED_TOP_K}
_ON_PROBABILITIES = {RuleId.MASS_THRESHOLD, RuleId.NDC, RuleId.SVBOP}


@dataclass(frozen=True)
class KernelArguments:
    """A rule as the native kernels take it.

    `parameter` is its one real parameter (epsilon, tau, beta, or alpha of a utility), `discount` the beta of a utility,
    `k` the number of labels of the top k, inflated or not, and `thresholds` those of a conformal rule.
    """

    rule: RuleId
    parameter: float = 0.0
    discount: float = 0.0
    k: int = 0
    thresholds: tuple[float, ...] | None = None

    def asked(self) -> tuple[int, float, float, int, NDArray[np.float64] | None]:
        """Return the tuple that the native audit takes for a rule."""
        bounds = None if self.thresholds is None else np.asarray(self.thresholds, np.float64)
        return int(self.rule), self.parameter, self.discount, self.k, bounds


def select(proba: Any, rule: RuleId, parameter: float = 0.0, discount: float = 0.0, k: Any = 0) -> Any:
    """Return the rule's mask for anything that NumPy reads, and for arrays of torch and JAX on the CPU as their own."""
    view = None if type(proba) is np.ndarray else _host.host_view(proba)
    scores, kind = _readable(proba, view)
    shape = scores.shape
    if rule in _WITH_K:
        k = validation.top_k(k, shape[-1])
    sum_slack = sum_slack_of(scores, kind) if rule in _ON_PROBABILITIES else 0.0  # rows are checked on the simplex
    mask = np.empty(shape, np.bool_) if view is None else _host.empty(shape, np.bool_)
    rows, out = _as_rows(scores), _as_rows(mask)
    threads = cpu.allowed_threads() if scores.size >= _WORTH_THREADS else 1
    failure = _native.select(rows, kind, rule, parameter, discount, k, sum_slack, out, threads)
    if failure is not None:
        _reject(failure, rows, kind, shape, sum_slack)
    return mask if view is None else view.own_kind(mask)


def select_conformal(proba: Any, rule: RuleId, thresholds: tuple[float, ...], by_class: bool) -> Any:
    """Return the mask of the labels whose score is at most the threshold, for all that `select` reads."""
    view = None if type(proba) is np.ndarray else _host.host_view(proba)
    scores, kind = _readable(proba, view)
    if by_class:
        check_calibrated_labels(scores.shape[-1], thresholds)
    mask = np.empty(scores.shape, np.bool_) if view is None else _host.empty(scores.shape, np.bool_)
    rows, bounds, slack = _as_rows(scores), np.asarray(thresholds, np.float64), sum_slack_of(scores, kind)
    threads = cpu.allowed_threads() if scores.size >= _WORTH_THREADS else 1
    failure = _native.select_conformal(rows, kind, rule, bounds, slack, _as_rows(mask), threads)
    if failure is not None:
        _reject(failure, rows, kind, scores.shape, slack)
    return mask if view is None else view.own_kind(mask)


def sum_slack_of(scores: NDArray[Any], kind: int) -> float:
    """Return the tolerance on the sum of a row, of scores as `numpy_scores` gives them: bfloat16 are bits of kind 3."""
    return validation.sum_slack("bfloat16" if kind == 3 else scores.dtype)


def check_calibrated_labels(n_labels: int, thresholds: tuple[float, ...]) -> None:
    """Refuse rows that have not a threshold for each label."""
    if n_labels != len(thresholds):
        raise ValueError(f"proba must have {len(thresholds)} labels, as the calibration rows had; got {n_labels}.")


def entry_epsilons(proba: Any, k: Any) -> Any:
    """Return each label's entry epsilon into the inflated top k for all that `select` reads."""
    view = None if type(proba) is np.ndarray else _host.host_view(proba)
    scores, kind = _readable(proba, view)
    k = validation.top_k(k, scores.shape[-1])
    entries = np.empty(scores.shape, np.float64) if view is None else _host.empty(scores.shape, np.float64)
    rows, out = _as_rows(scores), _as_rows(entries)
    threads = cpu.allowed_threads() if scores.size >= _WORTH_THREADS else 1
    failure = _native.entry_epsilons(rows, kind, k, out, threads)
    if failure is not None:
        _reject(failure, rows, kind, scores.shape, 0.0)
    return entries if view is None else view.own_kind(entries)


def _readable(proba: Any, view: _host.HostView | None) -> tuple[NDArray[Any], int]:
    if view is None:
        return validation.numpy_scores(proba)
    return validation.numpy_scores(view.values, bfloat16_bits=view.bfloat16)


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
