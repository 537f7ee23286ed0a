"""Predictions and models to report on."""

import numpy as np

import steadyset as ss


def predictions(
    n_points=30, n_classes=4, n_bags=60, n_samples=80, bag_size=30, seed=0, resampling="subbagging", **more
):
    """Return predictions with points near a boundary and clear ones, and labels that are mostly right."""
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.full(n_classes, 0.6), n_points)
    centre[: n_points // 2] = 0.5 * centre[: n_points // 2] + 0.5 / n_classes
    proba = np.stack([[rng.dirichlet(12 * p + 0.05) for p in centre] for _ in range(n_bags)])
    bags = ss.draw_bags(
        n_samples, n_bags, bag_size, resampling, seed=seed, sample_ids=more.get("sample_ids", range(n_samples))
    )
    classes = more.get("classes", [f"label {j}" for j in range(n_classes)])
    truth = [classes[int(rng.choice(n_classes, p=p / p.sum()))] for p in centre]
    return ss.BagPredictions(proba, bags, classes), truth
