"""Bounds on distances from products in 32 bits: they find candidates fast, and never lose one.

Theorem N4 of the docs. With a and b a point and a row, centred, scaled and rounded to 32 bits, v = |b|^2 - 2 ab orders
rows as |a - b|^2 does. With u = 2^-24, d columns and Q = |a|^2 + |b|^2, rounding a and b moves the distance by at most
4.1 u Q, the product in whatever order by d u/(1 - d u) Q, and v itself by 3.1 u Q.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_U = 2.0**-24
_ROUNDINGS = 32  # more than the 8 above, for the rounding of the bounds themselves
_LARGEST_POINT = 2.0**40  # of the scaled numbers of a point; beyond it products could overflow
_SHORT = 1e-280  # a squared length below it is not accurate


@dataclass(frozen=True, eq=False)
class RowBounds:
    """Rows to multiply with, and for each `base` = |b|^2 less its share of the error, and `slack`, twice that share."""

    rows: NDArray[np.float32]
    base: NDArray[np.float32]
    slack: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PointBounds:
    """Points to multiply with, and for each `own`, twice its share of the error."""

    points: NDArray[np.float32]
    own: NDArray[np.float32]


def can_bound(width: int) -> bool:
    """Return whether products of so many numbers say anything in 32 bits."""
    return width * _U < 0.25


@dataclass(frozen=True, eq=False)
class EuclideanBounds:
    """Distances of rows less `center`, times `scale`, a power of 2; neither changes what is found, only how fast."""

    center: NDArray[np.float64]
    scale: float

    @classmethod
    def of(cls, X: NDArray[np.floating]) -> "EuclideanBounds":
        """Return bounds that suit these rows."""
        with np.errstate(over="ignore"):
            center = X.mean(axis=0, dtype=np.float64)
        top, bottom = X.max(axis=0).astype(np.float64), X.min(axis=0).astype(np.float64)
        largest = float(np.maximum(top - center, center - bottom).max(initial=0.0))
        exponent = np.frexp(largest)[1] if np.isfinite(largest) and largest > 0 else 0
        return cls(center, float(np.ldexp(1.0, int(np.clip(-exponent, -1000, 1000)))))

    def rows(self, X: NDArray[np.floating]) -> RowBounds:
        """Return the bounds of some rows."""
        scaled = self._scaled(X).astype(np.float32)
        squares = _squares(scaled)
        share = _share(X.shape[1])
        base = squares * (1 - share)
        return RowBounds(scaled, base.astype(np.float32), _up(2 * share * squares))

    def points(self, X: NDArray[np.float64]) -> PointBounds:
        """Return the bounds of some points."""
        scaled = self._scaled(X)
        outside = np.abs(scaled).max(axis=1, initial=0.0) > _LARGEST_POINT  # all rows are candidates there
        scaled[outside] = 0
        small = scaled.astype(np.float32)
        width = X.shape[1]
        with np.errstate(over="ignore"):
            # what underflow may take from a product of 32 bits, and from the distance, of 64
            least = 4 * (width + 1) * (2.0**-120 + 2.0**-1021 * self.scale * self.scale)
        own = 2 * _share(width) * _squares(small) + least
        return PointBounds(small, _up(np.where(outside, np.inf, own)))

    def _scaled(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        scaled: NDArray[np.float64] = np.subtract(X, self.center, dtype=np.float64)
        with np.errstate(over="ignore"):
            scaled *= self.scale
        return scaled


@dataclass(frozen=True)
class CosineBounds:
    """With a and b of length 1, v = 1 - 2 ab is twice the cosine distance less 1; vectors of length 0 have v = 1."""

    def rows(self, X: NDArray[np.floating]) -> RowBounds:
        """Return the bounds of some rows."""
        unit, uncertain = _directions(X)
        share = _share(X.shape[1])
        base = np.where(uncertain, -np.finfo(np.float32).max, 1 - share)
        slack = np.where(uncertain, np.inf, 2 * share)
        return RowBounds(unit, base.astype(np.float32), _up(slack))

    def points(self, X: NDArray[np.float64]) -> PointBounds:
        """Return the bounds of some points."""
        unit, uncertain = _directions(X)
        return PointBounds(unit, _up(np.where(uncertain, np.inf, 2 * _share(X.shape[1]))))


def _directions(X: NDArray[np.floating]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return vectors of length 1, zero where there is no direction, and where the length is not accurate."""
    squares = _squares(X)
    sure = squares > _SHORT
    lengths = np.sqrt(np.where(sure, squares, 1.0))
    return (np.where(sure[:, None], X, 0.0) / lengths[:, None]).astype(np.float32), ~sure & (X != 0).any(axis=1)


def _squares(X: NDArray[np.floating]) -> NDArray[np.float64]:
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return squares


def _share(width: int) -> float:
    """Return the error over |a|^2 + |b|^2."""
    return _U * (1.02 * width / (1 - width * _U) + _ROUNDINGS)


def _up(values: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # a bound may be infinite
        return np.nextafter(values.astype(np.float32), np.float32(np.inf))
