"""Small problems for the audit, and the audit by its definition."""

import warnings
from dataclasses import dataclass

import numpy as np

import steadyset as ss


def predictions(rng, *, n=20, n_bags=60, n_points=8, n_classes=3, bag_size=0.5, resampling="subbagging", kind="smooth"):
    """Votes of a kind: smooth, in float32, single labels with many ties, fractions that round, nearly tied."""
    shape = (n_bags, n_points)
    if kind == "votes":
        proba = np.eye(n_classes)[rng.integers(n_classes, size=shape)]
    elif kind == "fractions":
        proba = rng.integers(1, 4, size=(*shape, n_classes)).astype(float)
        proba /= proba.sum(axis=2, keepdims=True)
    elif kind == "near":
        proba = np.full((*shape, n_classes), 1 / n_classes)
        if n_classes > 1:
            moved = rng.integers(-3, 4, size=shape) * 2.0**-52
            proba[..., 0] += moved
            proba[..., 1] -= moved
    else:
        proba = rng.dirichlet(np.full(n_classes, 0.5), shape)
        proba = proba.astype(np.float32) if kind == "float32" else proba
    bags = (
        ss.Bags.from_rows([rng.choice(n, max(1, n // 2)) for _ in range(n_bags)], n)
        if resampling == "adopted"
        else ss.draw_bags(n, n_bags, bag_size, resampling=resampling, seed=int(rng.integers(1000)))
    )
    return ss.BagPredictions(proba, bags, range(n_classes))


@dataclass
class BruteForce:
    """Every leave-one-out model in turn; arrays are (rows, points)."""

    rows: list
    conflict: np.ndarray
    jaccard: np.ndarray
    shift: np.ndarray


def brute_force(made, rule, rows=None):
    mean = made.mean()
    sets = rule(mean)
    asked = range(made.bags.n_samples) if rows is None else rows
    answered = [i for i in asked if made.bags.counts[i] < made.n_bags]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few bags
        for i in answered:
            model = made.leave_one_out(i)
            without = rule(model)
            both, either = (sets & without).sum(axis=1), (sets | without).sum(axis=1)
            found.append((both == 0, both / either, np.linalg.norm(model - mean, axis=1)))
    return BruteForce(answered, *(np.array(part) for part in zip(*found, strict=True)))
