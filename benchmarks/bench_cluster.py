"""A Dask cluster of two single-thread workers against two local threads, and what moves for a table of 32 MB."""

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.harness import Line, report

WORK = 50  # CPU seconds of a fit: at least 20 s by two workers
ROUNDS = 3
ROOT = Path(__file__).parents[1]


def main() -> bool:
    """Measure in a process of its own: workers are spawned, and import the program that starts them."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "lib"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, __file__], env={**os.environ, "PYTHONPATH": paths}, check=False)
    return done.returncode == 0


def measured() -> bool:
    import joblib
    import numpy as np
    from distributed import Client, LocalCluster
    from sklearn.linear_model import LogisticRegression

    import steadyset as ss
    from helpers import tcp_bytes
    from steadyset.lanes import Linear, NetClassifier, ReLU

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 20))  # 32 MB
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0).astype(int)
    learners = {
        "trees": None,
        "lanes": NetClassifier([Linear(64), ReLU(), Linear()], epochs=5),
        "logistic regression": LogisticRegression(),
    }

    def model(name: str, n_bags: int) -> ss.StableClassifier:
        return ss.StableClassifier(learners[name], n_bags, max_samples=20_000, random_state=0, n_jobs=2)

    lines = []
    sizes = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**sizes, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.wait_for_workers(2)

        def received() -> int:
            return tcp_bytes.received() + sum(client.run(tcp_bytes.received).values())

        for name in learners:
            before = received()
            with joblib.parallel_config(backend="dask"):
                model(name, 64).fit(X, y)
            lines.append(Line(f"{name}: bytes for 64 bags and worker, over X", (received() - before) / X.nbytes / 2, 4))
        for name in ("trees", "lanes"):
            start = time.process_time()
            model(name, 64).fit(X, y)
            n_bags = 64 * max(1, round(WORK / (time.process_time() - start)))
            home = away = float("inf")
            for _ in range(ROUNDS):
                start = time.perf_counter()
                at_home = model(name, n_bags).fit(X, y)
                home, start = min(home, time.perf_counter() - start), time.perf_counter()
                with joblib.parallel_config(backend="dask"):
                    elsewhere = model(name, n_bags).fit(X, y)
                away = min(away, time.perf_counter() - start)
                assert np.array_equal(at_home.predict_proba(X[:100]), elsewhere.predict_proba(X[:100]))
                del at_home, elsewhere
            lines.append(Line(f"{name}, {n_bags} bags: two threads", home, 20, at_least=True, unit="s"))
            lines.append(Line(f"{name}: two workers over two threads", away / home, 1.25))
    return report("cluster", lines)


if __name__ == "__main__":
    sys.exit(0 if measured() else 1)
