"""Pictures of choices that are not labels: votes, features, and how stable rules pay in size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steadyset._base import validation
from steadyset.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from steadyset.choices import StableChoice, StableFeatureSelector


@dataclass(frozen=True)
class ChoiceShares:
    """The outcomes with the most votes, and which of them are in the set.

    Parameters
    ----------
    outcomes : tuple of str
    shares : tuple of float
    chosen : tuple of bool
    any_outcome : bool
        Whether outcomes that no bag chose belong to the set too.
    n_others : int
        How many outcomes are not shown.
    epsilon : float

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_choice_shares(ss.stable_choice("aaab", epsilon=0.2)).chosen
    (True, False)
    """

    outcomes: tuple[str, ...]
    shares: tuple[float, ...]
    chosen: tuple[bool, ...]
    any_outcome: bool
    n_others: int
    epsilon: float


def compute_choice_shares(choice: "StableChoice", *, n_outcomes: int = 12) -> ChoiceShares:
    """Return the outcomes with the most votes.

    Parameters
    ----------
    choice : StableChoice
    n_outcomes : int, default=12
        How many to show at most.

    Returns
    -------
    ChoiceShares

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_choice_shares(ss.stable_choice("aaab", epsilon=0.2)).shares
    (0.75, 0.25)
    """
    from steadyset.choices import StableChoice  # here, so that the other pictures do without its searches

    if not isinstance(choice, StableChoice):
        raise TypeError(f"choice must be a StableChoice; got {validation.shown(choice)}.")
    shown = min(validation.count(n_outcomes, "n_outcomes"), len(choice.outcomes))
    n_chosen = len(choice.candidates)
    return ChoiceShares(
        tuple(str(outcome) for outcome in choice.outcomes[:shown]),
        tuple(float(share) for share in choice.shares[:shown]),
        tuple(place < n_chosen for place in range(shown)),
        choice.any_outcome,
        len(choice.outcomes) - shown,
        choice.epsilon,
    )


def choice_shares(choice: "StableChoice | ChoiceShares", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of bags that chose each outcome; those of the set stand out.

    Parameters
    ----------
    choice : StableChoice or ChoiceShares
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.choice_shares(ss.stable_choice("aaab", epsilon=0.2))
    >>> ax.get_xlabel()
    'share of bags'
    """
    found = choice if isinstance(choice, ChoiceShares) else compute_choice_shares(choice)
    ax = _style.axes(ax, (6.0, 1.2 + 0.3 * len(found.outcomes)))
    what = "any outcome" if found.any_outcome else "in the set"
    _bars(ax, found.outcomes, found.shares, found.chosen, what)
    others = f"; {found.n_others:,} more outcomes" if found.n_others else ""
    ax.set(xlabel="share of bags", title=f"epsilon = {found.epsilon:g}{others}")
    return ax


@dataclass(frozen=True)
class FeatureRanks:
    """The most important features, and which of them are selected.

    Parameters
    ----------
    features : tuple of str
    importances, entry_epsilons : tuple of float
    selected : tuple of bool
    n_others : int
        How many features are not shown.
    k : int
    epsilon : float

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.FeatureRanks(("a",), (1.0,), (0.0,), (True,), 0, 1, 0.05).selected
    (True,)
    """

    features: tuple[str, ...]
    importances: tuple[float, ...]
    entry_epsilons: tuple[float, ...]
    selected: tuple[bool, ...]
    n_others: int
    k: int
    epsilon: float


def compute_feature_ranks(selector: "StableFeatureSelector", *, n_features: int = 20) -> FeatureRanks:
    """Return the most important features of a fitted selector.

    Parameters
    ----------
    selector : StableFeatureSelector
        Fitted.
    n_features : int, default=20
        How many to show at most; all that are selected are shown.

    Returns
    -------
    FeatureRanks

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadyset as ss
    >>> selector = ss.StableFeatureSelector(DecisionTreeClassifier(), 1, 20, random_state=0)
    >>> ss.plot.compute_feature_ranks(selector.fit(*load_iris(return_X_y=True))).features[0] in ("2", "3")
    True
    """
    from steadyset.choices import StableFeatureSelector  # as above

    if not isinstance(selector, StableFeatureSelector) or not hasattr(selector, "support_"):
        raise TypeError(f"selector must be a fitted StableFeatureSelector; got {validation.shown(selector)}.")
    order = np.argsort(-selector.importances_, kind="stable")
    shown = min(max(validation.count(n_features, "n_features"), int(selector.support_.sum())), len(order))
    order = order[:shown]
    names = getattr(selector, "feature_names_in_", np.arange(selector.n_features_in_))
    return FeatureRanks(
        tuple(str(names[place]) for place in order),
        tuple(float(selector.importances_[place]) for place in order),
        tuple(float(selector.entry_epsilons_[place]) for place in order),
        tuple(bool(selector.support_[place]) for place in order),
        selector.n_features_in_ - shown,
        int(selector.k),
        float(selector.epsilon),
    )


