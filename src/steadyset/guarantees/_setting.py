"""The arguments of a guarantee, checked alone and against each other, in the paper's symbols."""

import math
import sys
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np

from steadyset._base import validation
from steadyset._base.inflation import left_out_gap

Resampling = Literal["subbagging", "bootstrap"]
Coupling = Literal["hash", "independent", "any"]
Theorem = Literal["best", "paper", "second-moment", "exact-second-moment", "exponential", "small-bags", "two-labels"]

FARTHEST = 2.0  # more than any two probability vectors lie apart
_MOST_FACTORS = 2**20  # of a product that is taken factor by factor


class SelectionRule(Protocol):
    """What a theorem asks of a rule; every rule of this library answers it."""

    def compatible_epsilon(self, n_classes: int | None) -> float | None: ...

    def left_out_gap(self, n_classes: int | None) -> float | None: ...

    @property
    def display_name(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The arguments of a guarantee in the paper's symbols: what every formula takes, once it is checked."""

    n: int
    m: float  # a whole number once it is checked, except in the solver's upper envelopes
    eps: float
    L: int | None = None
    B: int | None = None
    k: int = 1  # rows dropped
    added: int = 0  # rows that come; then they are among the n, and k is their number
    resampling: str = "subbagging"
    coupling: str | None = None
    sigma2: float | None = None
    rule: SelectionRule | None = None  # None: the inflated argmax, whose labels the fixed margin selects too
    any_rule: bool = False

    @property
    def gap(self) -> float | None:
        """How far below the largest a label is that the rule leaves out, in eps; None where that is not known."""
        if self.rule is not None:
            answer = getattr(self.rule, "left_out_gap", None)  # a rule from elsewhere may not know
            return None if answer is None else answer(self.L)
        return None if self.any_rule else left_out_gap(self.L)

    @property
    def hit(self) -> float:
        """P(a bag holds one of the k dropped rows); for k = 1 the paper's p_{n,m}."""
        return hit_probability(self.n, self.m, self.resampling) if self.k == 1 else -math.expm1(self._log_miss())

    @property
    def odds(self) -> float:
        """P(hit)/P(no hit); for k = 1 it is p/(1-p), m/(n-m) for subbagging and (1-1/n)^-m - 1 for bootstrap."""
        if self.k == 1 and self.resampling == "subbagging":
            return self.m / (self.n - self.m)
        log_miss = self._log_miss() if self.k > 1 else self.m * math.log1p(-1 / self.n)
        return math.expm1(-log_miss) if log_miss > -700 else sys.float_info.max  # as good as every bag holds a row

    def _log_miss(self) -> float:
        """Return the logarithm of C(n-k, m)/C(n, m), as a product over the dropped rows or over those of a bag."""
        n, m, k = self.n, self.m, self.k
        if k > _MOST_FACTORS and m == int(m):
            m, k = k, int(m)  # C(n-k, m)/C(n, m) is the same for both
        if k > _MOST_FACTORS:
            return k * math.log1p(-m / (n - k + 1))  # each factor is at least the last
        return float(np.log1p(-m / (n - np.arange(k, dtype=float))).sum())

    @property
    def spread(self) -> float:
        """An upper bound on sigma^2(x) = E||V - EV||^2, the spread of one bag's prediction V."""
        return largest_spread(self.L, self.sigma2)

    def checked(self, theorem: str) -> "Setting":
        """Check every argument as it came from the user, alone and against the others, for this theorem or "best"."""
        resampling, coupling = self.resampling, self.coupling
        validation.choice(resampling, "resampling", get_args(Resampling))
        validation.choice(theorem, "theorem", get_args(Theorem))
        if coupling is None:
            coupling = "hash" if resampling == "subbagging" else "any"
        validation.choice(coupling, "coupling", get_args(Coupling))
        if coupling == "hash" and resampling == "bootstrap":
            raise ValueError('coupling="hash" is for subbagging only: bootstrap bags have no hash coupling.')
        n = validation.count(self.n, "n_samples", 2)
        m = validation.resolve_bag_size(self.m, n, resampling)
        s = replace(
            self,
            n=n,
            m=m,
            eps=validation.positive(self.eps, "epsilon"),
            L=None if self.L is None else validation.label_count(self.L),
            B=None if self.B is None else validation.count(self.B, "n_bags"),
            k=validation.count(self.k, "n_dropped"),
            added=validation.count(self.added, "n_added", 0),
            coupling=coupling,
            sigma2=None if self.sigma2 is None else validation.share(self.sigma2, "sigma2"),
        )
        s._check_rows()
        s._check_theorem(theorem)
        return s.with_rows(n, m) if s.added else s

    def with_rows(self, n: int, m: float) -> "Setting":
        """Return the setting with n rows before any are added, and bags of m."""
        return replace(self, n=n + self.added, m=m, k=self.added or self.k)

    @property
    def fitted_rows(self) -> int:
        """The rows of the fit that there is: all n, without those that come."""
        return self.n - self.added

    def _check_rows(self) -> None:
        several, name = (self.added, "n_added") if self.added else (self.k, "n_dropped")
        if self.added and self.k > 1:
            raise ValueError(f"n_dropped must be left out when rows are added; got {self.k}.")
        if several > 1 and self.resampling == "bootstrap":
            raise ValueError(
                f"{name} must be at most 1 for bootstrap; got {several}: the theorem on several rows is about "
                "subbagging."
            )
        if not self.added and self.k > self.n - self.m and self.resampling == "subbagging":
            raise ValueError(
                f"n_dropped must be at most n_samples - bag_size = {self.n - self.m}; got {self.k}: a bag needs "
                f"{self.m} rows."
            )
        if self.added and self.sigma2 is not None:
            raise ValueError(
                f"sigma2 must be left out when rows are added; got {self.sigma2:g}: it would be the spread of data "
                "that nobody has seen."
            )

    def _check_theorem(self, theorem: str) -> None:
        several = max(self.added, self.k)
        if several > 1 and theorem in ("paper", "two-labels"):
            raise ValueError(
                f'n_dropped and n_added must be at most 1 for theorem="{theorem}"; got {several}: it is about one row.'
            )
        if self.sigma2 is not None and theorem in ("paper", "small-bags", "two-labels"):
            raise ValueError(f"sigma2 is used by the theorems of moments and tails only; got theorem={theorem!r}.")
        if theorem == "exact-second-moment" and self.B is not None and self.coupling != "hash":
            raise ValueError(
                f'theorem="exact-second-moment" with a number of bags needs coupling="hash"; got '
                f"coupling={self.coupling!r}."
            )
        if theorem == "exponential" and self.B is None:
            raise ValueError('n_bags must be given for theorem="exponential"; got None.')
        if theorem == "two-labels":
            if self.L != 2 or self.B is not None or self.resampling != "subbagging":
                raise ValueError(
                    'theorem="two-labels" needs n_classes=2, n_bags=None and subbagging; got '
                    f"n_classes={self.L}, n_bags={self.B} and {self.resampling}."
                )
            if self.gap is None:
                raise ValueError('theorem="two-labels" is about the inflated argmax and the fixed margin only.')


def epsilon_of_rule(rule: Any, n_classes: int | None, epsilon: float | None) -> float:
    """Return the epsilon at which a rule is taken: the one that was given, or the largest at which it is compatible."""
    if isinstance(rule, type) or not hasattr(rule, "compatible_epsilon"):
        raise TypeError(f"rule must be one of steadyset's rule objects; got {validation.shown(rule)}.")
    compatible = rule.compatible_epsilon(n_classes)
    wanted = None if epsilon is None else validation.positive(epsilon, "epsilon")
    if not compatible or (wanted is not None and compatible < wanted):
        allowed = f"epsilon up to {compatible:g}" if compatible else "no epsilon"
        asked = "some epsilon" if wanted is None else f"epsilon={wanted:g}"
        raise ValueError(f"rule must be compatible with {asked}, but {rule!r} allows {allowed}.")
    return min(float(compatible), FARTHEST) if wanted is None else wanted


def common_labels(rule: Any) -> int:
    """Return how many labels two sets of a rule must share not to conflict; a rule from elsewhere may not say."""
    return int(getattr(rule, "n_common", 1))


def hit_probability(n: int, m: float, resampling: str) -> float:
    """Return the paper's p_{n,m}, the probability that a bag holds a given row."""
    return m / n if resampling == "subbagging" else -math.expm1(m * math.log1p(-1 / n))


def largest_spread(L: int | None, sigma2: float | None = None) -> float:
    """Return the smaller of the given bound on the spread and E||V||^2 - ||EV||^2 <= 1 - 1/L on the simplex."""
    largest = 1.0 if L is None else (L - 1) / L
    return largest if sigma2 is None else min(sigma2, largest)
