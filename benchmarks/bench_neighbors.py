"""Stable neighbours on Fashion-MNIST: beside scikit-learn's brute force, the audit beside the search, and real bags."""

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import steadyset as ss
from benchmarks.harness import Line, interleaved_best, report
from steadyset import _native
from steadyset.paper.fashion_mnist import load_images

N_BAGS_TIMED, N_BAGS = 10, 1000


def seconds(call) -> tuple[float, object]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def _digits(**options) -> dict:
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    points = X[rng.integers(1347, len(X), 10_000)] + rng.normal(size=(10_000, X.shape[1]))
    model = ss.StableNeighborsClassifier(5, **options).fit(X[:1347], y[:1347])
    return {"search": lambda: model.predict_proba(points), "audit": lambda: model.audit(points)}


def main() -> bool:
    data = load_images()
    X, y = data.X_train.reshape(len(data.X_train), -1).astype(np.float32), data.y_train
    points = data.X_test.reshape(len(data.X_test), -1).astype(np.float32)
    knn = KNeighborsClassifier(5, algorithm="brute")
    stable = ss.StableNeighborsClassifier(5)
    best = interleaved_best(
        {
            "scikit-learn": lambda: knn.fit(X, y).predict_proba(points),
            "stable": lambda: stable.fit(X, y).predict_proba(points),
        },
        rounds=2,
    )
    search = seconds(lambda: stable.predict_proba(points))[0]
    audited, audit = seconds(lambda: stable.audit(points))
    bagged = ss.StableClassifier(knn, N_BAGS_TIMED, random_state=0)
    real = seconds(lambda: bagged.fit(X, y).predict_proba(points))[0] * N_BAGS / N_BAGS_TIMED
    small = ss.StableNeighborsClassifier(5, delta=0).fit(X, y)
    digits, few = interleaved_best(_digits(), rounds=5), interleaved_best(_digits(delta=0), rounds=5)
    found = small.audit(points)
    level, size = _native.isa(), f"{len(X):,} x {X.shape[1]} at {len(points):,} points"
    lines = [
        Line(f"{size}: stable / scikit-learn's brute force ({level})", best["stable"] / best["scikit-learn"], 1.5),
        Line("scikit-learn's brute force, fit and predict", best["scikit-learn"], unit="s"),
        Line(f"{N_BAGS:,} real bags, from {N_BAGS_TIMED} / stable", real / best["stable"], 300, at_least=True),
        Line("audit of all rows / search", audited / search, 1.5),
        Line("audit of all rows / search, digits at 10,000 points", digits["audit"] / digits["search"], 1.5),
        Line("the same with bags so small that the promise is 0", few["audit"] / few["search"], 1.5),
        Line("largest instability / promise, half bags", audit.max_instability / stable.guarantee().delta, 1.0),
        Line(f"largest instability with bags of {small.bag_size_:,}, promise 0", found.max_instability, 0.0, unit=""),
    ]
    return report("neighbors", lines)
