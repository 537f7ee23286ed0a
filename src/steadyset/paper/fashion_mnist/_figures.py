"""The figures of the Fashion-MNIST experiment."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import StabilityAudit
from steadyset.paper import _output
from steadyset.paper.fashion_mnist._results import Findings, epsilon_grid, rules
from steadyset.plot import epsilon_tradeoff, plot_sets, survival_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper's order: base before subbagged, argmax before inflated argmax.
_CURVES = (("argmax", "base"), ("inflated argmax", "base"), ("argmax", "subbagged"), ("inflated argmax", "subbagged"))
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, the name of its files, and the numbers that it shows."""

    name: str
    figure: "Figure"
    numbers: dict[str, Any]


def pictures(found: Findings, images: NDArray[np.uint8], classes: Sequence[str], delta: float) -> Iterator[Picture]:
    """Yield every figure of the experiment."""
    yield _survival(found)
    if found.independent:
        yield _survival_independent(found)
    yield _survival_all_rows(found, delta)
    yield _epsilon(found)
    ambiguous = _ambiguous(found, images, classes)
    if ambiguous is not None:
        yield ambiguous


def _survival_picture(name: str, title: str, audits: Mapping[str, StabilityAudit]) -> Picture:
    figure = _output.new_figure((7.0, 4.4))
    survival_curve(audits, ax=figure.subplots()).set_title(title)
    return Picture(name, figure, {key: {"instability": _levels(audit.instability)} for key, audit in audits.items()})


def _levels(values: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return the values that occur and how many points have them: the whole curve, in little room."""
    levels, counts = np.unique(values, return_counts=True)
    return {"value": levels.tolist(), "points": counts.tolist()}


def _survival(found: Findings) -> Picture:
    rows = found.sampled["argmax", "base"].n_units
    audits = {f"{rule}, {algorithm}": found.sampled[rule, algorithm] for rule, algorithm in _CURVES}
    return _survival_picture("survival", f"Fashion-MNIST: instability over {rows:,} left-out rows", audits)


def _survival_independent(found: Findings) -> Picture:
    audits = {}
    for rule, audit in found.independent.items():
        audits[f"{rule}, base, its own seed for each fit"] = audit
        audits[f"{rule}, base, one seed for all"] = found.sampled[rule, "base"]
    title = "Base fits: how much of the instability is the seed's"
    return _survival_picture("survival-independent-seeds", title, audits)


def _survival_all_rows(found: Findings, delta: float) -> Picture:
    rows = found.complete["argmax"].n_units
    audits = {f"{rule}, subbagged": audit for rule, audit in found.complete.items()}
    picture = _survival_picture("survival-all-rows", f"Fashion-MNIST: instability over all {rows:,} rows", audits)
    if delta < 1:
        (ax,) = picture.figure.axes
        ax.axvline(delta, color="#666666", linewidth=1, label=f"bound, infinitely many bags: {delta:.4f}")
        ax.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none")
    return replace(picture, numbers={**picture.numbers, "bound_for_infinitely_many_bags": delta})


def _epsilon(found: Findings) -> Picture:
    figure = _output.new_figure((7.0, 4.8))
    audit = found.complete["argmax"]
    grid = epsilon_grid(audit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs within rounding of a grid point: the curve does not show one pair
        ax = epsilon_tradeoff(found.proba["subbagged"], found.y_test, audit=audit, epsilons=grid, ax=figure.subplots())
    ax.axvline(found.epsilon, color="#666666", linewidth=1)
    ax.text(found.epsilon, 0.5, r" $\varepsilon$ of the tables", fontsize=8, color="#444444", va="center")
    return Picture("epsilon", figure, {"epsilon": grid})


def _ambiguous(found: Findings, images: NDArray[np.uint8], classes: Sequence[str]) -> Picture | None:
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
    return Picture("ambiguous", figure, {"test_images": closest.tolist(), "sets": sets[closest].astype(int).tolist()})
