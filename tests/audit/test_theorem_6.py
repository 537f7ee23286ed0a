"""Theorem 6 and Theorem C2 against brute force: every choice of votes in the bags that rows touch."""

import itertools

import numpy as np
import pytest

import steadyset as ss
from helpers.interrupts import seconds_to_answer
from steadyset import _native
from steadyset.audit import _theorem_6

KINDS = ("smooth", "labels", "quarters", "flat")


def problem(rng, kind, dtype=np.float64, most_rows=99):
    """A few bags of a few rows and their votes at some points."""
    n, n_labels, n_bags = (int(rng.integers(low, high)) for low, high in ((3, 9), (2, 6), (5, 30)))
    size = int(rng.integers(1, min(n, most_rows + 1)))
    bags = ss.draw_bags(n, n_bags, size, seed=int(rng.integers(10**6)), sample_ids=range(n))
    lift = rng.gamma(1.0, 2.0, (6, n_labels)) + 0.1
    if kind == "flat":  # several labels in most sets
        lift = np.full((6, n_labels), 60.0)
    proba = np.stack([rng.dirichlet(a, n_bags) for a in lift], axis=1)
    if kind == "labels":
        proba = np.eye(n_labels)[(proba.cumsum(axis=2) > rng.random((n_bags, 6, 1))).argmax(axis=2)]
    if kind == "quarters":  # full of ties
        proba = rng.multinomial(4, proba) / 4
    return ss.BagPredictions(proba.astype(dtype), bags, range(n_labels))


def rules(rng):
    epsilon = float(10 ** rng.uniform(-2, 0.2))
    return (ss.InflatedArgmax(epsilon), ss.FixedMargin(epsilon), ss.Argmax())


def new_votes(rng, c, n_labels):
    """Sums of c votes: all for one label, every other sum of whole votes where they are few, and random ones."""
    yield from c * np.eye(n_labels)
    if c <= 4:
        for chosen in itertools.combinations_with_replacement(range(n_labels), c):
            yield np.bincount(chosen, minlength=n_labels).astype(float)
    yield from c * rng.dirichlet(np.full(n_labels, 0.4), 25)


def turnable(rng, made, rule, touched):
    """At which points some votes of the touched bags give a set disjoint from the deployed one."""
    kept, sets = made.proba[~touched].astype(float).sum(axis=0), rule(made.mean())
    found = np.zeros(made.n_points, bool)
    for votes in new_votes(rng, int(touched.sum()), made.n_classes):
        found |= ~(rule((kept + votes) / made.n_bags) & sets).any(axis=1)
    return found


def uncleared(monkeypatch, made, rule):
    """Which rows `certify` does not clear, (points, rows): each row counts as another power of two."""
    names = []

    def by_bits(*arguments):
        values, patterns, ones, most, times, *rest = arguments
        names.append(np.flatnonzero(made.bags.counts > 0))
        clear(values, patterns, ones, most, 1 << np.arange(len(times)), *rest)

    clear = _native.clear_points
    monkeypatch.setattr(_theorem_6._native, "clear_points", by_bits)
    found = ss.certify(made, rule)
    monkeypatch.undo()
    masks = np.zeros((made.n_points, made.bags.n_samples), bool)
    if names:
        masks[:, names[0]] = found.unsafe_rows[:, None] >> np.arange(len(names[0])) & 1
    return masks, found.poisoning_radius


@pytest.mark.trial
def test_theorem_6_clears_exactly_the_rows_that_no_votes_can_turn(full_trials, monkeypatch):
    rng, seen, turned, several = np.random.default_rng(6), 0, 0, 0
    problems = 2_000 if full_trials else 100
    for number in range(problems):
        made = problem(rng, KINDS[number % 4])
        held = made.bags.membership()
        for rule in rules(rng):
            brute = np.array([turnable(rng, made, rule, held[:, row]) for row in range(made.bags.n_samples)]).T
            open_rows, robust = uncleared(monkeypatch, made, rule)
            assert np.array_equal(open_rows, brute), (number, rule)
            assert np.array_equal(robust > 0, ~brute.any(axis=1))
            sets = rule(made.mean())
            assert not brute[sets.all(axis=1)].any()
            seen += brute.size
            turned += int(brute.sum())
            several += int((brute.any(axis=1) & ~brute.all(axis=1) & (sets.sum(axis=1) > 1)).sum())
    assert 0.1 < turned / seen < 0.9
    assert several > problems / 20  # sets of several labels that some rows can turn and some cannot
    print(f"{problems:,} problems, {seen:,} rows at points, {turned:,} can turn the set")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_a_set_of_all_labels_clears_every_row(kind, dtype):
    rng = np.random.default_rng(7)
    for _ in range(10):
        made = problem(rng, kind, dtype)
        for rule in (ss.InflatedArgmax(1.5), ss.FixedMargin(1.5), ss.NDC(30.0), ss.MassThreshold(1.0)):
            full = rule(made.mean()).all(axis=1)
            found = ss.certify(made, rule)
            assert full.any() or kind in ("labels", "quarters")
            assert np.all(found.unsafe_rows[full] == 0)
            assert np.all(found.poisoning_radius[full] == made.bags.n_samples)
            assert np.all(found.radius[full] == np.inf)
            assert np.all(found.bound[full] == 0)


