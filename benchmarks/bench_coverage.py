"""Covering sets of a Fashion-MNIST sized problem beside its audit, and MAPIE's cross-conformal sets on a small one."""

import time

import numpy as np
from sklearn.datasets import make_classification

import steadyset as ss
from benchmarks import bench_audit, levels
from benchmarks.harness import Line, interleaved_best, report, run_python
from steadyset.audit import CoveringRun
from steadyset.trees import TreeClassifier

COVERAGE, EPSILON = 0.9, 0.05
ROWS, POINTS, BAGS, FOLDS = 2_000, 500, 100, 5


def own_probabilities(n_rows: int) -> np.ndarray:
    """What bags say of the labels of rows that they do not hold: most are right, and some are far off."""
    rng = np.random.default_rng(2)
    return np.where(rng.random(n_rows) < 0.88, 1 - rng.beta(0.3, 4, n_rows), rng.beta(0.5, 2, n_rows))


def covering(predictions: ss.BagPredictions, own: np.ndarray) -> np.ndarray:
    """The sets of predict_covering_set once the bags have predicted."""
    sets = CoveringRun(predictions.bags, own, COVERAGE, None).sets(predictions)
    return sets | ss.inflated_argmax(predictions.mean(), EPSILON)


def peak_memory_gb() -> float:
    """Largest resident memory of a fresh process that makes the predictions and the sets."""
    program = (
        "import resource\nfrom benchmarks import bench_coverage as c\nb = c.bench_audit\n"
        "c.covering(b.made(b.N_ROWS, b.N_POINTS, b.N_BAGS), c.own_probabilities(b.N_ROWS))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)"
    )
    return float(run_python(program))


def beside_the_audit() -> list[Line]:
    b = bench_audit
    predictions, own = b.made(b.N_ROWS, b.N_POINTS, b.N_BAGS), own_probabilities(b.N_ROWS)
    best = interleaved_best(
        {
            "audit": lambda: ss.audit_bags(predictions, ss.InflatedArgmax(EPSILON)),
            "covering": lambda: covering(predictions, own),
        },
        rounds=2,
    )
    rule = ss.Union(ss.ConformalRule("lac", COVERAGE, (0.8,), (999,)), ss.InflatedArgmax(EPSILON))
    some = predictions.at_points(range(b.N_POINTS // 10))
    start = time.perf_counter()
    ss.audit_bags(some, rule)
    union = time.perf_counter() - start
    start = time.perf_counter()
    ss.audit_bags(some, ss.InflatedArgmax(EPSILON))
    alone = time.perf_counter() - start
    size = f"{b.N_ROWS:,} rows at {b.N_POINTS:,} points"
    return [
        Line(f"covering sets: {size} from {b.N_BAGS:,} bags", best["covering"], unit="s"),
        Line("covering sets / audit", best["covering"] / best["audit"], 4),
        Line("audit of the union / audit, a tenth of the points", union / alone),
    ]


def beside_mapie() -> list[Line]:
    """Both from the same ensembles of trees: ours trained once, MAPIE's once for each fold and once more."""
    from mapie.classification import CrossConformalClassifier

    X, y = make_classification(
        ROWS + POINTS, 20, n_informative=10, n_redundant=0, n_classes=5, n_clusters_per_class=1, random_state=0
    )
    points, truth = X[ROWS:], y[ROWS:]
    learner = ss.StableClassifier(TreeClassifier(max_features="sqrt"), BAGS, oob_score=True, random_state=0)
    model = learner.fit(X[:ROWS], y[:ROWS])
    plain = ss.StableClassifier(TreeClassifier(max_features="sqrt"), BAGS, random_state=0)
    rival = CrossConformalClassifier(plain, COVERAGE, "lac", cv=FOLDS, random_state=0)
    rival.fit_conformalize(X[:ROWS], y[:ROWS])
    calls = {
        "ours": lambda: model.predict_covering_set(points, COVERAGE),
        "rival": lambda: rival.predict_set(points, agg_scores="crossval")[1][:, :, 0],
    }
    sets = {name: call() for name, call in calls.items()}
    best = interleaved_best(calls, rounds=5)
    at = np.arange(POINTS)
    return [
        Line(
            f"MAPIE cross-conformal / ours, {ROWS:,} rows at {POINTS} points",
            best["rival"] / best["ours"],
            at_least=True,
        ),
        *(Line(f"coverage, {name}", float(made[at, truth].mean()), unit="") for name, made in sets.items()),
        *(Line(f"set size, {name}", float(made.sum(axis=1).mean()), unit="") for name, made in sets.items()),
    ]


def main() -> bool:
    lines = beside_the_audit()
    if levels.at_best():
        lines.append(Line("covering sets: peak resident memory", peak_memory_gb(), 3, unit="GB"))
    try:
        lines += beside_mapie()
    except ImportError:
        print("MAPIE is not installed (pip install mapie): the rival is left out.")
    return report("coverage", lines)
