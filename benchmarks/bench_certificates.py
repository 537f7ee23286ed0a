"""Certificates of a Fashion-MNIST sized problem: every point against every row, beside loops over sampled rows."""

import math
import time

import numpy as np

import steadyset as ss
from benchmarks import levels
from benchmarks.bench_audit import N_BAGS, N_CLASSES, N_POINTS, N_ROWS, spread_predictions
from benchmarks.harness import Line, report, run_python

EPSILON = 0.05
RULES = {
    "inflated argmax": ss.InflatedArgmax(EPSILON),
    "fixed margin": ss.FixedMargin(EPSILON),
    "argmax": ss.Argmax(),
}
BAG_SIZES = {"half bags": N_ROWS // 2, "bags of a twentieth": N_ROWS // 20}
TIMED = {"half bags": ("inflated argmax", "argmax"), "bags of a twentieth": ("inflated argmax",)}


def made(n_rows: int, n_points: int, bag_size: int) -> ss.BagPredictions:
    proba = spread_predictions(np.random.default_rng(0), N_BAGS, n_points)
    bags = ss.draw_bags(n_rows, N_BAGS, bag_size, sample_ids=range(n_rows))
    return ss.BagPredictions(proba, bags, range(N_CLASSES))


def loop_of_old(predictions: ss.BagPredictions, rule: ss.InflatedArgmax, rows: np.ndarray) -> float:
    """Seconds per row of the way that certificates were found before: sums of doubles, then distances, then corners."""
    flat, n_bags = predictions.proba.reshape(N_BAGS, -1).astype(np.float64), predictions.n_bags
    mean = predictions.mean()
    sets, top = rule(mean), np.sort(mean, axis=1)
    radius = np.maximum(EPSILON, EPSILON / 2 + (top[:, -1] - top[:, -2]) / math.sqrt(2))
    total, kappa = mean * n_bags, math.sqrt(N_CLASSES / (N_CLASSES - 1)) - math.sqrt(0.5)
    start = time.perf_counter()
    for row in rows:
        held = predictions.bags.holds(int(row))
        c = float(held.sum())
        rest = ((~held).astype(np.float64) @ flat).reshape(-1, N_CLASSES)
        s = total - rest
        safe = np.sqrt(np.maximum(c * c - 2 * c * s.min(axis=1) + (s * s).sum(axis=1), 0)) / n_bags < radius
        at, label = np.arange(len(rest)), np.where(sets, rest, -1.0).argmax(axis=1)
        rivals = np.where(sets, rest[at, label][:, None] - 2 * c, rest)
        rivals[at, label] = -np.inf
        ahead = rest[at, label] - rivals.max(axis=1)
        rivals[at, label] = rest[at, label]
        safe |= ahead > c - kappa * EPSILON * n_bags
        between = np.flatnonzero(~safe & (ahead > c - EPSILON * math.sqrt(0.5) * n_bags))
        corners = (rivals[between, None, :] + c * np.eye(N_CLASSES)) / n_bags
        safe[between] = rule(corners)[np.arange(len(between)), :, label[between]].all(axis=1)
    return (time.perf_counter() - start) / len(rows)


def agreement(rule: ss.Rule) -> float:
    """Share of 200 points at which the formula, row by row in double precision, counts the same of 2,000 rows."""
    small = made(2_000, 200, 100)
    sets, found = rule(small.mean()), ss.certify(small, rule).unsafe_rows
    margin = (rule.lone_margin or 0.0) * N_BAGS
    flat = small.proba.reshape(N_BAGS, -1).astype(np.float64)
    unsafe = np.zeros(200, int)
    for row in range(2_000):
        held = small.bags.holds(row)
        rest = ((~held).astype(np.float64) @ flat).reshape(-1, N_CLASSES)
        inside = np.where(sets, rest, -1).max(axis=1)
        outside = np.where(sets, -9.0 * N_BAGS, rest)
        best = outside.argmax(axis=1)
        outside[np.arange(200), best] += held.sum()
        if isinstance(rule, ss.InflatedArgmax):
            out = ~rule(np.column_stack([inside, outside]) / N_BAGS)[:, 0]
        else:
            out = inside <= outside.max(axis=1) - margin if margin else inside < outside.max(axis=1)
        unsafe += out & ~sets.all(axis=1)
    return float(np.mean(unsafe == found))


def peak_memory_gb() -> float:
    """Largest resident memory of a fresh process that makes the predictions and certifies all points."""
    program = (
        "import resource\nfrom benchmarks import bench_certificates as b\n"
        "b.ss.certify(b.made(b.N_ROWS, b.N_POINTS, b.N_ROWS // 2), b.RULES['inflated argmax'])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)"
    )
    return float(run_python(program))


def main() -> bool:
    rows = np.random.default_rng(1).choice(N_ROWS, 5, replace=False)
    lines: list[Line] = []
    for words, size in BAG_SIZES.items():
        predictions = made(N_ROWS, N_POINTS, size)
        for name in TIMED[words]:
            rule = RULES[name]
            start, used = time.perf_counter(), time.process_time()
            found = ss.certify(predictions, rule)
            took, used = time.perf_counter() - start, time.process_time() - used
            lines += [
                Line(f"{words}, {name}: {N_POINTS:,} points x {N_ROWS:,} rows", took, 300, unit="s"),
                Line(f"{words}, {name}: CPU time", used, unit="s"),
                Line(f"{words}, {name}: rows cleared", float(found.overview.cleared_rows or 0), unit=""),
            ]
            if isinstance(rule, ss.InflatedArgmax):
                old = loop_of_old(predictions, rule, rows) * N_ROWS
                lines.append(Line(f"{words}, {name}: the old way / certify", old / took, 10, at_least=True))
    for name, rule in RULES.items():
        lines.append(
            Line(f"{name}: points on which formula and kernel agree", agreement(rule), 0.99, at_least=True, unit="")
        )
    if levels.at_best():
        lines.append(Line("peak resident memory", peak_memory_gb(), 3, unit="GB"))
    return report("certificates", lines)
