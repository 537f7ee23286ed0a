"""What epsilon, and what the size of the bags, buys and costs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset.ensemble import Plan
from steadyset.guarantees import selection_stability
from steadyset.plot import _style
from steadyset.selection import entry_epsilons

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class EpsilonTradeoff:
    """The inflated argmax at several epsilons.

    Parameters
    ----------
    epsilons : array
        The epsilons, ascending.
    set_size, correct_single : arrays
        The mean set size and the share of sets that are the true label alone, at each epsilon.
    instability : array or None
        The largest instability of a point, where an audit was given; NaN where the audit does not know it.
    delta : array or None
        The guarantee, where one was given; 1 and more promises nothing.

    Examples
    --------
    >>> import steadyset as ss
    >>> proba = [[0.5, 0.4, 0.1], [0.9, 0.1, 0.0]]
    >>> tradeoff = ss.plot.compute_epsilon_tradeoff(proba, [0, 0], epsilons=[0.1, 0.2])
    >>> tradeoff.set_size, tradeoff.correct_single
    (array([1. , 1.5]), array([1. , 0.5]))
    """

    epsilons: NDArray[np.float64]
    set_size: NDArray[np.float64]
    correct_single: NDArray[np.float64]
    instability: NDArray[np.float64] | None
    delta: NDArray[np.float64] | None


def compute_epsilon_tradeoff(
    proba: Any,
    y_true: Any,
    *,
    classes: Any = None,
    audit: Any = None,
    guarantee: Callable[[float], Any] | None = None,
    epsilons: Sequence[float] | None = None,
) -> EpsilonTradeoff:
    """Measure the inflated argmax at many epsilons in one pass over the probabilities.

    Parameters
    ----------
    proba : array of shape (n_samples, n_classes)
        Probabilities.
    y_true : sequence of n_samples labels
        True labels: column numbers, or any labels where `classes` names the columns.
    classes : sequence of n_classes labels, default=None
        The label of each column.
    audit : object, default=None
        Its ``at(epsilon)`` returns the instability of each point, such as a StabilityAudit's; it is not asked below
        its ``epsilon_floor``, if it has one.
    guarantee : callable, default=None
        Returns a :class:`steadyset.Guarantee`, or a bound as a number, for an epsilon.
    epsilons : sequence of float, default=None
        Where to look, above 0; 121 values from 0.001 to 1 where it is None.

    Returns
    -------
    EpsilonTradeoff

    Examples
    --------
    >>> import steadyset as ss
    >>> def guarantee(epsilon):
    ...     return ss.selection_stability(n_samples=10_000, bag_size=0.5, epsilon=epsilon)
    >>> tradeoff = ss.plot.compute_epsilon_tradeoff([[0.6, 0.4]], [0], guarantee=guarantee, epsilons=[0.1])
    >>> round(float(tradeoff.delta[0]), 4)
    0.01
    """
    grid = np.geomspace(1e-3, 1.0, 121) if epsilons is None else np.sort(set_validation.epsilons(epsilons))
    entries = np.array(entry_epsilons(proba), np.float64)
    if entries.ndim != 2 or not len(entries):
        raise ValueError(f"proba must have two axes, samples and labels, and a sample; got shape {entries.shape}.")
    columns = set_validation.label_columns(y_true, len(entries), entries.shape[1], classes)
    # Label j is in for epsilon > entry_j, so that counting entries below epsilon answers every epsilon.
    size = np.searchsorted(np.sort(entries, axis=None), grid, side="left") / len(entries)
    entries[np.arange(len(entries)), columns] = np.inf
    single_until = np.sort(entries.min(axis=1))  # the true label is alone while no other is in
    single = 1 - np.searchsorted(single_until, grid, side="left") / len(entries)
    instability = None if audit is None else np.array([_largest(audit, float(epsilon)) for epsilon in grid])
    delta = None if guarantee is None else np.array([_bound(guarantee(float(epsilon))) for epsilon in grid])
    return EpsilonTradeoff(grid, size, single, instability, delta)


def _largest(audit: Any, epsilon: float) -> float:
    if epsilon < getattr(audit, "epsilon_floor", 0.0):
        return math.nan
    answer = audit.at(epsilon)
    return float(set_validation.instabilities(getattr(answer, "instability", answer)).max())


def _bound(answer: Any) -> float:
    return validation.delta(getattr(answer, "delta", answer), vacuous=True)


def epsilon_tradeoff(
    proba: Any,
    y_true: Any,
    *,
    classes: Any = None,
    audit: Any = None,
    guarantee: Callable[[float], Any] | None = None,
    epsilons: Sequence[float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw set size, correct-single, instability and guaranteed delta against epsilon.

    Parameters
    ----------
    proba, y_true, classes, audit, guarantee, epsilons
        As in :func:`compute_epsilon_tradeoff`.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes
        Shares are on the left scale, up to 1, beyond which a guarantee promises nothing; set sizes on a second one at
        the right.

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.epsilon_tradeoff([[0.5, 0.4, 0.1], [0.9, 0.1, 0.0]], [0, 0])
    >>> ax.get_xscale()
    'log'
    """
    found = compute_epsilon_tradeoff(
        proba, y_true, classes=classes, audit=audit, guarantee=guarantee, epsilons=epsilons
    )
    ax = _style.axes(ax, (6.0, 4.4))
    shares = (
        ("correct and single", found.correct_single),
        ("largest instability", found.instability),
        ("guaranteed delta", found.delta),
    )
    for number, (name, values) in enumerate(shares, start=1):
        if values is not None:
            ax.plot(found.epsilons, values, label=name, **_style.line_style(number))
    _add_right_scale(ax, found.epsilons, found.set_size, "mean set size", "set size (right)", bottom=1)
    ax.set_xlabel("epsilon")
    return ax


