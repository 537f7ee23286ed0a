"""Bags: what deletion and reordering change, how rows are spread, what is stored."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import steadyset as ss
from steadyset import _native
from steadyset.bags import bag_key, concatenate, id_words


def mix(x):
    mask = 2**64 - 1
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ x >> 33) * factor & mask
    return x ^ x >> 33


def hashes(seed, bag, words):
    """The documented hash, in plain Python."""
    first, second = bag_key(seed, bag)
    return [mix(mix(int(word) ^ first) ^ second) for word in words]


def named_rows(bags, names):
    return [{names[i] for i in rows} for rows in bags]


def test_the_hash_is_pinned():
    assert bag_key(0, 0) == (0x89AF16597F41AE5B, 0x414C549B0922B818)
    assert bag_key(2**70, 12) == (0xB768D41DFD7DEC73, 0x15F6BDB6CA50C87A)
    assert hashes(0, 0, [0, 1, 2**64 - 1]) == [0x009C49A8562DE4EC, 0x82256F342F72EA4D, 0x484AB0D30017D6E5]
    assert id_words(np.array(["ann"])).tolist() == [0xA5F323BF6ADF3A8D]
    assert id_words(np.array([-1])).tolist() == [2**64 - 1]
    assert ss.draw_bags(12, 2, 5, seed=3)[1].tolist() == [0, 2, 6, 7, 11]
    assert ss.draw_bags(12, 2, 5, resampling="bootstrap", seed=3)[1].tolist() == [1, 4, 6, 6, 7]


@given(st.integers(2, 200), st.data())
def test_a_bag_is_the_rows_with_the_smallest_hash(n, data):
    m = data.draw(st.integers(1, n - 1))
    seed = data.draw(st.integers(0, 2**80))
    bags = ss.draw_bags(n, 3, m, seed=seed, sample_ids=range(n))
    for b in range(3):
        order = np.argsort(np.array(hashes(seed, b, range(n)), np.uint64))
        assert bags[b].tolist() == sorted(order[:m].tolist())
        assert bags.next_row(b) == order[m]


@pytest.mark.parametrize(("n", "m"), [(5000, 1), (5000, 4999), (5000, 2500), (100_003, 40_000), (100_000, 17), (9, 8)])
def test_large_bags_against_a_full_sort(n, m, isa):
    bags = ss.draw_bags(n, 2, m, seed=7, sample_ids=range(n))
    assert [rows.tolist() for rows in ss.draw_bags(n, 2, m, seed=7)] == [rows.tolist() for rows in bags]
    keys = np.array([bag_key(7, b) for b in range(2)], np.uint64)
    for b, (first, second) in enumerate(keys):
        x = np.arange(n, dtype=np.uint64) ^ first
        for key in (second, np.uint64(0)):
            for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
                x = (x ^ x >> np.uint64(33)) * np.uint64(factor)
            x = x ^ x >> np.uint64(33) ^ key
        order = np.argsort(x)
        assert np.array_equal(bags[b], np.sort(order[:m]))
        assert bags.next_row(b) == order[m]


@given(st.integers(3, 60), st.sampled_from([int, str]), st.data())
def test_dropping_a_row_changes_one_row_of_the_bags_that_held_it(n, kind, data):
    names = [kind(i) for i in data.draw(st.lists(st.integers(-(2**62), 2**62), min_size=n, max_size=n, unique=True))]
    m = data.draw(st.integers(1, n - 2))
    dropped = data.draw(st.integers(0, n - 1))
    bags = ss.draw_bags(n, 12, m, sample_ids=names)
    rest = names[:dropped] + names[dropped + 1 :]
    fewer = ss.draw_bags(n - 1, 12, m, sample_ids=rest)
    held = bags.holds(dropped)
    for b, (before, after) in enumerate(zip(named_rows(bags, names), named_rows(fewer, rest), strict=True)):
        if held[b]:
            assert before - after == {names[dropped]}
            assert after - before == {names[bags.next_row(b)]}
        else:
            assert before == after


@given(st.permutations(range(25)), st.sampled_from(["subbagging", "bootstrap"]))
def test_another_order_of_the_rows_changes_no_bag(order, resampling):
    names = [f"row {i}" for i in range(25)]
    moved = [names[i] for i in order]
    bags = ss.draw_bags(25, 6, 11, resampling, sample_ids=names)
    again = ss.draw_bags(25, 6, 11, resampling, sample_ids=moved)
    for b in range(6):
        assert [names[i] for i in bags[b]] == [moved[i] for i in again[b]]  # the same rows in the same order
        assert [moved[i] for i in again[b]] == sorted(moved[i] for i in again[b])


def test_default_ids_are_the_positions():
    assert [b.tolist() for b in ss.draw_bags(30, 5, 9)] == [
        b.tolist() for b in ss.draw_bags(30, 5, 9, sample_ids=range(30))
    ]


def test_a_bag_does_not_depend_on_how_many_are_drawn():
    many, few = ss.draw_bags(100, 40, 30, seed=5), ss.draw_bags(100, 7, 30, seed=5)
    assert all(np.array_equal(many[b], few[b]) for b in range(7))
    assert few.with_bags(40) == many
    assert many.with_bags(7) == few
    assert all(np.array_equal(a, b) for a, b in zip(few.with_bags(40), many, strict=True))
    assert ss.draw_bags(100, 7, 30, seed=6) != few


@pytest.mark.parametrize("resampling", ["subbagging", "bootstrap"])
@pytest.mark.parametrize("ids", [False, True])
def test_membership_frequencies(resampling, ids):
    """Chi-square tests of rows, bags and pairs; the chance of a false alarm is 1e-6 each, and the seed is fixed."""
    n, n_bags, m = 40, 4000, 15
    names = [f"patient-{i}" for i in range(n)] if ids else None
    bags = ss.draw_bags(n, n_bags, m, resampling, seed=11, sample_ids=names)
    times = np.zeros((n_bags, n), int)
    for b, rows in enumerate(bags):
        np.add.at(times[b], rows, 1)
    assert np.all(times.sum(axis=1) == m)
    held = times > 0
    p = m / n if resampling == "subbagging" else 1 - (1 - 1 / n) ** m
    both = m * (m - 1) / (n * (n - 1)) if resampling == "subbagging" else 1 - 2 * (1 - 1 / n) ** m + (1 - 2 / n) ** m
    # Counts of rows are correlated only through the fixed bag size: with that taken off they are chi-square on n - 1.
    variance = p * (1 - p) * n / (n - 1) if resampling == "subbagging" else p - both
    rows = ((held.sum(axis=0) - n_bags * p) ** 2).sum() / (n_bags * variance)
    assert 1e-6 < stats.chi2.sf(rows, n - 1) < 1 - 1e-6
    pairs = np.array([np.sum(held[:, i] & held[:, j]) for i, j in itertools.combinations(range(n), 2)])
    z = (pairs - n_bags * both) / np.sqrt(n_bags * both * (1 - both))
    assert np.abs(z).max() < stats.norm.isf(1e-6 / 2 / len(z))
    assert abs(np.mean(z)) < 5 * np.sqrt(n) / np.sqrt(len(z))
    # Neighbouring bags are independent: their overlap has the hypergeometric mean.
    if resampling == "subbagging":
        overlap = (held[:-1] & held[1:]).sum(axis=1)
        spread = np.sqrt(stats.hypergeom(n, m, m).var() / len(overlap))
        assert abs(overlap.mean() - m * m / n) < 5 * spread


def test_bootstrap_repeats_rows():
    bags = ss.draw_bags(10, 50, 10, "bootstrap")
    assert any(len(set(rows.tolist())) < 10 for rows in bags)
    assert all(len(rows) == 10 for rows in bags)
    assert bags.coupling == "any"


@pytest.mark.parametrize(
    ("n", "m", "resampling"),
    [(90, 1, "subbagging"), (90, 40, "subbagging"), (90, 2, "bootstrap"), (90, 90, "bootstrap")],
)
@pytest.mark.parametrize("named", [False, True])
def test_bits_and_indices_answer_alike(n, m, resampling, named):
    names = [f"{(i * 37) % n:03}" for i in range(n)] if named else None
    bags = ss.draw_bags(n, 60, m, resampling, seed=2, sample_ids=names)
    held = np.array([np.isin(np.arange(n), rows) for rows in bags])
    assert np.array_equal(bags.membership(), held)
    assert np.array_equal(bags.membership(5, 9), held[5:9])
    assert np.array_equal(bags.counts, held.sum(axis=0))
    assert all(np.array_equal(bags.holds(i), held[:, i]) for i in range(n))
    adopted = ss.Bags.from_rows([rows.tolist() for rows in bags], n)
    assert np.array_equal(adopted.membership(), held)
    assert np.array_equal(adopted.counts, held.sum(axis=0))
    assert all(np.array_equal(np.sort(a), b) for a, b in zip(bags, adopted, strict=True))


def test_membership_is_stored_in_the_smaller_form():
    assert ss.draw_bags(8000, 10, 4000).nbytes == 10 * 1000
    assert ss.draw_bags(8000, 10, 20).nbytes == 10 * 20 * 4 + 11 * 8


@pytest.mark.trial
def test_ten_million_rows_fit_in_memory(full_trials):
    """Bags of 10^4 among 10^7 rows: memory stays near four bytes for each row of a bag."""
    n, m, n_bags = 10_000_000, 10_000, 10_000 if full_trials else 60
    tracemalloc.start()
    bags = ss.draw_bags(n, n_bags, m)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bags.nbytes <= n_bags * m * 4 + 8 * (n_bags + 1)
    assert peak < 2.1 * bags.nbytes + (400 << 20)
    assert len(bags[n_bags - 1]) == m


def test_adopted_bags_are_known_as_such():
    bags = ss.Bags.from_rows([[3, 1], [0, 0, 2]], 4)
    assert bags.resampling is None
    assert bags.coupling is None
    assert bags.seed is None
    assert bags.bag_size is None
    assert bags[0].tolist() == [1, 3]
    assert bags[-1].tolist() == [0, 0, 2]
    assert repr(bags) == "Bags(n_samples=4, n_bags=2, bag_size=None, adopted)"


def test_putting_draws_together():
    one, two = (ss.draw_bags(20, n_bags, 5, seed=seed, sample_ids=range(20)) for n_bags, seed in ((3, 1), (4, 2)))
    both = concatenate([one, two])
    assert (both.n_bags, both.resampling, both.coupling, both.seed) == (7, "subbagging", "hash", None)
    assert [b.tolist() for b in both] == [b.tolist() for b in one] + [b.tolist() for b in two]
    assert both.next_row(5) == two.next_row(2)
    assert [b.tolist() for b in both.with_bags(4)] == [b.tolist() for b in both][:4]
    mixed = concatenate([one, ss.draw_bags(20, 2, 6, sample_ids=range(20))])
    assert (mixed.resampling, mixed.bag_size, mixed.coupling) == (None, None, None)
    with pytest.raises(ValueError, match="got bag 0 of seed 1 twice"):
        concatenate([one, one])
    with pytest.raises(ValueError, match="same rows"):
        concatenate([one, ss.draw_bags(20, 3, 5)])


@pytest.mark.parametrize("resampling", ["subbagging", "bootstrap"])
@pytest.mark.parametrize(("n", "m"), [(40, 20), (4000, 3)])
def test_bags_drawn_apart_are_those_drawn_at_once(n, m, resampling):
    drawn = {"bag_size": m, "resampling": resampling, "seed": 3, "sample_ids": [f"row {i}" for i in range(n)]}
    whole = ss.draw_bags(n, 50, **drawn)
    late = ss.draw_bags(n, n_bags=10, first=30, **drawn)
    assert late == whole[30:40]
    assert (late.resampling, late.coupling, late.seed, late.bag_size) == (
        resampling,
        whole.coupling,
        3,
        m,
    )
    assert [rows.tolist() for rows in late] == [rows.tolist() for rows in whole][30:40]
    assert concatenate([whole[:30], late, whole[40:]]) == whole
    assert concatenate([whole[:30], late]).with_bags(50) == whole
    if resampling == "subbagging":
        assert late.next_row(4) == whole.next_row(34)


@given(st.data())
def test_a_slice_is_these_bags_and_knows_how_they_were_drawn(data):
    ids = {"sample_ids": range(30)}
    whole = concatenate([ss.draw_bags(30, 7, 9, seed=1, **ids), ss.draw_bags(30, 6, 9, seed=2, first=4, **ids)])
    cut = data.draw(st.slices(13))
    numbers = range(13)[cut]
    if not numbers:
        return
    some = whole[cut]
    assert (len(some), some.resampling, some.coupling) == (len(numbers), "subbagging", "hash")
    assert [rows.tolist() for rows in some] == [whole[b].tolist() for b in numbers]
    assert [some.next_row(i) for i in range(len(some))] == [whole.next_row(b) for b in numbers]


def test_a_slice_of_adopted_bags_stays_adopted():
    adopted = ss.Bags.from_rows([[0, 1], [2], [1, 3]], 4)
    assert (adopted[1:].resampling, [rows.tolist() for rows in adopted[::2]]) == (None, [[0, 1], [1, 3]])


def test_unsigned_ids_are_ids():
    ids = ss.content_ids(np.arange(200.0).reshape(50, 4))
    assert ids.values.max() >= 2**63
    given_again = ss.draw_bags(50, 6, 20, sample_ids=ids.values)
    assert [rows.tolist() for rows in given_again] == [
        rows.tolist() for rows in ss.draw_bags(50, 6, 20, sample_ids=ids)
    ]
    assert given_again.ids.kind == "given"
    assert given_again.sample_ids.dtype == np.uint64


@pytest.mark.parametrize("ids", [range(7, 47), np.arange(7, 47, dtype=np.uint16), list(range(7, 47))])
def test_numbers_are_ids_of_one_kind(ids):
    found = ss.draw_bags(40, 2, 9, sample_ids=ids)
    assert found.sample_ids.dtype == np.int64
    assert found == ss.draw_bags(40, 2, 9, sample_ids=[int(i) for i in ids])


@pytest.mark.parametrize(("ids", "count"), [(range(2**70), 2**70), (range(5, 5), 0), (range(39, -1, -2), 20)])
def test_a_range_of_another_length_is_refused_without_being_counted_out(ids, count):
    with pytest.raises(ValueError, match=rf"^sample_ids must be 40 distinct ids, .*; got {count} of them\.$"):
        ss.draw_bags(40, 2, 9, sample_ids=ids)


def test_a_range_may_be_anywhere_within_64_bits():
    for ids in (range(2**64 - 40, 2**64), range(39, -1, -1), range(-(2**63), -(2**63) + 80, 2)):
        assert ss.draw_bags(40, 2, 9, sample_ids=ids) == ss.draw_bags(40, 2, 9, sample_ids=list(ids))


def test_the_seed_of_a_bag_is_pinned():
    assert [ss.bag_seed(0, 0), ss.bag_seed(2**70, 12)] == [3757552657, 186595695]
    model = ss.StableClassifier(n_estimators=3, random_state=5).fit(np.arange(40.0)[:, None], np.arange(40) % 2)
    assert [tree.random_state for tree in model.estimators_] == [ss.bag_seed(5, b) for b in range(3)]


def test_bags_are_frozen():
    bags = ss.draw_bags(10, 2, 5)
    with pytest.raises(AttributeError):
        bags.n_samples = 11


BAD = {
    "bag of 0": (
        lambda: ss.draw_bags(10, 2, 0),
        r"bag_size must be a whole number from 1 to n_samples - 1 = 9 or a share",
    ),
    "bag of n": (lambda: ss.draw_bags(10, 2, 10), r"bag_size must be .* for subbagging; got 10\."),
    "share of 1": (lambda: ss.draw_bags(10, 2, 1.0), r"bag_size must be .* for subbagging; got 1\.0\."),
    "bootstrap of 0": (lambda: ss.draw_bags(10, 2, 0, "bootstrap"), r"bag_size must be .* for bootstrap; got 0\."),
    "one row": (lambda: ss.draw_bags(1, 2, 1), r"n_samples must be a whole number from 2 to 2\*\*53; got 1\."),
    "no bags": (lambda: ss.draw_bags(10, 0, 5), r"n_bags must be a whole number from 1 to 2\*\*53; got 0\."),
    "negative seed": (
        lambda: ss.draw_bags(10, 1, 5, seed=-1),
        r"seed must be a whole number that is at least 0; got -1\.",
    ),
    "seed of None": (lambda: ss.draw_bags(10, 1, 5, seed=None), r"seed must be a whole number .*; got None\."),
    "kind": (
        lambda: ss.draw_bags(10, 1, 5, "jackknife"),
        r'resampling must be "subbagging" or "bootstrap"; got \'jackknife\'\.',
    ),
    "few ids": (
        lambda: ss.draw_bags(3, 1, 1, sample_ids=[1, 2]),
        r"sample_ids must be 3 distinct ids.*; got 2 of them\.",
    ),
    "same ids": (lambda: ss.draw_bags(3, 1, 1, sample_ids=["a", "b", "a"]), r"sample_ids .*; got 'a' more than once\."),
    "mixed ids": (lambda: ss.draw_bags(2, 1, 1, sample_ids=[1, "a"]), r"sample_ids .*; got int and str ids\."),
    "float ids": (lambda: ss.draw_bags(2, 1, 1, sample_ids=[1.0, 2.0]), r"sample_ids .*; got float ids\."),
    "wide ids": (
        lambda: ss.draw_bags(2, 1, 1, sample_ids=[-1, 2**63]),
        r"integers within 64 bits; got 9223372036854775808\.",
    ),
    "wider ids": (lambda: ss.draw_bags(2, 1, 1, sample_ids=[1, 2**64]), r"integers within 64 bits; got 18446744073709"),
    "first": (lambda: ss.draw_bags(10, 2, 5, first=-1), r"first must be a whole number from 0 to 2\*\*53; got -1\."),
    "seed of a bag": (lambda: ss.bag_seed(0, -1), r"bag must be a whole number from 0 to 2\*\*53; got -1\."),
    "empty slice": (lambda: ss.draw_bags(10, 2, 5)[2:], r"a slice of bags must hold at least one of the 2; got none\."),
    "rows out of range": (lambda: ss.Bags.from_rows([[0, 4]], 4), r"list_of_rows\[0\] must be .* from 0 to 3; got 4\."),
    "no rows": (lambda: ss.Bags.from_rows([[0], []], 4), r"list_of_rows\[1\] must be one or more row positions"),
    "no adopted bags": (lambda: ss.Bags.from_rows([], 4), r"list_of_rows must hold at least one bag; got none\."),
    "bag number": (lambda: ss.draw_bags(10, 2, 5)[2], r"bag must be a number from 0 to 1; got 2\."),
    "row": (lambda: ss.draw_bags(10, 2, 5).holds(10), r"row must be a row position from 0 to 9; got 10\."),
    "next of bootstrap": (lambda: ss.draw_bags(10, 2, 5, "bootstrap").next_row(0), r"next_row is for hash bags only"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError, IndexError), match=sentence):
        call()


def test_levels_draw_the_same_bags():
    before = _native.isa()
    drawn = []
    for level in _native.isa_levels():
        _native.use_isa(level)
        drawn.append(ss.draw_bags(1003, 9, 400, seed=1).membership())
    _native.use_isa(before)
    assert all(np.array_equal(d, drawn[0]) for d in drawn)
