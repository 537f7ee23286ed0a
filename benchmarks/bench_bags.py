"""Bags: drawing them against numpy's permutation, and their mean against one reading of the array."""

import os

import numpy as np

import steadyset as ss
from benchmarks.harness import Line, interleaved_best, report

N, M, BAGS = 60_000, 30_000, 1_000


def main() -> bool:
    rng = np.random.default_rng(0)
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})  # one core
    try:
        best = interleaved_best(
            {
                "ours": lambda: ss.draw_bags(N, BAGS, M, seed=1),
                "permutation": lambda: [rng.permutation(N)[:M] for _ in range(BAGS // 10)],
            },
            rounds=5,
        )
        single = one_core_mean(rng)
    finally:
        os.sched_setaffinity(0, cpus)
    lines = [
        Line(f"drawing {BAGS:,} bags of {M:,} from {N:,} rows on one core", best["ours"], 2, unit="s"),
        Line(
            "permutation(n)[:m] / draw_bags, per bag, one core",
            best["permutation"] * 10 / best["ours"],
            2,
            at_least=True,
        ),
        Line("mean of 1,000 x 10,000 x 10 float32 / reading it once, one core", single, 2),
    ]
    return report("bags", lines)


def one_core_mean(rng: np.random.Generator) -> float:
    """Time of the mean over the time of the fastest plain reading: the largest of all bits."""
    proba = np.empty((1_000, 10_000, 10), np.float32)
    for block in range(0, 1_000, 100):
        draws = rng.random((100, 10_000, 10), dtype=np.float32)
        proba[block : block + 100] = draws / draws.sum(axis=2, keepdims=True)
    predictions = ss.BagPredictions(proba, ss.draw_bags(200, 1_000, 100), range(10))
    words = proba.reshape(-1).view(np.int32)
    best = interleaved_best({"mean": predictions.mean, "read": lambda: int(words.max())}, rounds=7)
    return best["mean"] / best["read"]
