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

    `kernel` is what the native audit takes; None for a callable that it does not know, which is called on all points of
    one model at a time. The rest are the rule's own answers; such a callable has no margin and no path.
    """

    apply: Callable[[NDArray[np.float64]], NDArray[np.bool_]]
    kernel: KernelArguments | None
    lone_margin: float | None
    path_epsilon: float | None
    n_common: int = 1


def decision(rule: Any, seed: int) -> Decision:
    """Return how an audit applies a rule; a callable that takes `random_state` always gets the same seed."""
    if isinstance(rule, Rule) and rule.kernel is not None:
        return Decision(rule, rule.kernel, rule.lone_margin, rule.path_epsilon, rule.n_common)
    n_common = rule.n_common if isinstance(rule, Rule) else 1
    return Decision(_seeded(validation.rule(rule), seed), None, None, None, n_common)


def _seeded(rule: Callable[..., Any], seed: int) -> Callable[[NDArray[np.float64]], NDArray[np.bool_]]:
    try:
        takes_seed = "random_state" in inspect.signature(rule).parameters
    except (TypeError, ValueError):  # a callable without a signature
        takes_seed = False
    seeded = (lambda proba: rule(proba, random_state=seed)) if takes_seed else rule

    def apply(proba: NDArray[np.float64]) -> NDArray[np.bool_]:
        return validation.rule_mask(seeded, proba.copy())

    return apply
