"""The demonstration: every rule on the probabilities of a bagged classifier."""

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from steadyset.selection import (
    NDC,
    SVBOP,
    Argmax,
    FixedMargin,
    InflatedArgmax,
    MassThreshold,
    Rule,
    TopK,
    entry_epsilons,
)
from steadyset.sets import to_labels

EPSILON = 0.05


def run(console: Console | None = None) -> None:
    """Fit 200 trees on halves of the digits data and print what each rule selects on the test points."""
    console = console or Console()
    console.print("Fitting 200 decision trees, each on half of the digits' training rows ...")
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = BaggingClassifier(DecisionTreeClassifier(), 200, max_samples=0.5, bootstrap=False, random_state=0)
    proba = model.fit(X_train, y_train).predict_proba(X_test)

    console.print(_rules_table(proba, y_test))
    console.print(_points_table(proba, y_test))
    console.print(
        f"Where the probabilities settle it, the inflated argmax at epsilon = {EPSILON} names one label; "
        "where a smaller move of the probabilities could turn the winner, it names the rivals too. "
        "Two probability vectors closer than epsilon always share a label."
    )


def _rules_table(proba: np.ndarray, y: np.ndarray) -> Table:
    table = Table(title=f"Rules on {len(y)} test digits")
    for column in ("rule", "set size", "label inside", "single, right", "compatible"):
        table.add_column(column, justify="left" if column == "rule" else "right", no_wrap=True)
    rules: dict[str, Rule] = {
        "argmax": Argmax(),
        f"inflated argmax, {EPSILON}": InflatedArgmax(EPSILON),
        f"fixed margin, {EPSILON}": FixedMargin(EPSILON),
        "top 2": TopK(2),
        "mass threshold, 0.8": MassThreshold(0.8),
        "NDC, F1": NDC(),
        "SVBOP, u65": SVBOP("u65"),
        "SVBOP, u80": SVBOP("u80"),
    }
    for name, rule in rules.items():
        sets = rule(proba)
        covered, single = sets[np.arange(len(y)), y], sets.sum(axis=1) == 1
        compatible = rule.compatible_epsilon(proba.shape[1])
        table.add_row(
            name,
            f"{sets.sum(axis=1).mean():.3f}",
            f"{covered.mean():.3f}",
            f"{(covered & single).mean():.3f}",
            "none" if compatible is None else f"{compatible:.4g}",
        )
    return table


def _points_table(proba: np.ndarray, y: np.ndarray) -> Table:
    table = Table(title="The most ambiguous digits", caption="two from: the epsilon beyond which a second label enters")
    for column in ("row", "truth", "three largest probabilities", "argmax", "inflated", "two from"):
        table.add_column(column, no_wrap=True)
    entries = np.sort(entry_epsilons(proba), axis=1)[:, 1]
    hardest = np.argsort(entries)[:6]
    sets = to_labels(InflatedArgmax(EPSILON)(proba[hardest]), range(proba.shape[1]))
    tops = to_labels(Argmax()(proba[hardest]), range(proba.shape[1]))
    for i, labels, top in zip(hardest, sets, tops, strict=True):
        leading = "  ".join(f"{j}: {proba[i, j]:.2f}" for j in np.argsort(-proba[i])[:3])
        table.add_row(str(i), str(y[i]), leading, _shown(top), _shown(labels), f"{entries[i]:.3f}")
    return table


def _shown(labels: tuple[int, ...]) -> str:
    return "{" + ", ".join(map(str, labels)) + "}"
