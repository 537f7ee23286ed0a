"""A report with covering sets: its numbers are those of the library, in one file."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import steadyset as ss


def fitted(**options):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 2)) + y[:, None]
    names = np.array(["low", "<b>mid</b>", "high"])[y]
    given = {"n_estimators": 30, "epsilon": 0.1, "oob_score": True, "random_state": 0} | options
    return ss.StableClassifier(GaussianNB(), **given).fit(X[:80], names[:80]), X[80:], names[80:]


def test_the_numbers_are_those_of_the_library():
    model, X, y = fitted()
    made = ss.report(model, X, y, coverage=0.8)
    shown = made.numbers["coverage"]
    both = model.predict_covering_set(X, 0.8)
    lines = {line["sets"]: line for line in shown["rules"]}
    assert (shown["asked"], shown["proved"]) == (0.8, 0.6)
    assert lines["both"]["size"]["value"] == pytest.approx(both.sum(axis=1).mean())
    assert lines["both"]["coverage"]["value"] == ss.metrics.coverage_score(y, both, classes=model.classes_)
    assert lines["stable alone"]["size"]["value"] == pytest.approx(model.predict_set(X).sum(axis=1).mean())
    assert lines["covering alone"]["size"]["value"] <= lines["both"]["size"]["value"]
    by_class = ss.metrics.by_class(y, both, classes=model.classes_)
    assert [line["coverage"]["value"] for line in shown["by_class"]] == list(by_class["coverage"])
    assert [line["n_sets"] for line in shown["by_size"]] == list(
        ss.metrics.by_size(y, both, classes=model.classes_)["n_sets"]
    )
    assert "Coverage and stability in one set" in made.html
    assert "&lt;b&gt;mid&lt;/b&gt;" in made.html
    assert "<b>mid</b>" not in made.html
    assert ss.report(model, X, y).numbers["coverage"] is None


def test_without_labels_only_sizes_are_shown():
    model, X, _ = fitted()
    shown = ss.report(model, X, coverage=0.8).numbers["coverage"]
    assert [sorted(line) for line in shown["rules"]] == [["n_empty", "sets", "size"]] * 3
    assert shown["by_class"] == shown["by_size"] == []


def test_what_it_needs():
    model, X, y = fitted(oob_score=False)
    with pytest.raises(ValueError, match="oob_score must be True in a fit for predict_covering_set"):
        ss.report(model, X, y, coverage=0.9)
    with pytest.raises(ValueError, match="coverage must be None unless the model is a StableClassifier"):
        ss.report(model.bag_predictions(X), y=y, coverage=0.9)
