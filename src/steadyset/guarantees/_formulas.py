"""What the theorems promise, as formulas: plain numbers in, a :class:`Guarantee` out, no arrays.

A guarantee bounds the chance that dropping a training row turns the label set of a point into a disjoint one.
It is worked out before anything is trained and holds for every data set, every point and every learner; what
a fitted ensemble really does is measured by the audit instead. The statements and their proofs are in
``docs/theory/guarantees.md``, under the names used in the comments here.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Literal, Protocol

from scipy.special import betainc

from steadyset._base import validation

Resampling = Literal["subbagging", "bootstrap"]
Coupling = Literal["hash", "independent", "any"]
Theorem = Literal["paper", "second-moment", "small-bags", "best"]

_TITLES = {
    "paper": "the theorem of the paper",
    "second-moment": "the second-moment theorem",
    "small-bags": "the small-bag theorem",
    "another-seed": "the another-seed theorem",
    "tail-stability": "the tail stability of the learner and the compatibility of the rule",
}
_INSIDE = "everything learned is inside the bag"
_SIMPLEX = "the learner returns probability vectors"
_COUPLINGS = {
    "hash": "the bags are hash bags, whose learner sees rows in id order and takes its seed from the bag number",
    "independent": "the bags with and without the rows are drawn independently",
    "any": "each set of bags is drawn independently of the data, however the two sets are coupled",
}
_CHOSEN = "epsilon and the number of bags were chosen before looking at the predictions"


class _CompatibleRule(Protocol):
    def compatible_epsilon(self, n_classes: int | None) -> float | None: ...


@dataclass(frozen=True)
class Guarantee:
    """A promise of selection stability, with the theorem it comes from and what that theorem assumes.

    Parameters
    ----------
    delta : float
        The bound on the probability that two label sets are disjoint.
    theorem : str
        The theorem that gives `delta`.
    epsilon : float
        How far apart two probability vectors must be before the rule may give disjoint sets.
    n_samples, bag_size, n_bags, n_classes : int or None, default=None
        The setting. `n_bags` is None in the limit of infinitely many bags, `n_classes` where it is not known.
    resampling, coupling : str or None, default=None
        How bags are drawn, and how the bags of two data sets that differ in a row are tied together.
    n_dropped : int, default=1
        How many training rows are dropped at once.
    every_row : bool, default=False
        True where `delta` holds for each row, False where it holds on average over the rows.
    sigma2 : float or None, default=None
        The spread of the bags' predictions that `delta` rests on, where one was used.
    assumptions : tuple of str, default=()
        What has to be true for the promise to hold.

    See Also
    --------
    selection_stability : The guarantee of a setting.
    solve_stability : The setting that reaches a guarantee.

    Notes
    -----
    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import steadyset as ss
    >>> guarantee = ss.selection_stability(n_samples=60_000, bag_size=0.5, epsilon=0.05, n_classes=10, n_bags=1000)
    >>> round(guarantee.delta, 3), guarantee.vacuous, guarantee.theorem
    (0.366, False, 'second-moment')
    """

    delta: float
    theorem: str
    epsilon: float
    n_samples: int | None = None
    bag_size: int | None = None
    n_bags: int | None = None
    n_classes: int | None = None
    resampling: str | None = None
    coupling: str | None = None
    n_dropped: int = 1
    every_row: bool = False
    sigma2: float | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: no probability is above 1."""
        return self.delta >= 1

    @classmethod
    def from_tail_stability(
        cls, epsilon: float, delta: float, rule: _CompatibleRule, *, n_classes: int | None = None
    ) -> Guarantee:
        """Turn the tail stability of a learner into the selection stability of its label sets.

        Parameters
        ----------
        epsilon, delta : float
            The learner moves by `epsilon` or more, in Euclidean norm, with probability at most `delta` on
            average over the dropped row.
        rule : selection rule
            A rule object. Its ``compatible_epsilon(n_classes)`` has to be at least `epsilon`: vectors less
            than that far apart get overlapping sets, so only the larger moves can do harm.
        n_classes : int or None, default=None
            The number of classes, for rules whose compatibility depends on it.

        Returns
        -------
        Guarantee
            Selection stability `delta`.

        Examples
        --------
        >>> import steadyset as ss
        >>> ss.Guarantee.from_tail_stability(0.05, 0.01, ss.InflatedArgmax(epsilon=0.05)).delta
        0.01
        """
        epsilon = validation.positive(epsilon, "epsilon")
        delta = validation.delta(delta, vacuous=True)
        if n_classes is not None:
            n_classes = validation.label_count(n_classes)
        compatible = rule.compatible_epsilon(n_classes)
        if compatible is None or compatible < epsilon:
            allowed = "no epsilon" if compatible is None else f"epsilon up to {compatible:g}"
            raise ValueError(f"rule must be compatible with epsilon={epsilon:g}, but {rule!r} allows {allowed}.")
        return cls(
            delta,
            "tail-stability",
            epsilon,
            n_classes=n_classes,
            assumptions=(f"the learner is tail stable at ({epsilon:g}, {delta:g})", f"the rule is {rule!r}"),
        )

    def __str__(self) -> str:
        start = f"Vacuous, since the bound {self.delta:.3g} is not below 1: " if self.vacuous else ""
        sentence = (
            f"{start}{self._event()} with probability at most {_probability(self.delta)} "
            f"at epsilon = {self.epsilon:g}, "
            f"{self._scope()}by {_TITLES[self.theorem]}; it assumes that {'; that '.join(self.assumptions)}."
        )
        return sentence[0].upper() + sentence[1:]

    def _event(self) -> str:
        if self.theorem == "another-seed":
            return "two runs on the same data with independent seeds give disjoint label sets at a point"
        rows = f"{'any ' if self.every_row else ''}{'one' if self.n_dropped == 1 else f'{self.n_dropped:,}'}"
        of = "" if self.n_samples is None else f" of {self.n_samples:,}"
        return f"dropping {rows}{of} training rows gives a disjoint label set at a point"

    def _scope(self) -> str:
        over = [] if self.every_row or self.theorem == "another-seed" else ["over the rows dropped"]
        over += [] if self.n_bags is None else ["over the draw of bags"]
        average = f"on average {' and '.join(over)}, " if over else ""
        if self.theorem == "tail-stability":
            return average
        bags = "in the limit of infinitely many bags" if self.n_bags is None else f"with {_number(self.n_bags, 'bag')}"
        kind = "" if self.bag_size is None else f" of {_number(self.bag_size, 'row')} ({self.resampling})"
        return f"{average}{bags}{kind}, "


