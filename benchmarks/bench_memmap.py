"""Anonymous memory of a fit to rows that are in a file: 4 GB of them, 1,000 bags of 2,000 rows, logistic regression."""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import steadyset as ss
from benchmarks.harness import Line, report

N_FEATURES, AT_A_TIME = 200, 100_000


def main(gigabytes: float = 4.0, n_bags: int = 1_000) -> bool:
    n = int(gigabytes * 1e9 / (4 * N_FEATURES))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npy")
        y = written(path, n)
        size = path.stat().st_size / 1e9
        X = np.load(path, mmap_mode="r")
        peak, done = [0], threading.Event()
        watch = threading.Thread(target=watched, args=(peak, done))
        watch.start()
        start = time.process_time()
        model = ss.StableClassifier(LogisticRegression(), n_bags, max_samples=2_000, random_state=0, n_jobs=2)
        model.fit(X, y, sample_ids=np.arange(n))
        spent = time.process_time() - start
        done.set()
        watch.join()
    lines = [
        Line("size of the file", size, gigabytes * 0.999, at_least=True, unit="GB"),
        Line("largest anonymous memory during the fit", peak[0] / 1e9, 1.5, unit="GB"),
        Line("CPU time of the fit", spent, unit="s"),
    ]
    return report("memmap", lines)


def written(path: Path, n: int) -> np.ndarray:
    """Write random rows, block by block, and return their labels."""
    rng = np.random.default_rng(0)
    direction, y = rng.standard_normal(N_FEATURES, np.float32), np.empty(n, np.int8)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, N_FEATURES))
    for start in range(0, n, AT_A_TIME):
        rows = rng.standard_normal((min(AT_A_TIME, n - start), N_FEATURES), np.float32)
        X[start : start + len(rows)], y[start : start + len(rows)] = rows, rows @ direction > 0
    X.flush()
    return y


def watched(peak: list[int], done: threading.Event) -> None:
    """Keep the largest anonymous memory of this process and those that it started, every 50 ms."""
    while not done.wait(0.05):
        peak[0] = max(peak[0], sum(map(anonymous, family(os.getpid()))))


def family(root: int) -> list[int]:
    found = [root]
    for task in Path(f"/proc/{root}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:  # a thread that has just ended
            continue
        for child in children:
            found += family(int(child))
    return found


def anonymous(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("RssAnon"))


if __name__ == "__main__":
    sys.exit(0 if main(*map(float, sys.argv[1:2])) else 1)
