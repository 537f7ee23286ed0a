"""The report of stable neighbours: all bags there are, so that what was observed is exact."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import steadyset as ss
from helpers.browser import opened


def fitted(max_samples=30, **options):
    """Return a model of 80 rows in whole numbers, some of them with a wrong label, and 40 points with their labels."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 9, size=(120, 2)).astype(float)
    y = np.array(["cat", "dog", "fox"])[np.clip((X.sum(axis=1) + rng.integers(-2, 3, 120)) // 6, 0, 2).astype(int)]
    options = {"epsilon": 0.03, **options}
    model = ss.StableNeighborsClassifier(3, max_samples=max_samples, **options).fit(X[:80], y[:80])
    return model, X[80:], y[80:]


def test_numbers_are_those_of_the_model():
    model, X, y = fitted()
    made = ss.report(model, X, y)
    numbers, audit = made.numbers, model.audit(X)
    json.dumps(numbers, allow_nan=False)
    assert (numbers["n_bags"], numbers["bag_size"], numbers["n_samples"]) == (None, 30, 80)
    assert numbers["audit"]["conflicts"] == audit.n_conflicts.sum() > 0
    assert numbers["audit"]["words"] == audit.algorithm
    assert numbers["guarantee"]["delta"] == numbers["guarantee"]["limit_delta"] == model.guarantee().delta
    assert numbers["argmax"]["max_instability"] == model.audit(X, ss.Argmax()).max_instability
    by_rule = {line["rule"]: line["max_instability"] for line in numbers["rules"]}
    assert by_rule["top 2"] == model.audit(X, ss.TopK(2)).max_instability
    assert numbers["rules"][0]["correct_single"]["value"] == pytest.approx(np.mean(model.predict(X) == y))
    rows = numbers["rows"]
    assert [row["conflicts"] for row in rows] == sorted(audit.row_influence, reverse=True)[: len(rows)]
    assert all(row["conflicts"] == audit.row_influence[row["row"]] for row in rows)
    assert numbers["configuration"]["Bags"].startswith("infinitely many of 30 rows, subbagging")
    assert numbers["configuration"]["Learner"].startswith("StableNeighborsClassifier(")
    assert "infinitely many bags of 30 of 80 training rows" in made.html
    assert "All that the audit says is certain" in made.html
    assert "by reuse of bags" not in made.html.split("<script")[0]


@pytest.mark.parametrize(
    "rule", [ss.Argmax(), ss.FixedMargin(0.03), lambda p: p >= p.max(axis=1, keepdims=True) - 0.01]
)
def test_other_rules_and_sparse_rows(rule):
    model, X, _ = fitted(rule=rule, bootstrap=True)
    numbers = ss.report(model, csr_matrix(X)).numbers
    assert numbers["audit"]["conflicts"] == model.audit(csr_matrix(X)).n_conflicts.sum()
    assert isinstance(numbers["guarantee"], dict if rule == ss.FixedMargin(0.03) else str)


def test_without_a_row_that_matters():
    X = np.repeat([0.0, 9.0], 20)[:, None]
    model = ss.StableNeighborsClassifier(3, delta=0, epsilon=0.4).fit(X, np.repeat([0, 1], 20))
    made = ss.report(model, X)
    assert made.numbers["rows"] == []
    assert "None does, at any epsilon of the slider." in made.html
    assert made.numbers["guarantee"]["every_row"]


@pytest.mark.parametrize(("max_samples", "scope"), [(30, "on average over the rows"), (4, "for every row")])
def test_the_slider_is_the_librarys(browser, tmp_path, max_samples, scope):
    model, X, y = fitted(max_samples, epsilon=0.3)
    ss.report(model, X, y, output=tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as shown:
        assert shown.text("bound-rows") == f", {scope}"
        for epsilon in (0.3, 0.123456, 0.02):
            if epsilon != 0.3:
                shown.move(epsilon)
            audit = model.audit(X, ss.InflatedArgmax(epsilon))
            assert shown.exact("conflicts") == audit.n_conflicts.sum()
            assert shown.exact("max-instability") == audit.max_instability
            assert shown.exact("set-size") == model.predict_set(X, epsilon).sum(axis=1).mean()
            promise = model.guarantee(rule=ss.InflatedArgmax(epsilon))
            assert shown.exact("bound") == pytest.approx(promise.delta, rel=1e-9)
            flips = [int(text) for text in shown.page.locator("[data-flips]").all_text_contents()]
            if epsilon == 0.02:
                assert sum(flips) <= audit.n_conflicts.sum()
        assert not shown.complaints
