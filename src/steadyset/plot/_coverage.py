"""Coverage beside set size and stability: over a path of (coverage, epsilon), and by class or by size of the set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset.audit import audit_bags
from steadyset.bags import BagPredictions
from steadyset.metrics import Estimate, by_class, by_size, set_report
from steadyset.plot import _style
from steadyset.selection import InflatedArgmax, Rule, Union, conformal_rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GROUPS = {"class": ("class", by_class), "size": ("size", by_size)}


@dataclass(frozen=True)
class SetPath:
    """Sets along a path: a number for each step.

    Parameters
    ----------
    coverage : array
        The share of sets that hold the true label.
    set_size : array
        Their mean size.
    empty : array
        The share of sets without a label.
    instability : array
        The largest instability of a point: the share of training rows without which its set is a disjoint one.

    Examples
    --------
    >>> import steadyset as ss
    >>> path = ss.plot.SetPath(coverage=[0.9, 0.95], set_size=[1.2, 1.5], empty=[0.01, 0.0], instability=[0.1, 0.2])
    >>> path.set_size
    [1.2, 1.5]
    """

    coverage: NDArray[np.float64]
    set_size: NDArray[np.float64]
    empty: NDArray[np.float64]
    instability: NDArray[np.float64]


@dataclass(frozen=True)
class CoverageTradeoff:
    """What coverage and stability cost, each by itself and together.

    Parameters
    ----------
    coverages : array
        The shares asked for, ascending.
    epsilons : array
        The epsilons, ascending.
    conformal : SetPath
        Of the conformal rule alone, a step for each of `coverages`.
    stable : SetPath
        Of the inflated argmax alone, a step for each of `epsilons`.
    both : tuple of SetPath
        Of their union: for each of `epsilons`, a path with a step for each of `coverages`.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> votes = np.random.default_rng(0).dirichlet([1, 1], (30, 8))
    >>> made = ss.BagPredictions(votes, ss.draw_bags(40, 30, 0.5, sample_ids=range(40)), [0, 1])
    >>> y_cal, proba_cal = [0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
    >>> found = ss.plot.compute_coverage_tradeoff(made, [0, 1] * 4, y_cal, proba_cal, coverages=[0.7], epsilons=[0.3])
    >>> len(found.both), found.both[0].set_size >= found.conformal.set_size
    (1, array([ True]))
    """

    coverages: NDArray[np.float64]
    epsilons: NDArray[np.float64]
    conformal: SetPath
    stable: SetPath
    both: tuple[SetPath, ...]


def compute_coverage_tradeoff(
    predictions: BagPredictions,
    y_true: Any,
    y_cal: Any,
    proba_cal: Any,
    *,
    coverages: Sequence[float] = (0.8, 0.9, 0.95, 0.98),
    epsilons: Sequence[float] = (0.05, 0.2),
    score: Any = "lac",
    left_out: Any = "all",
    n_jobs: int | None = None,
) -> CoverageTradeoff:
    """Measure coverage, set size and stability of conformal sets, of stable sets and of their unions.

    Parameters
    ----------
    predictions : BagPredictions
        What the bags say at the test points.
    y_true : sequence of labels
        The true labels of the test points, as `predictions.classes` names them.
    y_cal, proba_cal
        Calibration rows, on which nothing was trained, and the model's probabilities there; see
        :func:`steadyset.conformal_rule`.
    coverages : sequence of float, default=(0.8, 0.9, 0.95, 0.98)
        The shares to ask for.
    epsilons : sequence of float, default=(0.05, 0.2)
        The epsilons of the inflated argmax.
    score : {"lac", "aps"}, default="lac"
        The score of the conformal rule.
    left_out, n_jobs
        As in :func:`steadyset.audit_bags`: the rows whose absence is tried, and threads.

    Returns
    -------
    CoverageTradeoff

    Notes
    -----
    A dropped row changes the probabilities; the threshold of the conformal rule stays as it is, although a calibration
    of the new model would move it too. The promise of the unions holds either way.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> votes = np.random.default_rng(0).dirichlet([1, 1, 1], (30, 9))
    >>> made = ss.BagPredictions(votes, ss.draw_bags(40, 30, 0.5, sample_ids=range(40)), [0, 1, 2])
    >>> found = ss.plot.compute_coverage_tradeoff(made, [0, 1, 2] * 3, [0, 1, 2], np.eye(3), coverages=[0.5, 0.9])
    >>> found.conformal.coverage, found.conformal.empty
    (array([0., 1.]), array([1., 0.]))
    """
    if not isinstance(predictions, BagPredictions):
        raise TypeError(f"predictions must be BagPredictions; got {validation.shown(predictions)}.")
    shares = np.sort([validation.level(share, "coverages") for share in _some(coverages, "coverages")])
    grid = np.sort(set_validation.epsilons(epsilons))
    classes, proba = predictions.classes, predictions.mean()
    covering = [conformal_rule(y_cal, proba_cal, float(share), score, classes=classes) for share in shares]
    steady = [InflatedArgmax(float(epsilon)) for epsilon in grid]

    def path(rules: Sequence[Rule]) -> SetPath:
        # Masks by number: the same rule may stand twice on a path.
        scores = set_report(y_true, {place: rule(proba) for place, rule in enumerate(rules)}, classes=classes)
        empty = scores["empty"] if "empty" in scores.columns else [0.0] * len(rules)
        worst = [audit_bags(predictions, rule, left_out=left_out, n_jobs=n_jobs).max_instability for rule in rules]
        return SetPath(*(np.array(found, float) for found in (scores["coverage"], scores["size"], empty, worst)))

    both = tuple(path([Union(rule, part) for rule in covering]) for part in steady)
    return CoverageTradeoff(shares, grid, path(covering), path(steady), both)


def _some(values: Sequence[float], name: str) -> list[float]:
    given = list(values)
    if not given:
        raise ValueError(f"{name} must hold at least one number; got none.")
    return given


def coverage_tradeoff(found: CoverageTradeoff, *, ax: "Axes | None" = None) -> "Axes":
    """Draw coverage against set size, each step filled by how unsteady its sets are.

    Parameters
    ----------
    found : CoverageTradeoff
        From :func:`compute_coverage_tradeoff`.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes
        A line for the conformal sets, one for the stable ones and one per epsilon for the unions. The scale at the
        right tells the largest instability of a point: light steps hold steady.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> votes = np.random.default_rng(0).dirichlet([1, 1, 1], (30, 9))
    >>> made = ss.BagPredictions(votes, ss.draw_bags(40, 30, 0.5, sample_ids=range(40)), [0, 1, 2])
    >>> found = ss.plot.compute_coverage_tradeoff(made, [0, 1, 2] * 3, [0, 1, 2], np.eye(3), coverages=[0.5, 0.9])
    >>> ax = ss.plot.coverage_tradeoff(found)
    >>> ax.get_xlabel()
    'mean set size'
    """
    if not isinstance(found, CoverageTradeoff):
        raise TypeError(f"found must be what compute_coverage_tradeoff returns; got {validation.shown(found)}.")
    ax = _style.axes(ax, (7.0, 4.6))
    lines = {"conformal alone": found.conformal, "stable alone": found.stable}
    lines |= {f"both, epsilon {epsilon:g}": path for epsilon, path in zip(found.epsilons, found.both, strict=True)}
    most = max(float(path.instability.max()) for path in lines.values())
    for number, (name, path) in enumerate(lines.items()):
        style, marker = _style.line_style(number), _style.MARKERS[number % len(_style.MARKERS)]
        ax.plot(path.set_size, path.coverage, label=name, marker=marker, markersize=8, markerfacecolor="white", **style)
        steps = ax.scatter(
            path.set_size,
            path.coverage,
            c=path.instability,
            marker=marker,
            s=60,
            cmap="Greys",
            vmin=0.0,
            vmax=most or 1.0,
            edgecolors=style["color"],
            zorder=3,
        )
    ax.figure.colorbar(steps, ax=ax, label="largest instability of a point")
    _style.open_frame(ax)
    ax.set(xlabel="mean set size", ylabel="share of sets that hold the truth")
    ax.legend(frameon=False, loc="lower right")
    return ax


@dataclass(frozen=True)
class GroupedCoverage:
    """Coverage of several kinds of sets, by true class or by size of the set.

    Parameters
    ----------
    by : {"class", "size"}
    groups : tuple
        The classes in their order, or the sizes that occur, ascending.
    coverage : mapping from names to tuples of Estimate
        The coverage in each group; NaN where there is nothing in it.

    Examples
    --------
    >>> import steadyset as ss
    >>> sets = {"pairs": [[True, True], [True, True]], "first": [[True, False], [True, False]]}
    >>> found = ss.plot.compute_coverage_by([0, 1], sets)
    >>> found.groups, found.coverage["first"]
    ((0, 1), (1.0, 0.0))
    """

    by: str
    groups: tuple[Any, ...]
    coverage: Mapping[str, tuple[Estimate, ...]]


def compute_coverage_by(y_true: Any, sets: Any, *, by: str = "class", classes: Any = None) -> GroupedCoverage:
    """Measure the coverage of several kinds of sets by true class or by size of the set.

    Parameters
    ----------
    y_true, classes
        As in :func:`steadyset.metrics.by_class`.
    sets : mapping from names to masks
        Label sets of the same samples.
    by : {"class", "size"}, default="class"

    Returns
    -------
    GroupedCoverage

    Examples
    --------
    >>> import steadyset as ss
    >>> found = ss.plot.compute_coverage_by([0, 1], {"sets": [[True, True], [True, False]]}, by="size")
    >>> found.groups, found.coverage["sets"]
    ((1, 2), (0.0, 1.0))
    """
    column, view = _GROUPS[validation.choice(by, "by", tuple(_GROUPS))]
    if not isinstance(sets, Mapping) or not sets:
        raise TypeError(f"sets must be a mapping from names to masks; got {validation.shown(sets)}.")
    tables = {str(name): view(y_true, mask, classes=classes) for name, mask in sets.items()}
    known = {name: dict(zip(table[column], table["coverage"], strict=True)) for name, table in tables.items()}
    groups = list(dict.fromkeys(group for coverage in known.values() for group in coverage))
    groups = sorted(groups) if by == "size" else groups
    nothing = Estimate(np.nan, np.nan)
    covered = {name: tuple(coverage.get(group, nothing) for group in groups) for name, coverage in known.items()}
    return GroupedCoverage(by, tuple(groups), covered)


def coverage_by(found: GroupedCoverage, *, asked: float | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw coverage by class or by size, with standard errors.

    Parameters
    ----------
    found : GroupedCoverage
        From :func:`compute_coverage_by`.
    asked : float, default=None
        The coverage that was asked for, as a line.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import steadyset as ss
    >>> found = ss.plot.compute_coverage_by([0, 1], {"sets": [[True, True], [True, False]]}, by="size")
    >>> ax = ss.plot.coverage_by(found, asked=0.9)
    >>> ax.get_xlabel()
    'size of the set'
    """
    if not isinstance(found, GroupedCoverage):
        raise TypeError(f"found must be what compute_coverage_by returns; got {validation.shown(found)}.")
    ax = _style.axes(ax)
    width = 0.7 / len(found.coverage)
    for number, (name, covered) in enumerate(found.coverage.items()):
        places = np.arange(len(found.groups)) + (number - (len(found.coverage) - 1) / 2) * width
        ax.errorbar(
            places,
            np.array(covered, float),
            yerr=np.nan_to_num([value.standard_error for value in covered]),
            fmt=_style.MARKERS[number % len(_style.MARKERS)],
            color=_style.COLOURS[number % len(_style.COLOURS)],
            capsize=3,
            label=name,
        )
    if asked is not None:
        share = validation.level(asked, "asked")
        ax.axhline(share, color="black", linewidth=1.5, linestyle=":", label=f"asked for: {share:g}")
    ax.set_xticks(range(len(found.groups)), [str(group) for group in found.groups])
    ax.set(xlabel="true class" if found.by == "class" else "size of the set", ylabel="share that hold the truth")
    _style.open_frame(ax)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return ax
