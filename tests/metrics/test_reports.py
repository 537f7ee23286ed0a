"""Reports side by side, and the views by size, class and pair."""

import math
import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

import steadyset as ss
from helpers import literal_metrics as literal
from helpers.metric_cases import cases
from steadyset import metrics

COLUMNS = ("correct_single", "size", "coverage", "u65", "u80", "superfluous_inflation")
CLASSES = ["T-shirt & top", "coat_1", "dress"]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(2)
    proba = rng.dirichlet(np.ones(3), 400)
    y = [CLASSES[rng.choice(3, p=row)] for row in proba]
    return y, proba


def test_the_report_is_the_metrics_side_by_side(sample):
    y, proba = sample
    rules = {"argmax": ss.Argmax(), "inflated|0.2": ss.InflatedArgmax(0.2), "top 2": ss.TopK(2)}
    report = metrics.set_report(y, rules, proba, classes=CLASSES)
    assert report["rule"] == tuple(rules)
    for row, rule in enumerate(rules.values()):
        sets = rule(proba)
        expected = {
            "correct_single": metrics.correct_single_score(y, sets, classes=CLASSES),
            "size": metrics.mean_set_size(sets),
            "coverage": metrics.coverage_score(y, sets, classes=CLASSES),
            "u65": metrics.u65_score(y, sets, classes=CLASSES),
            "u80": metrics.u80_score(y, sets, classes=CLASSES),
        }
        for name, value in expected.items():
            assert report[name][row] == value
            assert report[name][row].standard_error == value.standard_error
    assert math.isnan(report["superfluous_inflation"][0])
    assert report["superfluous_inflation"][2] == metrics.superfluous_inflation(
        y, ss.top_k(proba, 2), proba, classes=CLASSES
    )


def test_masks_rules_and_probabilities_by_name(sample):
    y, proba = sample
    other = proba[:, ::-1]
    by_name = metrics.set_report(
        y,
        {"base": ss.InflatedArgmax(0.2), "bagged": ss.inflated_argmax(other, 0.2)},
        {"base": proba, "bagged": other},
        classes=CLASSES,
    )
    alone = metrics.set_report(y, {"bagged": ss.InflatedArgmax(0.2)}, other, classes=CLASSES)
    assert by_name.rows[1] == alone.rows[0]
    masks_only = metrics.set_report(y, {"bagged": ss.inflated_argmax(other, 0.2)}, classes=CLASSES)
    assert masks_only.rows[0][:-1] == alone.rows[0][:-1]
    assert math.isnan(masks_only["superfluous_inflation"][0])
    assert metrics.set_report(y, [ss.Argmax()], proba, classes=CLASSES)["rule"] == ("Argmax()",)


def test_the_papers_error_on_request(sample):
    y, proba = sample
    rule = [ss.InflatedArgmax(0.2)]
    ratio, paper = (
        metrics.set_report(y, rule, proba, classes=CLASSES, standard_error=formula) for formula in ("ratio", "paper")
    )
    assert ratio.rows == paper.rows  # the values
    assert ratio["superfluous_inflation"][0].standard_error > 1.5 * paper["superfluous_inflation"][0].standard_error
    assert ratio["u65"][0].standard_error == paper["u65"][0].standard_error


def test_to_frame(sample):
    y, proba = sample
    report = metrics.set_report(y, {"a": ss.Argmax(), "b": ss.TopK(2)}, proba, classes=CLASSES)
    frame = report.to_frame()
    assert list(frame.index) == ["a", "b"]
    assert list(frame) == [name for column in COLUMNS for name in (column, f"{column}_se")]
    assert frame.loc["b", "coverage"] == report["coverage"][1]
    assert frame.loc["b", "coverage_se"] == report["coverage"][1].standard_error
    assert str(frame.dtypes["size"]) == "float64"


def test_to_markdown_and_to_latex_escape_names(sample):
    y, proba = sample
    report = metrics.set_report(y, {"a|b": ss.Argmax(), "50% {x}_1^2~\\": ss.TopK(2)}, proba, classes=CLASSES)
    markdown = report.to_markdown().splitlines()
    assert markdown[0].startswith("| rule | correct_single ↑ | size ↓ |")
    assert markdown[1] == "| --- |" + " ---: |" * 6
    assert markdown[2].startswith(r"| a\|b | 0.")
    assert markdown[2].endswith(" | – |")
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in markdown}) == 1
    latex = report.to_latex().splitlines()
    assert latex[0] == r"\begin{tabular}{lrrrrrr}"
    assert latex[2].startswith(r"rule & correct\_single $\nearrow$ & size $\searrow$")
    assert latex[5].startswith(r"50\% \{x\}\_1\textasciicircum{}2\textasciitilde{}\textbackslash{} & 0.000 (0.000)")
    assert latex[4].endswith(r"-- \\")


def test_printing_lines_up(sample):
    y, proba = sample
    lines = str(metrics.set_report(y, [ss.Argmax(), ss.InflatedArgmax(0.1)], proba, classes=CLASSES)).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert re.search(r"InflatedArgmax\(epsilon=0.1\)  +0\.\d{3} \(0\.\d{3}\)", lines[2])


def test_empty_sets_leave_the_utilities_undefined():
    report = metrics.set_report([0, 1], {"gaps": np.array([[True, False], [False, False]])})
    assert report["coverage"][0] == 0.5
    assert math.isnan(report["u65"][0])
    assert math.isnan(report["u80"][0])


