"""Trials over many random vectors; `make trials` runs them at full size."""

import numpy as np
import pytest

import steadyset as ss
from helpers.oracle import distances_over_epsilon, random_problem
from steadyset import _native

pytestmark = pytest.mark.trial


@pytest.fixture
def at_level():
    """Call a function at an instruction-set level: at_level(name, function, *arguments)."""
    before = _native.isa()

    def call(level, function, *arguments):
        _native.use_isa(level)
        return function(*arguments)

    yield call
    _native.use_isa(before)


def test_no_empty_set_and_no_missing_maximiser(full_trials):
    """L from 1 to 1,000, epsilon from 1e-300 to 1e3, offsets up to 1e6, heavy ties."""
    total = 1_000_000 if full_trials else 30_000
    rng, seen = np.random.default_rng(101), 0
    while seen < total:
        w, epsilon = random_problem(rng, 250)
        maximisers = w == w.max(axis=1, keepdims=True)
        for sets in (ss.inflated_argmax(w, epsilon), ss.inflated_argmax(w[:, ::-1], epsilon)[:, ::-1]):
            assert np.all(sets >= maximisers)
        assert np.all(ss.fixed_margin(w, epsilon) >= ss.inflated_argmax(w, epsilon))
        seen += len(w)


@pytest.mark.parametrize("part", range(4))
def test_agrees_with_the_projection(full_trials, at_level, part):
    """No disagreement outside 1e-12 epsilon of the boundary; inside it errs outward. So do the entry epsilons.

    Each vector is given to every instruction set of the CPU, and all of them have to give the same bits. One problem in
    ten has up to 1,000 labels, the others up to 200: the oracle's time grows with their square.
    """
    problems, n_rows = (2_500, 100) if full_trials else (15, 20)
    rng, entries_seen, selected, undecided = np.random.default_rng([102, part]), 0, 0, 0
    for number in range(problems):
        w, epsilon = random_problem(rng, n_rows, 1000 if number % 10 == 0 else 200)
        distance = distances_over_epsilon(w, epsilon, beyond=1.01)
        inside, near = distance < 1, np.abs(distance - 1) <= 1e-12
        found = [at_level(level, ss.inflated_argmax, w, epsilon) for level in _native.isa_levels()]
        paths = [at_level(level, ss.entry_epsilons, w) for level in _native.isa_levels()]
        sets, entries = found[0], paths[0]
        assert all(np.array_equal(sets, others) for others in found)
        assert all(np.array_equal(entries, others) for others in paths)
        assert np.array_equal(sets[~near], inside[~near])
        assert np.all(sets[near] >= inside[near])
        clear = np.abs(entries - epsilon) > 1e-12 * epsilon
        assert np.array_equal((entries < epsilon)[clear], sets[clear])
        entries_seen += w.size
        selected += int(sets.sum())
        undecided += int(near.sum())
    assert undecided < 1e-3 * entries_seen  # the boundary excuses next to nothing
    assert 0.05 < selected / entries_seen < 0.95  # and both answers were asked for


@pytest.mark.parametrize("on_simplex", [True, False])
def test_close_pairs_share_a_label(full_trials, on_simplex):
    """Pairs at a distance below epsilon: not one pair of disjoint sets."""
    total = 500_000 if full_trials else 20_000
    rng, seen = np.random.default_rng(103), 0
    while seen < total:
        n_labels = int(rng.integers(2, 40))
        if on_simplex:
            w = rng.dirichlet(np.full(n_labels, rng.choice([0.1, 1.0, 30.0])), 1000)
            v = rng.dirichlet(np.full(n_labels, rng.choice([0.1, 1.0, 30.0])), 1000)
        else:
            w, v = rng.standard_normal((2, 1000, n_labels)) * 10.0 ** rng.uniform(-4, 4)
        if rng.random() < 0.5:  # straight across a border: swap the two largest entries
            order = np.argsort(-w, axis=1)[:, :2]
            v = w.copy()
            np.put_along_axis(v, order, np.take_along_axis(w, order[:, ::-1], axis=1), axis=1)
        distance = np.linalg.norm(v - w, axis=1)
        epsilon = float(np.median(distance[distance > 0])) if np.any(distance > 0) else 1.0
        shrink = np.minimum(1, epsilon * (1 - 1e-12) / np.maximum(distance, 1e-300))
        v = w + shrink[:, None] * (v - w)
        below = np.linalg.norm(v - w, axis=1) < epsilon
        for rule in (ss.inflated_argmax, ss.fixed_margin):
            assert np.all((rule(w, epsilon) & rule(v, epsilon)).any(axis=1)[below])
        seen += int(below.sum())