def test_two_labels_both_selected():
    """A case that the old test could not clear: p = (.555, .445), epsilon .3, both labels in the set."""
    bags = ss.draw_bags(10, 100, 5, sample_ids=range(10))
    made = ss.BagPredictions(np.tile([[[0.555, 0.445]]], (100, 1, 1)), bags, "ab")
    found = ss.certify(made, ss.InflatedArgmax(0.3))
    assert found.unsafe_rows.tolist() == [0]
    assert found.poisoning_radius.tolist() == [10]


@pytest.mark.trial
def test_no_votes_of_any_rows_within_the_poisoning_radius_turn_the_set(full_trials):
    """Theorem C2: every set of rows, with corners, whole votes and random ones in the bags that it touches."""
    rng, largest, beyond = np.random.default_rng(8), 0, 0
    for number in range(300 if full_trials else 25):
        made = problem(rng, KINDS[number % 4], most_rows=1)
        held = made.bags.membership()
        for rule in rules(rng):
            radius = ss.certify(made, rule).poisoning_radius
            first = np.full(made.n_points, made.bags.n_samples + 1)  # the smallest number of rows that turn the set
            for k in range(made.bags.n_samples, 0, -1):
                for chosen in itertools.combinations(range(made.bags.n_samples), k):
                    first[turnable(rng, made, rule, held[:, chosen].any(axis=1))] = k
            assert np.all(radius < first)
            assert np.array_equal(radius == 0, first == 1)
            part = ~rule(made.mean()).all(axis=1)
            largest = max(largest, int(radius[part].max(initial=0)))
            beyond += int((radius[part] > 1).sum())
    assert largest >= 3
    assert beyond > 5


def test_corners_allow_more_rows_than_distance():
    """The distance that all votes of T bags can move the mean is a weaker test than where they can move it."""
    rng = np.random.default_rng(9)
    bags = ss.draw_bags(200, 400, 4, seed=1, sample_ids=range(200))
    proba = np.stack([rng.dirichlet(a, 400) for a in rng.gamma(1.0, 3.0, (60, 4)) + 0.2], axis=1)
    made = ss.BagPredictions(proba, bags, range(4))
    touched = np.cumsum(np.sort(bags.counts)[::-1])
    for rule in (ss.InflatedArgmax(0.1), ss.FixedMargin(0.1), ss.Argmax()):
        found = ss.certify(made, rule)
        by_distance = np.searchsorted(np.sqrt(2) * touched / 400, found.radius)
        assert np.all(found.poisoning_radius >= by_distance)
        assert np.mean(found.poisoning_radius > by_distance) > 0.5


@pytest.mark.parametrize("rule", [ss.InflatedArgmax(0.03), ss.FixedMargin(0.03), ss.Argmax(), ss.NDC(1.0)], ids=repr)
def test_the_kernel_is_the_formula_on_many_rows(rule, isa):
    """Float32 votes of 300 bags at 3,000 rows, in double precision and by the definition; near misses may be unsafe."""
    rng = np.random.default_rng(10)
    n, n_bags, n_labels = 3_000, 300, 12
    bags = ss.draw_bags(n, n_bags, 60, seed=2, sample_ids=range(n))
    base = rng.normal(0, 2, (40, n_labels))
    base[:20] *= 0.1
    scores = np.exp(base + rng.normal(0, 0.4, (n_bags, 40, n_labels)))
    made = ss.BagPredictions((scores / scores.sum(axis=2, keepdims=True)).astype(np.float32), bags, range(n_labels))
    found, sets = ss.certify(made, rule).unsafe_rows, rule(made.mean())
    held = bags.membership()
    radius = ss.stability_radius(made.mean(), rule)
    total, counts = made.proba.astype(float).sum(axis=0), held.sum(axis=0)
    for point in range(40):
        votes = made.proba[:, point].astype(float)
        rest = (~held).T.astype(float) @ votes
        low, high = (
            by_formula(rule, rest, sets[point], counts * (1 + s), n_bags, radius[point], total[point])
            for s in (0, 2e-4)
        )
        assert low.sum() <= found[point] <= high.sum()
    assert 0 < found.sum() < n * 40