def feature_ranks(selector: "StableFeatureSelector | FeatureRanks", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the mean importance of each feature, with the epsilon at which those left out would enter.

    Parameters
    ----------
    selector : StableFeatureSelector or FeatureRanks
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import steadyset as ss
    >>> ranks = ss.plot.FeatureRanks(("a", "b"), (0.8, 0.2), (0.0, 0.85), (True, False), 0, 1, 0.05)
    >>> ss.plot.feature_ranks(ranks).get_title()
    'top 1 at epsilon = 0.05'
    """
    found = selector if isinstance(selector, FeatureRanks) else compute_feature_ranks(selector)
    ax = _style.axes(ax, (6.0, 1.2 + 0.3 * len(found.features)))
    _bars(ax, found.features, found.importances, found.selected, "selected")
    for place, (value, entry, selected) in enumerate(
        zip(found.importances, found.entry_epsilons, found.selected, strict=True)
    ):
        if not selected:
            ax.annotate(f" from {entry:.2g}", (value, place), va="center", fontsize=8, color="#444444")
    others = f"; {found.n_others:,} more features" if found.n_others else ""
    ax.set(xlabel="mean importance", title=f"top {found.k} at epsilon = {found.epsilon:g}{others}")
    return ax


def _bars(ax: "Axes", names: Sequence[str], values: Sequence[float], chosen: Sequence[bool], what: str) -> None:
    places = range(len(names))
    for mark, colour, label in ((True, _style.COLOURS[0], what), (False, "#BBBBBB", "left out")):
        some = [place for place in places if chosen[place] is mark]
        if some:
            hatch = "" if mark else "//"
            ax.barh(some, [values[p] for p in some], color=colour, label=label, hatch=hatch, edgecolor="white")
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    _style.open_frame(ax)
    ax.legend(frameon=False, loc="lower right")


@dataclass(frozen=True)
class ChoiceTradeoff:
    """Rules side by side: what each pays in size for its stability.

    Parameters
    ----------
    sizes, instabilities : mapping of str to tuple of float
        For each rule, or each family of rules, the mean set size and the worst instability.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_choice_tradeoff({"argmax": [(1.0, 0.4)]}).sizes
    {'argmax': (1.0,)}
    """

    sizes: Mapping[str, tuple[float, ...]]
    instabilities: Mapping[str, tuple[float, ...]]


def compute_choice_tradeoff(points: Mapping[str, Sequence[tuple[float, float]]]) -> ChoiceTradeoff:
    """Return the points of each rule in the order of their sizes.

    Parameters
    ----------
    points : mapping of str to sequence of (size, instability)

    Returns
    -------
    ChoiceTradeoff

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.compute_choice_tradeoff({"top k": [(2, 0.3), (1, 0.4)]}).instabilities
    {'top k': (0.4, 0.3)}
    """
    ordered = {name: sorted((float(size), float(value)) for size, value in some) for name, some in points.items()}
    return ChoiceTradeoff(
        {name: tuple(size for size, _ in some) for name, some in ordered.items()},
        {name: tuple(value for _, value in some) for name, some in ordered.items()},
    )


def choice_tradeoff(tradeoff: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw instability against set size, a line or a mark for each rule.

    Parameters
    ----------
    tradeoff : ChoiceTradeoff, or what :func:`compute_choice_tradeoff` takes
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.plot.choice_tradeoff({"argmax": [(1.0, 0.4)]}).get_xlabel()
    'mean set size'
    """
    found = tradeoff if isinstance(tradeoff, ChoiceTradeoff) else compute_choice_tradeoff(tradeoff)
    ax = _style.axes(ax)
    for number, name in enumerate(found.sizes):
        mark = _style.MARKERS[number % len(_style.MARKERS)]
        ax.plot(found.sizes[name], found.instabilities[name], marker=mark, label=name, **_style.line_style(number))
    ax.set(xlabel="mean set size", ylabel="worst instability", ylim=(-0.03, 1.03))
    _style.open_frame(ax)
    ax.legend(frameon=False, handlelength=3)
    return ax
