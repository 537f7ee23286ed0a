"""Each theorem of docs/theory/guarantees.md against the truth, by enumeration of every bag. Nothing here is random.

A learner is a table: one probability vector for each bag. With B bags the mean squared shift follows exactly from
one pair of coupled bags, E||p_B - p_B^i||^2 = ||E W||^2 + (E||W||^2 - ||E W||^2)/B with W = V - V'.
"""

import itertools
import math
import zlib

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import betainc

from steadyset import inflated_argmax, reseed_stability, selection_stability, solve_stability

N_CLASSES = 3
SIZES = [(2, 1), (4, 1), (5, 2), (5, 4), (6, 3), (7, 5)]
BOOTSTRAPS = [(2, 1), (2, 3), (3, 2), (3, 3), (4, 3)]


def vertex(j):
    return np.eye(N_CLASSES)[j % N_CLASSES]


def hashed(salt):
    """As unstable as can be: the label is a hash of the bag."""
    return lambda bag: vertex(zlib.crc32(repr((salt, sorted(bag))).encode()))


def linear(bag):
    """Linear in the membership, with coefficients that sum to zero over two rows: attains Lemma 1."""
    move = 0.3 * ((0 in bag) - (1 in bag))
    return np.array([1 / 3 + move, 1 / 3 - move, 1 / 3])


def smooth(bag):
    weights = np.exp([math.sin(1 + 3 * sum(bag)), math.cos(2 * max(bag)), 0.3 * min(bag)])
    return weights / weights.sum()


LEARNERS = {
    "hash": hashed(0),
    "another hash": hashed(1),
    "a third hash": hashed(2),
    "parity": lambda bag: vertex(sum(bag) % 2),
    "row 0 decides": lambda bag: vertex(0 in bag),
    "smallest row decides": lambda bag: vertex(min(bag)),
    "one row repeated decides": lambda bag: vertex(bag[0] if len(set(bag)) == 1 else 0),
    "linear": linear,
    "smooth": smooth,
}
learners = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())
sizes = pytest.mark.parametrize(("n", "m"), SIZES)
bootstraps = pytest.mark.parametrize(("n", "m"), BOOTSTRAPS)


def table(learner, bags):
    return np.array([learner(bag) for bag in bags])


def subbags(rows, m):
    return list(itertools.combinations(rows, m))


def bootstrap_bags(rows, m):
    return list(itertools.product(rows, repeat=m))


def without(n, dropped):
    return [row for row in range(n) if row not in dropped]


def spread(V):
    return float(((V - V.mean(0)) ** 2).sum(1).mean())


def square(v):
    return float((v**2).sum())


def bound(theorem="second-moment", **setting):
    """The bound at epsilon = 1: the bound on the mean squared shift itself."""
    return selection_stability(epsilon=1.0, theorem=theorem, **setting).delta


def mean_square_shift(W, n_bags):
    """E||mean of n_bags independent copies of W||^2, W one row per equally likely pair."""
    mean = square(W.mean(0))
    return mean + (float((W**2).sum(1).mean()) - mean) / n_bags


