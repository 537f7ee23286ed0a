"""The tables of the demonstration show the numbers that their heads name."""

import io
import re

import numpy as np
import pytest
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from helpers import report_cases as cases
from steadyset.cli import _demo
from steadyset.cli._audit_words import in_words

FOUND, LABELS = cases.predictions(n_points=37, seed=3)
PROBA = FOUND.mean()
TRUTH = np.array([list(FOUND.classes).index(label) for label in LABELS])


def printed(table, width=200):
    """Return the title of a table and its cells, line by line."""
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    text = console.file.getvalue()
    rows = [re.split("[│]", line)[1:-1] for line in text.splitlines() if line.startswith("│")]
    return text, [[cell.strip() for cell in row] for row in rows]


def scores(sets):
    held = sets[np.arange(37), TRUTH]
    return (held & (sets.sum(axis=1) == 1)).mean(), sets.sum() / 37, held.mean()


def instability(predictions, epsilon, left_out):
    audit = ss.audit_bags(predictions, ss.InflatedArgmax(epsilon), left_out=left_out, random_state=0)
    conflicts = np.zeros((37, audit.n_units), bool)
    conflicts[audit.conflicts()] = True
    return conflicts.mean(axis=1)


def test_the_four_methods():
    other, _ = cases.predictions(n_points=37, seed=8)
    audits = [ss.audit_bags(FOUND, ss.InflatedArgmax(_demo.EPSILON)),
              ss.audit_bags(other, ss.InflatedArgmax(_demo.EPSILON), left_out=53, random_state=0)]  # fmt: skip
    made = _demo._methods_table({"many": (PROBA, audits[0]), "few": (other.mean(), audits[1])}, TRUTH)
    text, rows = printed(made)
    assert "The four methods on 37 test digits" in text
    expected = []
    models = [("many", FOUND, "all", "all 80"), ("few", other, 53, "53")]
    for name, predictions, left_out, how in models:
        for rule, epsilon in (("argmax", 0.0), ("inflated", _demo.EPSILON)):
            single, size, _ = scores(ss.inflated_argmax(predictions.mean(), epsilon))
            found = instability(predictions, epsilon, left_out)
            line = [f"{single:.3f}", f"{size:.3f}", f"{found.max():.3f}", f"{found.mean():.4f}"]
            expected.append([f"{name}, {rule}", *line, how])
    assert rows == expected
    assert len({tuple(row[1:5]) for row in rows}) == 4
    assert "…" not in printed(_demo._methods_table({"500 trees": (PROBA, audits[0])}, TRUTH), width=80)[0]


def test_the_rules():
    text, rows = printed(_demo._rules_table(PROBA, TRUTH))
    assert "500 trees" in text
    assert len(rows) > 4
    for row, rule in zip(rows, ss.selection.rules_side_by_side(_demo.EPSILON), strict=True):
        single, size, held = scores(rule(PROBA))
        compatible = rule.compatible_epsilon(4)
        last = "none" if compatible is None else f"{compatible:.4g}"
        assert row == [rule.display_name, f"{size:.3f}", f"{held:.3f}", f"{single:.3f}", last]


def test_the_most_ambiguous_digits_are_counted_from_1():
    _, rows = printed(_demo._points_table(PROBA, TRUTH))
    second = np.sort(ss.entry_epsilons(PROBA), axis=1)[:, 1]
    assert len(rows) == 6
    for row, point in zip(rows, np.argsort(second), strict=False):
        first, inflated = (ss.inflated_argmax(PROBA[point], epsilon) for epsilon in (0, _demo.EPSILON))
        largest = "  ".join(f"{j}: {PROBA[point, j]:.2f}" for j in np.argsort(-PROBA[point])[:3])
        sets = ["{" + ", ".join(map(str, np.flatnonzero(mask))) + "}" for mask in (first, inflated)]
        assert row == [str(point + 1), str(TRUTH[point]), largest, *sets, f"{second[point]:.3f}"]


@pytest.mark.parametrize("left_out", ["all", 53])
def test_the_audit_in_words_counts_rows_of_the_table_from_1(left_out):
    audit = ss.audit_bags(FOUND, ss.InflatedArgmax(0.001), left_out=left_out, random_state=0)
    rows = np.random.default_rng(0).permutation(5000)[:37]
    share = instability(FOUND, 0.001, left_out)
    words = in_words(audit, rows)
    assert (
        f"(row {rows[share.argmax()] + 1:,}), mean {share.mean():.4g}; {(share > 0).sum()} rows of the table" in words
    )
    assert f"Instability: largest {share.max():.4g} " in words
    assert f"37 rows of the table, {80 if left_out == 'all' else 53} training rows left out" in words


def test_the_demo_leads_with_a_promise_of_5_in_100():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    model = ss.StableClassifier(DecisionTreeClassifier(), 200, epsilon=0.2, delta=_demo.DELTA, random_state=0).fit(X, y)
    audit, proved = model.audit(X), model.certify(X).overview
    accuracy = {"promised": 0.9, "half": 0.91, "tree": 0.8}
    promised, observed, certified, bought = _demo._promise_lines(model, audit, proved, accuracy, 0.18)
    assert "dropping one of 200 training rows" in promised
    assert f"in at most 5 in 100 cases (the bound is {model.guarantee().delta:.3f})" in promised
    assert model.guarantee().delta <= 0.05
    assert f"in {int(audit.n_conflicts.sum()):,} of 40,000 cases" in observed
    assert f"at {proved.no_row:.0%} of the digits" in certified
    assert f"bags of {model.bag_size_} rows" in bought
    assert "accuracy 0.900, against 0.910 with bags of half of the rows, which promise 0.18, and 0.800" in bought
