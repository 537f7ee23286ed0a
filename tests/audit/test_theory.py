"""Claims of docs/theory/audit.md: laws by enumeration, levels by simulation with the chance of a false alarm stated."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import steadyset as ss
from steadyset.audit._taken_bags import all_free, equal_numbers


@pytest.mark.parametrize("resampling", ["subbagging", "bootstrap"])
def test_bags_without_a_row_are_bags_of_the_other_rows(resampling):
    """The bags of 20,000 that do not hold row 0: a chi-square test that fails by chance once in a million runs."""
    n, m = 5, 2
    bags = ss.draw_bags(n, 20_000, m, resampling=resampling, seed=7)
    free = Counter(tuple(bags[b]) for b in np.flatnonzero(~bags.holds(0)))
    if resampling == "subbagging":
        law = Counter(itertools.combinations(range(1, n), m))
    else:
        law = Counter(tuple(sorted(draw)) for draw in itertools.product(range(1, n), repeat=m))
    assert set(free) == set(law)
    expected = np.array([law[bag] for bag in law]) / law.total() * free.total()
    assert stats.chisquare([free[bag] for bag in law], expected).pvalue > 1e-6
    votes = np.random.default_rng(0).dirichlet([1, 1, 1], (20_000, 1))
    made = ss.BagPredictions(votes, bags, "abc")
    centred = votes - made.mean()
    moved = -centred[bags.holds(0)].sum(axis=0) / (~bags.holds(0)).sum()
    assert np.allclose(made.leave_one_out(0) - made.mean(), moved, atol=1e-12)


def centred(kind, n_bags, rng):
    votes = {
        "smooth": lambda: rng.dirichlet([1, 1, 1], n_bags),
        "labels": lambda: np.eye(3)[rng.integers(3, size=n_bags)],
        "one differs": lambda: np.eye(2)[(np.arange(n_bags) < 1).astype(int)],
        "two differ": lambda: np.eye(2)[(np.arange(n_bags) < 2).astype(int)],
        "half and half": lambda: np.eye(2)[(np.arange(n_bags) % 2).astype(int)],
    }[kind]()
    return votes - votes.mean(axis=0)


KINDS = ["smooth", "labels", "one differs", "two differ", "half and half"]


@pytest.mark.parametrize("c", [1, 3, 6, 11])
@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_of_a_row_without_influence(kind, c):
    n_bags = 12
    q = centred(kind, n_bags, np.random.default_rng(1))
    sums = np.array([q[list(held)].sum(axis=0) for held in itertools.combinations(range(n_bags), c)])
    square = ((sums / (n_bags - c)) ** 2).sum(axis=1).mean()
    variance = (q**2).sum() / (n_bags - 1)
    assert square == pytest.approx(variance * (1 / (n_bags - c) - 1 / n_bags), rel=1e-9)
    rows = [[0] if b < c else [1] for b in range(n_bags)]
    taken = all_free(ss.Bags.from_rows(rows, 2), np.array([0]))
    assert square == pytest.approx(variance * taken.noise[0], rel=1e-9)


@pytest.mark.parametrize("c", [1, 2, 4, 7, 11, 13])
@pytest.mark.parametrize("kind", KINDS)
def test_the_tail_of_a_random_sum_by_enumeration(kind, c):
    """Theorem A3 over every choice of c of 14 bags; the tail that the audit uses is that of the theorem."""
    n_bags = 14
    q = centred(kind, n_bags, np.random.default_rng(2))
    norms = np.array([np.linalg.norm(q[list(held)].sum(axis=0)) for held in itertools.combinations(range(n_bags), c)])
    s = c / n_bags
    theta = 1 - math.comb(n_bags, c) * s**c * (1 - s) ** (n_bags - c)
    tail = max(s, 1 - s) / theta / math.sqrt(s * (1 - s))
    rows = [[0] if b < c else [1] for b in range(n_bags)]
    taken = all_free(ss.Bags.from_rows(rows, 2), np.array([0]))
    assert taken.tail[0] == pytest.approx(tail, rel=1e-12)
    scores = norms / (n_bags - c) / math.sqrt((q**2).sum() / (n_bags - 1) * taken.noise[0])
    for t in np.linspace(0, 4, 81):
        assert np.mean(scores > t + 1e-9) <= 2 * math.exp(-((t / tail) ** 2) / 2) + 1e-12


def test_equal_numbers_of_bags_keep_the_level():
    """Bags of 90% of the rows, two of which differ from all others; no row has influence.

    A run names a row with probability at most 0.05: more than 11 of 60 runs do so by chance less than once in 20,000.
    Without the widening of Theorem A4 far more than 0.05 of the runs would.
    """
    n, n_bags, runs = 60, 200, 60
    named = unwidened = 0
    for seed in range(runs):
        votes = np.tile([0.6, 0.4], (n_bags, 1, 1))
        votes[:2] = [0.1, 0.9]
        made = ss.BagPredictions(votes, ss.draw_bags(n, n_bags, 0.9, seed=seed), "ab")
        audit = ss.audit_bags(made, ss.Argmax(), averaging="equal", random_state=seed, prune=False)
        named += len(audit.influential()) > 0
        unwidened += bool((audit.row_score > audit.score_limit() / audit.row_tail).any())
    assert named <= 11
    assert unwidened > 0.05 * runs
    taken = equal_numbers(made.bags, np.arange(n), 0)
    k, apart = taken.counts[0], np.rint(taken.noise * taken.counts**2).astype(int)
    assert np.all(apart > 0)
    halves = np.array([math.comb(a, a // 2) / 2.0**a for a in apart])
    assert np.allclose(taken.tail, np.sqrt(n_bags / apart) / (1 - halves), rtol=1e-9)
    assert k > 0


def audited(made, averaging, seed):
    if averaging == "groups":
        return ss.audit_groups(made, ss.Argmax(), np.arange(made.bags.n_samples) // 2, prune=False)
    return ss.audit_bags(made, ss.Argmax(), averaging=averaging, random_state=seed, prune=False)


@pytest.mark.trial
@pytest.mark.parametrize(("averaging", "bag_size"), [("all", 0.1), ("all", 0.9), ("equal", 0.9), ("groups", 0.05)])
def test_named_rows_keep_the_level(averaging, bag_size, full_trials):
    """At each of four points two or three bags of 200 differ from all others, and no row or group has influence.

    A run names one with probability at most 0.05: more than 11 of 60 runs do so by chance less than once in 20,000,
    and so do more than 82 of 1,000. The tail matters: without it more runs than that would.
    """
    n, n_bags = 120, 200
    runs, most = (1000, 82) if full_trials else (60, 11)
    votes = np.tile([0.6, 0.4], (n_bags, 4, 1))
    votes[:2, 0], votes[3:6, 1], votes[6:8, 2], votes[9:12, 3] = [0.1, 0.9], [1.0, 0.0], [0.3, 0.7], [0.0, 1.0]
    named = unwidened = 0
    for seed in range(runs):
        made = ss.BagPredictions(votes, ss.draw_bags(n, n_bags, bag_size, seed=seed), "ab")
        audit = audited(made, averaging, seed)
        named += len(audit.influential()) > 0
        unwidened += bool((audit.row_score > audit.score_limit() / audit.row_tail).any())
    assert named <= most
    assert unwidened > most


@pytest.mark.parametrize("averaging", ["all", "equal", "groups"])
def test_a_row_with_influence_is_named(averaging):
    """A limit that names nothing keeps any level: bags that hold row 17 vote otherwise, and it is named in every run.

    Its group of two is named with it; no other is in more than 6 of 20 runs, by chance once in 20,000 at level 0.05.
    """
    others = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        bags = ss.draw_bags(60, 300, 0.5, seed=seed)
        votes = rng.dirichlet([20.0, 20.0], (300, 4))
        votes[bags.holds(17), 2] = rng.dirichlet([1.0, 20.0], int(bags.holds(17).sum()))
        named = audited(ss.BagPredictions(votes, bags, "ab"), averaging, seed).influential().tolist()
        assert (8 if averaging == "groups" else 17) in named
        others += len(named) > 1
    assert others <= 6


def equal_draws(n_bags, c, k):
    """Every way in which c bags hold the row, k bags are the full model and k others the model without it."""
    for held in itertools.combinations(range(n_bags), c):
        free = [b for b in range(n_bags) if b not in held]
        for full in itertools.combinations(range(n_bags), k):
            for taken in itertools.combinations(free, k):
                yield held, full, taken


@pytest.mark.parametrize(("c", "k"), [(1, 3), (2, 2), (3, 3), (2, 4)])
def test_equal_numbers_of_bags_by_enumeration(c, k):
    """Theorem A4 for a fixed k: the mean square of the shift and the tail of its score, given the votes and d."""
    votes = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.4, 0.6], [0.4, 0.6]])
    n_bags = len(votes)
    spread = ((votes - votes.mean(axis=0)) ** 2).sum() / (n_bags - 1)
    shifts = {}
    for _, full, taken in equal_draws(n_bags, c, k):
        apart = len(set(full) - set(taken))
        shifts.setdefault(apart, []).append(np.linalg.norm(votes[list(full)].mean(0) - votes[list(taken)].mean(0)))
    assert max(shifts) >= 1
    for d, found in shifts.items():
        assert np.mean(np.square(found)) == pytest.approx(spread * 2 * d / k**2, rel=1e-12)
        if d == 0:
            continue
        scores = np.array(found) * k / math.sqrt(spread * 2 * d)
        tail = math.sqrt(n_bags / (2 * d)) / (1 - math.comb(2 * d, d) / 4**d)
        for t in np.unique(scores):
            assert (scores >= t).mean() <= 2 * math.exp(-((t / tail) ** 2) / 2) + 1e-12


def test_a_number_of_bags_that_depends_on_the_draw():
    """Why k is fixed: bags of one of three rows, of which row 0 votes by a coin and has no influence."""
    votes = {1: (1,), 2: (0,), 0: (0, 1)}
    law = Counter()  # of k and the bags that hold row 0, given the votes 1, 1, 0 and that one bag holds it
    for rows in itertools.product(range(3), repeat=3):
        chance = math.prod((vote in votes[row]) / len(votes[row]) for row, vote in zip(rows, (1, 1, 0), strict=True))
        if chance > 0 and rows.count(0) == 1:
            taken = equal_numbers(ss.Bags.from_rows([[row] for row in rows], 3), np.arange(3), 0)
            law[int(taken.counts.max()), rows.index(0)] += chance
    held = Counter({b: sum(law[k, b] for k in (1, 2)) for b in range(3)})
    assert len(set(held.values())) == 1  # all bags alike, as long as nothing is known of k
    assert {b for k, b in law if k == 1} == {2}  # given the k that the audit takes they are not
    assert {b for k, b in law if k == 2} == {0, 1}


def test_the_mean_of_the_smallest_values():
    """This checks the mathematics only: the bound by which the audit settles points, for any t and best at the k-th.

    tests/audit/test_audit_exact.py::test_pruning_settles_points_and_never_a_conflict checks the code.
    """
    rng = np.random.default_rng(3)
    for _ in range(200):
        values = np.sort(rng.normal(size=rng.integers(2, 30)).round(rng.integers(1, 6)))
        k = int(rng.integers(1, len(values) + 1))
        low = values[:k].mean()
        bound = [t - np.maximum(t - values, 0).sum() / k for t in (*rng.normal(size=20), values[k - 1])]
        assert max(bound) <= low + 1e-12
        assert bound[-1] == pytest.approx(low, abs=1e-12)
        some = rng.permutation(values)[: rng.integers(k, len(values) + 1)]
        assert some.mean() >= low - 1e-12