def test_empty_sets_are_told_where_a_rule_may_have_them(sample):
    y, proba = sample
    covering = ss.ConformalRule("lac", 0.5, (0.4,), (99,))
    rules = {"covering": covering, "both": ss.Union(covering, ss.InflatedArgmax(0.1)), "stable": ss.InflatedArgmax(0.1)}
    report = metrics.set_report(y, rules, proba, classes=CLASSES)
    assert report.columns == ("rule", *COLUMNS[:2], "empty", *COLUMNS[2:])
    share = (~covering(proba).any(axis=1)).mean()
    assert 0.1 < share < 0.9
    assert report["empty"] == (pytest.approx(share), 0.0, 0.0)
    assert report["empty"][0].standard_error == pytest.approx(math.sqrt(share * (1 - share) / len(y)))
    for told in (str(report), report.to_markdown(), report._repr_html_(), report.to_latex()):
        assert "empty" in told
        assert f"{share:.3f} (" in told
    assert report.to_frame().loc["covering", "empty"] == report["empty"][0]
    never = ss.ConformalRule("lac", 0.9, (math.inf,), (3,))
    assert metrics.set_report(y, [never], proba, classes=CLASSES)["empty"] == (0.0,)


def test_the_column_of_empty_sets_needs_one(sample):
    """A mask does not tell what its rule may do: its own sets decide."""
    y, proba = sample
    sets = ss.inflated_argmax(proba, 0.1)
    assert metrics.set_report(y, {"mask": sets, "rule": ss.TopK(2)}, proba, classes=CLASSES).columns[1:] == COLUMNS
    some = sets & (np.arange(len(sets)) % 4 > 0)[:, None]
    report = metrics.set_report(y, {"mask": sets, "gaps": some}, proba, classes=CLASSES)
    assert report["empty"] == (0.0, 0.25)
    weights = (np.arange(len(sets)) % 4 > 1).astype(float)
    weighted = metrics.set_report(y, {"gaps": some}, proba, classes=CLASSES, sample_weight=weights)
    assert weighted["empty"] == (0.0,)


@given(cases())
def test_by_size(case):
    report = metrics.by_size(case.y, case.mask, **case.options)
    counts = Counter(len(s) for s in case.sets)
    assert dict(zip(report["size"], report["n_sets"], strict=True)) == counts
    assert list(report["size"]) == sorted(counts)
    for size, share, coverage in zip(report["size"], report["share"], report["coverage"], strict=True):
        of_size = [w * (len(s) == size) for s, w in zip(case.sets, case.weight_list, strict=True)]
        expected, error = literal.coverage(case.y, case.sets, of_size)
        assert coverage == pytest.approx(expected, nan_ok=True)
        assert coverage.standard_error == pytest.approx(error, nan_ok=True, abs=1e-12)
        assert share == pytest.approx(
            literal.mean([len(s) == size for s in case.sets], case.weight_list)[0], nan_ok=True
        )


@given(cases())
def test_by_class(case):
    report = metrics.by_class(case.y, case.mask, **case.options)
    assert list(report["class"]) == case.classes
    for row, label in enumerate(case.classes):
        own = [w * (y == label) for y, w in zip(case.y, case.weight_list, strict=True)]
        others = [w * (y != label) for y, w in zip(case.y, case.weight_list, strict=True)]
        assert report["n_samples"][row] == case.y.count(label)
        assert report["coverage"][row] == pytest.approx(literal.coverage(case.y, case.sets, own)[0], nan_ok=True)
        single = literal.correct_single(case.y, case.sets, own)[0]
        assert report["correct_single"][row] == pytest.approx(single, nan_ok=True)
        assert report["size"][row] == pytest.approx(literal.size(case.sets, own)[0], nan_ok=True)
        named = literal.mean([float(label in s) for s in case.sets], others)[0]
        assert report["named_wrongly"][row] == pytest.approx(named, nan_ok=True)


@given(cases())
def test_by_pair(case):
    report = metrics.by_pair(case.y, case.mask, **case.options)
    order = case.classes.index
    counts = Counter(pair for s in case.sets for pair in combinations(sorted(s, key=order), 2))
    assert dict(zip(report["pair"], report["n_sets"], strict=True)) == counts
    assert list(report["n_sets"]) == sorted(report["n_sets"], reverse=True)
    for row, (first, second) in enumerate(report["pair"]):
        together = [w * ({first, second} <= s) for s, w in zip(case.sets, case.weight_list, strict=True)]
        truth = {"first_right": {first}, "second_right": {second}, "neither_right": set(case.classes) - {first, second}}
        for column, labels in truth.items():
            expected = literal.mean([float(y in labels) for y in case.y], together)[0]
            assert report[column][row] == pytest.approx(expected, nan_ok=True)


def test_views_become_frames(sample):
    y, proba = sample
    sets = ss.inflated_argmax(proba, 0.3)
    report = metrics.by_pair(y, sets, classes=CLASSES)
    pairs = report.to_frame()
    assert sorted(pairs.index) == sorted(combinations(CLASSES, 2))
    assert list(pairs.index) == list(report["pair"])
    assert list(pairs["n_sets"]) == list(report["n_sets"])
    assert list(metrics.by_class(y, sets, classes=CLASSES).to_frame().index) == CLASSES
