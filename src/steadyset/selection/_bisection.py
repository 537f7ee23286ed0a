"""Thresholds of probabilities by bisection: exact, without a sort and without branches on values.

For arrays on a device, and for functions that are traced before there are values. As many passes over a row suffice as
there are bits in its numbers: between two neighbouring floats lies no entry.
"""

import math
import sys
from collections.abc import Callable
from typing import Any

from steadyset.selection._arrays import Scores


def largest_that_holds(scores: Scores, holds: Callable[[Any], Any]) -> Any:
    """Return, over the labels and keeping the axis, an x with `holds(x)` and no entry between x and where it fails.

    `holds` takes one number per row, at least 0, and is true up to some bound and false beyond; it has to fail beyond
    the largest entry. -1 where it fails at 0.
    """
    xp = scores.xp
    top = xp.max(scores.w, axis=-1, keepdims=True)
    at_zero = holds(xp.zeros_like(top))
    low = xp.where(at_zero, xp.zeros_like(top), -xp.ones_like(top))
    high = xp.where(at_zero, 2 * top, xp.zeros_like(top))
    least = xp.full_like(top, scores.smallest)

    def halve(low: Any, high: Any) -> tuple[Any, Any]:
        # In powers while the two are far apart, in values once they are within a factor of four.
        bottom = xp.maximum(low, least)
        middle = xp.where(high > 4 * bottom, xp.sqrt(bottom) * xp.sqrt(xp.maximum(high, least)), (low + high) / 2)
        good = holds(middle)
        return xp.where(good, middle, low), xp.where(good, high, middle)

    steps = math.ceil(math.log2(-math.log2(scores.smallest))) + scores.digits + 4
    low, high = _repeated(scores, halve, steps, low, high)
    # At most one value of the row is left between the two.
    last = xp.max(xp.where(scores.w < high, scores.w, -xp.ones_like(scores.w)), axis=-1, keepdims=True)
    return xp.where((last > low) & holds(last), last, low)


def _repeated(scores: Scores, step: Callable[[Any, Any], tuple[Any, Any]], steps: int, low: Any, high: Any) -> Any:
    if scores.is_jax:  # one compiled loop instead of as many copies of its body
        return sys.modules["jax"].lax.fori_loop(0, steps, lambda _, ends: step(*ends), (low, high))
    for _ in range(steps):
        low, high = step(low, high)
    return low, high
