"""Set-valued Bayes-optimal prediction for utilities that discount by the size of the set."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._bisection import largest_that_holds
from steadyset.selection._kernels import RuleId
from steadyset.selection._rule import Rule

_ROUNDED_DOWN = 1 - 2.0**-40  # of a lead, so that rounding decides no tie; native/selection/prefix.hpp has it too


def svbop(proba: Any, utility: str | tuple[float, float] = "u65") -> Any:
    """Select the smallest set that maximises the expected utility, g(size of S) P(label in S).

    g(k) = alpha/k - beta/k^2: a correct single label is worth alpha - beta, a correct pair alpha/2 - beta/4.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities: none negative, each row summing to 1 within 1e-6 (float64), 1e-4 (float32) or 0.05 (16 bits).
    utility : "u65", "u80" or (alpha, beta), default "u65"
        "u65" is (1.6, 0.6) and "u80" is (2.2, 1.2); any pair with alpha > beta and alpha > 0 will do.

    Returns
    -------
    bool array of shape (..., n_classes)

    Notes
    -----
    The optimum may have to take one of two labels that tie: the one with the lower index. There the rule is not
    permutation invariant. Where a row sums to less than 1, or is too close to call, the set may be larger: the mean of
    a set always leads the next probability by as much as in a row that sums to 1, on which compatibility rests.

    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.svbop([0.6, 0.2, 0.2], utility="u80")
    array([ True,  True, False])
    """
    alpha, discount = validation.utility(utility)
    if not _arrays.is_foreign(proba):
        return _kernels.select(proba, RuleId.SVBOP, alpha, discount)
    return _svbop_xp(_arrays.foreign_scores(proba, probabilities=True), alpha, discount)


def _svbop_xp(scores: _arrays.Scores, alpha: float, discount: float) -> Any:
    xp, w, n = scores.xp, scores.w, scores.n_labels

    def no_better(k: Any, mass: Any, following: Any) -> Any:
        """Return whether k labels of this mass, at least one, are as good as with the next probability."""
        here = (alpha * k - discount) * ((k + 1) * (k + 1)) * mass
        ahead = (alpha * (k + 1) - discount) * (k * k) * (mass + following)
        good = (ahead <= here * (1 + 4 * scores.ulp)) & (k > 0)
        if discount <= 0:
            return good
        # Compatibility rests on this lead; least_leads has it for NumPy.
        size, gamma = xp.where(k > 0, k, xp.ones_like(k)), discount / alpha
        rest = 1 - gamma * (2 * size + 1) / (size * (size + 1))
        least = gamma / (gamma + n * xp.where(rest > 0, rest, xp.zeros_like(rest)))
        occurs = alpha * (size * (size + 1)) >= discount * (2 * size + 1)
        leads = mass - k * following >= least * _ROUNDED_DOWN + (k + 8) * scores.ulp
        return good & occurs & leads

    out = largest_that_holds(scores, lambda x: no_better(*_arrays.mass_above(scores, x), x))
    # The smallest probability that is taken may be one of several that tie: as many of them as are worth it.
    taken = w > out
    last = xp.min(xp.where(taken, w, xp.full_like(w, 2.0)), axis=-1, keepdims=True)
    ahead, mass = _arrays.mass_above(scores, last)
    copies = scores.counts()
    stops = no_better(ahead + copies, mass + copies * last, last)
    n_copies = 1 + _arrays.count(scores, _arrays.cumulative(scores, xp.astype(stops, xp.int32)) == 0)
    return (w > last) | _arrays.first_of_ties(scores, taken & (w == last), n_copies)


def least_leads(alpha: float, beta: float, n_labels: int) -> NDArray[np.float64]:
    """Return k T_k for k = 1, ..., n_labels - 1; infinite for a size that does not occur. For beta > 0.

    The mean of an optimal set of k labels leads every other label by at least T_k, on the simplex. With
    gamma = beta/alpha, k T_k = gamma / (gamma + L (1 - gamma (2k + 1) / (k (k + 1)))).
    """
    k, gamma = np.arange(1.0, n_labels), beta / alpha
    occurs = alpha * (k * (k + 1)) >= beta * (2 * k + 1)
    least = gamma / (gamma + n_labels * np.maximum(1 - gamma * (2 * k + 1) / (k * (k + 1)), 0.0))
    return np.where(occurs, least, math.inf)


@final
@dataclass(frozen=True)
class SVBOP(Rule):
    """The rule :func:`steadyset.svbop` as an object.

    Parameters
    ----------
    utility : "u65", "u80" or (alpha, beta), default "u65"

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.SVBOP(utility="u80")
    >>> rule([0.6, 0.2, 0.2])
    array([ True,  True, False])
    >>> round(rule.compatible_epsilon(3), 3)
    0.51
    """

    utility: str | tuple[float, float] = "u65"

    _title, _kernel_id = "SVBOP {utility}", RuleId.SVBOP

    def __post_init__(self) -> None:
        validation.utility(self.utility)

    def __call__(self, proba: Any) -> Any:
        return svbop(proba, self.utility)

    def compatible_epsilon(self, n_classes: int | None) -> float | None:
        """Return the smallest distance that is proved to separate two disjoint sets of this rule, on the simplex.

        The minimum of (T_a + T_b) / sqrt(1/a + 1/b) over sizes that occur with a + b at most the number of labels, T_a
        the least lead of a set of a labels over the others; infinity where no two sets fit side by side. None for a
        utility with beta <= 0, whose optimum is a single label.
        """
        alpha, beta = validation.utility(self.utility)
        if n_classes is None or beta <= 0:
            return None
        n_labels = validation.label_count(n_classes)
        leads = np.concatenate([[math.inf], least_leads(alpha, beta, n_labels)])
        sizes = np.arange(n_labels)
        smallest = next((k for k in (1, 2) if 2 * k <= n_labels and leads[k] < math.inf), None)
        if smallest is None:
            return math.inf

        def apart(a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.float64]:
            return np.asarray((leads[a] / a + leads[b] / b) / np.sqrt(1 / a + 1 / b))

        # For fixed a the distance falls and then rises in b, T being convex in 1/b: bisection finds the turn.
        a = sizes[smallest : n_labels // 2 + 1]
        low, high = a.copy(), n_labels - a
        while np.any(low < high):
            middle = (low + high) // 2
            rises = apart(a, np.minimum(middle + 1, high)) >= apart(a, middle)
            low, high = np.where(rises, low, np.minimum(middle + 1, high)), np.where(rises, middle, high)
        return float(apart(a, low).min()) * (1 - 2.0**-39)

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return validation.utility(self.utility)
