"""The demonstration: from a flipping classifier to a stable one, on handwritten digits."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from steadyset._base.words import out_of_a_hundred
from steadyset.audit import CertificateOverview, StabilityAudit
from steadyset.cli._answers import make_table
from steadyset.cli._audit_words import in_words
from steadyset.ensemble import StableClassifier, audit_refit
from steadyset.metrics import correct_single_score, coverage_score, mean_set_size
from steadyset.selection import Argmax, InflatedArgmax, entry_epsilons, rules_side_by_side

EPSILON = 0.1
DELTA = 0.05
BAGS = 500
REFITTED = 100


def run(console: Console | None = None, output: Path | None = None) -> None:
    """Promise, fit, say what is promised, observed and certified and how it was bought, show the sets, report."""
    console = console or Console()
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

    console.print(
        f"Fitting {BAGS} decision trees on bags of {len(X_train):,} training rows, as large as the promise allows ..."
    )
    model = StableClassifier(n_estimators=BAGS, epsilon=EPSILON, delta=DELTA, random_state=0, n_jobs=2)
    proba = model.fit(X_train, y_train).predict_proba(X_test)
    audit, certificates = model.audit(X_test), model.certify(X_test)

    console.print(
        f"Fitting {BAGS} on half of the rows, one on all, and that one again without each of {REFITTED} rows ...\n"
    )
    half = StableClassifier(n_estimators=BAGS, epsilon=EPSILON, random_state=0, n_jobs=2).fit(X_train, y_train)
    tree = clone(model.estimator_).set_params(random_state=0)
    refits = audit_refit(
        tree, X_train, y_train, X_test, InflatedArgmax(EPSILON), left_out=REFITTED, random_state=0, n_jobs=2
    )
    alone = tree.fit(X_train, y_train).predict_proba(X_test)
    models = {"promised": proba, "half": half.predict_proba(X_test), "tree": alone}
    accuracy = {name: float(np.mean(np.argmax(found, axis=1) == y_test)) for name, found in models.items()}
    for line in _promise_lines(model, audit, certificates.overview, accuracy, half.guarantee().delta):
        console.print(line, highlight=False)
    console.print(_methods_table({"one tree": (alone, refits), f"{BAGS} trees": (proba, audit)}, y_test))
    console.print(_rules_table(proba, y_test))
    console.print(_points_table(proba, y_test))

    console.print(f"[bold]In full:[/bold] {model.guarantee()}\n", highlight=False)
    console.print(f"[bold]Audit over all rows:[/bold] {in_words(audit, np.arange(len(y_test)))}\n", highlight=False)
    _write_report(console, model, X_test, y_test, output or Path("steadyset-demo.html"))


def _promise_lines(
    model: StableClassifier,
    audit: StabilityAudit,
    proved: CertificateOverview,
    accuracy: Mapping[str, float],
    half_delta: float,
) -> list[str]:
    """Return what is promised, observed and certified, and how it was bought."""
    guarantee, n_conflicts = model.guarantee(), int(audit.n_conflicts.sum())
    pairs = audit.n_points * audit.n_units
    return [
        f"[bold]Promised:[/bold] dropping one of {guarantee.n_samples:,} training rows turns the label set of a digit "
        f"into a contradictory one in at most {out_of_a_hundred(DELTA)} cases (the bound is {guarantee.delta:.3f}).",
        f"[bold]Observed:[/bold] in {n_conflicts:,} of {pairs:,} cases, every row left out at every test digit.",
        f"[bold]Certified:[/bold] at {proved.no_row:.0%} of the digits no row can, with 95% confidence and infinitely "
        f"many bags; at {proved.cleared_points or 0:.0%} for certain, whatever the retrained trees say.",
        f"[bold]Bought with[/bold] {BAGS} bags of {guarantee.bag_size:,} rows at epsilon {EPSILON:g}: accuracy "
        f"{accuracy['promised']:.3f}, against {accuracy['half']:.3f} with bags of half of the rows, which promise "
        f"{half_delta:.2f}, and {accuracy['tree']:.3f} of one tree.\n",
    ]


def _write_report(
    console: Console, model: StableClassifier, X: NDArray[np.float64], y: NDArray[np.intp], output: Path
) -> None:
    from steadyset.reporting import report

    try:
        report(model, X, y, output=output, title=f"Handwritten digits, {BAGS} trees", images=(8, 8))
    except ImportError as error:
        console.print(f"No report: {error}", highlight=False, markup=False)
    else:
        console.print(f"Report: {output.resolve()}", highlight=False, markup=False, soft_wrap=True)


def _methods_table(models: dict[str, tuple[NDArray[np.float64], StabilityAudit]], y: NDArray[np.intp]) -> Table:
    rows = []
    for name, (proba, audit) in models.items():
        how = f"{audit.n_units:,}" if audit.sampled else f"all {audit.n_units:,}"
        kinds = (("argmax", Argmax(), audit.at(0.0)), ("inflated", InflatedArgmax(EPSILON), audit.at(EPSILON)))
        for rule_name, rule, instability in kinds:
            sets = rule(proba)
            measured = [
                f"{correct_single_score(y, sets):.3f}",
                f"{mean_set_size(sets):.3f}",
                f"{instability.max():.3f}",
                f"{instability.mean():.4f}",
            ]
            rows.append([f"{name}, {rule_name}", *measured, how])
    return make_table(
        ("method", "single, right", "size", "largest", "mean", "rows"),
        rows,
        n_left=1,
        title=f"The four methods on {len(y)} test digits",
        caption="largest, mean: over the points, the share of rows without which a point's set turns into a disjoint "
        "one; the tree is fitted again without each of its rows, and for bags it includes the noise of having finitely "
        "many of them",
    )


def _rules_table(proba: NDArray[np.float64], y: NDArray[np.intp]) -> Table:
    rows = []
    for rule in rules_side_by_side(EPSILON):
        sets = rule(proba)
        compatible = rule.compatible_epsilon(proba.shape[1])
        measured = [
            f"{score:.3f}" for score in (mean_set_size(sets), coverage_score(y, sets), correct_single_score(y, sets))
        ]
        rows.append([rule.display_name, *measured, "none" if compatible is None else f"{compatible:.4g}"])
    columns = ("rule", "set size", "label inside", "single, right", "compatible")
    return make_table(columns, rows, n_left=1, title=f"Rules on the probabilities of {BAGS} trees")


def _points_table(proba: NDArray[np.float64], y: NDArray[np.intp]) -> Table:
    entries = np.sort(entry_epsilons(proba), axis=1)[:, 1]
    rows = []
    for i in np.argsort(entries)[:6]:
        leading = "  ".join(f"{j}: {proba[i, j]:.2f}" for j in np.argsort(-proba[i])[:3])
        sets = [_shown(rule(proba[i])) for rule in (Argmax(), InflatedArgmax(EPSILON))]
        rows.append([str(i + 1), str(y[i]), leading, *sets, f"{entries[i]:.3f}"])
    columns = ("row", "truth", "three largest probabilities", "argmax", "inflated", "two from")
    caption = "two from: the epsilon beyond which a second label enters"
    return make_table(columns, rows, n_left=len(columns), title="The most ambiguous digits", caption=caption)


def _shown(mask: NDArray[np.bool_]) -> str:
    return "{" + ", ".join(map(str, np.flatnonzero(mask))) + "}"
