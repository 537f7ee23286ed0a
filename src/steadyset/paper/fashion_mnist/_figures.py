"""The figures of the Fashion-MNIST experiment."""

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset.paper import _output
from steadyset.paper.fashion_mnist._results import Findings, epsilon_grid, rules
from steadyset.plot import epsilon_tradeoff, plot_sets, survival_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper's order: base before subbagged, argmax before inflated argmax.
_CURVES = (("argmax", "base"), ("inflated argmax", "base"), ("argmax", "subbagged"), ("inflated argmax", "subbagged"))
_SHOWN = 10


def figures(
    found: Findings, images: NDArray[np.uint8], classes: Any, delta: float
) -> Iterator[tuple[str, "Figure", dict[str, Any]]]:
    """Yield (name, figure, its numbers)."""
    yield "survival", *_survival(found)
    if found.independent:
        yield "survival-independent-seeds", *_survival_independent(found)
    yield "survival-all-rows", *_survival_all_rows(found, delta)
    yield "epsilon", *_epsilon(found)
    ambiguous = _ambiguous(found, images, classes)
    if ambiguous is not None:
        yield "ambiguous", *ambiguous


def _curves(ax: Any, audits: dict[str, Any]) -> dict[str, Any]:
    survival_curve(audits, ax=ax)
    return {name: {"instability": _levels(audit.instability)} for name, audit in audits.items()}


def _levels(values: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return the values that occur and how many points have them: the whole curve, in little room."""
    levels, counts = np.unique(values, return_counts=True)
    return {"value": levels.tolist(), "points": counts.tolist()}


def _survival(found: Findings) -> tuple["Figure", dict[str, Any]]:
    figure = _output.new_figure((7.0, 4.4))
    ax = figure.subplots()
    rows = found.sampled["argmax", "base"].n_units
    numbers = _curves(ax, {f"{rule}, {algorithm}": found.sampled[rule, algorithm] for rule, algorithm in _CURVES})
    ax.set_title(f"Fashion-MNIST: instability over {rows:,} left-out rows")
    return figure, numbers


def _survival_independent(found: Findings) -> tuple["Figure", dict[str, Any]]:
    figure = _output.new_figure((7.0, 4.4))
    ax = figure.subplots()
    audits: dict[str, Any] = {}
    for rule, audit in found.independent.items():
        audits[f"{rule}, base, its own seed for each fit"] = audit
        audits[f"{rule}, base, one seed for all"] = found.sampled[rule, "base"]
    numbers = _curves(ax, audits)
    ax.set_title("Base fits: how much of the instability is the seed's")
    return figure, numbers


def _survival_all_rows(found: Findings, delta: float) -> tuple["Figure", dict[str, Any]]:
    figure = _output.new_figure((7.0, 4.4))
    ax = figure.subplots()
    rows = found.complete["argmax"].n_units
    numbers = _curves(ax, {f"{rule}, subbagged": audit for rule, audit in found.complete.items()})
    if delta < 1:
        ax.axvline(delta, color="#666666", linewidth=1, label=f"bound, infinitely many bags: {delta:.4f}")
        ax.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none")
    ax.set_title(f"Fashion-MNIST: instability over all {rows:,} rows")
    return figure, {**numbers, "bound_for_infinitely_many_bags": delta}


def _epsilon(found: Findings) -> tuple["Figure", dict[str, Any]]:
    figure = _output.new_figure((7.0, 4.8))
    audit = found.complete["argmax"]
    grid = epsilon_grid(audit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs within rounding of a grid point: the curve does not show one pair
        ax = epsilon_tradeoff(found.proba["subbagged"], found.y_test, audit=audit, epsilons=grid, ax=figure.subplots())
    ax.axvline(found.epsilon, color="#666666", linewidth=1)
    ax.text(found.epsilon, 0.5, r" $\varepsilon$ of the tables", fontsize=8, color="#444444", va="center")
    return figure, {"epsilon": grid}


def _ambiguous(found: Findings, images: NDArray[np.uint8], classes: Any) -> tuple["Figure", dict[str, Any]] | None:
    proba = found.proba["subbagged"]
    sets = np.asarray(rules(found.epsilon)["inflated argmax"](proba))
    sizes = sets.sum(axis=1)
    top_two = np.sort(proba, axis=1)[:, -2:]
    chosen = np.flatnonzero(sizes > 1)
    if len(chosen) == 0:
        return None
    closest = chosen[np.argsort(top_two[chosen, 1] - top_two[chosen, 0], kind="stable")][:_SHOWN]
    figure = _output.new_figure((9.0, 4.6))
    truth = np.asarray(classes)[found.y_test[closest]]
    plot_sets(images[closest], sets[closest], classes=classes, y_true=truth, ax=figure.subplots())
    return figure, {"test_images": closest.tolist(), "sets": sets[closest].astype(int).tolist()}
