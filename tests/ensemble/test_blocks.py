"""Block by block over the points: audits, certificates, sets and reports are those of the whole array, to the bit."""

import itertools
import tracemalloc
from dataclasses import fields

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset import trees
from steadyset.ensemble import _prediction

RNG = np.random.default_rng(4)
X = RNG.normal(size=(90, 5))
Y = np.digitize(X[:, 0] + 0.7 * RNG.normal(size=90), [-0.5, 0.5])
POINTS = RNG.normal(size=(75, 5))
CONFORMAL = {score: ss.conformal_rule(Y, RNG.dirichlet([1, 1, 1], 90), 0.1, score) for score in ("lac", "aps")}
RANDOMISED = ss.conformal_rule(Y, np.random.default_rng(0).dirichlet([1, 1, 1], 90), 0.1, "aps", random_state=0)
UNION = ss.Union(CONFORMAL["aps"], ss.Argmax(), ss.Union(CONFORMAL["lac"], ss.InflatedArgmax(0.01)))
RULES = [ss.InflatedArgmax(0.05), ss.Argmax(), ss.FixedMargin(0.1), ss.MassThreshold(0.6), ss.TopK(2), UNION]


@pytest.fixture(params=[DecisionTreeClassifier(max_depth=3), LogisticRegression(), trees.TreeClassifier(max_depth=3)])
def model(request):
    return ss.StableClassifier(request.param, 20, epsilon=0.05, random_state=0).fit(X, Y)


@pytest.fixture(params=[9, 64])
def in_blocks(request, monkeypatch):
    monkeypatch.setattr(_prediction, "_BLOCK_BYTES", 8 * 20 * 3 * request.param)
    assert _prediction.points_per_block(20, 3) == request.param


def same(one, other):
    for name in (field.name for field in fields(one)):
        a, b = getattr(one, name), getattr(other, name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, name
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), name
        else:
            assert a == b, name


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_audit_is_that_of_the_whole_array(model, rule, in_blocks):
    whole = model.bag_predictions(POINTS)
    same(model.audit(POINTS, rule, random_state=0), ss.audit_bags(whole, rule, random_state=0))
    options = {"left_out": 20, "averaging": "equal", "prune": False, "random_state": 3}
    same(model.audit(POINTS, rule, **options), ss.audit_bags(whole, rule, **options))


def test_a_union_is_never_given_all_points(model, in_blocks, monkeypatch):
    """Not even one with a randomised part, which is audited in Python, model by model."""
    monkeypatch.setattr(type(model), "bag_predictions", None)
    assert model.audit(POINTS, UNION).max_instability > 0
    told, drawn = [], ss.Union(RANDOMISED, *UNION.rules)
    found = model.audit(POINTS, drawn, progress=lambda done, total: told.append((done, total)))
    assert found.max_instability > 0
    assert told == sorted(told)
    assert told[-1] == (2 * len(POINTS), 2 * len(POINTS))
    assert len(told) > 50  # each block tells how far it is
    monkeypatch.undo()


@pytest.mark.parametrize("part", [ss.Argmax(), CONFORMAL["lac"]], ids=["argmax", "lac"])
def test_a_randomised_rule_goes_by_row(model, part, in_blocks):
    for rule in (RANDOMISED, ss.Union(part, RANDOMISED)):
        same(model.audit(POINTS, rule), ss.audit_bags(model.bag_predictions(POINTS), rule))


def test_a_callable_sees_all_points_of_a_model(model, in_blocks):
    def rule(proba):
        assert len(proba) == len(POINTS)
        return proba >= proba.max(axis=1, keepdims=True)

    same(model.audit(POINTS, rule), ss.audit_bags(model.bag_predictions(POINTS), rule))


@pytest.mark.parametrize("rule", [ss.InflatedArgmax(0.05), ss.FixedMargin(0.1), ss.MassThreshold(0.6)], ids=repr)
def test_certificates_are_those_of_the_whole_array(model, rule, in_blocks):
    expected = ss.certify(model.bag_predictions(POINTS), rule)
    same(model.certify(POINTS, rule=rule), expected)
    model.set_params(rule=rule)
    same(model.certify(POINTS), expected)


def test_predictions_and_sets_too(model, in_blocks):
    whole = model.bag_predictions(POINTS)
    assert np.array_equal(model.predict_proba(POINTS), whole.mean())
    assert np.array_equal(model.predict_set(POINTS), model.rule_(whole.mean()))
    blocks = list(model.prediction_blocks(POINTS))
    assert np.array_equal(np.concatenate([block.proba for block in blocks], axis=1), whole.proba)
    streamed = ss.StableClassifier(model.estimator, 20, epsilon=0.05, random_state=0)
    assert streamed.fit_predict_bags(X, Y, POINTS) == whole


def test_the_report_is_that_of_the_predictions(model, in_blocks):
    truth = np.arange(len(POINTS)) % 3
    by_block = ss.report(model, POINTS, truth, max_points=70).numbers
    whole = ss.report(model.bag_predictions(POINTS), POINTS, truth, epsilon=0.05, max_points=70).numbers
    apart = ("configuration", "n_points_in_training", "guarantee")
    assert {k: v for k, v in by_block.items() if k not in apart} == {k: v for k, v in whole.items() if k not in apart}
    assert by_block["guarantee"]["delta"] == whole["guarantee"]["delta"]


def test_votes_that_are_labels_are_exact_at_their_own_points(in_blocks):
    """Where some learners vote and others do not, each point has the slack that its own votes need."""
    bags = ss.draw_bags(30, 40, 6, sample_ids=range(30))
    proba = RNG.dirichlet([1, 1, 1], size=(40, 12))
    proba[:, ::2] = np.eye(3)[RNG.integers(0, 3, (40, 6))]
    rule, whole = ss.InflatedArgmax(0.05), ss.BagPredictions(proba, bags, "abc")
    together = ss.certify(whole, rule)
    for point in range(12):
        alone = ss.certify(whole.at_points([point]), rule)
        assert alone.unsafe_rows[0] == together.unsafe_rows[point]
        assert alone.poisoning_radius[0] == together.poisoning_radius[point]
        assert (alone.bound[0], alone.spread_bound[0]) == (together.bound[point], together.spread_bound[point])


def test_progress_goes_on_over_blocks(model, in_blocks):
    seen = []
    model.audit(POINTS, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(POINTS), len(POINTS))
    assert all(one[0] < other[0] for one, other in itertools.pairwise(seen))


def test_memory_is_bounded_by_the_block(monkeypatch):
    monkeypatch.setattr(_prediction, "_BLOCK_BYTES", 1 << 20)
    fitted = ss.StableClassifier(GaussianNB(), 100, max_samples=10, epsilon=0.1, random_state=0).fit(X, Y)
    points = RNG.normal(size=(3000, 5))
    whole = 8 * 100 * 3000 * 3
    tracemalloc.start()
    try:
        fitted.audit(points, n_jobs=1)
        fitted.certify(points)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < whole / 2
