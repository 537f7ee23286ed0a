"""The demonstration: from a flipping classifier to a stable one, on handwritten digits."""

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from steadyset.ensemble import StableClassifier
from steadyset.metrics import conflict_rate, correct_single_score, coverage_score, mean_set_size
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
BAGS = 500
RETRAINED = 8

RULES: dict[str, Rule] = {
    "argmax": Argmax(),
    f"inflated argmax, {EPSILON}": InflatedArgmax(EPSILON),
    f"fixed margin, {EPSILON}": FixedMargin(EPSILON),
    "top 2": TopK(2),
    "mass threshold, 0.8": MassThreshold(0.8),
    "NDC, F1": NDC(),
    "SVBOP, u65": SVBOP("u65"),
    "SVBOP, u80": SVBOP("u80"),
}


def run(console: Console | None = None) -> None:
    """Fit, show sets and guarantee, and retrain on the data less a few rows."""
    console = console or Console()
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    ids = np.arange(len(X_train))

    console.print(f"Fitting {BAGS} decision trees, each on half of {len(X_train):,} training rows ...")
    model = StableClassifier(n_estimators=BAGS, epsilon=EPSILON, random_state=0, n_jobs=2)
    model.fit(X_train, y_train, sample_ids=ids)
    proba = model.predict_proba(X_test)
    console.print(_rules_table(proba, y_test))
    console.print(_points_table(proba, y_test))
    console.print(f"[bold]Guaranteed:[/bold] {model.guarantee()}\n")

    console.print(f"Retraining {RETRAINED} times, each time on the data less one row ...")
    console.print(_conflict_table(model, X_train, y_train, X_test, ids))
    console.print(
        "A conflict is a point whose old and new answers share no label. The guarantee is about the sets; "
        "a single label, such as the argmax, has none."
    )


def _rules_table(proba: NDArray[np.float64], y: NDArray[np.intp]) -> Table:
    table = Table(title=f"Rules on {len(y)} test digits")
    for column in ("rule", "set size", "label inside", "single, right", "compatible"):
        table.add_column(column, justify="left" if column == "rule" else "right", no_wrap=True)
    for name, rule in RULES.items():
        sets = rule(proba)
        compatible = rule.compatible_epsilon(proba.shape[1])
        table.add_row(
            name,
            f"{mean_set_size(sets):.3f}",
            f"{coverage_score(y, sets):.3f}",
            f"{correct_single_score(y, sets):.3f}",
            "none" if compatible is None else f"{compatible:.4g}",
        )
    return table


def _points_table(proba: NDArray[np.float64], y: NDArray[np.intp]) -> Table:
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


def _conflict_table(
    model: StableClassifier,
    X: NDArray[np.float64],
    y: NDArray[np.intp],
    X_test: NDArray[np.float64],
    ids: NDArray[np.intp],
) -> Table:
    single = DecisionTreeClassifier(random_state=0)
    old_tree = single.fit(X, y).predict_proba(X_test)
    old = model.predict_proba(X_test)
    rates: dict[str, list[float]] = {"one tree, argmax": [], "500 trees, argmax": [], "500 trees, inflated argmax": []}
    again = StableClassifier(**{**model.get_params(deep=False), "max_samples": model.bag_size_})
    for dropped in np.random.default_rng(0).choice(len(X), RETRAINED, replace=False):
        keep = np.delete(ids, dropped)
        tree = single.fit(X[keep], y[keep]).predict_proba(X_test)
        new = again.fit(X[keep], y[keep], sample_ids=keep).predict_proba(X_test)
        rates["one tree, argmax"].append(conflict_rate(Argmax()(old_tree), Argmax()(tree)))
        rates["500 trees, argmax"].append(conflict_rate(Argmax()(old), Argmax()(new)))
        rule = InflatedArgmax(EPSILON)
        rates["500 trees, inflated argmax"].append(conflict_rate(rule(old), rule(new)))
    table = Table(title=f"Conflicts after retraining without one row, {len(X_test)} test digits")
    for column in ("model and rule", "mean conflict rate", "worst"):
        table.add_column(column, justify="left" if column == "model and rule" else "right", no_wrap=True)
    for name, values in rates.items():
        table.add_row(name, f"{np.mean(values):.4f}", f"{np.max(values):.4f}")
    return table


def _shown(labels: tuple[int, ...]) -> str:
    return "{" + ", ".join(map(str, labels)) + "}"
