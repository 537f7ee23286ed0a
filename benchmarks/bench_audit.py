"""The audit: all rows of a Fashion-MNIST sized problem, against a NumPy loop over sampled rows in the same run."""

import time

import numpy as np

import steadyset as ss
from benchmarks import levels
from benchmarks.harness import Line, report, run_python

N_ROWS, N_POINTS, N_CLASSES, N_BAGS, EPSILON = 60_000, 10_000, 10, 1_000, 0.05
RULES = {"inflated argmax": ss.InflatedArgmax(EPSILON), "argmax": ss.Argmax()}


def spread_predictions(rng: np.random.Generator, n_bags: int, n_points: int) -> np.ndarray:
    """Softmax votes: a leader and a rival, whose distance and whose scatter over the bags vary with the point."""
    at, leader = np.arange(n_points), rng.integers(N_CLASSES, size=n_points)
    rival = (leader + rng.integers(1, N_CLASSES, size=n_points)) % N_CLASSES
    base = rng.normal(-4, 1, (n_points, N_CLASSES)).astype(np.float32)
    base[at, leader] = 3
    base[at, rival] = 3 - rng.gamma(1.0, 4.4, n_points)
    scatter = rng.gamma(3.0, 0.27, (n_points, 1)).astype(np.float32)
    proba = np.empty((n_bags, n_points, N_CLASSES), np.float32)
    for votes in proba:
        rng.standard_normal(out=votes, dtype=np.float32)
        votes *= scatter
        votes += base
        np.exp(votes, out=votes)
        votes /= votes.sum(axis=1, keepdims=True)
    return proba


def made(n_rows: int, n_points: int, n_bags: int) -> ss.BagPredictions:
    proba = spread_predictions(np.random.default_rng(0), n_bags, n_points)
    return ss.BagPredictions(proba, ss.draw_bags(n_rows, n_bags, 0.5), range(N_CLASSES))


def spread_lines(predictions: ss.BagPredictions, audit: ss.StabilityAudit) -> list[Line]:
    """How the predictions spread, beside what the paper's network on Fashion-MNIST has at least."""
    mean = np.sort(predictions.mean(), axis=1)
    sigma2 = audit.spread
    figures = {
        "spread sigma^2, mean": (sigma2.mean(), 0.03),
        "spread sigma^2, median": (np.median(sigma2), 0.008),
        "spread sigma^2, 90% quantile": (np.quantile(sigma2, 0.9), 0.09),
        "spread sigma^2, 99% quantile": (np.quantile(sigma2, 0.99), 0.17),
        "share of points with a top-two gap below .1": (np.mean(mean[:, -1] - mean[:, -2] < 0.1), 0.045),
    }
    return [Line(what, float(value), mark, at_least=True, unit="") for what, (value, mark) in figures.items()]


def loop_seconds_per_row(predictions: ss.BagPredictions, rule: ss.Rule, rows: np.ndarray) -> tuple[float, np.ndarray]:
    """The plain loop: (1 - membership_row) @ predictions, the rule, the overlap; also which points each row flips."""
    flat = predictions.proba.reshape(N_BAGS, -1)
    sets = rule(predictions.mean())
    free = np.array([~predictions.bags.holds(int(row)) for row in rows]).astype(np.float32)
    flips = []
    start = time.perf_counter()
    for weights in free:
        model = (weights @ flat / weights.sum()).reshape(-1, N_CLASSES)
        flips.append(~(sets & rule(model)).any(axis=1))
    return (time.perf_counter() - start) / len(rows), np.array(flips)


def peak_memory_gb(rule: str) -> float:
    """Largest resident memory of a fresh process that makes the predictions and audits all rows."""
    program = (
        "import resource\nfrom benchmarks import bench_audit as b\n"
        f"b.ss.audit_bags(b.made(b.N_ROWS, b.N_POINTS, b.N_BAGS), b.RULES[{rule!r}])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)"
    )
    return float(run_python(program))


def seconds(predictions: ss.BagPredictions, rule: ss.Rule, rounds: int = 2) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        ss.audit_bags(predictions, rule)
        best = min(best, time.perf_counter() - start)
    return best


def doublings() -> list[Line]:
    """Time after over time before doubling n, N and B; 2 is linear. A little over it is the noise of the machine."""
    sizes = {"n": 15_000, "N": 2_500, "B": 500}
    lines, rule = [], RULES["inflated argmax"]
    for name in sizes:
        before, after = (
            seconds(made(*(size * (factor if key == name else 1) for key, size in sizes.items())), rule, rounds=3)
            for factor in (1, 2)
        )
        lines.append(Line(f"time after / before doubling {name} from {sizes[name]:,}", after / before, 2.3))
    return lines


def main() -> bool:
    predictions = made(N_ROWS, N_POINTS, N_BAGS)
    rows = np.random.default_rng(1).choice(N_ROWS, 50, replace=False)
    lines: list[Line] = []
    for name, rule in RULES.items():
        start = time.perf_counter()
        audit = ss.audit_bags(predictions, rule)
        took = time.perf_counter() - start
        if not lines:
            lines += spread_lines(predictions, audit)
        per_row, flips = loop_seconds_per_row(predictions, rule, rows)
        # The loop is in float32, so that it may differ where a pair is tied within that; the audit does not.
        agreement = np.mean(flips.sum(axis=1) == audit.row_influence[rows])
        lines += [
            Line(f"{name}: share of points pruned", float(audit.settled.mean()), unit=""),
            Line(f"{name}: all {N_ROWS:,} rows at {N_POINTS:,} points", took, 30, unit="s"),
            Line(f"{name}: NumPy loop / audit, per row", per_row / (took / N_ROWS), 20, at_least=True),
            Line(f"{name}: sampled rows on which loop and audit agree", float(agreement), 0.9, at_least=True, unit=""),
            Line(f"{name}: largest instability", audit.max_instability, unit=""),
        ]
        if levels.at_best():
            lines.append(Line(f"{name}: peak resident memory", peak_memory_gb(name), 3, unit="GB"))
    return report("audit", lines + (doublings() if levels.at_best() else []))
