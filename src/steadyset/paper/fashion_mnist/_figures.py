"""The figures of the Fashion-MNIST experiment."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import StabilityAudit
from steadyset.paper import _output
from steadyset.paper.fashion_mnist._results import Findings, along_epsilon, epsilon_grid, rules
from steadyset.plot import epsilon_tradeoff, plot_sets, survival_curve

# The paper's order: base before subbagged, argmax before inflated argmax.
_CURVES = (("argmax", "base"), ("inflated argmax", "base"), ("argmax", "subbagged"), ("inflated argmax", "subbagged"))
_SHOWN = 10


def draw(
    found: Findings, images: NDArray[np.uint8], classes: Sequence[str], delta: float, folder: Path
) -> Iterator[Path]:
    """Write every figure of the experiment into the folder, with its numbers, and yield the files."""
    rows, all_rows = found.sampled["argmax", "base"].n_units, found.complete["argmax"].n_units
    audits = {f"{rule}, {algorithm}": found.sampled[rule, algorithm] for rule, algorithm in _CURVES}
    yield from _survival(folder, "survival", f"Fashion-MNIST: instability over {rows:,} left-out rows", audits)
    if found.independent:
        audits = {}
        for rule, audit in found.independent.items():
            audits[f"{rule}, base, its own seed for each fit"] = audit
            audits[f"{rule}, base, one seed for all"] = found.sampled[rule, "base"]
        title = "Base fits: how much of the instability is the seed's"
        yield from _survival(folder, "survival-independent-seeds", title, audits)
    audits = {f"{rule}, subbagged": audit for rule, audit in found.complete.items()}
    title = f"Fashion-MNIST: instability over all {all_rows:,} rows"
    yield from _survival(folder, "survival-all-rows", title, audits, delta)
    yield from _epsilon(found, folder)
    yield from _ambiguous(found, images, classes, folder)


def _survival(
    folder: Path, name: str, title: str, audits: Mapping[str, StabilityAudit], bound: float | None = None
) -> tuple[Path, ...]:
    figure = _output.new_figure((7.0, 4.4))
    ax = survival_curve(audits, ax=figure.subplots())
    ax.set_title(title)
    numbers: dict[str, Any] = {key: {"instability": _levels(audit.instability)} for key, audit in audits.items()}
    if bound is not None:
        numbers["bound_for_infinitely_many_bags"] = bound
        if bound < 1:
            ax.axvline(bound, color="#666666", linewidth=1, label=f"bound, infinitely many bags: {bound:.4f}")
            ax.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none")
    return _output.save(figure, numbers, folder, name)


def _levels(values: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return the values that occur and how many points have them: the whole curve, in little room."""
    levels, counts = np.unique(values, return_counts=True)
    return {"value": levels.tolist(), "points": counts.tolist()}


def _epsilon(found: Findings, folder: Path) -> tuple[Path, ...]:
    figure = _output.new_figure((7.0, 4.8))
    ax = along_epsilon(found, epsilon_tradeoff, ax=figure.subplots())
    ax.axvline(found.epsilon, color="#666666", linewidth=1)
    ax.text(found.epsilon, 0.5, r" $\varepsilon$ of the tables", fontsize=8, color="#444444", va="center")
    return _output.save(figure, {"epsilon": epsilon_grid(found)}, folder, "epsilon")


def _ambiguous(found: Findings, images: NDArray[np.uint8], classes: Sequence[str], folder: Path) -> tuple[Path, ...]:
    proba = found.proba["subbagged"]
    sets = np.asarray(rules(found.epsilon)["inflated argmax"](proba))
    top_two = np.sort(proba, axis=1)[:, -2:]
    chosen = np.flatnonzero(sets.sum(axis=1) > 1)
    if len(chosen) == 0:
        return ()
    closest = chosen[np.argsort(top_two[chosen, 1] - top_two[chosen, 0], kind="stable")][:_SHOWN]
    figure = _output.new_figure((9.0, 4.6))
    truth = np.asarray(classes)[found.y_test[closest]]
    plot_sets(images[closest], sets[closest], classes=classes, y_true=truth, ax=figure.subplots())
    numbers = {"test_images": closest.tolist(), "sets": sets[closest].astype(int).tolist()}
    return _output.save(figure, numbers, folder, "ambiguous")
