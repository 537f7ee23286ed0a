"""A learner whose limit of infinitely many bags is known: it answers with the vectors of its bag's first row."""

import math

import numpy as np

import steadyset as ss

N, M = 60, 30  # rows, rows in a bag


def first_row_weights(n, m):
    """P(row j is the first of a bag): the learner answers with the vectors of the bag's first row."""
    return np.array([math.comb(n - 1 - j, m - 1) / math.comb(n, m) for j in range(n)])


def bootstrap_weights(n, m):
    reach = ((n - np.arange(n + 1)) / n) ** m  # P(no draw among the first j rows)
    return reach[:-1] - reach[1:]


WEIGHTS = {"subbagging": first_row_weights, "bootstrap": bootstrap_weights}


def answers():
    """What each row answers at four points, (rows, points, labels): there some row does conflict."""
    rng = np.random.default_rng(1)
    kept = []
    for number in range(35):
        n = int(rng.choice([12, 24, 60]))
        rng.choice([n // 6, n // 4, n // 2])
        vectors = rng.dirichlet(np.full(3, 0.3), n)
        if number in (23, 24, 33, 34):
            kept.append(vectors)
    return np.stack(kept, axis=1)


def ideal(vectors, resampling):
    """The bagged output in the limit of infinitely many bags, (points, labels), and the same without each row."""
    weights = WEIGHTS[resampling]
    without = [np.tensordot(weights(N - 1, M), np.delete(vectors, i, axis=0), 1) for i in range(N)]
    return np.tensordot(weights(N, M), vectors, 1), np.array(without)


def drawn(vectors, n_bags, seed, resampling="subbagging"):
    """What that many bags give."""
    bags = ss.draw_bags(N, n_bags, M, seed=seed, resampling=resampling)
    return ss.BagPredictions(vectors[bags.membership().argmax(axis=1)], bags, range(3))
