"""The audit equals its definition, on every decision."""

import math

import numpy as np
import pytest

import steadyset as ss
from helpers.audit_problems import brute_force, predictions
from steadyset.audit import _kernel

KINDS = ["smooth", "float32", "votes", "fractions", "near"]
SCHEMES = ["subbagging", "bootstrap", "adopted"]


def rules(rng, n_classes):
    return [
        ss.Argmax(),
        ss.InflatedArgmax(float(rng.choice([0.0, 1e-3, 0.05, 0.3, 2.0]))),
        ss.FixedMargin(float(rng.choice([0.02, 0.2]))),
        ss.TopK(int(rng.integers(1, n_classes + 1))),
        ss.MassThreshold(0.6),
        ss.NDC(),
        ss.SVBOP("u80"),
        lambda p: p >= p.max(axis=-1, keepdims=True) - 0.03,
    ]


def problem(number):
    rng = np.random.default_rng([7, number])
    made = predictions(
        rng,
        n=int(rng.integers(3, 25)),
        n_bags=int(rng.choice([2, 5, 15, 16, 17, 33, 64, 100])),
        n_points=int(rng.integers(1, 20)),
        n_classes=int(rng.integers(1, 13)),
        resampling=SCHEMES[number % 3],
        kind=KINDS[number % 5],
        bag_size=float(rng.choice([0.2, 0.5, 0.8])),
    )
    return rng, made


@pytest.mark.parametrize("start", range(0, 240, 30))
def test_equals_brute_force(start):
    audited = 0
    for number in range(start, start + 30):
        rng, made = problem(number)
        if np.all(made.bags.counts == made.n_bags):
            continue
        audited += 1
        for rule in rules(rng, made.n_classes):
            truth = brute_force(made, rule)
            for prune in (True, False):
                audit = ss.audit_bags(made, rule, prune=prune)
                assert audit.left_out.tolist() == truth.rows
                assert np.array_equal(audit.instability, truth.conflict.sum(axis=0) / len(truth.rows))
                assert np.array_equal(audit.row_influence, truth.conflict.sum(axis=1))
                points, units = audit.conflicts()
                assert set(zip(units.tolist(), points.tolist(), strict=True)) == set(
                    zip(*(part.tolist() for part in np.nonzero(truth.conflict)), strict=True)
                )
                assert np.allclose(audit.jaccard, truth.jaccard.mean(axis=0), rtol=1e-12)
                seen = ~audit.settled
                assert np.all(np.abs(audit.max_shift - truth.shift.max(axis=0))[seen] <= audit.shift_error)
                assert not audit.settled.any() or prune
    assert audited >= 27


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_at_every_epsilon_equals_a_fresh_audit(start):
    audited = 0
    for number in range(start, start + 50):
        rng, made = problem(number)
        if np.all(made.bags.counts == made.n_bags):
            continue
        audited += 1
        for own in (0.0, 0.05, 0.4):
            audit = ss.audit_bags(made, ss.InflatedArgmax(own))
            for epsilon in rng.uniform(0, [0.02, 0.1, 0.3, 0.8, 1.6]):
                fresh = ss.audit_bags(made, ss.InflatedArgmax(epsilon))
                assert np.array_equal(audit.at(epsilon), fresh.instability)
        assert np.array_equal(ss.audit_bags(made, ss.Argmax()).at(own), audit.instability)
        assert np.array_equal(audit.at(0), ss.audit_bags(made, ss.Argmax()).instability)
    assert audited >= 45


