"""Unions of rules: steady wherever one of them is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss


def conformal(threshold, score="lac"):
    return ss.ConformalRule(score=score, coverage=0.9, thresholds=(threshold,), n_calibration=(10,))


def close_pairs(rng, n, n_labels, epsilon):
    """Probability vectors, and others closer than epsilon that lie on the simplex too."""
    v = rng.dirichlet(np.full(n_labels, 0.5), n)
    step = rng.normal(size=v.shape)
    step -= step.mean(axis=1, keepdims=True)
    step *= epsilon * rng.random((n, 1)) / np.linalg.norm(step, axis=1, keepdims=True)
    w = v + step
    kept = (w >= 0).all(axis=1)
    return v[kept], w[kept]


@pytest.mark.trial
def test_close_pairs_share_a_label_whatever_the_thresholds(full_trials):
    rng = np.random.default_rng(0)
    seen = 0
    while seen < (1_000_000 if full_trials else 20_000):
        n_labels, epsilon = int(rng.integers(2, 12)), float(rng.uniform(0.01, 0.5))
        v, w = close_pairs(rng, 5_000, n_labels, epsilon)
        rules = [
            ss.Union(conformal(float(rng.random()), score), ss.InflatedArgmax(epsilon))
            for score in rng.choice(["lac", "aps"], 2)
        ]
        assert (rules[0](v) & rules[1](w)).any(axis=1).all()
        seen += len(v)


@given(st.floats(0.01, 0.6), st.floats(0.5, 1.0, exclude_min=True), st.integers(2, 9))
def test_the_compatible_epsilon_is_the_largest_of_the_parts(epsilon, tau, n_labels):
    parts = (ss.MassThreshold(tau), ss.InflatedArgmax(epsilon), conformal(0.3))
    expected = max(parts[0].compatible_epsilon(n_labels), epsilon)
    assert ss.Union(*parts).compatible_epsilon(n_labels) == expected


def test_a_union_without_a_steady_part_promises_nothing():
    rule = ss.Union(conformal(0.3), ss.Argmax())
    assert rule.compatible_epsilon(3) is None
    bags = ss.draw_bags(50, 20, 25, sample_ids=range(50))
    model = ss.BagPredictions(np.full((20, 2, 2), 0.5), bags, [0, 1])
    with pytest.raises(ValueError, match="rule must be one that a theorem makes compatible"):
        ss.bags.guarantee_of_rule(model.bags, rule, 3)
    with pytest.raises(ValueError, match="rule must be one that a theorem makes compatible"):
        conformal(0.3).stability_radius([[0.5, 0.5]])


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_a_conformal_rule_alone_has_no_guarantee_and_its_union_has(score):
    x = np.random.default_rng(0).normal(size=(60, 2))
    model = ss.StableClassifier(n_estimators=12, max_samples=0.1, random_state=0, rule=conformal(0.5, score))
    model.fit(x, np.arange(60) % 3)
    refused = r"^rule must be one that a theorem makes compatible.*got ConformalRule"
    with pytest.raises(ValueError, match=refused):
        model.guarantee()
    with pytest.raises(ValueError, match=refused):
        ss.bags.guarantee_of_rule(model.bags_, conformal(0.5, score), 3)
    union = ss.Union(conformal(0.5, score), ss.InflatedArgmax(0.4))
    alone = ss.bags.guarantee_of_rule(model.bags_, ss.InflatedArgmax(0.4), 3)
    assert model.set_params(rule=union).guarantee().delta == alone.delta


def test_the_radius_is_the_largest_of_the_parts():
    proba = np.random.default_rng(1).dirichlet(np.ones(4), 200)
    parts = (ss.MassThreshold(0.9), ss.InflatedArgmax(0.2), ss.FixedMargin(0.1))
    rule = ss.Union(conformal(0.6), *parts)
    expected = np.maximum.reduce([part.stability_radius(proba) for part in parts])
    full = rule(proba).all(axis=1)
    np.testing.assert_array_equal(rule.stability_radius(proba), np.where(full, math.inf, expected))


def test_the_guarantee_is_the_smallest_of_the_parts():
    bags = ss.draw_bags(2_000, 300, 100, sample_ids=range(2_000))
    parts = (ss.InflatedArgmax(0.1), ss.FixedMargin(0.15), ss.MassThreshold(0.6))
    each = [ss.bags.guarantee_of_rule(bags, part, 10).delta for part in parts]
    assert ss.bags.guarantee_of_rule(bags, ss.Union(conformal(0.5), *parts), 10).delta == min(each)
    assert len(set(each)) == 3


@pytest.mark.parametrize("other", [conformal(0.4), conformal(0.7, "aps"), ss.TopK(2)], ids=["lac", "aps", "top 2"])
def test_the_audit_of_a_union_equals_brute_force(other):
    rng = np.random.default_rng(2)
    bags = ss.draw_bags(30, 40, 15, sample_ids=range(30))
    made = ss.BagPredictions(rng.dirichlet(np.full(4, 0.3), (40, 25)), bags, range(4))
    for rule in (ss.Union(other, ss.InflatedArgmax(0.01)), other):
        found = ss.audit_bags(made, rule)
        own, conflicts = rule(made.mean()), np.zeros((25, 30), bool)
        for row in range(30):
            free = [b for b in range(40) if row not in bags[b]]
            without = rule(made.proba[free].mean(axis=0))
            conflicts[:, row] = ~(own & without).any(axis=1)
        np.testing.assert_allclose(found.instability, conflicts.mean(axis=1), atol=1e-12)


BY_CLASS = ss.ConformalRule("aps", 0.9, (0.6, 0.7, 0.8, math.inf), (9, 9, 9, 1), by_class=True)
KNOWN = {
    "lac": ss.Union(conformal(0.7), ss.InflatedArgmax(0.01)),
    "aps by class": ss.Union(BY_CLASS, ss.MassThreshold(0.6)),
    "lac, some empty": conformal(0.7),
    "aps": conformal(0.6, "aps"),
    "top k": ss.Union(ss.InflatedTopK(2, 0.05), ss.SVBOP(), conformal(0.5)),
    "within": ss.Union(ss.Union(ss.NDC(), ss.Argmax()), ss.FixedMargin(0.02)),
}


@pytest.mark.parametrize("rule", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_native_audit_of_a_union_equals_the_one_in_python(rule, dtype, isa):
    """The same rule as a callable of its user's is applied in Python, model by model."""
    rng = np.random.default_rng(5)
    bags = ss.draw_bags(45, 50, 0.4)
    made = ss.BagPredictions(rng.dirichlet(np.full(4, 0.4), (50, 33)).astype(dtype), bags, range(4))
    assert rule.kernels
    found = ss.audit_bags(made, rule, n_jobs=2)
    by_hand = InPython(rule)
    slow = ss.audit_bags(made, by_hand)
    assert not by_hand.kernels
    assert found.jaccard.min() < 1
    for name in ("instability", "row_influence", "pair_starts", "pair_units"):
        np.testing.assert_array_equal(getattr(found, name), getattr(slow, name))
    np.testing.assert_allclose(found.jaccard, slow.jaccard, rtol=1e-12)


