"""Learners built to break the guarantees: exact conflict probabilities of hill-climbed ones, and real bags.

No bound is ever exceeded. How close the best attack comes is in docs/theory/guarantees.md, "How sharp the bounds are".
"""

import itertools
import math

import numpy as np
import pytest

import steadyset as ss
from steadyset import selection_stability, solve_stability


class Problem:
    """Two labels, n rows, every bag of m: a learner is the share of the first label on each bag, 0 or 1."""

    def __init__(self, n, m, resampling):
        self.n = n
        draw = (
            itertools.combinations if resampling == "subbagging" else lambda r, size: itertools.product(r, repeat=size)
        )
        self.bags = list(draw(range(n), m))
        self.out = np.array([[i not in bag for bag in self.bags] for i in range(n)])
        if resampling == "subbagging":
            place = {frozenset(bag): number for number, bag in enumerate(self.bags)}
            # for each row the pairs (bag that held it, bag with another row in its place)
            self.swaps = [
                np.array(
                    [
                        (place[frozenset(bag)], place[frozenset(bag) - {i} | {more}])
                        for bag in self.bags
                        if i in bag
                        for more in range(n)
                        if more not in bag
                    ]
                )
                for i in range(n)
            ]

    def conflict(self, votes, n_bags, epsilon, coupling):
        """The exact probability of disjoint sets, on average over the rows."""
        high = math.ceil(n_bags * (1 + epsilon / math.sqrt(2)) / 2 - 1e-9)  # a label is alone from that count on
        found = []
        for i in range(self.n):
            full, rest = votes.mean(), votes[self.out[i]].mean()
            if coupling == "hash":
                found.append(self._hash_conflict(votes, i, n_bags, high))
                continue
            up, down = (binomial_tails(n_bags, high, q) for q in (full, rest))
            if coupling == "independent":
                found.append(up[0] * down[1] + up[1] * down[0])
            else:  # both sets of bags are as they should be, and coupled to disagree
                found.append(min(1, min(up[0], down[1]) + min(up[1], down[0])))
        return float(np.mean(found))

    def _hash_conflict(self, votes, i, n_bags, high):
        one = np.zeros((2, 2))
        stays = votes[self.out[i]]
        one[0, 0], one[1, 1] = (1 - stays).sum(), stays.sum()
        before, after = votes[self.swaps[i]].T.astype(int)
        weight = (~self.out[i]).sum() / len(before)
        np.add.at(one, (before, after), weight)
        law = np.fft.fft2(one / len(votes), (n_bags + 1, n_bags + 1)) ** n_bags
        law = np.fft.ifft2(law).real.clip(0)
        low = n_bags - high
        return law[high:, : low + 1].sum() + law[: low + 1, high:].sum()


def binomial_tails(n_bags, high, q):
    """P(Bin >= high) and P(Bin <= n_bags - high)."""
    law = [math.comb(n_bags, j) * q**j * (1 - q) ** (n_bags - j) for j in range(n_bags + 1)]
    return sum(law[high:]), sum(law[: n_bags - high + 1])


def hill_climb(problem, score, rng, n_steps):
    votes = (rng.random(len(problem.bags)) < rng.uniform(0.3, 0.7)).astype(float)
    best = score(votes)
    for _ in range(n_steps):
        tried = votes.copy()
        flipped = rng.integers(len(votes), size=rng.integers(1, 4))
        tried[flipped] = 1 - tried[flipped]
        if (now := score(tried)) >= best:
            votes, best = tried, now
    return best


ATTACKED = [
    ("subbagging", "hash"),
    ("subbagging", "independent"),
    ("subbagging", "any"),
    ("bootstrap", "independent"),
    ("bootstrap", "any"),
]


@pytest.mark.trial
@pytest.mark.parametrize(("resampling", "coupling"), ATTACKED)
def test_hill_climbed_learners_by_enumeration(full_trials, record_property, resampling, coupling):
    sizes = [(4, 1), (4, 2), (5, 2), (5, 4), (6, 3), (8, 2), (8, 4)] if full_trials else [(4, 1), (5, 2)]
    if resampling == "bootstrap":
        sizes = [(2, 2), (3, 3), (4, 3), (5, 2)] if full_trials else [(3, 2)]
    rng = np.random.default_rng(0)
    closest = {}
    for n, m in sizes:
        problem = Problem(n, m, resampling)
        for n_bags, epsilon in itertools.product((1, 2, 5, 20, 60), (0.1, 0.3, 0.8, 1.3)):
            if n_bags > 20 and not full_trials:
                continue
            setting = {"n_samples": n, "bag_size": m, "epsilon": epsilon, "n_bags": n_bags, "n_classes": 2}
            bound = selection_stability(**setting, resampling=resampling, coupling=coupling).delta

            def score(votes, problem=problem, n_bags=n_bags, epsilon=epsilon):
                return problem.conflict(votes, n_bags, epsilon, coupling)

            for _ in range(2 if full_trials else 1):
                found = hill_climb(problem, score, rng, 120 if full_trials else 40)
                assert found <= bound * (1 + 1e-9) + 1e-12, (setting, found, bound)
                if bound < 1e-6:  # the convolution is exact to 1e-15
                    continue
                kind = "below .1" if bound < 0.1 else "below .5" if bound < 0.5 else "above"
                closest[kind] = max(closest.get(kind, (0.0,)), (found / bound, n, m, n_bags, epsilon, bound))
    record_property("closest", closest)
    print(resampling, coupling, closest)