def test_every_instruction_set_gives_the_same(isa):
    made = predictions(np.random.default_rng(0), n=40, n_bags=150, n_points=40, n_classes=10, kind="float32")
    for rule in (ss.Argmax(), ss.InflatedArgmax(0.1), ss.TopK(2)):
        truth = brute_force(made, rule)
        audit = ss.audit_bags(made, rule)
        assert np.array_equal(audit.instability, truth.conflict.mean(axis=0))
        assert np.array_equal(audit.row_influence, truth.conflict.sum(axis=1))


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_threads_and_chunks_change_nothing(n_jobs, monkeypatch):
    made = predictions(np.random.default_rng(1), n=60, n_bags=90, n_points=70, n_classes=4)
    whole = ss.audit_bags(made, ss.InflatedArgmax(0.05), n_jobs=1)
    monkeypatch.setattr(_kernel, "_CHUNK_BYTES", 4096)
    split = ss.audit_bags(made, ss.InflatedArgmax(0.05), n_jobs=n_jobs)
    for name in ("instability", "jaccard", "row_influence", "row_score", "row_point", "pair_units", "pair_epsilons"):
        assert np.array_equal(getattr(whole, name), getattr(split, name)), name


def test_many_rows_and_wide_points():
    """More units than one block of the kernels holds, and more labels than one tile."""
    rng = np.random.default_rng(2)
    made = predictions(rng, n=5000, n_bags=24, n_points=3, n_classes=5, bag_size=0.3)
    wide = predictions(rng, n=12, n_bags=40, n_points=2, n_classes=200)
    for rule in (ss.Argmax(), ss.InflatedArgmax(0.1), ss.TopK(2)):
        for case in (made, wide):
            truth = brute_force(case, rule)
            audit = ss.audit_bags(case, rule)
            assert np.array_equal(audit.row_influence, truth.conflict.sum(axis=1))


def test_pruning_settles_points_and_never_a_conflict():
    rng = np.random.default_rng(3)
    made = predictions(rng, n=30, n_bags=200, n_points=300, n_classes=3)
    lifted = made.proba.copy()
    lifted[:, :200, 0] += 3 * rng.random((1, 200))
    lifted /= lifted.sum(axis=2, keepdims=True)
    made = ss.BagPredictions(lifted, made.bags, made.classes)
    for rule in (ss.Argmax(), ss.InflatedArgmax(0.05), ss.FixedMargin(0.05)):
        audit = ss.audit_bags(made, rule)
        truth = brute_force(made, rule)
        assert 50 < audit.settled.sum() < 300
        assert not truth.conflict[:, audit.settled].any()
        assert np.all(truth.jaccard[:, audit.settled] == 1)


def test_averaging_equal_numbers_of_bags():
    made = predictions(np.random.default_rng(4), n=15, n_bags=80, n_points=6)
    rule = ss.InflatedArgmax(0.05)
    audit = ss.audit_bags(made, rule, averaging="equal", random_state=5)
    again = ss.audit_bags(made, rule, averaging="equal", random_state=5)
    other = ss.audit_bags(made, rule, averaging="equal", random_state=6)
    assert np.array_equal(audit.row_score, again.row_score)
    assert not np.array_equal(audit.row_score, other.row_score)
    some = ss.audit_bags(made, rule, averaging="equal", random_state=5, left_out=range(15)[::-1])
    assert np.array_equal(some.instability, audit.instability)
    from steadyset.audit._taken_bags import equal_numbers
    from steadyset.bags._predictions import sum_bags

    taken = equal_numbers(made.bags, np.arange(15), 5)
    number = 80 - made.bags.counts.max()
    assert set(taken.counts) == {float(number)}
    assert taken.reference.sum() == number
    sets = rule(sum_bags(made.proba, taken.reference) / number)
    conflict = []
    for row in range(15):
        bags = taken.taken(row)
        assert bags.sum() == number
        assert not (bags & made.bags.holds(row)).any()
        weights = bags / number - taken.reference / number
        assert np.isclose(taken.noise[row], (weights**2).sum(), rtol=1e-12)
        conflict.append(~(sets & rule(sum_bags(made.proba, bags) / number)).any(axis=1))
    assert np.array_equal(audit.instability, np.mean(conflict, axis=0))
    assert "drawn from" in audit.algorithm