def _probability(delta: float) -> str:
    rounded = f"{delta:.3g}"
    return "1 (to three digits)" if delta < 1 <= float(rounded) else rounded


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Setting:
    """Checked numbers in the paper's symbols: what every formula takes."""

    n: int
    m: float  # a whole number, except in the solver's upper envelopes
    eps: float
    L: int | None
    B: int | None
    k: int  # rows dropped
    resampling: str
    coupling: str
    sigma2: float | None
    any_rule: bool

    @property
    def hit(self) -> float:
        """P(a bag holds one of the k dropped rows); for k = 1 the paper's p_{n,m}."""
        if self.resampling == "bootstrap":
            return -math.expm1(self.m * math.log1p(-1 / self.n))
        if self.k == 1:
            return self.m / self.n
        # 1 - C(n-k, m)/C(n, m), as a product over the dropped rows
        return -math.expm1(math.fsum(math.log1p(-self.m / (self.n - j)) for j in range(self.k)))

    @property
    def spread(self) -> float:
        """An upper bound on sigma^2(x) = E||V - EV||^2, the spread of one bag's prediction V."""
        largest = _largest_spread(self.L)
        return largest if self.sigma2 is None else min(self.sigma2, largest)


def _largest_spread(L: int | None) -> float:
    return 1.0 if L is None else (L - 1) / L  # E||V||^2 - ||EV||^2 <= 1 - 1/L on the simplex


def _subbagging_influence(s: Setting) -> float:
    """K of Lemma 1 and of its drop-k form; for k = 1 the paper's (1/(n-1)) p/(1-p)."""
    return s.k * s.m / ((s.n - s.k) * (s.n - s.m))


def _bootstrap_odds(s: Setting) -> float:
    """p/(1 - p) = (1 - 1/n)^-m - 1."""
    try:
        return math.expm1(-s.m * math.log1p(-1 / s.n))
    except OverflowError:  # more than 700 n draws: every bag holds every row
        return sys.float_info.max


