"""The public promises: arguments checked, the sharpest formula taken, a :class:`Guarantee` given.

A guarantee bounds the chance that dropping a training row turns the label set of a point into a disjoint one.
It is worked out before anything is trained and holds for every data set, every point and every learner; what
a fitted ensemble really does is measured by the audit instead.
"""

from typing import Literal, get_args

from steadyset._base import validation
from steadyset._base.inflation import left_out_gap
from steadyset.guarantees._exponential import exponential_reseed
from steadyset.guarantees._formulas import exceeds_simplex, influence
from steadyset.guarantees._guarantee import Guarantee
from steadyset.guarantees._setting import (
    Coupling,
    Resampling,
    SelectionRule,
    Setting,
    Theorem,
    common_labels,
    epsilon_of_rule,
    largest_spread,
)
from steadyset.guarantees._sharpest import sharpest

_COMPATIBLE = "the rule is epsilon-compatible"
_INSIDE = "everything learned is inside the bag"
_SIMPLEX = "the learner returns probability vectors"
_SAME_SETTING = "both fits have the same bag size, label space and learner"
#: What a fit and the refit without a row have in common where the bags are hash bags.
SAME_FIT = "the same row ids, bag size, label space, seed and learner, with independent randomness per bag"
_COUPLINGS: dict[str | None, str] = {
    "hash": f"both fits have hash bags whose learner sees rows in id order, and {SAME_FIT}",
    "independent": f"{_SAME_SETTING}, and bags that are drawn independently",
    "any": f"{_SAME_SETTING}, and bags that are drawn independently of the data, however the two sets are coupled",
}
_EXCHANGEABLE = "the old and the new rows are exchangeable, and the point is independent of them"
_USES_SPREAD = ("second-moment", "exact-second-moment", "exponential")
_ASKS_RULE = ("small-bags", "two-labels")  # in the limit of infinitely many bags
_SEEDS = "the bags of each run are drawn and trained with randomness of their own"
ReseedTheorem = Literal["best", "another-seed", "another-seed-exponential"]
_CHOSEN = "epsilon and the number of bags were chosen before looking at the predictions"


def selection_stability(
    *,
    n_samples: int,
    epsilon: float | None = None,
    bag_size: float,
    n_classes: int | None = None,
    n_bags: int | None = None,
    resampling: Resampling = "subbagging",
    coupling: Coupling | None = None,
    theorem: Theorem = "best",
    sigma2: float | None = None,
    n_dropped: int = 1,
    n_added: int = 0,
    rule: SelectionRule | None = None,
    any_rule: bool = False,
) -> Guarantee:
    """Bound the chance that dropping a training row turns a label set into a disjoint one.

    Parameters
    ----------
    n_samples : int
        Number of training rows, at least 2.
    epsilon : float or None, default=None
        The epsilon of the inflated argmax or of the fixed margin, or the compatible epsilon of another rule (then with
        ``any_rule=True``). It may be left out where a `rule` is given, whose own is taken then.
    bag_size : int or float
        Rows per bag. A float is a share of `n_samples`, rounded to the grid of :func:`steadyset.draw_bags`.
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
    theorem : str, default="best"
        Where the bound comes from: "paper", "second-moment", "exact-second-moment", "exponential", "small-bags" or
        "two-labels". "best" takes the smallest of those that apply, and never more than 1. A named theorem gives what
        its formula gives, which may be above 1; "small-bags" gives 1 where it does not apply.
    sigma2 : float or None, default=None
        An upper bound on the mean squared distance between one bag's prediction and the mean over all bags, at
        the point in question. Without it the largest possible value, ``1 - 1/n_classes``, is used. Only the
        second-moment theorems and the exponential one use it, and the guarantee then rests on it.
    n_dropped : int, default=1
        Bound the dropping of this many rows at once, on average over all choices of them. More than one is
        for subbagging only.
    n_added : int, default=0
        Bound the adding of this many rows to the `n_samples` instead: how likely the retrained model is to contradict
        this one. The rows, old and new, have to be exchangeable, and the bound is on average over the data, unless it
        holds for every row. More than one is for subbagging only.
    rule : selection rule or None, default=None
        The rule whose sets are promised. In the limit of infinitely many bags the small-bag theorem asks more of it
        than its epsilon: the fixed margin allows larger bags than the inflated argmax, other rules smaller ones. None
        is the inflated argmax or the fixed margin.
    any_rule : bool, default=False
        Whether the guarantee has to hold for every epsilon-compatible rule.

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
    A bound of 0.995 or more is called vacuous. All bounds are rounded up. "best" never rises with `epsilon`, nor, apart
    from the small-bag theorem, with `n_bags`. That one goes up and down with the number of bags, and few bags may be
    worth more to it than many: a single bag leaves many rows out.

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
    >>> f"{ss.selection_stability(**setting, n_bags=5000).delta:.3f}"
    '0.018'
    >>> f"{ss.selection_stability(n_samples=10_000, bag_size=1000, epsilon=0.3, n_classes=10, n_added=1000).delta:.2f}"
    '0.10'
    """
    L = None if n_classes is None else validation.label_count(n_classes)
    if rule is not None:
        epsilon = epsilon_of_rule(rule, L, epsilon)
    s = Setting(
        n=n_samples,
        m=bag_size,
        eps=epsilon,  # type: ignore[arg-type]  # checked
        L=L,
        B=n_bags,
        k=n_dropped,
        added=n_added,
        resampling=resampling,
        coupling=coupling,
        sigma2=sigma2,
        rule=rule,
        any_rule=any_rule,
    ).checked(theorem)
    delta, name = sharpest(s, theorem)
    return Guarantee(
        delta=delta,
        theorem=name,
        epsilon=s.eps,
        n_samples=s.fitted_rows,
        bag_size=int(s.m),
        n_bags=s.B,
        n_classes=s.L,
        resampling=s.resampling,
        coupling=None if s.B is None else s.coupling,
        n_dropped=0 if s.added else s.k,
        n_added=s.added,
        every_row=name == "small-bags",
        sigma2=s.sigma2 if name in _USES_SPREAD else None,
        assumptions=_assumptions(s, name),
        n_common=common_labels(rule),
    )


