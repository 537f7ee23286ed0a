"""The bound of the inflated argmax in a fixed number of steps, without a sort and without branches on values.

For arrays on a device, and for functions that are traced before there are values. With u = (w - max) / eps and
S(c) = sum (u - c)_+, the root c* of F(c) = sqrt(S(c)^2 + sum (u - c)_+^2) - 1 is found by Newton steps from the left.
F is convex and falls, so that no step passes c*; and t(c) = c + 1/sqrt(2) - S(c) rises with c. Whatever c the steps end
at, t(c) <= t(c*) gives a superset, which keeps compatibility; and t(c*) - t(c) is at most 2.2 F(c) for F(c) <= 0.1.

Few steps suffice because they start on the largest of every four entries. Their own root c' is at most c*, and four
entries that are no larger than one give F(c') <= 3 and at most four times as many entries above c': then each step
halves F or that number, whatever the number of labels. The remainder of fewer than four entries adds at most 3 to both.
"""

import math
from typing import Any

from steadyset._base.inflation import INV_SQRT2
from steadyset.selection._arrays import Scores

_GROUP = 4
_FEW = 32  # entries that need no start from a smaller row
_STEPS = {64: 7, 32: 5}  # by the bits of the arithmetic: F(c) ends below its rounding


def inflated_bound(scores: Scores, u: Any) -> Any:
    """Return a lower bound of t over the labels, keeping the axis, within the rounding that it is lowered by."""
    xp = scores.xp
    rows = [u]
    while rows[-1].shape[-1] >= _GROUP * _FEW:
        rows.append(_largest_of_groups(xp, rows[-1]))
    c = xp.full_like(u[..., :1], -INV_SQRT2)
    steps = _STEPS[64 if scores.ulp < 1e-12 else 32]
    for level, row in enumerate(reversed(rows)):
        for _ in range(steps + 2 if level == 0 else steps):
            c = _newton(xp, row, c)
    above = xp.where(u > c, u - c, xp.zeros_like(u))
    s1 = _total(xp, above)
    # The sums are off by half as many ulps as the longest chain of additions has, F by no more, t by 2.2 times that.
    slack = (32 + 2 * _chain(u.shape[-1])) * scores.ulp
    return c + INV_SQRT2 - s1 - slack * xp.maximum(s1, xp.ones_like(s1))


def _largest_of_groups(xp: Any, u: Any) -> Any:
    size = u.shape[-1] // _GROUP
    parts = [u[..., i * size : (i + 1) * size] for i in range(_GROUP)]
    return xp.maximum(xp.maximum(parts[0], parts[1]), xp.maximum(parts[2], parts[3]))


def _newton(xp: Any, u: Any, c: Any) -> Any:
    zeros = xp.zeros_like(u)
    above = xp.where(u > c, u - c, zeros)
    s1, s2 = _total(xp, above), _total(xp, above * above)
    count = _total(xp, xp.where(u > c, xp.ones_like(u), zeros))
    root = xp.sqrt(s1 * s1 + s2)
    return xp.maximum(c, c + (root - 1) * root / ((count + 1) * s1))


def _width(n: int) -> int:
    return 1 << (math.isqrt(n).bit_length() if n > 64 else 6)


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