@dataclass(frozen=True)
class BagSizeTradeoff:
    """Guarantee, cost and accuracy at several bag sizes.

    Parameters
    ----------
    bag_sizes : array
        Rows in a bag, ascending.
    delta : array
        The guarantee at each; 1 and more promises nothing.
    cost : array
        Rows trained on, as a multiple of the training rows: of all bags, or of one where their number is not given.
    accuracy : mapping from int to float
        What was measured, by bag size.

    Examples
    --------
    >>> import steadyset as ss
    >>> tradeoff = ss.plot.compute_bag_size_tradeoff(1000, 0.1, bag_sizes=[100, 500], n_bags=200)
    >>> tradeoff.cost
    array([ 20., 100.])
    """

    bag_sizes: NDArray[np.int64]
    delta: NDArray[np.float64]
    cost: NDArray[np.float64]
    accuracy: Mapping[int, float]


def compute_bag_size_tradeoff(
    n_samples: int,
    epsilon: float,
    *,
    bag_sizes: Sequence[int | float] | None = None,
    accuracy: Mapping[int | float, float] | None = None,
    n_classes: int | None = None,
    n_bags: int | None = None,
    resampling: Any = "subbagging",
    theorem: Any = "best",
) -> BagSizeTradeoff:
    """Work out the guarantee and the cost of bags of several sizes.

    Parameters
    ----------
    n_samples : int
        Training rows.
    epsilon : float
        The epsilon of the rule.
    bag_sizes : sequence of int or float, default=None
        Rows per bag, or shares of the rows; 60 sizes up to nine tenths of the rows where it is None.
    accuracy : mapping from bag sizes to numbers, default=None
        Accuracies that were measured, as rows or shares.
    n_classes, n_bags, resampling, theorem
        As in :func:`steadyset.selection_stability`.

    Returns
    -------
    BagSizeTradeoff

    Examples
    --------
    >>> import steadyset as ss
    >>> tradeoff = ss.plot.compute_bag_size_tradeoff(1000, 0.1, bag_sizes=[0.5], accuracy={0.5: 0.9})
    >>> tradeoff.bag_sizes, tradeoff.delta.round(2), tradeoff.accuracy
    (array([500]), array([0.1]), {500: 0.9})
    """
    n = validation.count(n_samples, "n_samples", 2)
    if bag_sizes is None:
        bag_sizes = [int(size) for size in np.geomspace(max(1, n // 1000), max(1, 9 * n // 10), 60)]
    sizes = sorted({validation.resolve_bag_size(size, n, resampling) for size in bag_sizes})
    deltas = [
        selection_stability(
            n_samples=n,
            epsilon=epsilon,
            bag_size=size,
            n_classes=n_classes,
            n_bags=n_bags,
            resampling=resampling,
            theorem=theorem,
        ).delta
        for size in sizes
    ]
    cost = np.array(sizes) / n * (1 if n_bags is None else n_bags)
    measured = {
        validation.resolve_bag_size(size, n, resampling): validation.share(value, "accuracy")
        for size, value in (accuracy or {}).items()
    }
    return BagSizeTradeoff(np.array(sizes), np.array(deltas), cost, dict(sorted(measured.items())))


def bag_size_tradeoff(
    n_samples: int,
    epsilon: float,
    *,
    bag_sizes: Sequence[int | float] | None = None,
    accuracy: Mapping[int | float, float] | None = None,
    n_classes: int | None = None,
    n_bags: int | None = None,
    resampling: Any = "subbagging",
    theorem: Any = "best",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw guarantee, cost and measured accuracy against the size of the bags.

    Parameters
    ----------
    n_samples, epsilon, bag_sizes, accuracy, n_classes, n_bags, resampling, theorem
        As in :func:`compute_bag_size_tradeoff`.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes
        Shares are on the left scale, up to 1, beyond which a guarantee promises nothing; the cost on a second one at
        the right.

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.bag_size_tradeoff(10_000, 0.05, n_classes=10, accuracy={0.1: 0.88, 0.5: 0.91})
    >>> ax.get_xlabel()
    'rows in a bag'
    """
    found = compute_bag_size_tradeoff(
        n_samples,
        epsilon,
        bag_sizes=bag_sizes,
        accuracy=accuracy,
        n_classes=n_classes,
        n_bags=n_bags,
        resampling=resampling,
        theorem=theorem,
    )
    ax = _style.axes(ax, (6.0, 4.4))
    ax.plot(found.bag_sizes, found.delta, label="guaranteed delta", **_style.line_style(1))
    if found.accuracy:
        style = {**_style.line_style(2), "marker": _style.MARKERS[0]}
        ax.plot(list(found.accuracy), list(found.accuracy.values()), label="accuracy", **style)
    what = "cost of all bags" if n_bags is not None else "cost of one bag"
    _add_right_scale(ax, found.bag_sizes, found.cost, f"{what}, in passes over the rows", f"{what} (right)", bottom=0)
    ax.set_xlabel("rows in a bag")
    return ax


def plan_tradeoff(plan: Plan, *, ax: "Axes | None" = None) -> "Axes":
    """Draw what keeps a promise: the largest bags that do against what training them costs, a line per epsilon.

    Parameters
    ----------
    plan : Plan
        Made by :func:`steadyset.plan`.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes
        Both scales are logarithmic. Each point is a number of bags, written beside it; where the plan tried them on
        data, their accuracy too.

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.plan_tradeoff(ss.plan(4_800, 6, delta=0.05))
    >>> ax.get_xlabel()
    'training cost in row-fits'
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"plan must be a steadyset.Plan; got {validation.shown(plan)}.")
    ax = _style.axes(ax, (6.0, 4.4))
    for number, epsilon in enumerate(dict.fromkeys(choice.epsilon for choice in plan.choices)):
        found = [c for c in plan.choices if c.epsilon == epsilon and c.row_fits is not None]
        style = {**_style.line_style(number), "marker": _style.MARKERS[number % len(_style.MARKERS)]}
        places = [(float(c.row_fits or 0), float(c.bag_size or 0)) for c in found]
        ax.plot(*zip(*places, strict=True) if places else ([], []), label=f"epsilon {epsilon:g}", **style)
        for c, place in zip(found, places, strict=True):
            tried = "" if c.accuracy is None else f", accuracy {c.accuracy:.3f}"
            ax.annotate(
                f"{c.n_bags:,} bags{tried}", place, xytext=(5, -10), textcoords="offset points", fontsize="small"
            )
    _style.open_frame(ax)
    ax.set(xscale="log", yscale="log", xlabel="training cost in row-fits", ylabel="rows in a bag")
    ax.set_title(f"Bags that keep a promise of {plan.delta:g}, of {plan.n_samples:,} rows")
    ax.legend(frameon=False)
    return ax


def _add_right_scale(
    ax: "Axes", x: NDArray[Any], values: NDArray[np.float64], scale: str, name: str, *, bottom: float
) -> None:
    """Draw a line with a scale of its own at the right, and frame it with the shares that were drawn before."""
    _style.open_frame(ax)
    right = ax.twinx()
    style = _style.line_style(0)
    right.set_ylabel(scale, color=style["color"])
    right.tick_params(axis="y", colors=style["color"])
    right.spines["top"].set_visible(False)
    right.spines["right"].set_color(style["color"])
    right.plot(x, values, label=name, **style)
    right.set_ylim(bottom=bottom)
    ax.set_xscale("log")
    ax.set(ylabel="share", ylim=(-0.02, 1.02))
    handles, labels = (a + b for a, b in zip(*(one.get_legend_handles_labels() for one in (ax, right)), strict=True))
    ax.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