def _assumptions(s: Setting, theorem: str) -> tuple[str, ...]:
    return (
        _INSIDE,
        _SIMPLEX,
        _rule_assumption(s) if theorem in _ASKS_RULE and s.B is None else _COMPATIBLE,
        *((_COUPLINGS["any" if theorem == "paper" else s.coupling], _CHOSEN) if s.B is not None else (_SAME_SETTING,)),
        *((_EXCHANGEABLE,) if s.added and theorem != "small-bags" else ()),
        *_spread_assumption(s.sigma2 if theorem in _USES_SPREAD else None),
    )


def _rule_assumption(s: Setting) -> str:
    if s.gap is None:
        return _COMPATIBLE
    both = s.rule is None or s.gap == left_out_gap(s.L)  # what holds for the inflated argmax holds for larger sets
    return f"the rule is the {'inflated argmax or the fixed margin' if both or s.rule is None else s.rule.display_name}"


def _spread_assumption(sigma2: float | None) -> tuple[str, ...]:
    if sigma2 is None:
        return ()
    return (f"the spread of the bags at the point is at most {sigma2:g} (an estimate, unless it was certified)",)


def reseed_stability(
    *,
    n_bags: int,
    epsilon: float,
    n_classes: int | None = None,
    sigma2: float | None = None,
    theorem: ReseedTheorem = "best",
) -> Guarantee:
    """Bound the chance that two runs on the same data, with independent seeds, give disjoint label sets.

    Parameters
    ----------
    n_bags : int
        Number of bags in each run.
    epsilon, n_classes, sigma2
        As in :func:`selection_stability`.
    theorem : {"best", "another-seed", "another-seed-exponential"}, default="best"
        Where the bound comes from: second moments, an exponential bound, or the smaller of the two, at most 1.

    Returns
    -------
    Guarantee
        By second moments ``2 sigma2 / (n_bags epsilon**2)``, for bags of any size and kind.

    Notes
    -----
    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import steadyset as ss
    >>> round(ss.reseed_stability(n_bags=1000, epsilon=0.1, n_classes=2, theorem="another-seed").delta, 4)
    0.1
    >>> round(ss.reseed_stability(n_bags=1000, epsilon=0.1, n_classes=2).delta, 4)
    0.0168
    """
    eps = validation.positive(epsilon, "epsilon")
    B = validation.count(n_bags, "n_bags")
    L = None if n_classes is None else validation.label_count(n_classes)
    spread = largest_spread(L, None if sigma2 is None else validation.share(sigma2, "sigma2"))
    validation.choice(theorem, "theorem", get_args(ReseedTheorem))
    bounds = {
        "another-seed": 2 * spread * (1 + 2.0**-49) / B / eps / eps,  # E||p_B - p_B'||^2 = 2 sigma^2/B, and Chebyshev
        "another-seed-exponential": 0.0 if exceeds_simplex(eps) else exponential_reseed(B, eps, spread),
    }
    name = min(bounds, key=lambda name: bounds[name]) if theorem == "best" else theorem
    return Guarantee(
        delta=min(bounds[name], 1.0) if theorem == "best" else bounds[name],
        theorem=name,
        epsilon=eps,
        n_bags=B,
        n_classes=L,
        sigma2=sigma2,
        coupling="independent",
        assumptions=(_SIMPLEX, _COMPATIBLE, _SEEDS, _CHOSEN, *_spread_assumption(sigma2)),
    )


def row_influence(*, n_samples: int, bag_size: int, resampling: str) -> float:
    """Return the constant K of Lemma 1: dropping a row moves p_inf by K sigma^2 in mean square over the rows."""
    return influence(Setting(n=n_samples, m=bag_size, eps=1.0, resampling=resampling).checked("best"))