def marked_votes(bags, n_marked, least):
    """The learner that is hardest on Theorem G14: label 1 if the bag holds at least so many of the marked rows."""
    return bags.membership()[:, :n_marked].sum(axis=1) >= least


@pytest.mark.trial
@pytest.mark.parametrize(("resampling", "coupling"), ATTACKED)
def test_real_bags_over_many_seeds(full_trials, resampling, coupling):
    """Real bags with and without a row: the share of seeds with disjoint sets, within its simulation error."""
    rng = np.random.default_rng(1)
    n_seeds = 300 if full_trials else 25
    cases = [(30, 15, 0.3, 20), (100, 50, 0.3, 30), (100, 10, 0.15, 60), (300, 150, 0.2, 50), (1000, 500, 0.15, 100)]
    closest = (0.0,)
    for n, m, epsilon, n_bags in cases if full_trials else cases[:3]:
        rule = ss.InflatedArgmax(epsilon)
        setting = {"n_samples": n, "bag_size": m, "epsilon": epsilon, "n_bags": n_bags, "n_classes": 2}
        bound = selection_stability(**setting, resampling=resampling, coupling=coupling).delta
        for n_marked in (1, max(2, n // 50), n // 2):
            least = math.floor(n_marked * m / n) + 1
            disjoint = []
            for seed in range(n_seeds):
                row = int(rng.integers(n))
                fit = ss.draw_bags(n, n_bags, m, resampling=resampling, seed=seed, sample_ids=range(n))
                other = 10**6 + seed if coupling == "independent" else seed
                rest = [i for i in range(n) if i != row]
                refit = ss.draw_bags(n - 1, n_bags, m, resampling=resampling, seed=other, sample_ids=rest)
                marked = n_marked - (row < n_marked)
                p = np.array([marked_votes(fit, n_marked, least).mean(), marked_votes(refit, marked, least).mean()])
                sets = rule(np.stack([p, 1 - p], axis=1))
                disjoint.append(not (sets[0] & sets[1]).any())
            share = float(np.mean(disjoint))
            error = math.sqrt(max(bound * (1 - bound), 1e-12) / n_seeds)  # of a learner that is as bad as the bound
            assert share <= bound + 4 * error, (setting, n_marked, share, bound)
            closest = max(closest, (share / bound, n, m, n_bags, epsilon, n_marked, bound))
    print(resampling, coupling, closest)


def random_setting(rng):
    n = int(10 ** rng.uniform(1.1, 5))
    resampling = "bootstrap" if rng.random() < 0.2 else "subbagging"
    couplings = (
        ["independent", "any", None] if resampling == "bootstrap" else ["hash", "independent", "any", None, None]
    )
    share = float(rng.choice([0.5, rng.uniform(0.01, 0.95)]))
    dropped = int(rng.choice([1, 1, 1, 2, 5])) if resampling == "subbagging" else 1
    added = int(rng.choice([0, 0, 0, 1, 4])) if dropped == 1 and resampling == "subbagging" else 0
    m = max(1, min(int(share * n), n - dropped - 1))
    return {
        "n_samples": n,
        "bag_size": share if rng.random() < 0.3 and added == 0 and dropped == 1 else m,
        "epsilon": float(10 ** rng.uniform(-1.7, 0.1)),
        "n_bags": None if rng.random() < 0.25 else int(10 ** rng.uniform(0, 5)),
        "n_classes": [None, 2, 2, 10][int(rng.integers(4))],
        "resampling": resampling,
        "coupling": couplings[int(rng.integers(len(couplings)))],
        "n_dropped": dropped,
        "n_added": added,
    }


@pytest.mark.trial
def test_the_solver_is_minimal_in_every_direction(full_trials):
    """1,000 random settings: the answer reaches delta, and the next smaller value (the next larger bag) does not."""
    rng = np.random.default_rng(2)
    solved = dict.fromkeys(("epsilon", "bag_size", "n_samples", "n_bags"), 0)
    for number in itertools.count():
        if sum(solved.values()) == (1000 if full_trials else 60):
            break
        unknown = list(solved)[number % 4]
        setting, delta = random_setting(rng), float(10 ** rng.uniform(-4, -0.1))
        del setting[unknown]
        if unknown == "n_bags":
            setting["n_bags"] = None
        try:
            answer = solve_stability(unknown, delta=delta, **setting)
        except ss.guarantees.NoSolutionError:
            continue
        solved[unknown] += 1
        setting.pop(unknown, None)
        assert selection_stability(**setting, **{unknown: answer}).delta <= delta, (unknown, setting, delta)
        if answer == 2.0**-500:
            continue
        beside = math.nextafter(answer, 0) if unknown == "epsilon" else answer + (1 if unknown == "bag_size" else -1)
        try:
            worse = selection_stability(**setting, **{unknown: beside}).delta
        except ValueError:  # the neighbour is no setting at all
            assert unknown != "epsilon"
            continue
        if unknown == "bag_size" and setting["resampling"] == "bootstrap" and answer == setting["n_samples"]:
            continue  # the limit of the search
        assert worse > delta, (unknown, answer, setting, delta)
        if unknown != "bag_size":
            for factor in (1.003, 1.4, 5):
                more = answer * factor if unknown == "epsilon" else math.ceil(answer * factor)
                assert selection_stability(**setting, **{unknown: more}).delta <= delta, (
                    unknown,
                    answer,
                    setting,
                    delta,
                )
    assert min(solved.values()) >= (100 if full_trials else 5), solved
