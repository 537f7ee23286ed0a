"""Lemma 3 against the truth: the nearest vector with a disjoint set, found by climbing over what keeps the labels out.

A vector v has a set disjoint from A exactly if some probability vector lambda outside A has v_j <= lambda.v - eps phi
for all j in A (Theorem S3). For fixed lambda the nearest such v is a water level: entries of A above it come down, and
lambda of what they lose goes to the others. What is left is a search over lambda.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from helpers.strategies import epsilons, vectors


def nearest_for(gaps, selected, weights, epsilon):
    """Distances to the nearest v in which `weights` keep all selected labels out; rows are gaps below the maximum.

    The entries of A come down to x below the maximum, x + s^2 sum_A (x - d_j)_+ = G, the first a of them for some a.
    """
    square = (weights**2).sum(axis=-1)
    goal = (weights * np.where(selected, 0, gaps)).sum(axis=-1) + epsilon * (np.sqrt(1 + square) - math.sqrt(0.5))
    d = np.where(selected, gaps, 0.0)
    counts = np.arange(1, gaps.shape[-1] + 1)
    levels = (goal[..., None] + square[..., None] * d.cumsum(axis=-1)) / (1 + square[..., None] * counts)
    x = np.where(selected, levels, math.inf).min(axis=-1)
    down = np.where(selected, np.maximum(x[..., None] - d, 0), 0)
    return np.sqrt((down**2).sum(axis=-1) + square * down.sum(axis=-1) ** 2), down


def climbed(rng, gaps, selected, epsilon, steps):
    """The best lambda that a hill climb finds for every row, from a random start."""

    def on_outside(weights):
        weights = np.where(selected, 0.0, np.maximum(weights, 1e-9))
        return weights / weights.sum(axis=-1, keepdims=True)

    weights = on_outside(rng.dirichlet(np.full(gaps.shape[-1], 0.5), len(gaps)) + 1e-12)
    first = np.zeros_like(weights)
    first[np.arange(len(gaps)), selected.sum(axis=1)] = 1
    weights = np.where(rng.random((len(gaps), 1)) < 0.3, first, weights)
    best, _ = nearest_for(gaps, selected, weights, epsilon)
    for step in range(steps):
        size = 0.5 * 0.97**step
        tried = on_outside(weights + size * rng.standard_normal(weights.shape) * (rng.random(weights.shape) < 0.6))
        found, _ = nearest_for(gaps, selected, tried, epsilon)
        better = found < best
        best, weights = np.where(better, found, best), np.where(better[:, None], tried, weights)
    return best, weights


def several_labels(rng, total):
    """Sorted probability vectors, an epsilon for each, with between 2 and L - 1 labels selected."""
    n_labels = int(rng.integers(3, 9))
    epsilon = float(rng.choice([0.02, 0.05, 0.1, 0.3, 0.6]))
    w = np.full((total, n_labels), 1 / n_labels)
    w += epsilon * rng.uniform(0.2, 2.0, (total, 1)) * (rng.random((total, n_labels)) - 0.5)
    w = np.maximum(w, 1e-9)
    w = -np.sort(-w / w.sum(axis=1, keepdims=True), axis=1)
    sizes = ss.inflated_argmax(w, epsilon).sum(axis=1)
    kept = (sizes > 1) & (sizes < n_labels)
    return w[kept], epsilon


@pytest.mark.trial
def test_the_radius_of_the_inflated_argmax_is_close_to_the_truth_and_never_above(full_trials):
    """10^5 hill climbs over vectors with several labels in the set; median at least 0.95 of what they find."""
    rng, climbs, ratios = np.random.default_rng(0), 0, []
    while climbs < (100_000 if full_trials else 3_000):
        w, epsilon = several_labels(rng, 200)
        rule = ss.InflatedArgmax(epsilon)
        sets, radius = rule(w), ss.stability_radius(w, rule)
        gaps, best = w[:, :1] - w, np.full(len(w), math.inf)
        for _ in range(4):
            found, weights = climbed(rng, gaps, sets, epsilon, 150)
            climbs += len(w)
            assert np.all(found >= radius * (1 - 1e-12))
            best = np.minimum(best, found)
        # What was found is a conflict, a hair farther on.
        _, down = nearest_for(gaps, sets, weights, epsilon * (1 + 1e-9))
        moved = w - down * (1 + 1e-9) + down.sum(axis=1, keepdims=True) * weights * (1 + 1e-9)
        assert not np.any(rule(moved) & sets)
        ratios.append(radius / best)
    ratios = np.concatenate(ratios)
    assert np.median(ratios) >= 0.95
    print(f"radius over truth: median {np.median(ratios):.4f}, 5% {np.quantile(ratios, 0.05):.4f}, {climbs:,} climbs")


def nearest_by_margin(w, selected, margin):
    """The vector of Lemma 3's proof: entries of the set above a level come down, the best one outside rises."""
    low, high = w.min() - margin - 1, w.max()
    k = int(np.where(selected, -np.inf, w).argmax())
    for _ in range(200):
        b = (low + high) / 2
        low, high = (b, high) if b + margin - w[k] < np.maximum(w[selected] - b, 0).sum() else (low, b)
    v = np.where(selected, np.minimum(w, b), w)
    v[k] = b + margin
    return v


