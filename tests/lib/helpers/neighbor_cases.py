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
