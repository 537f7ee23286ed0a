"""The arguments of a guarantee, checked alone and against each other, in the paper's symbols."""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from steadyset._base import validation

Resampling = Literal["subbagging", "bootstrap"]
Coupling = Literal["hash", "independent", "any"]
Theorem = Literal["best", "paper", "second-moment", "small-bags"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The arguments of a guarantee in the paper's symbols: what every formula takes, once it is checked."""

    n: int
    m: float  # a whole number once it is checked, except in the solver's upper envelopes
    eps: float
    L: int | None = None
    B: int | None = None
    k: int = 1  # rows dropped
    resampling: str = "subbagging"
    coupling: str | None = None
    sigma2: float | None = None
    any_rule: bool = False

    @property
    def hit(self) -> float:
        """P(a bag holds one of the k dropped rows); for k = 1 the paper's p_{n,m}."""
        if self.k == 1:
            return hit_probability(self.n, self.m, self.resampling)
        # 1 - C(n-k, m)/C(n, m), as a product over the dropped rows
        return -math.expm1(math.fsum(math.log1p(-self.m / (self.n - j)) for j in range(self.k)))

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
            coupling=coupling,
            sigma2=None if self.sigma2 is None else validation.share(self.sigma2, "sigma2"),
            any_rule=bool(self.any_rule),
        )
        if s.k > 1 and (resampling == "bootstrap" or theorem == "paper"):
            raise ValueError(
                f'n_dropped must be 1 for bootstrap and for theorem="paper"; got {self.k}: the theorem on '
                "dropping several rows is about subbagging."
            )
        if s.k > n - m and resampling == "subbagging":
            raise ValueError(
                f"n_dropped must be at most n_samples - bag_size = {n - m}; got {self.k}: a bag needs {m} rows."
            )
        if self.sigma2 is not None and theorem in ("paper", "small-bags"):
            raise ValueError(f'sigma2 is used by theorem="second-moment" or "best" only; got theorem={theorem!r}.')
        if theorem == "small-bags" and s.B is not None and coupling != "hash":
            raise ValueError(
                f'theorem="small-bags" with a number of bags needs coupling="hash"; got coupling={coupling!r}.'
            )
        return s


def hit_probability(n: int, m: float, resampling: str) -> float:
    """Return the paper's p_{n,m}, the probability that a bag holds a given row."""
    return m / n if resampling == "subbagging" else -math.expm1(m * math.log1p(-1 / n))


def largest_spread(L: int | None, sigma2: float | None = None) -> float:
    """Return the smaller of the given bound on the spread and E||V||^2 - ||EV||^2 <= 1 - 1/L on the simplex."""
    largest = 1.0 if L is None else (L - 1) / L
    return largest if sigma2 is None else min(sigma2, largest)
