"""What epsilon buys and costs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
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
        Returns a :class:`steadyset.Guarantee`, or a bound as a number, for an epsilon. Bounds above 1 are not shown.
    epsilons : sequence of float, default=None
        Where to look, above 0; 121 values from 0.001 to 1 where it is None.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes
        Shares are on the left scale; set sizes on a second one at the right.

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
    _style.open_frame(ax)
    right = _style.right_scale(ax, "mean set size", 0)
    right.plot(found.epsilons, found.set_size, label="set size (right)", **_style.line_style(0))
    right.set_ylim(bottom=1)
    ax.set_xscale("log")
    ax.set(xlabel="epsilon", ylabel="share", ylim=(-0.02, 1.02))
    _style.shared_legend(ax, right)
    return ax
