"""The inflated top k: at least k labels, and k in common for close vectors."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from helpers.grid import scores
from helpers.oracle import c_and_t, random_problem
from helpers.strategies import close_pairs
from steadyset import _native
from steadyset.selection import _arrays


def literal(w, k, epsilon):
    """The definition in extended precision: t of the row without its k - 1 largest entries."""
    rest = np.sort(np.asarray(w, np.longdouble))[: len(w) - k + 1]
    return np.asarray(w, np.longdouble) > c_and_t(rest, epsilon)[1]


def test_agrees_with_the_definition(isa):
    rng, compared = np.random.default_rng(7), 0
    for _ in range(60):
        w, epsilon = random_problem(rng, 3, 400)
        if epsilon < 1e-12 * np.abs(w).max():
            continue
        k = int(rng.integers(1, w.shape[1] + 1))
        sets = ss.inflated_top_k(w, k, epsilon)
        entries = ss.entry_epsilons(w, k=k)
        clear = np.abs(entries - epsilon) > 1e-10 * epsilon
        expected = np.array([literal(row, k, epsilon) for row in w])
        assert np.array_equal(sets[clear], expected[clear])
        assert np.array_equal((entries < epsilon)[clear], sets[clear])
        compared += int(clear.sum())
    assert compared > 5_000


@pytest.mark.parametrize("k", [2, 5, 40])
@pytest.mark.parametrize("width", [np.float32, np.float64, np.float16])
def test_long_rows_are_those_of_short_ones(isa, k, width):
    """Rows of many labels find their k-th largest from peaks: ties, overlapping stretches and all."""
    rng = np.random.default_rng(k)
    for n_labels in (65, 257, 300, 1000, 5003):
        w = np.round(rng.standard_normal((6, n_labels)), rng.integers(0, 4))
        flat = rng.dirichlet(np.full(n_labels, 0.3), 4)  # where most entries are candidates
        w = np.vstack([w, flat, np.round(flat, 4)]).astype(width)
        for epsilon in (0.0, 1e-3, 0.03, 0.5, math.inf):
            sets = ss.inflated_top_k(w, k, epsilon)
            rest = np.sort(w, axis=1)[:, : n_labels - k + 1]
            sizes = ss.inflated_argmax(rest, epsilon).sum(axis=1)
            kth = np.sort(w, axis=1)[:, [n_labels - k]]
            assert np.array_equal(sets.sum(axis=1), sizes + k - 1)
            assert np.all(sets[w >= kth])


def test_entries_are_where_bisection_finds_them():
    rng = np.random.default_rng(21)
    tables = (rng.dirichlet(np.ones(9), 6), rng.integers(0, 4, (6, 9)) / 4, rng.random((6, 9)).astype(np.float32))
    for w in tables:
        for k in (2, 3, 8, 9):
            low, high = np.zeros(w.shape), np.full(w.shape, 8.0)
            for _ in range(60):
                middle = (low + high) / 2
                inside = np.array(
                    [
                        [ss.inflated_top_k(row, k, epsilon)[label] for label, epsilon in enumerate(tried)]
                        for row, tried in zip(w, middle, strict=True)
                    ]
                )
                low, high = np.where(inside, low, middle), np.where(inside, middle, high)
            assert ss.entry_epsilons(w, k=k) == pytest.approx(high, rel=1e-12, abs=1e-16)


def test_one_label_is_the_inflated_argmax_to_the_bit(isa):
    for w in scores():
        for epsilon in (0.0, 1e-9, 0.05, 1.0, math.inf):
            assert np.array_equal(ss.inflated_top_k(w, 1, epsilon), ss.inflated_argmax(w, epsilon))
        assert np.array_equal(ss.entry_epsilons(w, k=1), ss.entry_epsilons(w))


def test_levels_agree_to_the_bit():
    rng, before = np.random.default_rng(3), _native.isa()
    problems = [(*random_problem(rng, 20, 600), k) for k in (2, 3, 17) for _ in range(20)]
    try:
        found = []
        for level in _native.isa_levels():
            _native.use_isa(level)
            some = [(w, min(k, w.shape[1]), epsilon) for w, epsilon, k in problems]
            found.append([(ss.inflated_top_k(w, k, e), ss.entry_epsilons(w, k=k)) for w, k, e in some])
    finally:
        _native.use_isa(before)
    for other in found[1:]:
        for (sets, entries), (same, alike) in zip(found[0], other, strict=True):
            assert np.array_equal(sets, same)
            assert np.array_equal(entries, alike)


def test_array_api_agrees(monkeypatch):
    cases = [(w, k, e) for w in scores() for k in (2, 4) for e in (0.0, 0.01, 0.3, math.inf) if w.shape[-1] >= k]
    native = [(ss.inflated_top_k(w, k, e), ss.entry_epsilons(w, k=k)) for w, k, e in cases]
    monkeypatch.setattr(_arrays, "is_foreign", lambda proba: True)
    for (w, k, e), (sets, entries) in zip(cases, native, strict=True):
        assert ss.entry_epsilons(w, k=k) == pytest.approx(entries, rel=1e-9, abs=1e-300)
        unclear = np.abs(entries - e) <= 1e-10 * e if 0 < e < math.inf else np.zeros(w.shape, bool)
        assert np.array_equal(ss.inflated_top_k(w, k, e)[~unclear], sets[~unclear])


@given(close_pairs(on_simplex=False), st.integers(1, 12))
def test_close_vectors_share_k_labels(pair, k):
    """Inflated top k is epsilon-compatible in the sense of k common labels."""
    w, v, epsilon = pair
    k = min(k, len(w))
    if np.linalg.norm(v - w) < epsilon:
        both = ss.inflated_top_k(w, k, epsilon) & ss.inflated_top_k(v, k, epsilon)
        assert both.sum() >= k


@pytest.mark.trial
def test_a_million_close_pairs_share_k_labels(full_trials):
    total = 1_000_000 if full_trials else 20_000
    rng, seen, tight = np.random.default_rng(104), 0, 0
    while seen < total:
        n_labels = int(rng.integers(2, 40))
        k = int(rng.integers(1, n_labels + 1))
        w = rng.dirichlet(np.full(n_labels, rng.choice([0.1, 1.0, 30.0])), 1000)
        v = rng.dirichlet(np.full(n_labels, rng.choice([0.1, 1.0, 30.0])), 1000)
        if k < n_labels and rng.random() < 0.7:  # straight across the border: swap the k-th with the next
            order = np.argsort(-w, axis=1)[:, k - 1 : k + 1]
            v = w.copy()
            np.put_along_axis(v, order, np.take_along_axis(w, order[:, ::-1], axis=1), axis=1)
        distance = np.linalg.norm(v - w, axis=1)
        epsilon = float(np.median(distance[distance > 0])) if np.any(distance > 0) else 1.0
        v = w + np.minimum(1, epsilon * (1 - 1e-12) / np.maximum(distance, 1e-300))[:, None] * (v - w)
        below = np.linalg.norm(v - w, axis=1) < epsilon
        both = (ss.inflated_top_k(w, k, epsilon) & ss.inflated_top_k(v, k, epsilon)).sum(axis=1)[below]
        assert np.all(both >= k)
        tight += int((both == k).sum())
        seen += int(below.sum())
    assert tight > 0.02 * seen  # the bound is met, so that a smaller set would break it


def test_the_radius_keeps_k_labels_in_common():
    rng, rule, tight = np.random.default_rng(5), ss.InflatedTopK(3, 0.1), 0
    w = rng.dirichlet(np.ones(8), 400)
    radius = ss.stability_radius(w, rule)
    for _ in range(30):
        step = rng.standard_normal(w.shape) * rng.random(w.shape) ** 4
        v = w + step / np.linalg.norm(step, axis=1, keepdims=True) * np.minimum(radius, 5)[:, None] * (1 - 1e-9)
        assert np.all((rule(w) & rule(v)).sum(axis=1) >= 3)
    order = np.argsort(-w, axis=1)[:, 2:4]  # the nearest way out of a set of three: across the border, a margin on
    lead = np.take_along_axis(w, order, axis=1) @ [1, -1]
    for row, (third, fourth) in enumerate(order):
        v = w[row].copy()
        reach = (lead[row] + 2 * 0.1 / math.sqrt(2)) / 2
        v[third] -= reach
        v[fourth] += reach
        if (rule(w[row]) & rule(v)).sum() < 3:
            assert reach * math.sqrt(2) >= radius[row]
            tight += reach * math.sqrt(2) < 3 * radius[row]
    assert tight > 20
    assert ss.stability_radius([0.5, 0.3, 0.2], ss.InflatedTopK(3, 0.01)) == math.inf
    assert ss.stability_radius([0.5, 0.3, 0.2], ss.InflatedTopK(2, 9.0)) == math.inf


def test_audits_metrics_and_guarantees_count_common_labels():
    bags = ss.draw_bags(30, 60, 15, seed=0)
    proba = np.random.default_rng(1).dirichlet(np.ones(5), (60, 4))
    predictions, rule = ss.BagPredictions(proba, bags, "abcde"), ss.InflatedTopK(3, 0.002)
    audit = ss.audit_bags(predictions, rule)
    full, conflicts = rule(predictions.mean()), np.zeros((30, 4), bool)
    for row in range(30):
        free = ~bags.membership()[:, row]
        conflicts[row] = (full & rule(proba[free].mean(axis=0))).sum(axis=1) < 3
    assert np.array_equal(audit.instability, conflicts.mean(axis=0))
    assert conflicts.any()
    disjoint = ss.audit_bags(predictions, lambda p: rule(p))
    assert audit.max_instability > disjoint.max_instability
    left_out = rule(proba[~bags.membership()[:, 0]].mean(axis=0))
    assert ss.metrics.conflict_rate(full, left_out, n_common=rule.n_common) == conflicts[0].mean()
    found = ss.selection_stability(n_samples=1000, bag_size=50, n_classes=5, n_bags=500, rule=ss.InflatedTopK(3, 0.2))
    assert "gives a set with fewer than 3 labels in common at a point" in str(found)
    plain = ss.selection_stability(n_samples=1000, bag_size=50, epsilon=0.2, n_classes=5, n_bags=500)
    assert found.delta == plain.delta


@pytest.mark.parametrize(("k", "n_classes"), [(1, 5), (2, 5), (5, 5), (3, 12), (17, 20)])
def test_audits_are_brute_force(isa, k, n_classes):
    """Nearly all pairs are screened in fixed point, up to 16 labels; ties and borders are left to the definition."""
    rng = np.random.default_rng(k)
    bags = ss.draw_bags(40, 70, 20, seed=0)
    smooth = rng.dirichlet(np.full(n_classes, 3.0), (70, 10))
    coarse = rng.multinomial(16, np.full(n_classes, 1 / n_classes), (70, 10)) / 16
    proba = np.concatenate([smooth, coarse], axis=1)
    free, conflicts, seen = ~bags.membership(), 0, []
    for epsilon in (0.0, 0.003, 0.03):
        rule = ss.InflatedTopK(k, epsilon)
        audit = ss.audit_bags(ss.BagPredictions(proba, bags, np.arange(n_classes)), rule)
        full = rule(proba.mean(axis=0))
        without = np.array([rule(proba[free[:, row]].mean(axis=0)) for row in range(40)])
        both, either = (full & without).sum(axis=2), (full | without).sum(axis=2)
        assert np.array_equal(audit.instability, (both < k).mean(axis=0))
        assert audit.jaccard == pytest.approx((both / either).mean(axis=0), rel=1e-12)
        conflicts += int((both < k).sum())
        seen.append(float((either > k).mean()))
    assert conflicts > 100 or k == n_classes
    assert max(seen) > 0 or k == n_classes


def test_certificates_take_its_radius():
    bags = ss.draw_bags(200, 100, 5, seed=0)
    proba = np.zeros((100, 1, 4))
    proba[:, 0] = [0.4, 0.4, 0.15, 0.05]
    found = ss.certify(ss.BagPredictions(proba, bags, "abcd"), ss.InflatedTopK(2, 0.2))
    assert found.radius == pytest.approx(ss.stability_radius(proba[0], ss.InflatedTopK(2, 0.2)))
    assert found.radius[0] == pytest.approx(0.1 + 0.25 / math.sqrt(2))


@pytest.mark.parametrize(("k", "came"), [(0, "0"), (4, "4"), (1.5, "1.5"), ("two", "'two'")])
def test_bad_k_is_a_sentence(k, came):
    with pytest.raises((ValueError, TypeError), match=f"^k must be a whole number from 1 to 3, .*; got {came}"):
        ss.inflated_top_k([0.5, 0.3, 0.2], k, 0.1)
    with pytest.raises((ValueError, TypeError), match=r"^k must be a whole number"):
        ss.entry_epsilons([0.5, 0.3, 0.2], k=k)


def test_rows_that_are_not_finite_are_named():
    w = np.zeros((3, 300))
    w[2, 7] = np.nan
    for call in (lambda: ss.inflated_top_k(w, 2, 0.1), lambda: ss.entry_epsilons(w, k=2)):
        with pytest.raises(ValueError, match="row 2"):
            call()


def orders_by_definition(w, epsilon):
    """Every allowed order, by trying all permutations."""
    allowed = []
    for order in itertools.permutations(range(len(w))):
        left = [np.asarray(w)[list(order[place:])] for place in range(len(w))]
        if all(ss.inflated_argmax(rest, epsilon)[0] for rest in left):
            allowed.append(order)
    return allowed


@pytest.mark.parametrize("n_items", [1, 2, 3, 5, 6])
def test_rankings_equal_enumeration(n_items):
    rng = np.random.default_rng(n_items)
    for trial in range(4):
        w = rng.dirichlet(np.ones(n_items)) if trial else rng.integers(0, 3, n_items) / 4
        for epsilon in (0.0, 0.1, 0.3):
            ranking = ss.inflated_ranking(w, epsilon)
            allowed = orders_by_definition(w, epsilon)
            assert sorted(ranking.orders(10_000)) == allowed
            ranks = np.array([np.argsort(order) + 1 for order in allowed])
            assert np.array_equal(ranking.best_ranks, ranks.min(axis=0))
            assert np.array_equal(ranking.worst_ranks, ranks.max(axis=0))
            before = (ranks[:, :, None] < ranks[:, None, :]).all(axis=0)
            assert np.array_equal(ranking.certain_pairs, before)
            chosen = [tuple(rng.permutation(n_items)) for _ in range(20)]
            assert [ranking.allows(order) for order in chosen] == [order in set(allowed) for order in chosen]


def test_rankings_equal_enumeration_at_the_ends_of_numbers():
    """Ties, gaps of an ulp, margins below an ulp, subnormal and huge scores, scores at the margin, narrow types."""
    rng = np.random.default_rng(12)
    tables = [
        rng.integers(0, 2, 4) * 0.1 + rng.integers(0, 2, 4) * 1e-17,
        np.array([0.2, 0.1, 0.1 + 1e-17, 0.1]),
        np.array([-0.0, 0.0, 0.0, -0.0]),
        np.array([3, 1, 2, 9]) * 5e-324,
        np.array([1.7e308, -1.7e308, 1.6e308, 0.0]),
        0.5 - np.array([0, 1, 2, 1]) * (0.2 / math.sqrt(2)),
        rng.random(4).astype(np.float32),
        rng.random(4).astype(np.float16),
        2**62 + np.array([0, 3, 1, 1]),
    ]
    for w in tables:
        for epsilon in (0.0, 5e-324, 1e-17, 0.2, 1.0, 1e300, math.inf):
            ranking, allowed = ss.inflated_ranking(w, epsilon), orders_by_definition(w, epsilon)
            assert sorted(ranking.orders()) == allowed
            ranks = np.array([np.argsort(order) + 1 for order in allowed])
            assert np.array_equal(ranking.best_ranks, ranks.min(axis=0))
            assert np.array_equal(ranking.worst_ranks, ranks.max(axis=0)), (w, epsilon)
            assert np.array_equal(ranking.certain_pairs, (ranks[:, :, None] < ranks[:, None, :]).all(axis=0))


@pytest.mark.trial
def test_rankings_equal_enumeration_of_seven(full_trials):
    rng = np.random.default_rng(8)
    for _ in range(40 if full_trials else 1):
        w, epsilon = rng.dirichlet(np.ones(7)), float(rng.choice([0.05, 0.15, 0.3]))
        ranking, allowed = ss.inflated_ranking(w, epsilon), orders_by_definition(w, epsilon)
        assert sorted(ranking.orders(10_000)) == allowed
        ranks = np.array([np.argsort(order) + 1 for order in allowed])
        assert np.array_equal(ranking.best_ranks, ranks.min(axis=0))
        assert np.array_equal(ranking.worst_ranks, ranks.max(axis=0))


def test_rank_intervals_hold_the_ranks_of_allowed_orders_of_many_items():
    rng = np.random.default_rng(9)
    w = rng.dirichlet(np.ones(60))
    ranking = ss.inflated_ranking(w, 0.02)
    seen = set()
    for _ in range(50):
        left, order = list(range(60)), []
        while left:
            members = np.flatnonzero(ss.inflated_argmax(w[left], 0.02))
            order.append(left.pop(int(rng.choice(members))))
        assert ranking.allows(order)
        ranks = np.argsort(order) + 1
        assert np.all((ranking.best_ranks <= ranks) & (ranks <= ranking.worst_ranks))
        first, second = np.nonzero(ranking.certain_pairs)
        assert np.all(ranks[first] < ranks[second])
        seen.add(tuple(order))
    assert len(seen) > 40
    assert len(list(ranking.orders(limit=25))) == 25


@given(close_pairs(on_simplex=False))
def test_close_scores_share_an_order(pair):
    w, v, epsilon = pair
    if len(w) <= 4 and np.linalg.norm(v - w) < epsilon:
        mine, other = ss.inflated_ranking(w, epsilon), ss.inflated_ranking(v, epsilon)
        assert set(mine.orders()) & set(other.orders())


def test_bad_orders_are_sentences():
    ranking = ss.inflated_ranking([3, 2, 1], 0.5)
    with pytest.raises(ValueError, match=r"^order must name each of the 3 items once; got \[0, 0, 1\]"):
        ranking.allows([0, 0, 1])
    with pytest.raises(ValueError, match=r"^scores must have one axis, the items; got an array of shape \(1, 2\)"):
        ss.inflated_ranking([[1, 2]], 0.1)
    with pytest.raises(ValueError, match=r"^scores must hold finite numbers only; got nan for item 1"):
        ss.inflated_ranking([1, math.nan, 2], 0.1)


def test_orders_of_more_items_than_python_recurses():
    w = np.random.default_rng(0).random(1500)
    ranking = ss.inflated_ranking(w, 1e-4)
    first, second = ranking.orders(limit=2)
    assert first == tuple(np.argsort(-w))
    assert second != first
    assert ranking.allows(second)