def _chebyshev(s: Setting, mean_square_shift: float) -> float:
    return mean_square_shift / s.eps / s.eps  # not eps**2, which overflows for extreme eps


def paper(s: Setting) -> float:
    """Bound of the paper's Theorem "main" (B infinite) and its finite-B form: any coupling, one row dropped."""
    influence = _subbagging_influence(s) if s.resampling == "subbagging" else _bootstrap_odds(s) / (s.n - 1)
    noise = 0.0 if s.B is None else 16 * math.e**2 / s.B
    return _chebyshev(s, _largest_spread(s.L) * (influence + noise))


def second_moment(s: Setting) -> float:
    """Bound of Theorem 2, eps^-2 sigma^2 (K + c/B); for B infinite of Lemma 1 and its drop-k form."""
    if s.resampling == "subbagging":
        influence = _subbagging_influence(s)
        spread_without = s.spread  # averaged over the dropped rows: n - m rows are out of every bag
    else:
        odds = _bootstrap_odds(s)
        pairs = 1.0 if s.n == 2 else -math.expm1(s.m * math.log1p(-1 / (s.n - 1) ** 2))  # q/(1-p)^2
        influence = (odds + pairs) / s.n  # K = (1/n)(p/(1-p) + q/(1-p)^2)
        # at most n of the n rows are out of a bag, n(1 - p) on average (n - 1 is true too, but then the bound would
        # not fall with n where bags are a share of the rows)
        spread_without = min(s.spread * (1 + odds), _largest_spread(s.L))
    if s.B is None:
        noise = 0.0
    elif s.coupling == "hash":  # c = 2 (P(hit) + k p/(n-m)); k = 1: 2p N/(N-1), N = n-m+1
        noise = 2 * (s.hit + s.k * s.m / s.n / (s.n - s.m)) * s.spread / s.B
    else:  # c = 2 for independent bags, 4 for any coupling
        noise = (1 if s.coupling == "independent" else 2) * (s.spread + spread_without) / s.B
    return _chebyshev(s, s.spread * influence + noise)


def small_bags(s: Setting) -> float | None:
    """Bound of the small-bag theorem, for every row; None where it does not apply."""
    if exceeds_simplex(s.eps):
        return 0.0
    if s.B is None:
        # h for any rule, and eps sqrt(2/(3 + eps^2/2)) for the inflated argmax
        limit = s.eps / math.sqrt(2) if s.any_rule else math.sqrt(2 / (3 / s.eps / s.eps + 0.5))
        # p < limit is strict: rounding must not carry p below it
        return 0.0 if s.hit * (1 + 4 * sys.float_info.epsilon) < limit else None
    if s.coupling != "hash":
        return None
    held = least_held(s.eps, s.B)
    # P(Bin(B, p) >= held). betainc keeps 12 digits where bdtrc loses half of its own; a tail that
    # underflows is still not zero.
    return max(float(betainc(held, s.B - held + 1, s.hit)), sys.float_info.min)


def exceeds_simplex(eps: float) -> bool:
    """Whether eps > sqrt(2): no two probability vectors are that far apart, so nothing can conflict."""
    return least_held(eps, 1) > 1