class InPython(ss.Rule):
    """A rule that the native audit does not know."""

    def __init__(self, rule):
        self.rule = rule

    def __call__(self, proba):
        return self.rule(proba)

    def compatible_epsilon(self, n_classes):
        return self.rule.compatible_epsilon(n_classes)

    @property
    def n_common(self):
        return self.rule.n_common

    @property
    def may_be_empty(self):
        return self.rule.may_be_empty


def test_an_empty_set_conflicts_with_every_set_and_with_itself():
    rule = conformal(0.1)
    bags = ss.draw_bags(10, 8, 5, sample_ids=range(10))
    flat = ss.BagPredictions(np.full((8, 1, 2), 0.5), bags, [0, 1])
    audit = ss.audit_bags(flat, rule)
    assert not rule(flat.mean()).any()
    assert audit.instability.tolist() == [1.0]
    assert ss.audit_bags(flat, ss.Union(rule, ss.InflatedArgmax(0.1))).instability.tolist() == [0.0]


def test_common_labels_are_those_that_the_strictest_part_asks_for():
    rule = ss.Union(ss.InflatedTopK(3, 0.1), ss.InflatedArgmax(0.4), conformal(0.4))
    assert (rule.n_common, rule.compatible_epsilon(9)) == (3, 0.1)


def test_another_epsilon_reaches_the_parts_that_have_one():
    rule = ss.selection.with_epsilon(ss.Union(conformal(0.4), ss.InflatedArgmax(0.1)), 0.3)
    assert rule == ss.Union(conformal(0.4), ss.InflatedArgmax(0.3))
    assert ss.selection.with_epsilon(ss.Union(conformal(0.4)), 0.2) == ss.Union(conformal(0.4), ss.InflatedArgmax(0.2))
    assert rule.display_name == "conformal LAC 0.9 + inflated argmax"


def test_unite_makes_any_sets_steady():
    rng = np.random.default_rng(3)
    v, w = close_pairs(rng, 2_000, 5, 0.2)
    masks = rng.random((2, *v.shape)) < 0.2
    assert (ss.unite(masks[0], v, 0.2) & ss.unite(masks[1], w, 0.2)).any(axis=1).all()
    assert (ss.unite(masks[0], v, 0.2) >= masks[0]).all()
    with pytest.raises(ValueError, match=r"mask must have the shape of proba, \(3,\); got \(2,\)"):
        ss.unite([True, False], [0.2, 0.3, 0.5], 0.1)


@pytest.mark.parametrize(("rules", "message"), [((), "at least one rule; got none"), ((max,), "rule objects; got")])
def test_bad_parts(rules, message):
    with pytest.raises(TypeError, match=message):
        ss.Union(*rules)
