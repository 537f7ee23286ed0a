"""The least concave majorant of a tail, as Theorem G13 takes it: exactly, from the shape that its proof gives."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from scipy.optimize import brentq

_LN2 = math.log(2)
_DOWN = 1 - 2.0**-48  # what an exponent may lose to rounding
_UNDERFLOW = -600.0  # the logarithm of what is as good as zero


class Tail(Protocol):
    """A bound F(xi) on the chance that the mean moves by eps, if it moves by sqrt(2) xi in the limit."""

    @property
    def reach(self) -> float:
        """Where the tail stops: no xi from here on has a bound below 1."""

    def log(self, xi: float) -> float:
        """Return log F, rounded up."""

    def slope(self, xi: float) -> float:
        """The derivative of log F, positive below `reach`."""

    def bend(self, xi: float) -> float:
        """(log F)' + (log F)''/(log F)': F is convex in xi^2 exactly where xi times this is above 1."""

    def bend_fall(self, xi: float) -> float:
        """How fast `bend` falls with xi; it falls faster and faster."""


@dataclass(frozen=True)
class BennettTail:
    """F = 2 exp(-B w H((h - xi)/w)), H(u) = (1 + u) log(1 + u) - u."""

    B: float
    w: float
    h: float

    @property
    def reach(self) -> float:
        return self.h

    def log(self, xi: float) -> float:
        return _LN2 - self.B * self.w * bennett((self.h - xi) / self.w) * _DOWN

    def slope(self, xi: float) -> float:
        return self.B * math.log1p((self.h - xi) / self.w)

    def bend(self, xi: float) -> float:
        eta, steep = self._at(xi)
        return self.B * steep - 1 / ((self.w + eta) * steep)

    def bend_fall(self, xi: float) -> float:
        eta, steep = self._at(xi)
        return self.B / (self.w + eta) + (steep + 1) / ((self.w + eta) * steep) ** 2

    def _at(self, xi: float) -> tuple[float, float]:
        eta = self.h - xi
        return eta, math.log1p(eta / self.w)


@dataclass(frozen=True)
class GaussTail:
    """F = exp(-B (reach - xi)^2)."""

    B: float
    reach: float

    def log(self, xi: float) -> float:
        return -self.B * (self.reach - xi) ** 2 * _DOWN

    def slope(self, xi: float) -> float:
        return 2 * self.B * (self.reach - xi)

    def bend(self, xi: float) -> float:
        return 2 * self.B * (self.reach - xi) - 1 / (self.reach - xi)

    def bend_fall(self, xi: float) -> float:
        return 2 * self.B + 1 / (self.reach - xi) ** 2


def bennett(u: float) -> float:
    """H(u) = (1 + u) log(1 + u) - u for u > -1, without cancellation next to 0."""
    if abs(u) > 0.1:
        return (1 + u) * math.log1p(u) - u
    total, power, j = 0.0, u * u, 2
    while (more := total + power / (j * (j - 1))) != total:
        total, power, j = more, -power * u, j + 1
    return total


def at(tail: Tail, xi: float) -> float:
    """Return the tail at xi, at most 1."""
    return 1.0 if xi >= tail.reach else math.exp(min(tail.log(xi), 0.0))


def envelope(tail: Tail, z: float, largest: float) -> float:
    """Return at z the least concave majorant of psi(z) = min(1, F(sqrt(z))) on [0, largest], z <= largest.

    As a function of z the tail is concave, then convex, then concave again, where one of these parts may be missing
    (Theorem G13). So the majorant is psi but for one chord, from the first concave part to the second or to the end.
    """
    if tail.reach <= 0 or tail.log(0.0) >= 0:
        return 1.0
    end = _end(tail, math.sqrt(largest))
    here = math.sqrt(z)
    if here >= end:
        return at(tail, here)
    convex = _convex_part(tail, end)
    if convex is None:
        return at(tail, here)
    first, last = convex
    if tail.log(first) < _UNDERFLOW:  # the first concave part is as good as zero: the chord starts there
        right = _right(lambda xi: tail.slope(xi) * xi - 2, last, end)
        return math.exp(_UNDERFLOW) + at(tail, right) * (z / right**2)

    def touching(xi: float) -> float:  # where the line that touches at xi**2 comes nearest to the last part
        steep = _log_derivative(tail, xi)
        return _right(lambda r: _log_derivative(tail, r) - steep, last, end)

    def above(log_xi: float) -> float:
        xi = math.exp(log_xi)
        right = touching(xi)
        rise = math.log1p(tail.slope(xi) * (right**2 - xi**2) / (2 * xi))
        return tail.log(xi) + rise - min(tail.log(right), 0.0)

    # The line that touches at xi falls as xi grows: it is above the rest for tiny xi and below it at the inflection.
    left = math.exp(_root(above, tail.log(0.0) + 2 * math.log(first) - 3, math.log(first)))
    right = touching(left)
    if not left < here < right:
        return at(tail, here)
    low, high = at(tail, left), at(tail, right)
    return low + (high - low) * ((z - left**2) / (right**2 - left**2))


def _log_derivative(tail: Tail, xi: float) -> float:
    """The logarithm of dF/dz at z = xi**2."""
    slope = tail.slope(xi)
    return tail.log(xi) + math.log(slope / (2 * xi)) if slope > 0 else -math.inf


def _end(tail: Tail, largest: float) -> float:
    """Return where the bound becomes 1, or the largest xi if that comes first."""
    if largest < tail.reach and tail.log(largest) <= 0:
        return largest
    return _root(tail.log, 0.0, min(largest, tail.reach))


def _convex_part(tail: Tail, end: float) -> tuple[float, float] | None:
    """Return where xi * bend(xi) is above 1, cut off at the end; None where it nowhere is."""
    if tail.bend(0.0) <= 0:
        return None
    near = tail.reach * (1 - 2.0**-40)  # at reach itself bend is minus infinity
    peak = _root(lambda xi: tail.bend(xi) - xi * tail.bend_fall(xi), 0.0, near)

    def excess(xi: float) -> float:
        return xi * tail.bend(xi) - 1

    if excess(peak) <= 0:
        return None
    first = _root(excess, 0.0, peak)
    if first >= end:
        return None
    return first, end if end <= peak or excess(min(end, near)) >= 0 else _root(excess, peak, min(end, near))


def _right(steepness: Callable[[float], float], last: float, end: float) -> float:
    """Return where a steepness that falls from `last` to `end` is zero, or the end where it stays positive."""
    if last >= end or steepness(end) >= 0:
        return end
    return last if steepness(last) <= 0 else _root(steepness, last, end)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that changes its sign between low and high does so."""
    if (function(low) > 0) == (function(high) > 0):
        return high if abs(function(high)) < abs(function(low)) else low
    return float(brentq(function, low, high, xtol=1e-300, rtol=2.0**-50))
