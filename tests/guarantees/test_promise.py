"""The promise named first: the bags are the largest that keep it, and what a refusal names would do."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steadyset as ss
from steadyset._base.validation import on_grid, resolve_bag_size
from steadyset._base.words import out_of_a_hundred
from steadyset.guarantees import MOST_BAGS, OutOfReachError, Promise, grid_size, kept
from steadyset.selection import with_epsilon

SETTINGS = list(itertools.product((30, 150, 1_347, 60_000), (10, 500), (0.05, 0.3), (2, 10), ("hash", "any")))


def delta_of(promise, bag_size, n_bags):
    return ss.selection_stability(
        n_samples=promise.n_samples,
        bag_size=bag_size,
        n_bags=n_bags,
        n_classes=promise.n_classes,
        resampling=promise.resampling,
        coupling=promise.coupling,
        rule=promise.rule,
    ).delta


def next_on_grid(size, n):
    return next(m for s in range(size, n) if (m := on_grid(s, n - s)) > size)


@pytest.mark.parametrize(("n", "n_bags", "epsilon", "n_classes", "coupling"), SETTINGS)
def test_the_largest_bags_on_the_grid_that_keep_it_or_what_would(n, n_bags, epsilon, n_classes, coupling):
    largest = resolve_bag_size(0.5, n, "subbagging")
    promise = Promise(0.05, n, largest, n_bags, ss.InflatedArgmax(epsilon), n_classes, "subbagging", coupling)
    try:
        found = kept(promise)
    except OutOfReachError as error:
        every_way_works(promise, error)
        return
    assert found.n_bags == n_bags
    assert found.delta == delta_of(promise, found.bag_size, n_bags) <= 0.05
    assert found.bag_size == largest or on_grid(found.bag_size, n - found.bag_size) == found.bag_size
    if found.bag_size < largest:
        larger = min(next_on_grid(found.bag_size, n), largest)
        assert delta_of(promise, larger, n_bags) > 0.05


def every_way_works(promise, error):
    assert delta_of(promise, 1, promise.n_bags) > promise.delta
    changes = []
    if error.epsilon is not None:
        changes.append(replace(promise, rule=with_epsilon(promise.rule, error.epsilon)))
        assert f"epsilon={error.epsilon:g}" in str(error)
    if error.n_bags is not None:
        changes.append(replace(promise, n_bags=error.n_bags))
        assert f"{error.n_bags:,} bags" in str(error)
    if error.n_samples is not None:
        largest = resolve_bag_size(0.5, error.n_samples, "subbagging")
        changes.append(replace(promise, n_samples=error.n_samples, largest_bag=largest))
        assert f"{error.n_samples:,} rows" in str(error)
    assert changes
    for changed in changes:
        assert kept(changed).delta <= promise.delta


def test_as_many_bags_as_the_largest_bag_needs():
    promise = Promise(0.05, 60_000, 30_000, None, ss.InflatedArgmax(0.1), 10)
    found = kept(promise)
    needed = ss.solve_stability("n_bags", delta=0.05, n_samples=60_000, bag_size=30_000, epsilon=0.1, n_classes=10)
    assert found.bag_size == 30_000
    assert needed <= found.n_bags <= needed * 17 / 16
    assert found.delta <= 0.05


def test_at_the_cap_bags_become_smaller():
    promise = Promise(0.05, 1_347, 670, None, ss.InflatedArgmax(0.1), 10)
    assert kept(promise) == kept(replace(promise, n_bags=MOST_BAGS))
    assert kept(promise).bag_size < 670


@given(st.integers(3, 3000), st.data())
@settings(max_examples=60, deadline=None)
def test_the_grid_size_is_the_largest_of_the_grid(n, data):
    most = data.draw(st.integers(1, (n + 1) // 2))
    grid = {on_grid(size, n - size) for size in range(1, n)}
    assert grid_size(most, n, "subbagging") == max(size for size in grid if size <= most)


def test_groups_are_named():
    found = kept(Promise(0.05, 200, 100, 500, ss.InflatedArgmax(0.2), 3, unit="group"))
    assert str(found).startswith("Dropping one of 200 training groups gives")
    assert f"with 500 bags of {found.bag_size} groups (subbagging)" in str(found)
    with pytest.raises(OutOfReachError, match=r"bags of up to 5 of 10 groups .* 20 bags of one group promise"):
        kept(Promise(0.0, 10, 5, 20, ss.InflatedArgmax(0.1), 3, unit="group"))


@given(st.floats(0, 0.994))
def test_out_of_a_hundred_never_says_less(delta):
    words = out_of_a_hundred(delta)
    number = float(words.removesuffix(" in 100"))
    assert number >= 100 * delta * (1 - 1e-12)
    assert number <= 100 * delta * 1.1 + 1e-300