def least_held(eps: float, B: int) -> int:
    """Return ceil(h B), h = eps/sqrt(2), exactly: in fewer changed bags than that the shift stays below eps."""
    a, b = eps.as_integer_ratio()
    square = -(-(a * a * B * B) // (2 * b * b))  # ceil((hB)^2)
    return math.isqrt(square - 1) + 1


def sharpest(s: Setting, theorem: str) -> tuple[float, str]:
    """Return the bound of a theorem and its name; of "best", the smallest bound that applies."""
    if theorem == "paper":
        return paper(s), theorem
    if theorem == "second-moment":
        return second_moment(s), theorem
    small = small_bags(s)
    if theorem == "small-bags":
        return (1.0 if small is None else small), theorem
    bounds = [(second_moment(s), "second-moment")]
    if s.k == 1:
        bounds.insert(0, (paper(s), "paper"))
    if small is not None and small < 1:  # at 1 it says less than the numbers of the others do
        bounds.append((small, "small-bags"))
    return min(bounds, key=lambda bound: bound[0])


def check_setting(
    *,
    n_samples: int,
    epsilon: float,
    bag_size: float,
    n_classes: int | None,
    n_bags: int | None,
    resampling: str,
    coupling: str | None,
    theorem: str,
    sigma2: float | None,
    n_dropped: int,
    any_rule: bool,
) -> Setting:
    """Check every argument, alone and against the others."""
    validation.choice(resampling, "resampling", ("subbagging", "bootstrap"))
    validation.choice(theorem, "theorem", ("best", "paper", "second-moment", "small-bags"))
    if coupling is None:
        coupling = "hash" if resampling == "subbagging" else "any"
    validation.choice(coupling, "coupling", ("hash", "independent", "any"))
    if coupling == "hash" and resampling == "bootstrap":
        raise ValueError('coupling="hash" is for subbagging only: bootstrap bags have no hash coupling.')
    n = validation.count(n_samples, "n_samples", 2)
    m = validation.resolve_bag_size(bag_size, n, resampling)
    s = Setting(
        n=n,
        m=m,
        eps=validation.positive(epsilon, "epsilon"),
        L=None if n_classes is None else validation.label_count(n_classes),
        B=None if n_bags is None else validation.count(n_bags, "n_bags"),
        k=validation.count(n_dropped, "n_dropped"),
        resampling=resampling,
        coupling=coupling,
        sigma2=None if sigma2 is None else validation.spread(sigma2),
        any_rule=bool(any_rule),
    )
    if s.k > 1 and (resampling == "bootstrap" or theorem == "paper"):
        raise ValueError(
            f'n_dropped must be 1 for bootstrap and for theorem="paper"; got {n_dropped}: the theorem on dropping '
            "several rows is about subbagging."
        )
    if s.k > n - m and resampling == "subbagging":
        raise ValueError(
            f"n_dropped must be at most n_samples - bag_size = {n - m}; got {n_dropped}: a bag needs {m} rows."
        )
    if sigma2 is not None and theorem in ("paper", "small-bags"):
        raise ValueError(f'sigma2 is used by theorem="second-moment" or "best" only; got theorem={theorem!r}.')
    if theorem == "small-bags" and s.B is not None and coupling != "hash":
        raise ValueError(
            f'theorem="small-bags" with a number of bags needs coupling="hash"; got coupling={coupling!r}.'
        )
    return s


def selection_stability(
    *,
    n_samples: int,
    epsilon: float,
    bag_size: float,
    n_classes: int | None = None,
    n_bags: int | None = None,
    resampling: Resampling = "subbagging",
    coupling: Coupling | None = None,
    theorem: Theorem = "best",
    sigma2: float | None = None,
    n_dropped: int = 1,
    any_rule: bool = False,
) -> Guarantee:
    """Bound the chance that dropping a training row turns a label set into a disjoint one.

    Parameters
    ----------
    n_samples : int
        Number of training rows, at least 2.
    epsilon : float
        The epsilon of the inflated argmax or of the fixed margin, or the compatible epsilon of another rule
        (then with ``any_rule=True``).
    bag_size : int or float
        Rows in a bag. A float is a share of `n_samples`, rounded down but at least one row.
    n_classes : int or None, default=None
        Size of the label space; None where it is not known or not bounded.
    n_bags : int or None, default=None
        Number of bags; None for the limit of infinitely many.
    resampling : {"subbagging", "bootstrap"}, default="subbagging"
        Bags drawn without or with replacement.
    coupling : {"hash", "independent", "any"} or None, default=None
        How the bags of the data set with a row and of the one without it are tied together: by the hash of the
        rows, so that only bags that held the row change; not at all; or in a way that is not known. None is
        "hash" for subbagging and "any" for bootstrap, for which there are no hash bags. It matters only where
        `n_bags` is a number.
    theorem : {"best", "paper", "second-moment", "small-bags"}, default="best"
        Where the bound comes from; "best" takes the sharpest that applies.
    sigma2 : float or None, default=None
        An upper bound on the mean squared distance between one bag's prediction and the mean over all bags, at
        the point in question. Without it the largest possible value, ``1 - 1/n_classes``, is used. Only the
        second-moment theorem uses it, and the guarantee then rests on it.
    n_dropped : int, default=1
        Bound the dropping of this many rows at once, on average over all choices of them. More than one is
        for subbagging only.
    any_rule : bool, default=False
        Whether the guarantee has to hold for every epsilon-compatible rule. The inflated argmax and the fixed
        margin allow slightly larger small bags in the limit of infinitely many.

    Returns
    -------
    Guarantee
        The bound, its theorem and its assumptions. Print it to read it as a sentence.

    See Also
    --------
    solve_stability : The same formulas, solved for one of the arguments.
    reseed_stability : Two runs on the same data.

    Notes
    -----
    The bound is about the label set. The single most likely label has no such guarantee.

    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import steadyset as ss
    >>> setting = dict(n_samples=60_000, bag_size=0.5, epsilon=0.05, n_classes=10)
    >>> f"{ss.selection_stability(**setting, theorem='paper').delta:.4f}"
    '0.0060'
    >>> paper = ss.selection_stability(**setting, n_bags=1000, theorem="paper")
    >>> f"{paper.delta:.1f}", paper.vacuous
    ('42.6', True)
    >>> small = ss.selection_stability(n_samples=60_000, bag_size=2_400, epsilon=0.05)
    >>> small.delta, small.theorem, small.every_row
    (0.0, 'small-bags', True)
    """
    s = check_setting(
        n_samples=n_samples,
        epsilon=epsilon,
        bag_size=bag_size,
        n_classes=n_classes,
        n_bags=n_bags,
        resampling=resampling,
        coupling=coupling,
        theorem=theorem,
        sigma2=sigma2,
        n_dropped=n_dropped,
        any_rule=any_rule,
    )
    delta, name = sharpest(s, theorem)
    return Guarantee(
        delta=delta,
        theorem=name,
        epsilon=s.eps,
        n_samples=s.n,
        bag_size=int(s.m),
        n_bags=s.B,
        n_classes=s.L,
        resampling=s.resampling,
        coupling=None if s.B is None else s.coupling,
        n_dropped=s.k,
        every_row=name == "small-bags",
        sigma2=s.sigma2 if name == "second-moment" else None,
        assumptions=_assumptions(s, name),
    )


def _assumptions(s: Setting, theorem: str) -> tuple[str, ...]:
    plain_rule = s.any_rule or theorem != "small-bags" or s.B is not None
    return (
        _INSIDE,
        _SIMPLEX,
        "the rule is epsilon-compatible" if plain_rule else "the rule is the inflated argmax or the fixed margin",
        *((_COUPLINGS["any" if theorem == "paper" else s.coupling], _CHOSEN) if s.B is not None else ()),
        *_spread_assumption(s.sigma2 if theorem == "second-moment" else None),
    )


def _spread_assumption(sigma2: float | None) -> tuple[str, ...]:
    if sigma2 is None:
        return ()
    return (f"the spread of the bags at the point is at most {sigma2:g} (an estimate, unless it was certified)",)


def reseed_stability(
    *, n_bags: int, epsilon: float, n_classes: int | None = None, sigma2: float | None = None
) -> Guarantee:
    """Bound the chance that two runs on the same data, with independent seeds, give disjoint label sets.

    Parameters
    ----------
    n_bags : int
        Number of bags in each run.
    epsilon : float
        The epsilon of the rule.
    n_classes : int or None, default=None
        Size of the label space; None where it is not known.
    sigma2 : float or None, default=None
        The spread of the bags at the point, as in :func:`selection_stability`.

    Returns
    -------
    Guarantee
        The bound ``2 sigma2 / (n_bags epsilon**2)``, for bags of any size and kind.

    Notes
    -----
    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import steadyset as ss
    >>> round(ss.reseed_stability(n_bags=10_000, epsilon=0.1, n_classes=2).delta, 4)
    0.01
    """
    eps = validation.positive(epsilon, "epsilon")
    B = validation.count(n_bags, "n_bags")
    L = None if n_classes is None else validation.label_count(n_classes)
    spread = _largest_spread(L)
    if sigma2 is not None:
        spread = min(validation.spread(sigma2), spread)
    return Guarantee(
        delta=2 * spread / B / eps / eps,  # E||p_B - p_B'||^2 = 2 sigma^2/B, and Chebyshev
        theorem="another-seed",
        epsilon=eps,
        n_bags=B,
        n_classes=L,
        sigma2=sigma2,
        coupling="independent",
        assumptions=(_SIMPLEX, "the rule is epsilon-compatible", _CHOSEN, *_spread_assumption(sigma2)),
    )
