"""A measured number with its standard error, and the one formula behind all of them."""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation


class Estimate(float):
    """A float that carries its standard error.

    It is a number like any other: comparing, formatting and arithmetic are those of `float`.

    Parameters
    ----------
    value : float
        What was measured.
    standard_error : float
        Its standard error; NaN where fewer than two samples count.

    Notes
    -----
    Theory: :doc:`/theory/metrics`.

    Examples
    --------
    >>> import steadyset as ss
    >>> score = ss.metrics.Estimate(0.886, 0.003)
    >>> score, score.standard_error
    (0.886, 0.003)
    """

    __slots__ = ("_standard_error",)
    _standard_error: float

    def __new__(cls, value: float, standard_error: float = math.nan) -> "Estimate":
        estimate = super().__new__(cls, value)
        estimate._standard_error = float(standard_error)
        return estimate

    @classmethod
    def of_ratio(cls, numerator: Any, denominator: Any, *, sample_weight: Any = None) -> "Estimate":
        """Return the ratio of two sums over the same samples, with the standard error of such a ratio.

        Parameters
        ----------
        numerator, denominator : array-likes of shape (n_samples,)
            What each sample adds to the two sums.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that are at least 0.

        Returns
        -------
        Estimate
            NaN where the weighted denominators sum to 0.

        Examples
        --------
        >>> import steadyset as ss
        >>> small, large = [1, 1, 2, 1], [1, 2, 3, 2]  # set sizes of two rules on the same samples
        >>> ratio = ss.metrics.Estimate.of_ratio(small, large)
        >>> print(f"{ratio:.3f} ({ratio.standard_error:.3f})")
        0.625 (0.066)
        """
        above = set_validation.per_sample(numerator, None, "numerator")
        below = set_validation.per_sample(denominator, len(above), "denominator")
        return ratio(above, below, set_validation.sample_weights(sample_weight, len(above)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (float(self), self._standard_error)

    @property
    def standard_error(self) -> float:
        """The standard error of the number."""
        return self._standard_error


UNDEFINED = Estimate(math.nan, math.nan)


def ratio(numerator: NDArray[Any], denominator: NDArray[Any], weights: NDArray[np.float64]) -> Estimate:
    """Return sum(w a) / sum(w d) with its linearised standard error, NaN where the denominator is 0.

    With r the ratio, SE = sqrt(sum (w (a - r d))^2) / sum(w d). For d = 1 and equal weights this is sd/sqrt(N).
    """
    total = float(np.sum(weights * denominator))
    if total == 0:
        return UNDEFINED
    r = float(np.sum(weights * numerator)) / total
    counted = np.count_nonzero(weights * (np.abs(numerator) + denominator))
    residuals = weights * (numerator - r * denominator)
    return Estimate(r, math.sqrt(float(np.sum(residuals**2))) / total if counted > 1 else math.nan)


def mean(values: NDArray[Any], weights: NDArray[np.float64]) -> Estimate:
    """Return the weighted mean with its standard error, NaN where no sample counts."""
    return ratio(values, np.ones_like(weights), weights)


def warned(estimate: Estimate, name: str, why: str = "no sample has a weight above 0") -> Estimate:
    """Return the estimate of the public function that calls this; where it is NaN, warn the caller of that one."""
    if math.isnan(estimate):
        from sklearn.exceptions import UndefinedMetricWarning

        warnings.warn(f"{name} is undefined and NaN: {why}.", UndefinedMetricWarning, stacklevel=3)
    return estimate
