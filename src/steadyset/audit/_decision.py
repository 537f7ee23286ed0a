"""A rule as an audit applies it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.selection import KernelArguments, Rule


@dataclass(frozen=True)
class Decision:
    """How an audit applies a rule.

    `kernels` are the rules that the native audit takes, whose union selects; none for a rule that it does not know,
    which is called on one model at a time: at all of its points, unless the rule is one that goes `by_row`. The rest
    are the rule's own answers; a rule without a kernel has no margin and no path here.
    """

    apply: Callable[[NDArray[np.float64]], NDArray[np.bool_]]
    kernels: tuple[KernelArguments, ...]
    lone_margin: float | None
    path_epsilon: float | None
    n_common: int = 1
    by_row: bool = True


def decision(rule: Any, seed: int) -> Decision:
    """Return how an audit applies a rule; a callable that takes `random_state` always gets the same seed."""
    if isinstance(rule, Rule) and rule.kernels:
        return Decision(rule, rule.kernels, rule.lone_margin, rule.path_epsilon, rule.n_common)
    apply = _seeded(validation.rule(rule), seed)
    if isinstance(rule, Rule):
        return Decision(apply, (), None, None, rule.n_common, rule.by_row)
    return Decision(apply, (), None, None, by_row=False)


def _seeded(rule: Callable[..., Any], seed: int) -> Callable[[NDArray[np.float64]], NDArray[np.bool_]]:
    try:
        takes_seed = "random_state" in inspect.signature(rule).parameters
    except (TypeError, ValueError):  # a callable without a signature
        takes_seed = False
    seeded = (lambda proba: rule(proba, random_state=seed)) if takes_seed else rule

    def apply(proba: NDArray[np.float64]) -> NDArray[np.bool_]:
        return validation.rule_mask(seeded, proba.copy())

    return apply
