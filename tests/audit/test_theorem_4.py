"""Theorem 4 on learners whose limit of infinitely many bags is known, and its two deviations."""

import math

import numpy as np
import pytest

import steadyset as ss
from helpers.known_limits import N, drawn, ideal
from steadyset.audit import _theorem_4

LEARNERS = 20


def answers_of_twenty_learners():
    """What each row answers, (rows, learners, 3 labels): smooth votes, labels, votes that hardly differ, rare labels.

    A learner answers with the vector of its bag's first row: the first rows count most, and are made to pull the mean
    across a border, so that some do conflict.
    """
    rng = np.random.default_rng(4)
    learners = []
    for number in range(LEARNERS):
        kind = number % 4
        if kind == 0:
            vectors = rng.dirichlet(np.full(3, 0.3), N)
        elif kind == 1:
            vectors = np.eye(3)[rng.choice(3, N, p=[0.5, 0.45, 0.05])]
        elif kind == 2:
            vectors = rng.dirichlet(np.full(3, 40.0), N)
        else:
            vectors = np.eye(3)[(rng.random(N) < 0.1).astype(int)]
        vectors[0] = np.eye(3)[number % 2]
        learners.append(vectors)
    return np.stack(learners, axis=1)


@pytest.mark.trial
def test_theorem_4_fails_in_at_most_alpha_of_the_draws_for_each_of_twenty_learners(full_trials):
    """1,000 draws of 400 bags; where no row conflicts a bound cannot fail, so some learners have rows that do."""
    runs, alpha = (1000 if full_trials else 25), 0.2
    vectors = answers_of_twenty_learners()
    _, without = ideal(vectors, "subbagging")
    rules = (ss.InflatedArgmax(0.1), ss.FixedMargin(0.4), ss.Argmax())
    violated, telling = np.zeros((len(rules), LEARNERS)), np.zeros((len(rules), LEARNERS))
    for run in range(runs):
        made = drawn(vectors, 400, run)
        for number, rule in enumerate(rules):
            bound = ss.certify(made, rule, alpha).bound
            share = np.mean(~(rule(made.mean()) & rule(without)).any(axis=2), axis=0)
            violated[number] += share > bound
            telling[number] += (bound < 1) & (share > 0)
    print(
        f"largest share of {runs:,} draws that violate: {violated.max() / runs}; telling in {telling.max() / runs:.0%}"
    )
    assert violated.max() <= alpha * runs
    assert telling.max() > 0.2 * runs


@pytest.mark.trial
@pytest.mark.parametrize("p", [0.5, 0.1, 0.01, 0.002])
@pytest.mark.parametrize("n_bags", [50, 1000])
def test_the_deviation_is_exceeded_in_at_most_half_of_alpha(p, n_bags, full_trials):
    """Votes for the second label with probability p: the distance to the limit is sqrt(2) |share - p|, exactly."""
    alpha, draws = 0.05, 1_000_000 if full_trials else 200_000
    sigma2 = 2 * p * (1 - p)
    r = float(_theorem_4.deviation(np.array([sigma2]), n_bags, alpha)[0])
    share = np.random.default_rng(0).binomial(n_bags, p, draws) / n_bags
    failed = np.mean(math.sqrt(2) * np.abs(share - p) >= r)
    assert failed <= alpha / 2 + 3 * math.sqrt(alpha / draws)


def test_the_deviation_grows_with_the_spread_and_solves_its_equation():
    """Lemma: r rises in s; it is the smaller of Bennett's root, from above, and McDiarmid's."""
    for n_bags in (4, 100, 1000, 10**6, 10**9):
        for alpha in (0.5, 0.05, 1e-9):
            s = np.geomspace(1e-9, 1, 400)
            r = _theorem_4.deviation(s, n_bags, alpha)
            assert np.all(np.diff(r) > 0)
            mcdiarmid = np.sqrt(s / n_bags) + math.sqrt(math.log(2 / alpha) / n_bags)
            assert np.all(r <= mcdiarmid * (1 + 1e-12))
            x = math.log(4 / alpha) / n_bags
            bernstein = math.sqrt(2) * x / 3 + np.sqrt(2 * x * x / 9 + 2 * s * x)
            assert np.all(r <= bernstein * (1 + 1e-12))
            by_bennett = r < mcdiarmid * (1 - 1e-9)
            u = math.sqrt(2) * r / s
            reached = n_bags * s / 2 * ((1 + u) * np.log1p(u) - u)
            exact = by_bennett & (u > 1e-3)  # below, this form of H cancels
            assert np.all(reached[exact] >= math.log(4 / alpha) * (1 - 1e-11))
            assert np.all(reached[exact] <= math.log(4 / alpha) * (1 + 1e-8))
    at_a_tenth = float(_theorem_4.deviation(np.array([0.1]), 1000, 0.05)[0])
    assert at_a_tenth == pytest.approx(0.0316, abs=5e-5)


def old_bound(made, radius, influence, alpha):
    """The bound with McDiarmid's deviation alone."""
    pairs, n, n_bags = _theorem_4.compared_pairs(made), made.bags.n_samples, made.n_bags
    now = _theorem_4.bounds(made, pairs, radius, influence, alpha)
    room = radius - (np.sqrt(now.spread / n_bags) + math.sqrt(math.log(2 / alpha) / n_bags))
    share = np.where(room > 0, influence * now.spread / np.maximum(room, 1e-9) ** 2, 1)
    return np.minimum(np.floor(np.minimum(share, 1) * n) / n, 1)


@pytest.mark.parametrize(("lead", "before", "now"), [(0.06, 1.0, 0.0025), (0.1, 0.006, 0.0007)])
def test_the_median_bound_at_a_spread_of_a_tenth(lead, before, now):
    """1,000 half bags of 60,000 rows, epsilon .05, two votes a distance apart that makes sigma^2 = .1, 400 draws."""
    rng, away = np.random.default_rng(0), math.sqrt(0.05)
    first = (1 + lead) / 2 + away * rng.choice([-1, 1], (1000, 400))
    bags = ss.draw_bags(60_000, 1000, 30_000)
    made = ss.BagPredictions(np.stack([first, 1 - first], axis=2), bags, range(2))
    found = ss.certify(made, ss.InflatedArgmax(0.05))
    old = old_bound(made, found.radius, found.influence, 0.05)
    print(f"lead {lead}: median bound {np.median(old):.4f} before, {np.median(found.bound):.4f} now")
    assert np.median(old) >= before * 0.5
    assert np.median(found.bound) <= now


def test_an_infinite_radius_leaves_no_row():
    """Where the set holds all labels, no row conflicts, whatever the spread."""
    bags = ss.draw_bags(100, 50, 50)
    votes = np.eye(2)[np.random.default_rng(0).integers(2, size=(50, 3))]
    found = ss.certify(ss.BagPredictions(votes, bags, "ab"), ss.InflatedArgmax(1.5))
    assert found.radius.tolist() == [math.inf] * 3
    assert found.bound.tolist() == found.simultaneous_bound.tolist() == [0.0] * 3
