"""The exponential theorem: bounds that fall exponentially with the number of bags. Theorems G12 and G13 of the docs."""

import math
import sys

from steadyset.guarantees._envelope import BennettTail, GaussTail, Tail, at, envelope
from steadyset.guarantees._formulas import influence, spread_without
from steadyset.guarantees._setting import Setting

_UP = 1 + 2.0**-40


def exponential(s: Setting) -> float | None:
    """Bound of the exponential theorem, on average over the rows; None where it says nothing."""
    if s.B is None:
        return None
    # y = |d_i|^2 = 2 z is at most K sigma^2 on average over the rows, and at most `largest` for each.
    largest = _largest_shift(s)
    z = min(influence(s) * s.spread / 2 * (1 + 2.0**-50), largest)
    found = min(envelope(tail, z, largest) for tail in _tails(s))
    return None if found == 1 else _up(found)


def exponential_for_every_row(s: Setting) -> float | None:
    """Bound of the exponential theorem for each single row; None where it says nothing."""
    if s.B is None:
        return None
    shift = math.sqrt(_largest_shift(s))
    found = min(at(tail, shift) for tail in _tails(s))
    return None if found == 1 else _up(found)


def exponential_reseed(B: int, eps: float, spread: float) -> float:
    """Bound for two independent runs on the same data: no shift, and the noise of both."""
    return _up(min(at(tail, 0.0) for tail in _independent_tails(B, _half_margin(eps), spread)))


def _up(bound: float) -> float:
    return min(1.0, max(bound * _UP, sys.float_info.min))  # what underflows is still not zero


def _half_margin(eps: float) -> float:
    return eps / math.sqrt(2) * (1 - 2.0**-51)  # h, rounded down


def _largest_shift(s: Setting) -> float:
    """The largest |d_i|^2/2: at most h^2 matters; d_i = p (q_i - p_inf^i); |Cov(V, 1_i)|^2 <= sigma^2 p (1-p)."""
    h, p = s.eps / math.sqrt(2), s.hit
    return min(h * h, p * p, s.spread * s.odds / 2) * (1 + 2.0**-50)


def _tails(s: Setting) -> list[Tail]:
    assert s.B is not None
    h = _half_margin(s.eps)
    noise = (s.spread + spread_without(s)) / 2 * (1 + 2.0**-50)
    if s.coupling == "independent":
        return _independent_tails(s.B, h, noise)
    tails = _independent_tails(s.B / 2, h, noise)  # any coupling is as good as independent bags, half as many
    if s.coupling == "hash":
        moved = min(s.hit, s.spread * max(1.0, s.odds)) * (1 + 2.0**-50)  # E|V - V^i|^2 <= 2 of this
        own = BennettTail(s.B, max(moved, sys.float_info.min), h)
        return [own] if s.hit <= 0.5 else [own, *tails]  # up to a half the others are never smaller
    return tails


def _independent_tails(B: float, h: float, noise: float) -> list[Tail]:
    """Bennett's inequality and McDiarmid's for 2B votes whose spread is `noise` on average."""
    noise = max(noise, sys.float_info.min)
    return [BennettTail(B, noise, h), GaussTail(B, h - math.sqrt(noise / B) * (1 + 2.0**-50))]
