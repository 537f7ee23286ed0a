"""Slow answers about stable neighbours, and the rows to ask them on. Nothing of the room's own code is used."""

import itertools
import math

import numpy as np


def all_bags(n, m, bootstrap):
    """Return every bag as the sorted ranks of its m rows, and in how many ways it is drawn: whole numbers."""
    if not bootstrap:
        bags = np.array(list(itertools.combinations(range(n), m)), np.int64).reshape(-1, m)
        return bags, np.ones(len(bags), np.int64)
    bags = np.array(list(itertools.combinations_with_replacement(range(n), m)), np.int64).reshape(-1, m)
    factorial = np.array([math.factorial(i) for i in range(m + 1)], np.int64)
    return bags, factorial[m] // factorial[votes_of(bags, n, m)].prod(axis=1)


def votes_of(bags, n, k):
    """Return the votes of each rank in each bag: how many of its nearest k rows they are."""
    votes = np.zeros((len(bags), n), np.int64)
    np.add.at(votes, (np.arange(len(bags))[:, None], bags[:, :k]), 1)
    return votes


def times_in(bags, n):
    """Return how often each of n rows is in each bag of row numbers."""
    return np.stack([np.bincount(bag, minlength=n) for bag in bags]).astype(np.uint8)


def votes_in_order(times, order, k):
    """Return the votes of each rank in bags that hold row i times[bag, i] times, 255 in all at most."""
    taken = np.minimum(np.cumsum(times[:, order], axis=1, dtype=np.uint8), k).astype(np.float32)
    return np.diff(taken, axis=1, prepend=0)


def outside_the_bounds(found, expected, false_alarm):
    """Return which entries are not the expectation of independent draws (draws, ...) of numbers in [0, 1].

    Each tail of an entry has its share of the false alarm. Hoeffding's bound (1963, Theorem 1), P(mean beyond x) <=
    exp(-n KL(x, p)), is sharp near 0 and 1, where no draw may show what is rare and an empirical standard error is 0;
    Maurer and Pontil's empirical Bernstein bound (2009, Theorem 4) is sharp where the draws vary little.
    """
    n, mean = len(found), found.mean(axis=0)
    log_tails = np.log(4 * mean.size / false_alarm)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(mean > 0, mean * np.log(mean / expected), 0.0)
        far += np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - expected)), 0.0)
    log_tail = log_tails + np.log(2)
    width = np.sqrt(2 * found.var(axis=0, ddof=1) * log_tail / n) + 7 * log_tail / (3 * (n - 1))
    return ~(n * far <= log_tails) | ~(np.abs(mean - expected) <= width)


def order_at(point, X, words, distance):
    """Return the rows in the order of their distances, those at the same distance in that of their words."""
    return np.array(sorted(range(len(X)), key=lambda i: (distance(point, X[i]), int(words[i]))))


def squared_in_lanes(point, row):
    """Return the squared Euclidean distance, column f summed in lane f % 16."""
    lanes = [0.0] * 16
    for f, (a, b) in enumerate(zip(point.tolist(), row.tolist(), strict=True)):
        lanes[f % 16] += (a - b) * (a - b)
    total = 0.0
    for lane in lanes:
        total += lane
    return total


def manhattan_in_lanes(point, row):
    """Return the Manhattan distance, summed in the same way."""
    lanes = [0.0] * 16
    for f, (a, b) in enumerate(zip(point.tolist(), row.tolist(), strict=True)):
        lanes[f % 16] += abs(a - b)
    total = 0.0
    for lane in lanes:
        total += lane
    return total


def hard_rows(kind, n=300, width=21, seed=0):
    """Return rows at which bounds in 32 bits say little, or nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    if kind == "ties":
        return rng.integers(0, 2, size=(n, width)).astype(np.float64)
    if kind == "equal":
        return np.ones((n, width))
    if kind == "far":
        return X + 1e9
    if kind == "outlier":
        X[0] = 1e12
        return X
    if kind == "tiny":
        return X * 1e-170
    if kind == "large":
        return X * 1e120
    if kind == "zeros":
        X[rng.random((n, width)) < 0.8] = 0
        X[:5] = 0
        return X
    return X


HARD = ("plain", "ties", "equal", "far", "outlier", "tiny", "large", "zeros")
