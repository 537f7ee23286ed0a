"""A refit after one of 20,000 rows was dropped against a fresh fit of 500 bags of 2%, by CPU time and by the clock.

The row that is dropped is the first that ten bags hold, as many as hold a row on average.
"""

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import steadyset as ss
from benchmarks.harness import Line, report
from steadyset.lanes import Linear, NetClassifier, ReLU

N, N_BAGS, SHARE, MARK = 20_000, 500, 0.02, 20
REFITS = 3  # for each fresh fit: what is short is disturbed more
FOREVER = np.full(2, np.inf)
LEARNERS: dict[str, tuple[int, Callable[[], Any]]] = {  # by the number of features
    "trees, 5 features": (5, lambda: None),
    "trees, 10 features": (10, lambda: None),
    "trees, 20 features": (20, lambda: None),
    "trees, 30 features": (30, lambda: None),
    "trees, 30 features, all at each split": (30, ss.trees.TreeClassifier),
    "lanes, 5 features, 4 hidden units, 1 epoch": (5, lambda: NetClassifier([Linear(4), ReLU(), Linear()], epochs=1)),
    "lanes, 30 features, 32 hidden units, 20 epochs": (
        30,
        lambda: NetClassifier([Linear(32), ReLU(), Linear()], epochs=20),
    ),
    "logistic regression, 5 features": (5, lambda: LogisticRegression(C=0.01)),
}


def main(rounds: int = 9) -> bool:
    lines = []
    for name, (n_features, learner) in LEARNERS.items():
        rng = np.random.default_rng(0)
        y = rng.integers(3, size=N)
        X = rng.normal(size=(N, n_features)) + 0.5 * y[:, None]
        settings = {"max_samples": SHARE, "random_state": 0}

        def fitted(rows: Any, labels: Any, learner: Any = learner, settings: Any = settings) -> Any:
            return ss.StableClassifier(learner(), N_BAGS, **settings).fit(rows, labels)

        model, fresh, again = fitted(X, y), FOREVER, FOREVER
        row = next(row for row in range(N) if np.count_nonzero(model.bags_.holds(row)) == SHARE * N_BAGS)
        X, y = np.delete(X, row, axis=0), np.delete(y, row)
        for _ in range(rounds):
            for _ in range(REFITS):
                one = copy.deepcopy(model)
                again = np.minimum(again, spent(lambda one=one, X=X, y=y: one.refit(X, y)))
            fresh = np.minimum(fresh, spent(lambda fitted=fitted, X=X, y=y: fitted(X, y)))
        lines.append(Line(f"{name}: bags trained again", one.changes_.n_trained, unit="bags"))
        for place, time_of in enumerate(("CPU time", "wall clock")):
            lines.append(Line(f"{name}: fresh fit, {time_of}", 1000 * float(fresh[place]), unit="ms"))
            lines.append(Line(f"{name}: refit, {time_of}", 1000 * float(again[place]), unit="ms"))
            ratio = float(fresh[place] / again[place])
            lines.append(Line(f"{name}: fresh fit over refit, {time_of}", ratio, MARK, at_least=True))
    return report("refit", lines)


def spent(call: Callable[[], object]) -> NDArray[np.float64]:
    """CPU seconds of a call, and seconds by the clock."""
    start = time.process_time(), time.perf_counter()
    call()
    return np.array([time.process_time(), time.perf_counter()]) - start


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
