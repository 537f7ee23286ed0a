"""The sharper theorems of docs/theory/guarantees.md against eigenvalues, exact laws and exact rational arithmetic."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

import steadyset as ss
from steadyset import selection_stability
from steadyset.guarantees._envelope import BennettTail, GaussTail, at, bennett, envelope
from steadyset.guarantees._two_labels import binomial_term, mean_excess


def delta(theorem, **setting):
    return selection_stability(theorem=theorem, **setting).delta


# --- Theorem G3: small bags


def conflicts(v, w, rule):
    return not (rule(v) & rule(w)).any()


@pytest.mark.parametrize(("n_labels", "epsilon"), [(2, 0.05), (3, 0.3), (10, 0.1), (2, 1.2)])
@pytest.mark.parametrize("kind", [ss.InflatedArgmax, ss.FixedMargin])
def test_small_bags_limit_is_attained(n_labels, epsilon, kind):
    """The learner of the proof conflicts at the limit and a little above, and not a little below."""
    rule, h = kind(epsilon), epsilon / math.sqrt(2)
    gap = rule.left_out_gap(n_labels)
    limit = epsilon * (gap + math.sqrt(0.5)) / (1 + gap * epsilon)
    if kind is ss.FixedMargin:
        limit_of_the_docs = 2 * h / (1 + h)
        w = np.zeros(n_labels)
        w[:2] = (1 + h) / 2, (1 - h) / 2
        last = np.eye(n_labels)[1]
    else:
        assert (n_labels - 1) * gap * epsilon <= 1
        limit_of_the_docs = epsilon * math.sqrt(n_labels / (n_labels - 1)) / (1 + gap * epsilon)
        w = np.full(n_labels, (1 + gap * epsilon) / n_labels)
        w[-1] -= gap * epsilon
        last = np.eye(n_labels)[-1]
    assert limit == pytest.approx(limit_of_the_docs, rel=1e-12)
    away = w + 1e-9 * (w - last)  # sets are rounded outward: stay clear of the boundary
    for factor, disjoint in [(1 + 1e-6, True), (1 - 1e-6, False)]:
        p = limit * factor
        if p < 1:
            assert conflicts((1 - p) * away + p * last, away, rule) == disjoint
    n = 10**9
    below, above = math.floor(limit * n * (1 - 1e-9)), min(math.ceil(limit * n * (1 + 1e-9)), n - 1)
    setting = {"n_samples": n, "rule": rule, "n_classes": n_labels, "theorem": "small-bags"}
    assert selection_stability(bag_size=below, **setting).delta == 0
    assert selection_stability(bag_size=above, **setting).delta == 1


def test_rules_own_what_the_small_bag_theorem_asks_of_them():
    setting = {"n_samples": 60_000, "epsilon": 0.05, "n_classes": 10}
    for rule, most in [(ss.InflatedArgmax(0.05), 3108), (ss.FixedMargin(0.05), 4097), (ss.MassThreshold(0.9), 2121)]:
        assert ss.solve_stability("bag_size", delta=0, rule=rule, **setting) == most
    found = selection_stability(n_samples=60_000, bag_size=4000, rule=ss.FixedMargin(0.05), n_classes=10)
    assert (found.epsilon, found.delta) == (0.05, 0)
    assert "that the rule is the fixed margin;" in str(found)
    inflated = selection_stability(n_samples=60_000, bag_size=3000, rule=ss.InflatedArgmax(0.05), n_classes=10)
    assert "that the rule is the inflated argmax or the fixed margin;" in str(inflated)

    class Mine(ss.Rule):
        def __call__(self, proba):
            return ss.inflated_argmax(proba, 0.05)

        def compatible_epsilon(self, n_classes):
            return 0.05

    assert ss.solve_stability("bag_size", delta=0, n_samples=60_000, rule=Mine()) == 2121
    assert ss.solve_stability("epsilon", delta=0, n_samples=60_000, bag_size=3108, n_classes=10) == pytest.approx(
        ss.solve_stability("epsilon", delta=0, n_samples=60_000, bag_size=3108, n_classes=10, rule=ss.InflatedArgmax(1))
    )
    with pytest.raises(ValueError, match="rule must have an epsilon when epsilon is the unknown; got TopK"):
        ss.solve_stability("epsilon", delta=0, n_samples=60_000, bag_size=3108, rule=ss.TopK(2))


# --- Theorem G12: the exact second moment


def second_moment_form(n, m, k, n_bags):
    """The quadratic form f -> mean over D of E|p_B - p_B^D|^2 on functions of the m-subsets, as a matrix."""
    bags = [frozenset(bag) for bag in itertools.combinations(range(n), m)]
    place = {bag: number for number, bag in enumerate(bags)}
    form = np.zeros((len(bags), len(bags)))
    groups = list(itertools.combinations(range(n), k))
    for dropped in map(frozenset, groups):
        out = np.array([not (bag & dropped) for bag in bags], float)
        shift = 1 / len(bags) - out / out.sum()
        pairs = np.zeros_like(form)  # E|f(r) - f(r')|^2, r' the bag without the dropped rows
        for bag in bags:
            lost = len(bag & dropped)
            choices = list(itertools.combinations(set(range(n)) - bag - dropped, lost))
            for more in choices:
                step = np.zeros(len(bags))
                step[place[bag]] += 1
                step[place[(bag - dropped) | frozenset(more)]] -= 1
                pairs += np.outer(step, step) / len(choices) / len(bags)
        form += (1 - 1 / n_bags) * np.outer(shift, shift) + pairs / n_bags
    centre = np.eye(len(bags)) - 1 / len(bags)
    return centre @ form @ centre / len(groups) * len(bags)  # per unit of E f^2


@pytest.mark.parametrize(("n", "m"), [(2, 1), (4, 1), (5, 2), (5, 4), (6, 3), (7, 2), (7, 5)])
@pytest.mark.parametrize("n_bags", [1, 2, 3, 10, 1000])
def test_exact_second_moment_is_the_largest_eigenvalue(n, m, n_bags):
    """No constant smaller than that of the theorem holds for all learners."""
    largest = np.linalg.eigvalsh(second_moment_form(n, m, 1, n_bags))[-1]
    setting = {"n_samples": n, "bag_size": m, "epsilon": 1.0, "n_bags": n_bags, "sigma2": 1e-3}
    assert delta("exact-second-moment", **setting) == pytest.approx(1e-3 * largest, rel=1e-9)
    assert delta("exact-second-moment", **setting) <= delta("second-moment", **setting)


@pytest.mark.parametrize(("n", "m", "k"), [(5, 2, 2), (6, 3, 2), (6, 2, 3), (6, 2, 4), (6, 3, 3), (5, 3, 2)])
def test_drop_k_exact_second_moment(n, m, k):
    """Several rows: at least the largest eigenvalue, at most Theorem G5, and kappa_2 <= K^2."""
    for n_bags in (1, 2, 7, 100):
        largest = np.linalg.eigvalsh(second_moment_form(n, m, k, n_bags))[-1]
        setting = {"n_samples": n, "bag_size": m, "epsilon": 1.0, "n_bags": n_bags, "n_dropped": k, "sigma2": 1e-3}
        assert 1e-3 * largest <= delta("exact-second-moment", **setting) <= delta("second-moment", **setting)
    limit = second_moment_form(n, m, k, 1e18)
    K = k * m / ((n - k) * (n - m))
    values = np.linalg.eigvalsh(limit)
    assert values[-1] == pytest.approx(K, rel=1e-9)
    for level in range(2, min(m, n - m) + 1):  # kappa_s = (k)_s (m)_s / ((n-k)_s (n-m)_s), as often as it should be
        kappa = math.perm(k, level) * math.perm(m, level) / math.perm(n - k, level) / math.perm(n - m, level)
        times = math.comb(n, level) - math.comb(n, level - 1)
        assert np.isclose(values, kappa, rtol=1e-9, atol=1e-12).sum() >= times
        assert kappa <= K**2 * (1 + 1e-12)


@pytest.mark.parametrize("change", [{}, {"n_samples": 10**9, "bag_size": 10**9 - 1}, {"epsilon": 1e-6}, {"n_bags": 1}])
def test_exact_second_moment_is_rounded_up(change):
    setting = {"n_samples": 60_000, "bag_size": 30_000, "epsilon": 0.05, "n_bags": 997, "n_classes": 7, **change}
    n, m, B = setting["n_samples"], setting["bag_size"], setting["n_bags"]
    K = Fraction(m, (n - 1) * (n - m))
    first = K * (1 - Fraction(1, B)) + Fraction(2, (n - m) * B)
    higher = Fraction(2 * m, n * B) * (1 + Fraction(1, max(m, n - m)))
    at_most = Fraction(6, 7) * K * (1 - Fraction(1, B)) + Fraction(2 * m, n * B)
    exact = min(Fraction(6, 7) * max(first, higher), at_most) / Fraction(setting["epsilon"]) ** 2
    found = delta("exact-second-moment", **setting)
    assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 10**13))


# --- Theorem G13: the exponential bound


def test_one_step_of_the_exponential_theorem():
    """E cosh|s + Y| <= cosh|s| (1 + |EY| + E[e^|Y| - 1 - |Y|]) for random discrete laws."""
    rng = np.random.default_rng(0)
    for _ in range(2000):
        dimension, size = rng.integers(1, 5), rng.integers(1, 6)
        y = rng.normal(size=(size, dimension)) * rng.choice([0.01, 0.5, 3])
        s = rng.normal(size=dimension) * rng.choice([0, 0.1, 2])
        chance = rng.dirichlet(np.ones(size))
        norms = np.linalg.norm(y, axis=1)
        left = chance @ np.cosh(np.linalg.norm(s + y, axis=1))
        right = np.cosh(np.linalg.norm(s)) * (1 + np.linalg.norm(chance @ y) + chance @ (np.expm1(norms) - norms))
        assert left <= right * (1 + 1e-12)


def hull_at(x, y, z):
    corners = []
    for point in zip(x, y, strict=True):
        while len(corners) >= 2:
            (a, b), (c, d) = corners[-2:]
            if (d - b) * (point[0] - a) > (point[1] - b) * (c - a):
                break
            corners.pop()
        corners.append(point)
    return float(np.interp(z, *zip(*corners, strict=True)))


def test_the_envelope_is_the_least_concave_majorant():
    """Against the hull of a fine grid, for tails of every shape; the envelope is never below it."""
    rng = np.random.default_rng(1)
    seen = set()
    for number in range(120):
        h, w = 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-4, 0)
        strength = 10 ** rng.uniform(-0.1, 2)
        tail = (
            BennettTail(strength * math.log(2) / (w * bennett(h / w)), w, h)
            if number % 2
            else GaussTail(strength / h**2, h)
        )
        largest = (h * min(1, 10 ** rng.uniform(-2, 0.3))) ** 2
        z = largest * 10 ** rng.uniform(-4, 0)
        grid = np.unique(
            np.concatenate([[0, z], largest * np.geomspace(1e-14, 1, 1500), np.linspace(0, largest, 1500)])
        )
        values = [at(tail, math.sqrt(point)) for point in grid]
        hull, found = hull_at(grid, values, z), envelope(tail, z, largest)
        assert hull * (1 - 1e-11) <= found <= hull * 1.02 + 1e-200
        seen.add(found > at(tail, math.sqrt(z)) * (1 + 1e-9))
    assert seen == {True, False}


def votes_of(n, m, seed):
    """Two labels, a random learner: the first label's vote for each bag."""
    rng = np.random.default_rng(seed)
    return {frozenset(bag): float(rng.choice([0, 1])) for bag in itertools.combinations(range(n), m)}


