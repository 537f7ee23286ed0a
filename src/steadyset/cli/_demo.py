"""The demonstration: from a flipping classifier to a stable one, on handwritten digits."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from steadyset._base.label_sets import to_labels
from steadyset.audit import StabilityAudit
from steadyset.ensemble import StableClassifier, audit_refit
from steadyset.metrics import correct_single_score, coverage_score, mean_set_size
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

EPSILON = 0.05
BAGS = 500
REFITTED = 100

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


def run(console: Console | None = None, output: Path | None = None) -> None:
    """Fit, compare the paper's four methods, show rules and ambiguous digits, say what is guaranteed, report."""
    console = console or Console()
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

    console.print(f"Fitting {BAGS} decision trees, each on half of {len(X_train):,} training rows ...")
    model = StableClassifier(n_estimators=BAGS, epsilon=EPSILON, random_state=0, n_jobs=2).fit(X_train, y_train)
    proba, audit = model.predict_proba(X_test), model.audit(X_test)

    console.print(f"Fitting one decision tree, and again without each of {REFITTED} rows ...\n")
    tree = DecisionTreeClassifier(random_state=0)
    refits = audit_refit(
        tree, X_train, y_train, X_test, InflatedArgmax(EPSILON), left_out=REFITTED, random_state=0, n_jobs=2
    )
    alone = tree.fit(X_train, y_train).predict_proba(X_test)
    console.print(_methods_table({"one tree": (alone, refits), f"{BAGS} trees": (proba, audit)}, y_test))
    console.print(_rules_table(proba, y_test))
    console.print(_points_table(proba, y_test))

    console.print(f"[bold]Guaranteed:[/bold] {model.guarantee()}\n", highlight=False)
    console.print(f"[bold]Audit over all rows:[/bold] {audit.summary()}\n", highlight=False)
    _write_report(console, model, X_test, y_test, output or Path("steadyset-demo.html"))


def _write_report(
    console: Console, model: StableClassifier, X: NDArray[np.float64], y: NDArray[np.intp], output: Path
) -> None:
    from steadyset.reporting import report

    try:
        report(model, X, y, output=output, title="Handwritten digits, 500 trees", images=(8, 8))
    except ImportError as error:
        console.print(f"No report: {error}", highlight=False, markup=False)
    else:
        console.print(f"Report: {output.resolve()}", highlight=False, markup=False, soft_wrap=True)


def _methods_table(models: dict[str, tuple[NDArray[np.float64], StabilityAudit]], y: NDArray[np.intp]) -> Table:
    table = Table(
        title=f"The four methods on {len(y)} test digits",
        caption="instability: the share of rows without which a point's set turns into a disjoint one, largest and "
        "mean over the points; for bags it includes the noise of having finitely many of them",
    )
    for column in ("method", "single, right", "set size", "largest", "mean", "rows"):
        table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
    for name, (proba, audit) in models.items():
        how = f"{audit.n_units:,} refits" if audit.sampled else f"all {audit.n_units:,}"
        for rule, instability in ((Argmax(), audit.at(0.0)), (InflatedArgmax(EPSILON), audit.at(EPSILON))):
            sets = rule(proba)
            table.add_row(
                f"{name}, {'argmax' if isinstance(rule, Argmax) else 'inflated'}",
                f"{correct_single_score(y, sets):.3f}",
                f"{mean_set_size(sets):.3f}",
                f"{instability.max():.3f}",
                f"{instability.mean():.4f}",
                how,
            )
    return table


def _rules_table(proba: NDArray[np.float64], y: NDArray[np.intp]) -> Table:
    table = Table(title=f"Rules on the probabilities of {BAGS} trees")
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


def _shown(labels: tuple[int, ...]) -> str:
    return "{" + ", ".join(map(str, labels)) + "}"
