"""Votes for anything: the set, unobserved outcomes, the audit by reuse, and bad votes."""

import math

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from helpers.oracle import c_and_t


def shares_of(votes):
    outcomes = sorted(set(votes), key=lambda outcome: (-votes.count(outcome), votes.index(outcome)))
    return outcomes, np.array([votes.count(outcome) for outcome in outcomes]) / len(votes)


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40), st.floats(0.01, 1.4))
def test_the_set_is_the_inflated_argmax_of_the_shares(votes, epsilon):
    outcomes, shares = shares_of(votes)
    choice = ss.stable_choice(votes, epsilon)
    assert choice.outcomes == tuple(outcomes)
    assert choice.shares == pytest.approx(shares, rel=1e-15)
    bound = float(c_and_t(shares, epsilon)[1])
    clear = np.abs(shares - bound) > 1e-9
    chosen = np.isin(np.arange(len(outcomes)), range(len(choice.candidates)))
    assert np.array_equal(chosen[clear], (shares > bound)[clear])
    assert choice.candidates == choice.outcomes[: len(choice.candidates)]
    if abs(bound) > 1e-9:
        assert choice.any_outcome == (bound < 0)
    entries = choice.entry_epsilons
    far = np.abs(entries - epsilon) > 1e-9
    assert np.array_equal((entries < epsilon)[far], chosen[far])


def test_any_outcome_needs_more_than_a_small_top_share():
    """Shares of a third at epsilon .6 have t = +.065: the largest share is below h, and yet not any outcome."""
    thirds = ss.stable_choice("abc" * 10, 0.6)
    assert max(thirds.shares) < 0.6 / math.sqrt(2)
    assert not thirds.any_outcome
    assert float(c_and_t(thirds.shares, 0.6)[1]) == pytest.approx(0.065, abs=1e-3)
    assert ss.stable_choice(range(1000), 0.6).any_outcome
    assert ss.stable_choice("abc" * 10, thirds.any_epsilon * 1.001).any_outcome
    assert not ss.stable_choice("abc" * 10, thirds.any_epsilon * 0.999).any_outcome
    assert "Any outcome may hold" in ss.stable_choice(range(1000), 0.6).summary()


def test_the_audit_is_brute_force_over_the_rows():
    rng, n = np.random.default_rng(0), 40
    bags = ss.draw_bags(n, 300, 15, seed=3)
    votes = [(int(bag[:3].sum() % 4), "x") for bag in bags]
    for epsilon in (0.0, 0.02, 0.3, 1.2):
        choice = ss.stable_choice(votes, epsilon, bags)
        audit = choice.audit()
        apart = []
        for row in range(n):
            left = [vote for vote, held in zip(votes, bags.holds(row), strict=True) if not held]
            without = ss.stable_choice(left, epsilon)
            shared = set(choice.candidates) & set(without.candidates)
            apart.append(not shared and not choice.any_outcome and not without.any_outcome)
        assert audit.instability == pytest.approx([np.mean(apart)])
        assert np.array_equal(audit.row_influence.astype(bool), apart)
    assert audit.max_instability == 0.0  # any outcome at epsilon 1.2
    assert ss.stable_choice(votes, 0.0, bags).audit().max_instability > 0
    some = rng.choice(n, 7, replace=False)
    assert choice.audit(left_out=some).n_units == 7


def test_rows_that_every_bag_holds_have_no_answer():
    bags = ss.Bags.from_rows([[0, 1], [0, 2], [0, 3]], 4)
    audit = ss.stable_choice("aab", 0.1, bags).audit()
    assert audit.unanswered.tolist() == [0]
    assert audit.left_out.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"^bags must leave out some row that is asked for; got 3"):
        ss.stable_choice("aab", 0.1, bags).audit(left_out=[0])


def test_the_guarantee_knows_no_number_of_outcomes():
    bags = ss.draw_bags(500, 2000, 20, seed=0, sample_ids=range(500))
    found = ss.stable_choice(["a"] * 2000, 0.3, bags).guarantee()
    assert found.n_classes is None
    assert found.delta == ss.selection_stability(n_samples=500, bag_size=20, n_bags=2000, epsilon=0.3).delta
    with pytest.raises(ValueError, match=r"^bags must be given to stable_choice for a guarantee; got None"):
        ss.stable_choice("ab", 0.1).guarantee()


def test_ten_thousand_outcomes_stay_sparse():
    bags = ss.draw_bags(60, 10_000, 30, seed=0)
    choice = ss.stable_choice([tuple(bag[::7]) for bag in bags], 0.05, bags)
    assert len(choice.outcomes) > 3_000
    assert choice.audit().n_units == 60
    assert len(choice.to_frame()) == len(choice.outcomes)


@pytest.mark.parametrize(
    ("votes", "error", "message"),
    [
        (["a", [0, 1]], TypeError, r"^votes must be hashable; got \[0, 1\] of bag 1, of type list"),
        ([np.zeros(3)], TypeError, "^votes must be hashable; got .* of bag 0, of type ndarray"),
        ([1.0, math.nan], ValueError, "^votes must equal themselves; got nan of bag 1"),
        ([(1, 2.0), (1, math.nan)], ValueError, r"^votes must equal themselves; got \(1, nan\) of bag 1"),
        ([frozenset({math.nan})], ValueError, "^votes must equal themselves; got .* of bag 0"),
        (["a", pandas.NA], ValueError, "^votes must equal themselves; got <NA> of bag 1"),
        ({"a": 1}, TypeError, "^votes must be a sequence with a hashable outcome for each bag; got {'a': 1}"),
        ({"a", "b"}, TypeError, "^votes must be a sequence with a hashable outcome for each bag; got {"),
        (pandas.DataFrame({"vote": [1, 2]}), TypeError, "^votes must be a sequence with a hashable outcome"),
        ([], ValueError, "^votes must have at least 1 bag; got none"),
        (5, TypeError, "^votes must be a sequence with a hashable outcome for each bag; got 5"),
    ],
)
def test_bad_votes_name_their_bag(votes, error, message):
    with pytest.raises(error, match=message):
        ss.stable_choice(votes, 0.1)


def test_votes_and_bags_have_to_match():
    with pytest.raises(ValueError, match=r"^votes must have one outcome for each of the 4 bags; got 3"):
        ss.stable_choice("abc", 0.1, ss.draw_bags(10, 4, 5))
    with pytest.raises(TypeError, match=r"^bags must be Bags"):
        ss.stable_choice("abc", 0.1, [1, 2])


def test_sentences():
    assert ss.stable_choice("aaab", 0.1).summary().startswith("One of 2 outcomes holds steady at epsilon = 0.1: a")
    assert "and 2 more" in ss.stable_choice("abcdefg" * 3, 0.2).summary()
    assert repr(ss.stable_choice("aaab", 0.1)) == "StableChoice(1 of 2 outcomes, epsilon=0.1, n_bags=4)"
