"""The public promises: arguments checked, the sharpest formula taken, a :class:`Guarantee` given.

A guarantee bounds the chance that dropping a training row turns the label set of a point into a disjoint one.
It is worked out before anything is trained and holds for every data set, every point and every learner; what
a fitted ensemble really does is measured by the audit instead.
"""

from steadyset._base import validation
from steadyset.guarantees._formulas import influence, sharpest
from steadyset.guarantees._guarantee import Guarantee
from steadyset.guarantees._setting import Coupling, Resampling, Setting, Theorem, largest_spread

_INSIDE = "everything learned is inside the bag"
_SIMPLEX = "the learner returns probability vectors"
_COUPLINGS: dict[str | None, str] = {
    "hash": "the bags are hash bags, whose learner sees rows in id order and takes its seed from the bag number",
    "independent": "the bags with and without the rows are drawn independently",
    "any": "each set of bags is drawn independently of the data, however the two sets are coupled",
}
_CHOSEN = "epsilon and the number of bags were chosen before looking at the predictions"


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
        Rows per bag. A float is a share of `n_samples`, rounded down but at least one row.
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
    s = Setting(
        n=n_samples,
        m=bag_size,
        eps=epsilon,
        L=n_classes,
        B=n_bags,
        k=n_dropped,
        resampling=resampling,
        coupling=coupling,
        sigma2=sigma2,
        any_rule=any_rule,
    ).checked(theorem)
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
    epsilon, n_classes, sigma2
        As in :func:`selection_stability`.

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
    spread = largest_spread(L, None if sigma2 is None else validation.share(sigma2, "sigma2"))
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


def row_influence(*, n_samples: int, bag_size: int, resampling: str) -> float:
    """Return the constant K of Lemma 1: dropping a row moves p_inf by K sigma^2 in mean square over the rows."""
    return influence(Setting(n=n_samples, m=bag_size, eps=1.0, resampling=resampling).checked("best"))