def test_equal_numbers_where_a_row_has_no_bag_or_the_full_models_own():
    """Row 0 is in all bags; rows 1 to 3 are missing from one, two and two of five bags: each model is one bag."""
    from steadyset.audit._taken_bags import equal_numbers

    bags = ss.Bags.from_rows([[0, 1, 2], [0, 1, 3], [0, 1, 2], [0, 1, 3], [0, 2, 3]], 4)
    votes = np.random.default_rng(0).dirichlet([1, 1], (5, 3))
    same = 0
    for seed in range(20):
        taken = equal_numbers(bags, np.arange(4), seed)
        assert taken.counts.tolist() == [0, 1, 1, 1]
        assert not taken.taken(0).any()
        (reference,) = np.flatnonzero(taken.reference)
        own = [int(np.flatnonzero(taken.taken(row))[0]) for row in (1, 2, 3)]
        equal = np.array(own) == reference
        # Two bags of which each model has one: Bin(2, 1/2) is 1 with probability 1/2, and 2 of 5 bags differ.
        assert np.array_equal(taken.noise, np.where([False, *equal], 0, np.where(taken.counts > 0, 2, np.inf)))
        assert np.allclose(taken.tail[1:], np.where(equal, np.inf, math.sqrt(5 / 2) / 0.5), rtol=1e-12)
        audit = ss.audit_bags(
            ss.BagPredictions(votes, bags, "ab"), ss.Argmax(), averaging="equal", random_state=seed, prune=False
        )
        assert audit.unanswered.tolist() == [0]
        assert audit.left_out.tolist() == [1, 2, 3]
        moved = np.linalg.norm(votes[own] - votes[reference], axis=2).max(axis=1)
        assert np.array_equal(audit.row_score > 0, moved > 0)
        assert np.array_equal(audit.row_score[equal], np.zeros(equal.sum()))
        same += int(equal.sum())
    assert same > 5


def test_groups_are_left_out_whole():
    made = predictions(np.random.default_rng(5), n=24, n_bags=300, n_points=10, bag_size=0.15)
    groups = np.array(["ann", "bob", "cid", "dan", "eve", "fay"])[np.arange(24) % 6]
    audit = ss.audit_groups(made, ss.Argmax(), groups)
    assert audit.left_out.tolist() == sorted(set(groups))
    held = made.bags.membership()
    sets = ss.argmax_set(made.mean())
    conflict = []
    for name in audit.left_out:
        free = ~held[:, groups == name].any(axis=1)
        from steadyset.bags._predictions import sum_bags

        conflict.append(~(sets & ss.argmax_set(sum_bags(made.proba, free) / free.sum())).any(axis=1))
    assert np.array_equal(audit.instability, np.mean(conflict, axis=0))
    assert "Outside the theorems" in audit.summary()
    everyone = ss.audit_groups(made, ss.Argmax(), np.where(np.arange(24) < 1, 0, 1))
    assert everyone.left_out.tolist() == [0]
    assert everyone.unanswered.tolist() == [1]


def test_randomised_rules_share_their_seed():
    made = predictions(np.random.default_rng(6), n=12, n_bags=60, n_points=30)

    def noisy(proba, random_state):
        noise = np.random.default_rng(random_state).normal(0, 0.05, proba.shape)
        return ss.argmax_set(proba + noise)

    audit = ss.audit_bags(made, noisy, random_state=3)
    truth = brute_force(made, lambda p: noisy(p, 3))
    assert np.array_equal(audit.row_influence, truth.conflict.sum(axis=1))
    fixed = ss.audit_bags(made, lambda p: noisy(p, 11))
    assert np.array_equal(fixed.row_influence, brute_force(made, lambda p: noisy(p, 11)).conflict.sum(axis=1))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="same sets when it is called again"):
        ss.audit_bags(made, lambda p: ss.argmax_set(p + rng.normal(0, 1, p.shape)))