def law_of_the_shift(votes, n, m, i, n_bags):
    """The exact law of the sum over hash bags of V - V^i, on -n_bags..n_bags."""
    one = np.zeros(3)
    for bag, vote in votes.items():
        if i not in bag:
            one[1] += 1
            continue
        for more in (rest := set(range(n)) - bag):
            one[int(vote - votes[(bag - {i}) | {more}]) + 1] += 1 / len(rest)
    law = np.ones(1)
    for _ in range(n_bags):
        law = np.convolve(law, one / len(votes))
    return law


@pytest.mark.parametrize(("n", "m"), [(5, 2), (6, 3), (8, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_exponential_theorem_by_convolution(n, m, seed):
    """P(|D_i| >= eps) exactly, by convolving the steps -1, 0, 1 of each row: every row's tail, and their average."""
    votes = votes_of(n, m, seed)
    all_votes = np.array(list(votes.values()))
    mean = all_votes.mean()
    spread = 2 * all_votes.var()
    for n_bags in (1, 4, 30, 200):
        steps = np.abs(np.arange(-n_bags, n_bags + 1)) / n_bags  # |D|/sqrt(2)
        laws = [law_of_the_shift(votes, n, m, i, n_bags) for i in range(n)]
        without = [np.mean([vote for bag, vote in votes.items() if i not in bag]) for i in range(n)]
        for epsilon in (0.1, 0.3, 0.7, 1.3):
            h = epsilon / math.sqrt(2)
            chances = np.array([law[steps >= h * (1 - 1e-12)].sum() for law in laws])
            p = m / n
            for w in {p, min(p, spread * max(1, p / (1 - p)))} - {0.0}:
                tail = BennettTail(n_bags, w, h)
                every = [at(tail, abs(mean - other)) for other in without]
                assert (chances <= np.array(every) * (1 + 1e-9)).all()
            setting = {"n_samples": n, "bag_size": m, "epsilon": epsilon, "n_bags": n_bags, "n_classes": 2}
            for known in (None, spread):
                assert chances.mean() <= delta("exponential", **setting, sigma2=known) * (1 + 1e-9)
                assert chances.mean() <= delta("best", **setting, sigma2=known) * (1 + 1e-9)
            assert chances.max() <= delta("small-bags", **setting) * (1 + 1e-9)


@pytest.mark.parametrize("resampling", ["subbagging", "bootstrap"])
@pytest.mark.parametrize("seed", range(3))
def test_exponential_theorem_for_independent_and_any_bags(resampling, seed):
    """Two labels, exact: binomial counts with and without a row, independent or coupled to be far apart."""
    rng = np.random.default_rng(seed)
    n, m = 5, 2
    draw = (
        itertools.combinations
        if resampling == "subbagging"
        else lambda rows, size: itertools.product(rows, repeat=size)
    )
    votes = {bag: int(rng.random() < rng.choice([0.1, 0.5])) for bag in draw(range(n), m)}
    for n_bags in (10, 60, 300):
        counts = np.arange(n_bags + 1)
        full = np.mean(list(votes.values()))
        chances = {"independent": [], "any": []}
        for i in range(n):
            rest = np.mean([vote for bag, vote in votes.items() if i not in bag])
            laws = [
                np.array([math.comb(n_bags, j) * q**j * (1 - q) ** (n_bags - j) for j in counts]) for q in (full, rest)
            ]
            both = np.outer(*laws)
            # opposite ranks: one count is large where the other is small
            uniform = (np.arange(200_000) + 0.5) / 200_000
            opposite = [np.searchsorted(np.cumsum(law), u) for law, u in zip(laws, (uniform, 1 - uniform), strict=True)]
            apart = np.abs(counts[:, None] - counts) / n_bags
            chances["independent"].append((both, apart))
            chances["any"].append(np.abs(opposite[0] - opposite[1]) / n_bags)
        for epsilon in (0.2, 0.5, 1.0):
            h = epsilon / math.sqrt(2)
            found = {
                "independent": np.mean([both[apart >= h].sum() for both, apart in chances["independent"]]),
                "any": np.mean([(apart >= h).mean() for apart in chances["any"]]) - 1e-4,
            }
            for coupling, chance in found.items():
                setting = {"n_samples": n, "bag_size": m, "epsilon": epsilon, "n_bags": n_bags, "n_classes": 2}
                assert chance <= delta("exponential", **setting, resampling=resampling, coupling=coupling) + 1e-9


def test_exponential_theorem_of_another_seed():
    """Two runs whose votes are e_1 with probability q: the law of the difference is exact."""
    for n_bags, q, epsilon in itertools.product((5, 50, 400), (0.5, 0.1, 0.01), (0.05, 0.2, 0.6)):
        law = np.array([math.comb(n_bags, j) * q**j * (1 - q) ** (n_bags - j) for j in range(n_bags + 1)])
        apart = np.abs(np.subtract.outer(np.arange(n_bags + 1), np.arange(n_bags + 1))) / n_bags
        chance = np.outer(law, law)[apart >= epsilon / math.sqrt(2)].sum()
        spread = 2 * q * (1 - q)
        for theorem in ("best", "another-seed", "another-seed-exponential"):
            found = ss.reseed_stability(n_bags=n_bags, epsilon=epsilon, n_classes=2, sigma2=spread, theorem=theorem)
            assert chance <= found.delta * (1 + 1e-9)


def test_hash_bags_are_never_worth_less_than_others():
    rng = np.random.default_rng(3)
    for _ in range(150):
        n = int(10 ** rng.uniform(1, 6))
        setting = {
            "n_samples": n,
            "bag_size": int(np.clip(n * rng.uniform(0, 1), 1, n - 1)),
            "epsilon": float(10 ** rng.uniform(-2, 0)),
            "n_bags": int(10 ** rng.uniform(0, 5)),
            "n_classes": [None, 2, 10][int(rng.integers(3))],
            "sigma2": [None, 0.1, 0.01][int(rng.integers(3))],
        }
        found = [selection_stability(**setting, coupling=c).delta for c in ("hash", "independent", "any")]
        assert found[0] <= found[2] * (1 + 1e-9) + 1e-250
        assert found[1] <= found[2] * (1 + 1e-9) + 1e-250


@pytest.mark.parametrize("B", [1, 10, 1000, 10**6, 10**9])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.4, 2.0])
def test_extreme_settings_give_probabilities(B, epsilon):
    for n, m in [(2, 1), (3, 2), (10**9, 1), (10**9, 5 * 10**8), (10**9, 10**9 - 1)]:
        for extra in ({}, {"coupling": "any"}, {"coupling": "independent", "sigma2": 1e-12}, {"n_classes": 2}):
            found = selection_stability(n_samples=n, bag_size=m, epsilon=epsilon, n_bags=B, **extra)
            assert 0 <= found.delta <= 1
            assert math.isfinite(delta("exponential", n_samples=n, bag_size=m, epsilon=epsilon, n_bags=B, **extra))
        boot = selection_stability(n_samples=n, bag_size=m, epsilon=epsilon, n_bags=B, resampling="bootstrap")
        assert 0 <= boot.delta <= 1
    for k in (2, 10**6, 10**8):
        found = selection_stability(n_samples=10**9, bag_size=10**7, epsilon=epsilon, n_bags=B, n_dropped=k)
        assert 0 <= found.delta <= 1


def test_the_exponential_bound_is_rounded_up():
    """Against fifty digits: the majorant by its own tangent, at the setting of the paper and for a small bag."""
    for n, m, eps, B in [(60_000, 30_000, 0.05, 5000), (60_000, 3_000, 0.05, 1000), (1000, 100, 0.2, 300)]:
        found = delta("exponential", n_samples=n, bag_size=m, epsilon=eps, n_bags=B, n_classes=10)
        with mpmath.workdps(50):
            p, h = mpmath.mpf(m) / n, mpmath.mpf(eps) / mpmath.sqrt(2)
            z0 = mpmath.mpf(m) / (n - 1) / (n - m) * 9 / 10 / 2

            def psi(z, p=p, h=h, B=B):
                u = (h - mpmath.sqrt(z)) / p
                return 2 * mpmath.exp(-B * p * ((1 + u) * mpmath.log(1 + u) - u))

            largest = min(h * h, p * p, mpmath.mpf(9) / 20 * m / (n - m))
            end = h * h
            low = mpmath.mpf(0)
            for _ in range(160):  # where psi is 1
                middle = (low + end) / 2
                low, end = (middle, end) if psi(middle) < 1 else (low, middle)
            end = min(end, largest)
            high = min(psi(end), mpmath.mpf(1))
            # every chord from the left to the end is below the majorant
            chords = [
                psi(z0 * t) + (high - psi(z0 * t)) * (z0 - z0 * t) / (end - z0 * t) for t in np.linspace(0, 0.999, 400)
            ]
            assert max(chords) <= found <= max(chords) * (1 + 1e-3)


# --- Theorem G14: two labels, infinitely many bags


def test_mean_excess_by_enumeration():
    for n, k, m in [(5, 2, 3), (9, 4, 4), (12, 12, 5), (20, 7, 13), (30, 1, 29)]:
        law = [Fraction(math.comb(k, j) * math.comb(n - k, m - j), math.comb(n, m)) for j in range(min(k, m) + 1)]
        exact = sum(chance * max(j - Fraction(m * k, n), 0) for j, chance in enumerate(law))
        assert mean_excess(n, k, m) == pytest.approx(float(exact), rel=1e-12)
    with mpmath.workdps(40):
        n, j, p = 10**9, 5 * 10**8 + 12_345, 0.5
        log = mpmath.loggamma(n + 1) - mpmath.loggamma(j + 1) - mpmath.loggamma(n - j + 1) + n * mpmath.log(0.5)
    assert binomial_term(n, j, p) == pytest.approx(float(mpmath.exp(log)), rel=1e-12)


def most_conflicts(n, m, epsilon):
    """The most rows that a learner can make conflict, by a linear program for each number of them."""
    h = epsilon / math.sqrt(2)
    best = 0
    for k in range(1, n + 1):
        held = np.arange(max(0, m - n + k), min(k, m) + 1)
        full = np.array([math.comb(k, j) * math.comb(n - k, m - j) for j in held]) / math.comb(n, m)
        # a given marked row is out: m of the other n - 1 rows, k - 1 of them marked
        out = np.array([math.comb(k - 1, j) * math.comb(n - k, m - j) for j in held]) / math.comb(n - 1, m)
        solved = linprog(np.zeros(len(held)), A_ub=[-full, out], b_ub=[-(1 + h) / 2, (1 - h) / 2], bounds=(0, 1))
        if solved.status == 0:
            best = k
    return best


@pytest.mark.parametrize(("n", "m"), [(6, 3), (12, 4), (20, 10), (30, 24), (40, 20)])
@pytest.mark.parametrize("epsilon", [0.1, 0.25, 0.5, 0.9])
def test_two_labels_by_linear_programs(n, m, epsilon):
    found = selection_stability(n_samples=n, bag_size=m, epsilon=epsilon, n_classes=2, theorem="two-labels")
    truth = most_conflicts(n, m, epsilon)
    assert truth <= round(found.delta * n) <= truth + max(2, 0.25 * n)
    best = selection_stability(n_samples=n, bag_size=m, epsilon=epsilon, n_classes=2)
    assert best.delta >= truth / n


def test_two_labels_at_the_setting_of_the_docs():
    setting = {"n_samples": 1000, "bag_size": 500, "epsilon": 0.1, "n_classes": 2}
    assert delta("two-labels", **setting) == 0.031
    assert delta("second-moment", **setting) == pytest.approx(0.05, abs=1e-4)
    found = selection_stability(**setting)
    assert (found.theorem, found.delta, found.every_row) == ("two-labels", 0.031, False)


@pytest.mark.parametrize("bag_size", [30, 0.3])
def test_where_the_count_of_two_labels_settles(bag_size):
    """More rows may raise the count by one: the solver's answer is behind the last number that fails."""
    setting = {"bag_size": bag_size, "epsilon": 0.4, "n_classes": 2}
    for target in (0.02, 0.05, 0.1, 0.13):
        n = ss.solve_stability("n_samples", delta=target, **setting)
        assert selection_stability(n_samples=n - 1, **setting).delta > target
        assert all(selection_stability(n_samples=more, **setting).delta <= target for more in range(n, n + 300))


# --- Theorem G15: rows that come


def test_rows_that_come_are_rows_dropped_from_more():
    """Adding k rows to n is dropping k of n + k, on average over exchangeable data."""
    setting = {"epsilon": 0.3, "n_classes": 10, "bag_size": 100}
    for n_bags in (None, 50, 1000):
        for k in (1, 7, 100):
            come = selection_stability(n_samples=1000, n_added=k, n_bags=n_bags, **setting)
            go = selection_stability(n_samples=1000 + k, n_dropped=k, n_bags=n_bags, **setting)
            assert (come.delta, come.theorem) == (go.delta, go.theorem)
            assert (come.n_samples, come.n_added, come.n_dropped) == (1000, k, 0)
            exchangeable = "that the old and the new rows are exchangeable, and the point is independent of them"
            assert (exchangeable in str(come)) == (come.theorem != "small-bags")
            rows = "one row" if k == 1 else f"{k} rows"
            assert f"dding {'any ' if come.every_row else ''}{rows} to 1,000 training rows gives" in str(come)
            assert ("over the data" in str(come)) == (not come.every_row)
    k = m = 100
    K, q = k * m / (1000 * (1000 + k - m)), 1 - math.comb(1000, m) / math.comb(1000 + k, m)
    assert delta("second-moment", n_samples=1000, n_added=k, **setting) == pytest.approx(0.9 * K / 0.09)
    for n_bags in (10, 100, 5000):  # and with a number of bags, no more than the sum of both terms
        found = selection_stability(n_samples=1000, n_added=k, n_bags=n_bags, **setting).delta
        assert found <= (0.9 * K + 2 * q / n_bags) / 0.09
    assert ss.solve_stability("n_samples", delta=0.05, n_added=50, n_bags=2000, **setting) > 100
    many = {"n_samples": 1000, "n_added": 5, "epsilon": 0.3}
    most = ss.solve_stability("bag_size", delta=0.2, **many)
    assert (
        selection_stability(bag_size=most, **many).delta <= 0.2 < selection_stability(bag_size=most + 1, **many).delta
    )


def test_rows_that_come_by_enumeration():
    """Exchangeable data: draw n + k rows without replacement from a list, by every order; a learner of the values."""
    n, k, m = 4, 2, 2
    values = (0, 0, 1, 1, 2, 0)

    def bagged(rows):
        votes = [np.eye(3)[(values[a] * 2 + values[b]) % 3] for a, b in itertools.combinations(rows, m)]
        return np.mean(votes, axis=0)

    shares = []
    for old in itertools.combinations(range(n + k), n):
        shares.append(float(((bagged(old) - bagged(range(n + k))) ** 2).sum()))
    found = delta("second-moment", n_samples=n, n_added=k, bag_size=m, epsilon=1.0, n_classes=3)
    assert np.mean(shares) <= found