def by_formula(rule, rest, own, c, n_bags, radius, total):
    """Theorem 6 as it stands, a row of votes without each training row."""
    if own.all():
        return np.zeros(len(rest), bool)
    if rule.lone_margin is None:
        s = total - rest
        return np.sqrt(c**2 - 2 * c * s.min(axis=1) + (s**2).sum(axis=1)) / n_bags >= radius
    inside, outside = rest[:, own].max(axis=1), rest[:, ~own].copy()
    best = outside.argmax(axis=1)
    if isinstance(rule, ss.InflatedArgmax):
        outside[np.arange(len(rest)), best] += c
        # j is out of the set of (F_j, F outside) exactly if F_j <= t of the latter
        return ~rule(np.column_stack([inside, outside]) / n_bags)[:, 0]
    rival = outside[np.arange(len(rest)), best] + c
    return inside < rival if isinstance(rule, ss.Argmax) else inside <= rival - rule.lone_margin * n_bags


@pytest.mark.parametrize("n_bags", [1023, 1024, 3000])
@pytest.mark.parametrize("kind", ["labels", "shares"])
def test_how_many_bags_may_vote_anything_is_the_formula(n_bags, kind):
    """Theorem C2 for the argmax: the best label leads while others gain 1 and it loses its vote in the best bags."""
    rng, n_points, n_labels = np.random.default_rng(n_bags), 6, 4
    proba = rng.dirichlet([4, 1, 1, 0.1], size=(n_bags, n_points))
    if kind == "labels":
        proba = np.eye(n_labels)[(rng.random((n_bags, n_points, 1)) > np.cumsum(proba, axis=2)[:, :, :-1]).sum(axis=2)]
    sets, found = ss.Argmax()(proba.mean(axis=0)), np.empty(n_points, np.int64)
    _native.hostile_bags(proba, sets.view(np.uint8), 0, 0.0, 1.0, 1e-9, 0, found, 1)
    for point in range(n_points):
        own = int(np.argmax(sets[point]))
        rivals = [label for label in range(n_labels) if label != own]
        steps = proba[:, point, [own]] - proba[:, point, rivals]
        gains = np.cumsum(np.sort(steps + 1, axis=0)[::-1], axis=0)
        assert found[point] == ((gains - steps.sum(axis=0) + 1e-9).max(axis=1) <= 0).sum()
        assert 0 < found[point] < n_bags


def test_every_instruction_set_and_number_of_threads_gives_the_same(monkeypatch):
    rng = np.random.default_rng(11)
    made = [problem(rng, kind, np.float32) for kind in KINDS for _ in range(5)]
    rule, before, results = ss.InflatedArgmax(0.2), _native.isa(), []
    for level, threads in [*((name, 1) for name in _native.isa_levels()), (before, 3)]:
        _native.use_isa(level)
        monkeypatch.setattr("steadyset._base.cpu.allowed_threads", lambda threads=threads: threads)
        found = [ss.certify(each, rule) for each in made]
        results.append([(f.unsafe_rows.tolist(), f.poisoning_radius.tolist()) for f in found])
    _native.use_isa(before)
    assert all(result == results[0] for result in results)


LONG = """
import threading, time
import numpy as np, steadyset as ss
bags = ss.draw_bags(200_000, 200, 100_000, sample_ids=range(200_000))
proba = np.random.default_rng(0).random((200, 5_000, 10), np.float32)
made = ss.BagPredictions(proba / proba.sum(axis=2, keepdims=True), bags, range(10))
# Once before: what is imported then executes strings, and Python ends by SIGINT where one of these was interrupted.
ss.certify(made.at_points([0]), ss.InflatedArgmax(0.01))
print("ready", flush=True)
try:
    while True:
        ss.certify(made, ss.InflatedArgmax(0.01))
except KeyboardInterrupt:
    print("interrupted", time.time(), threading.active_count(), flush=True)
"""


def test_an_interruption_is_answered():
    """A long piece of work, and Ctrl-C in the midst of it."""
    assert seconds_to_answer(LONG, after=1) < 1.0