def farthest_coupling(V, V_without):
    """The coupling of two lists of equally likely predictions with the largest mean squared distance."""
    size = math.lcm(len(V), len(V_without))
    V, V_without = np.repeat(V, size // len(V), axis=0), np.repeat(V_without, size // len(V_without), axis=0)
    rows, columns = linear_sum_assignment(((V[:, None] - V_without) ** 2).sum(-1), maximize=True)
    return V[rows] - V_without[columns]


def hash_pairs(learner, n, m, dropped):
    """Every order of the rows by their hash: the bag is the first m, with and without the dropped rows."""
    orders = list(itertools.permutations(range(n)))
    V = table(learner, [order[:m] for order in orders])
    rest = [[row for row in order if row not in dropped][:m] for order in orders]
    return V, table(learner, rest)


@sizes
@learners
def test_lemma_1(n, m, learner):
    V = table(learner, subbags(range(n), m))
    shifts = [square(V.mean(0) - table(learner, subbags(without(n, [i]), m)).mean(0)) for i in range(n)]
    assert np.mean(shifts) <= bound(n_samples=n, bag_size=m, sigma2=spread(V)) + 1e-12
    assert spread(V) <= 1 - 1 / N_CLASSES + 1e-12
    assert np.mean(shifts) <= bound(n_samples=n, bag_size=m, n_classes=N_CLASSES, theorem="paper") + 1e-12


@sizes
def test_lemma_1_is_attained_by_a_learner_linear_in_the_membership(n, m):
    V = table(linear, subbags(range(n), m))
    shifts = [square(V.mean(0) - table(linear, subbags(without(n, [i]), m)).mean(0)) for i in range(n)]
    assert np.mean(shifts) == pytest.approx(bound(n_samples=n, bag_size=m, sigma2=spread(V)), rel=1e-9)


@bootstraps
@learners
def test_lemma_1_bootstrap(n, m, learner):
    V = table(learner, bootstrap_bags(range(n), m))
    shifts = [square(V.mean(0) - table(learner, bootstrap_bags(without(n, [i]), m)).mean(0)) for i in range(n)]
    setting = {"n_samples": n, "bag_size": m, "resampling": "bootstrap"}
    ours = bound(**setting, sigma2=spread(V))
    assert np.mean(shifts) <= ours + 1e-12
    if learner is linear:
        assert np.mean(shifts) == pytest.approx(ours, rel=1e-9)
    assert bound(**setting) <= bound(**setting, theorem="paper") * (1 + 1e-12)


@sizes
@learners
@pytest.mark.parametrize("n_bags", [1, 2, 50])
def test_theorem_2_any_coupling(n, m, learner, n_bags):
    V = table(learner, subbags(range(n), m))
    pairs = [farthest_coupling(V, table(learner, subbags(without(n, [i]), m))) for i in range(n)]
    shift = np.mean([mean_square_shift(W, n_bags) for W in pairs])
    assert shift <= bound(n_samples=n, bag_size=m, sigma2=spread(V), n_bags=n_bags, coupling="any") + 1e-12


def test_theorem_2_any_coupling_is_nearly_attained():
    """Two labels, one on each half of the rows, and bags coupled to disagree: within 5% of the bound at B = 1."""
    n = 20
    V = table(LEARNERS["parity"], subbags(range(n), 1))
    rest = [table(LEARNERS["parity"], subbags(without(n, [i]), 1)) for i in range(n)]
    shift = np.mean([mean_square_shift(farthest_coupling(V, V_without), 1) for V_without in rest])
    limit = bound(n_samples=n, bag_size=1, sigma2=spread(V), n_bags=1, coupling="any")
    assert 0.95 * limit < shift <= limit


@sizes
@learners
@pytest.mark.parametrize("n_bags", [1, 2, 50])
def test_theorem_2_independent(n, m, learner, n_bags):
    V = table(learner, subbags(range(n), m))
    shifts = []
    for i in range(n):
        V_without = table(learner, subbags(without(n, [i]), m))
        shifts.append(square(V.mean(0) - V_without.mean(0)) + (spread(V) + spread(V_without)) / n_bags)
    setting = {"n_samples": n, "bag_size": m, "sigma2": spread(V), "n_bags": n_bags}
    assert np.mean(shifts) <= bound(**setting, coupling="independent") + 1e-12


@sizes
@learners
def test_theorem_2_hash(n, m, learner):
    V = table(learner, subbags(range(n), m))
    pairs = [np.subtract(*hash_pairs(learner, n, m, [i])) for i in range(n)]
    for n_bags in (1, 2, 50):
        shift = np.mean([mean_square_shift(W, n_bags) for W in pairs])
        setting = {"n_samples": n, "bag_size": m, "sigma2": spread(V), "n_bags": n_bags}
        assert shift <= bound(**setting, coupling="hash") + 1e-12


def test_theorem_2_hash_noise_is_attained_by_bags_of_one_row():
    """With m = 1 nothing is left to condition on: E||W||^2 is exactly 2p N/(N-1) sigma^2, N = n."""
    n = 5
    V = table(hashed(0), subbags(range(n), 1))
    noise = np.mean([(np.subtract(*hash_pairs(hashed(0), n, 1, [i])) ** 2).sum(1).mean() for i in range(n)])
    influence = bound(n_samples=n, bag_size=1, sigma2=spread(V))
    with_one_bag = bound(n_samples=n, bag_size=1, sigma2=spread(V), n_bags=1)
    assert noise == pytest.approx(with_one_bag - influence, rel=1e-12)
    assert noise > 0


@bootstraps
@learners
@pytest.mark.parametrize("n_bags", [1, 2, 50])
def test_theorem_2_bootstrap(n, m, learner, n_bags):
    V = table(learner, bootstrap_bags(range(n), m))
    free, tied = [], []
    for i in range(n):
        V_without = table(learner, bootstrap_bags(without(n, [i]), m))
        free.append(square(V.mean(0) - V_without.mean(0)) + (spread(V) + spread(V_without)) / n_bags)
        if len(V) * len(V_without) <= 300:
            tied.append(mean_square_shift(farthest_coupling(V, V_without), n_bags))
    setting = {"n_samples": n, "bag_size": m, "resampling": "bootstrap", "n_bags": n_bags}
    for sigma2 in (None, spread(V)):
        known = {**setting, "sigma2": sigma2, "n_classes": N_CLASSES}
        assert np.mean(free) <= bound(**known, coupling="independent") + 1e-12
        if tied:
            assert np.mean(tied) <= bound(**known) + 1e-12


def conflicts(v, w, epsilon):
    return ~(inflated_argmax(v, epsilon) & inflated_argmax(w, epsilon)).any(-1)


def pair_law(learner, n, m, dropped):
    """The distinct pairs of predictions with and without the dropped rows, and their probabilities."""
    V, V_without = hash_pairs(learner, n, m, dropped)
    states, counts = np.unique(np.hstack([V, V_without]), axis=0, return_counts=True)
    return states[:, :N_CLASSES], states[:, N_CLASSES:], counts / counts.sum()


@pytest.mark.parametrize(("n", "m", "k"), [(6, 1, 1), (6, 2, 1), (6, 1, 2), (5, 3, 1)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9, 1.3])
@learners
def test_small_bags_finite(n, m, k, epsilon, learner):
    """The sets of hash bags themselves, for every row and every outcome of up to three bags."""
    for dropped in itertools.combinations(range(n), k):
        V, V_without, chance = pair_law(learner, n, m, dropped)
        for n_bags in (1, 2, 3):
            if len(V) ** n_bags > 1000:
                continue
            draws = np.array(list(itertools.product(range(len(V)), repeat=n_bags)))
            conflict = chance[draws].prod(1) @ conflicts(V[draws].mean(1), V_without[draws].mean(1), epsilon)
            guarantee = selection_stability(
                n_samples=n, bag_size=m, epsilon=epsilon, n_bags=n_bags, n_dropped=k, theorem="small-bags"
            )
            assert guarantee.every_row
            assert conflict <= guarantee.delta + 1e-12


@pytest.mark.parametrize("coupling", ["hash", "independent"])
@learners
def test_selection_stability_of_the_sets(learner, coupling):
    """The statement itself, disjoint sets at two bags, not only the mean square behind it."""
    n, m, n_bags = 5, 2, 2
    for epsilon in (0.5, 1.0, 1.4):
        chances = []
        for i in range(n):
            V, V_without, chance = pair_law(learner, n, m, [i])
            draws = np.array(list(itertools.product(range(len(V)), repeat=n_bags)))
            v, w, chance = V[draws].mean(1), V_without[draws].mean(1), chance[draws].prod(1)
            if coupling == "hash":
                chances.append(chance @ conflicts(v, w, epsilon))
            else:
                apart = conflicts(v[:, None], w[None], epsilon)
                chances.append(chance @ apart @ chance)
        guarantee = selection_stability(
            n_samples=n, bag_size=m, epsilon=epsilon, n_bags=n_bags, coupling=coupling, n_classes=N_CLASSES
        )
        assert np.mean(chances) <= guarantee.delta + 1e-12


@pytest.mark.parametrize(("n", "m"), [(8, 1), (8, 2), (9, 3)])
@learners
def test_small_bags_infinite(n, m, learner):
    """Just above the epsilon that the theorem asks for, no row makes the sets of the whole bagged learner disjoint."""
    epsilon = solve_stability("epsilon", delta=0.0, n_samples=n, bag_size=m)
    assert epsilon < math.sqrt(2) * m / n  # sharper than p < h
    v = table(learner, subbags(range(n), m)).mean(0)
    w = np.array([table(learner, subbags(without(n, [i]), m)).mean(0) for i in range(n)])
    assert not conflicts(v[None], w, epsilon).any()


def test_small_bags_infinite_on_a_grid_of_mixtures():
    """p_inf = (1-p) p_inf^i + p a for some a in the simplex: no such pair conflicts below the limit on p."""
    epsilon = 0.3
    limit = epsilon * math.sqrt(2 / (3 + epsilon**2 / 2))
    steps = 60
    w = np.array([(a, b, steps - a - b) for a in range(steps + 1) for b in range(steps + 1 - a)]) / steps
    for corner in np.eye(3):
        for p in (limit * (1 - 1e-9), 0.9 * limit, 0.5 * limit):
            assert not conflicts((1 - p) * w + p * corner, w, epsilon).any()


@pytest.mark.parametrize("n_labels", [2, 3, 50])
def test_small_bags_infinite_are_exact_for_few_labels(n_labels):
    """All labels but the last tie, and the bags that hold row i all say the last: a conflict right above the limit."""
    epsilon = 0.05
    gap = epsilon * math.sqrt(n_labels / (n_labels - 1)) - epsilon / math.sqrt(2)  # the last label just stays out
    assert (n_labels - 1) * gap <= 1  # the condition of the statement: without it w would not be a probability vector
    p = 1.0001 * epsilon * math.sqrt(n_labels / (n_labels - 1)) / (1 + gap)  # and alone is in
    w = np.full(n_labels, (1 + 1.0001 * gap) / n_labels)
    w[-1] -= 1.0001 * gap
    assert w.min() >= 0
    v = (1 - p) * w + p * np.eye(n_labels)[-1]
    assert conflicts(v, w, epsilon)
    n = 10**6
    assert selection_stability(n_samples=n, bag_size=math.ceil(p * n), epsilon=epsilon).delta > 0
    below = math.floor(0.9998 * p * n)
    assert selection_stability(n_samples=n, bag_size=below, epsilon=epsilon, n_classes=n_labels).delta == 0


def test_the_room_above_small_bags_is_for_few_labels():
    """Beyond (L-1) kappa_L eps = 1 the extremal vector has a negative entry, and no conflict is found near that p."""
    epsilon, n_labels = 1.0, 12
    root = math.sqrt(n_labels / (n_labels - 1))
    gap = (root - math.sqrt(0.5)) * epsilon
    assert (n_labels - 1) * gap > 1
    assert (1 + gap) / n_labels - gap < 0
    p = 1.001 * epsilon * root / (1 + gap)
    rng = np.random.default_rng(0)
    tied = rng.integers(1, n_labels, 4000)[:, None] > np.arange(n_labels)  # some labels tie, the others have nothing
    w = np.vstack([rng.dirichlet(np.full(n_labels, 0.3), 4000), tied / tied.sum(axis=1, keepdims=True)])
    for corner in np.eye(n_labels):
        assert not conflicts((1 - p) * w + p * corner, w, epsilon).any()
    one, last = np.eye(n_labels)[[0, -1]]
    assert conflicts(0.14 * one + 0.86 * last, one, epsilon)  # there is one at a larger p


@pytest.mark.parametrize(("n", "m", "k"), [(5, 2, 2), (6, 3, 2), (6, 2, 4), (6, 3, 3), (7, 4, 3)])
@learners
def test_drop_k(n, m, k, learner):
    V = table(learner, subbags(range(n), m))
    groups = list(itertools.combinations(range(n), k))
    shifts = [square(V.mean(0) - table(learner, subbags(without(n, K), m)).mean(0)) for K in groups]
    limit = bound(n_samples=n, bag_size=m, sigma2=spread(V), n_dropped=k)
    assert np.mean(shifts) <= limit + 1e-12
    if learner is linear:
        assert np.mean(shifts) == pytest.approx(limit, rel=1e-9)


@pytest.mark.parametrize(("n", "m", "k"), [(5, 2, 2), (5, 2, 3), (6, 3, 2), (6, 2, 4)])
@pytest.mark.parametrize("learner", [LEARNERS[name] for name in ("hash", "row 0 decides", "linear", "smooth")])
def test_drop_k_hash(n, m, k, learner):
    V = table(learner, subbags(range(n), m))
    pairs = [np.subtract(*hash_pairs(learner, n, m, K)) for K in itertools.combinations(range(n), k)]
    for n_bags in (1, 20):
        shift = np.mean([mean_square_shift(W, n_bags) for W in pairs])
        setting = {"n_samples": n, "bag_size": m, "sigma2": spread(V), "n_bags": n_bags, "n_dropped": k}
        assert shift <= bound(**setting) + 1e-12


@learners
def test_another_seed(learner):
    V = table(learner, subbags(range(5), 2))
    draws = np.array(list(itertools.product(range(len(V)), repeat=2)))
    means = V[draws].mean(1)
    distance = ((means[:, None] - means[None]) ** 2).sum(-1)
    for epsilon in (0.3, 0.8, 1.4):
        setting = {"n_bags": 2, "epsilon": epsilon, "sigma2": spread(V)}
        moment = reseed_stability(**setting, theorem="another-seed").delta
        assert distance.mean() / epsilon**2 == pytest.approx(moment, rel=1e-9, abs=1e-15)
        assert conflicts(means[:, None], means[None], epsilon).mean() <= reseed_stability(**setting).delta + 1e-12


def test_the_small_bag_tail_has_a_falling_envelope():
    """I_p(t, t/h - t + 1) falls with t for p <= h: the solver's search rests on it.

    This checks the mathematics only; test_every_larger_number_of_small_bags_reaches_delta checks the search.
    """
    t = np.concatenate([np.arange(1, 60), np.geomspace(60, 1e6, 60).round()])
    for h in (0.001, 0.0354, 0.2, 0.5, 0.8, 0.99):
        for ratio in (0.2, 0.8, 0.99, 1.0):
            envelope = betainc(t, t / h - t + 1, ratio * h)
            assert (envelope[1:] <= envelope[:-1] * (1 + 1e-11)).all(), (h, ratio)
