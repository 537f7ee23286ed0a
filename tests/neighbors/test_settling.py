"""Points at which no row can change the set: their models are ranked and not made."""

from dataclasses import fields

import numpy as np
import pytest

import steadyset as ss
from steadyset import _native
from steadyset.neighbors import audit_run, model_blocks

RULES = [ss.InflatedArgmax(0.05), ss.InflatedArgmax(0.3), ss.Argmax(), ss.FixedMargin(0.1), ss.TopK(1)]


def tied_rows(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 2)).astype(float)
    return X, (X.sum(axis=1).astype(int) + rng.integers(0, 2, n)) % n_classes, rng.integers(0, 3, (30, 2)).astype(float)


def fitted(seed, n_classes, **options):
    X, y, points = tied_rows(seed, 40 + 10 * seed, n_classes)
    return ss.StableNeighborsClassifier(3, classes=range(n_classes), **options).fit(X, y), points


def settled_points(model, points, rule, threads=2):
    """Return which points are settled, and the audit of all."""
    (block,) = model._blocks(model._points(points), threads)
    seen = {}
    original = type(block).ranked

    def ranked(self, board, margin):
        found = original(self, board, margin)
        seen["settled"] = found.settled
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(block), "ranked", ranked)
        audit = model.audit(points, rule, n_jobs=threads)
    return seen.get("settled"), audit


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 7, 8, 9, 16, 17, 26])
@pytest.mark.parametrize("options", [{}, {"max_samples": 6}, {"max_samples": 9, "bootstrap": True}], ids=str)
def test_the_audit_is_that_of_all_models_to_the_bit(rule, n_classes, options):
    for seed in range(3):
        model, points = fitted(seed, n_classes, **options)
        every = audit_run(model, rule, len(points), 1)
        for part in model_blocks(model, points):
            every.add(part)
        written_out, found = every.result(), model.audit(points, rule)
        for field in fields(found):
            assert np.all(getattr(written_out, field.name) == getattr(found, field.name)), field.name


@pytest.mark.parametrize("rule", RULES[:4], ids=repr)
def test_sets_and_largest_labels_of_settled_points_are_those_of_every_refit(rule):
    n_settled, sizes = 0, set()
    for seed in range(6):
        X, y, points = tied_rows(seed, 60, 4)
        options = {"max_samples": 6 + seed, "classes": range(4)}
        model = ss.StableNeighborsClassifier(3, **options).fit(X, y)
        settled, _ = settled_points(model, points, rule)
        own = model.predict_proba(points)[settled]
        n_settled += len(own)
        sizes |= set(rule(own).sum(axis=1).tolist())
        for row in range(len(X)):
            kept = np.arange(len(X)) != row
            without = ss.StableNeighborsClassifier(3, **options).fit(X[kept], y[kept]).predict_proba(points)[settled]
            assert np.array_equal(rule(without), rule(own))
            both = (own == own.max(axis=1, keepdims=True)) & (without == without.max(axis=1, keepdims=True))
            assert both.any(axis=1).all()
    assert n_settled > 20
    assert rule != ss.InflatedArgmax(0.3) or sizes == {1, 2}


def test_most_points_of_an_easy_table_are_settled():
    X = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0, 0], [8, 0]], 100, axis=0)
    model = ss.StableNeighborsClassifier(3).fit(X, np.repeat([0, 1], 100))
    settled, audit = settled_points(model, X, ss.InflatedArgmax(0.05))
    assert settled.mean() > 0.95
    assert audit.max_instability == 0


def asked():
    return {
        "rows": np.array([[0, 1, 2], [2, 1, 0]], np.int32),
        "codes": np.array([0, 1, 1]),
        "whole": np.array([3 << 60, 1 << 60]),
        "proba": np.array([[0.5, 0.5], [0.25, 0.75]]),
        "wide": 0.1,
        "narrow": 0.1,
        "unit_of": np.arange(3, dtype=np.int32),
        "first": 5,
        "score": np.zeros(3, np.float32),
        "leader": np.full(3, -1),
        "levels": np.array([0, 2]),
        "quantiles": np.empty((2, 2), np.float32),
        "settled": np.empty(2, np.uint8),
        "threads": 1,
    }


def test_shifts_of_the_models_without_a_row():
    given = asked()
    _native.neighbor_settle(**given)
    # Without rows 0, 1, 2 the first point is (0, 1), (.75, .25), (.75, .25), the second (0, 1), (.25, .75), (.25, .75).
    expected = np.sqrt(2) * np.array([[0.25, 0.5], [0.0, 0.25]])
    assert np.allclose(given["quantiles"], expected, rtol=1e-6, atol=0)
    assert given["settled"].tolist() == [0, 1]
    assert given["leader"].tolist() == [5, 5, -1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": np.array([[0, 1, 3], [2, 1, 0]], np.int32)},
        {"rows": np.array([[0, 1], [2, 1]], np.int32)},
        {"rows": np.array([[0, 1, 2], [2, 1, 0]])},
        {"codes": np.array([0, 2, 1])},
        {"codes": np.array([0, -1, 1])},
        {"proba": np.array([[0.5, 0.5]])},
        {"proba": np.array([0.5, 0.5])},
        {"unit_of": np.array([0, 3, 1], np.int32)},
        {"unit_of": np.array([0, 1], np.int32)},
        {"leader": np.full(2, -1)},
        {"levels": np.array([0, 3])},
        {"quantiles": np.empty((1, 2), np.float32)},
        {"settled": np.empty(3, np.uint8)},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError):  # noqa: PT011
        _native.neighbor_settle(**(asked() | wrong))
