"""The bound of the inflated argmax in a fixed number of steps, without a sort and without branches on values.

For arrays on a device, and for functions that are traced before there are values. With u = (w - max) / eps the bound is

    t = max of 1/sqrt(2) + <l, u> - sqrt(1 + |l|^2) over l >= 0 with sum l = 1:

label j is out if some half-space sum l_i (v_j - v_i) >= 1/sqrt(2), which holds all of R_j, is at least 1 away. The best
l is (u - c)_+ over its sum, c the root of f(c) = s1^2 + s2 = 1, where s1 and s2 are the sums of (u - c)_+ and of its
square. So every c gives a lower bound of t, hence a superset, which keeps compatibility; and near the root that bound
is off by the square of what c is off.

A step goes to the root of the parabola that f is until the next entry, which errs by the third power; where there is no
such root, it is a Newton step on the convex sqrt(f). Few steps suffice because they start on the largest of every four
entries, and those on the largest of every four of them.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from steadyset._base.inflation import INV_SQRT2
from steadyset.selection._arrays import Scores, stored

_GROUP = 4
_FEW = 8  # entries that need no start from a smaller row
_FIRST_STEPS, _LEVEL_STEPS = 3, 1
_STEPS = {64: 5, 32: 3}  # by the bits of the arithmetic: the bound ends below its rounding
_VECTOR = 16  # floats in 64 bytes
_SHORT = (512, 128)  # entries: below each, one more step, as single entries weigh more


@dataclass(frozen=True)
class Row:
    """Numbers over the labels, and how they become u: as they are, or by a shift and a scale in every pass.

    XLA keeps in memory whatever two passes over a row have in common, constants as well. Behind a shift and a scale
    that differ by a zero it knows nothing about, each pass reads the numbers and nothing else.
    """

    xp: Any
    values: Any
    top: Any = None
    scale: float = 1.0

    def sums(self, c: Any) -> tuple[Any, Any, Any]:
        """Return over u > c how many there are, the sum of u - c, and that of its square, keeping the axis."""
        xp = self.xp
        if self.top is None:
            zeros = xp.zeros_like(self.values)
            above = xp.where(self.values > c, self.values - c, zeros)
            count = _total(xp, xp.where(self.values > c, xp.ones_like(zeros), zeros))
            return count, _total(xp, above), _total(xp, above * above)
        # Each sum waits for the one before; u - c is below 1, so that its ceiling counts.
        s1 = _total(xp, self._above(c, 0 * c))
        above = self._above(c, 0 * s1)
        s2 = _total(xp, above * above)
        return _total(xp, xp.ceil(self._above(c, 0 * s2))), s1, s2

    def _above(self, c: Any, zero: Any) -> Any:
        u = (self.values - (self.top + zero)) * (self.scale + zero)
        return self.xp.maximum(u - (c + zero), zero)

    def of_groups(self) -> "Row":
        """Return the row of the largest of every four numbers; some may be counted twice where four do not divide."""
        n = self.values.shape[-1]
        size = -(-n // _GROUP)
        starts = [min(i * size, n - size) for i in range(_GROUP)]
        parts = [self.values[..., start : start + size] for start in starts]
        largest = self.xp.maximum(self.xp.maximum(parts[0], parts[1]), self.xp.maximum(parts[2], parts[3]))
        return replace(self, values=largest)


def inflated_bound(scores: Scores, row: Row) -> Any:
    """Return a lower bound of t over the labels, keeping the axis, within the rounding that it is lowered by."""
    xp, n_labels = scores.xp, row.values.shape[-1]
    rows = [row]
    while rows[-1].values.shape[-1] > _FEW:
        rows.append(rows[-1].of_groups())
    c = xp.full_like(row.values[..., :1], -INV_SQRT2)
    for level, smaller in enumerate(reversed(rows[1:])):
        for _ in range(_FIRST_STEPS if level == 0 else _LEVEL_STEPS):
            c = _next(xp, c, n_labels, *smaller.sums(c))
    t = xp.full_like(c, -2.0)
    for _ in range(_STEPS[64 if scores.ulp < 1e-12 else 32] + sum(n_labels < short for short in _SHORT)):
        count, s1, s2 = row.sums(c)
        t = xp.maximum(t, c + INV_SQRT2 + s2 / s1 - xp.sqrt(1 + s2 / (s1 * s1)))
        c = _next(xp, c, n_labels, count, s1, s2)
    # The sums are off by half as many ulps as the longest chain of additions has, t by less than three times that.
    return t - (32 + 2 * _chain(n_labels)) * scores.ulp


def _next(xp: Any, c: Any, n_labels: int, count: Any, s1: Any, s2: Any) -> Any:
    f = s1 * s1 + s2
    slope = (count + 1) * s1
    inside = slope * slope - count * (count + 1) * (f - 1)
    to_root = slope + xp.sqrt(xp.maximum(inside, xp.zeros_like(inside)))
    by_newton = slope * (1 + 1 / xp.sqrt(f))
    c = c + (f - 1) / xp.where(inside >= 0, to_root, by_newton)
    # The root is at least -1/sqrt(2), for which one entry suffices, and is farthest right where all are 0.
    return stored(xp.clip(c, -INV_SQRT2, -1 / (n_labels + 1)))


def _width(n: int) -> int:
    """Return about sqrt(n), and a divisor of n where one is near, but not less than a vector of floats.

    The compiler of torch 2.13 starts its threads anew for every row where the inner axis is shorter than a vector.
    """
    root = math.isqrt(n)
    if n <= 64:
        return 64
    near = [d for d in range(max(_VECTOR, root // 2), 2 * root + 1) if n % d == 0]
    return min(near, key=lambda d: abs(math.log(d / root)), default=1 << root.bit_length())


def _chain(n: int) -> int:
    """Return the length of the longest chain of additions in `_total`, whatever order the library sums in."""
    width = _width(n)
    return n if n <= width else n // width + width + n % width


def _total(xp: Any, x: Any) -> Any:
    """Return the sum over the labels in two stages of about sqrt(n) additions, keeping the axis."""
    n = x.shape[-1]
    width = _width(n)
    if n <= width:
        return xp.sum(x, axis=-1, keepdims=True)
    whole = n - n % width
    folded = xp.sum(xp.reshape(x[..., :whole], (*x.shape[:-1], whole // width, width)), axis=-2)
    total = xp.sum(folded, axis=-1, keepdims=True)
    return total if whole == n else total + xp.sum(x[..., whole:], axis=-1, keepdims=True)