@pytest.mark.trial
@pytest.mark.parametrize("kind", ["fixed margin", "argmax"])
def test_the_radius_of_the_fixed_margin_and_the_argmax_is_exact(kind, full_trials):
    """Attained by a vector on the simplex, and no climb over directions finds a nearer conflict."""
    rng, several = np.random.default_rng(1), 0
    for _ in range(2_000 if full_trials else 150):
        w = rng.dirichlet(np.full(rng.integers(2, 8), rng.choice([0.5, 3.0, 30.0])))
        w = np.round(w * 20) / 20 if kind == "argmax" else w
        rule = ss.FixedMargin(float(rng.uniform(0.01, 0.8))) if kind == "fixed margin" else ss.Argmax()
        own, radius = rule(w), float(ss.stability_radius(w, rule))
        if own.all():
            assert radius == math.inf
            continue
        several += own.sum() > 1
        v = nearest_by_margin(w, own, rule.lone_margin)
        assert np.linalg.norm(v - w) == pytest.approx(radius, rel=1e-9)
        if kind == "fixed margin":
            assert v.min() >= -1e-12
        assert v.sum() == pytest.approx(w.sum(), abs=1e-12)
        assert not np.any(rule(w + (v - w) * (1 + 1e-9)) & own)
        steps = rng.standard_normal((300, len(w))) * np.where(own, rng.uniform(0, 1, (300, 1)), 1) + (
            v - w
        ) * rng.gamma(1, 20, (300, 1))
        steps *= radius * (1 - 1e-9) / np.linalg.norm(steps, axis=1, keepdims=True)
        assert np.all(np.any(rule(w + steps) & own, axis=1))
    assert several > 20


@given(vectors(1), epsilons)
def test_a_set_of_all_labels_has_an_infinite_radius(w, epsilon):
    for rule in (ss.InflatedArgmax(epsilon), ss.FixedMargin(epsilon), ss.Argmax()):
        radius = float(ss.stability_radius(w, rule))
        assert (radius == math.inf) == bool(rule(w).all()) or np.ptp(w) > 1e300
        assert radius > 0
        if rule.has_epsilon:
            assert radius >= epsilon


@given(vectors(2, 6), st.floats(0.01, 2))
def test_single_labels_keep_the_radius_of_their_lead(w, epsilon):
    top, second = np.sort(w)[::-1][:2]
    for rule in (ss.InflatedArgmax(epsilon), ss.FixedMargin(epsilon)):
        if rule(w).sum() == 1:
            expected = max(epsilon, epsilon / 2 + (top - second) / math.sqrt(2))
            assert float(ss.stability_radius(w, rule)) == pytest.approx(expected, rel=1e-12)


def test_compatible_rules_have_no_conflict_with_a_set_of_all_labels():
    flat, sharp = np.full(4, 0.25), np.array([0.97, 0.01, 0.01, 0.01])
    for rule in (ss.MassThreshold(0.9), ss.NDC(2.0), ss.SVBOP("u80")):
        assert rule(flat).all()
        assert ss.stability_radius(np.array([flat, sharp]), rule).tolist() == [math.inf, rule.compatible_epsilon(4)]
