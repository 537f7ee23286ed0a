"""The weights of ranks, against every bag there is."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from helpers.neighbor_cases import all_bags, votes_of
from steadyset.neighbors import neighbor_weights

UNIT = 2.0**-62


def check_against_all_bags(n, m, bootstrap):
    bags, times = all_bags(n, m, bootstrap)
    for k in range(1, m + 2):  # k above m: a bag votes with all it has
        votes = votes_of(bags, n, k)
        each = int(times.sum()) * min(k, m)  # sums of whole numbers, so that the enumeration does not round
        mean, products = times @ votes / each, (votes.T * times) @ votes / (each * min(k, m))
        found = neighbor_weights(n, m, k, bootstrap)
        depth = found.depth
        assert np.allclose(found.whole * UNIT, mean[:depth], rtol=0, atol=1e-14)
        assert mean[depth:].sum() < 1e-15
        assert abs(int(found.whole.sum()) - 2**62) <= 4 * n
        for j in range(depth):
            assert np.allclose(products[:j, j], found.pair[j], rtol=0, atol=1e-14)  # whichever the nearer row is
            assert abs(products[j, j] - found.square[j]) < 1e-14


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.trial
def test_weights_are_those_of_all_bags(n, bootstrap, full_trials):
    for m in range(1, n + (1 if bootstrap else 0)):
        if full_trials or not bootstrap or comb(n + m - 1, m) <= 5_000:
            check_against_all_bags(n, m, bootstrap)


def test_bootstrap_bags_of_more_rows_than_there_are():
    check_against_all_bags(2, 9, True)
    check_against_all_bags(3, 12, True)


def exact_subbagging(n, m, k, j):
    """(m/(nk)) P(Hyp(n-1, j-1, m-1) <= k-1), in fractions."""
    total = Fraction(0)
    for t in range(min(k, j)):
        term = Fraction(comb(j - 1, t))
        for i in range(t):
            term *= Fraction(m - 1 - i, n - 1 - i)
        for i in range(j - 1 - t):
            term *= Fraction(n - m - i, n - 1 - t - i)
        total += term
    return total * m / (n * k)


def exact_bootstrap(n, m, k, j):
    """(1/k) sum_{t<k} [F(t; m, (j-1)/n) - F(t; m, j/n)], to 60 digits."""
    with localcontext() as context:
        context.prec = 60

        def cdfs(q):
            terms = [Decimal(comb(m, t)) * (q**t if t else 1) * (1 - q) ** (m - t) for t in range(k)]
            return sum(sum(terms[: t + 1]) for t in range(k))

        return (cdfs(Decimal(j - 1) / n) - cdfs(Decimal(j) / n)) / k


@pytest.mark.parametrize(
    ("n", "m", "k"), [(60_000, 30_000, 5), (10**7, 5 * 10**6, 5), (10**7, 10**6, 20), (101, 100, 7)]
)
def test_weights_of_many_rows_are_right_to_the_last_digits(n, m, k):
    found = neighbor_weights(n, m, k, False)
    for j in {1, 2, 3, min(2 * k, found.depth), found.depth // 2, found.depth}:
        assert abs(Fraction(int(found.whole[j - 1]), 2**62) - exact_subbagging(n, m, k, j)) < Fraction(1, 2**60)
    if k == 5:
        boot = neighbor_weights(n, m, k, True)
        for j in (1, 2, 7, boot.depth // 2, boot.depth):
            assert abs(boot.whole[j - 1] * UNIT - float(exact_bootstrap(n, m, k, j))) < 1e-17


def test_the_depth_at_the_papers_size():
    found = neighbor_weights(60_000, 30_000, 5, False)
    assert found.depth < 100
    assert (found.whole[57:].sum()) * UNIT < 1e-12 < (found.whole[56:].sum()) * UNIT
    assert np.all(np.diff(found.whole) <= 0)


def test_small_bags_of_many_rows():
    found = neighbor_weights(10**6, 50, 5, False)
    assert abs(int(found.whole.sum()) - 2**62) < 10**6
    assert np.all(found.whole >= 0)
    one = neighbor_weights(10**6, 1, 5, False)  # every row is in one bag of a million
    assert one.depth == 10**6
    assert len(np.unique(one.whole)) <= 2


def test_draws_far_beyond_the_rows():
    found = neighbor_weights(3, 10**6, 5, True)  # the nearest row is drawn more than five times, all but surely
    assert found.depth == 1
    assert found.whole[0] == 2**62
