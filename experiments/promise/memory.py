"""Memory beyond the model: 10,000 bags of 1,000 of 20,000 rows, audited, certified and reported at 50,000 points.

`python experiments/promise/memory.py` prints, for each step, the peak of the resident memory above that of the fitted
model, the seconds and the CPU seconds, and adds a line to memory.jsonl. Learners are this library's trees; ten classes
overlap, so that not every point is settled at first sight. The report is that of its 10,000 points, drawn from all.
`--only STEP` runs one step.
"""

import argparse
import json
import resource
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import steadyset as ss
from steadyset import _native, trees

HERE = Path(__file__).parent
ROWS, CLASSES, FEATURES = 20_000, 10, 8


class Peak:
    """The largest resident memory while something runs, in bytes above what it was before."""

    def __enter__(self):
        self._before, self.bytes, self._stop = resident(), 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        self._started = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self._started[0]
        self.cpu_seconds = time.process_time() - self._started[1]
        self._stop.set()
        self._thread.join()

    def _watch(self):
        while not self._stop.wait(0.02):
            self.bytes = max(self.bytes, resident() - self._before)


def resident():
    """Return the bytes that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def fitted(n_bags, n_points):
    """Return a model, points and their labels."""
    rng = np.random.default_rng(0)
    centres = 1.5 * rng.normal(size=(CLASSES, FEATURES))
    y, truth = rng.integers(0, CLASSES, ROWS), rng.integers(0, CLASSES, n_points)
    X, points = (centres[labels] + rng.normal(size=(len(labels), FEATURES)) for labels in (y, truth))
    model = ss.StableClassifier(trees.TreeClassifier(), n_bags, max_samples=1_000, epsilon=0.05, random_state=0)
    return model.fit(X, y), points, truth


def main():
    """Fit, then measure each step."""
    names = ("sets", "audit", "certificates", "report")
    parser = argparse.ArgumentParser()
    parser.add_argument("--bags", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--only", choices=names)
    given = parser.parse_args()
    with Peak() as training:
        model, points, truth = fitted(given.bags, given.points)
    print(f"fitted: {resident() / 1e9:.2f} GB, {training.cpu_seconds:.0f} CPU s; {model.bags_}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        steps = {
            "sets": lambda: f"mean size {model.predict_set(points).sum(axis=1).mean():.3f}",
            "audit": lambda: audited(model.audit(points)),
            "certificates": lambda: model.certify(points).summary().splitlines()[0],
            "report": lambda: str(ss.report(model, points, truth, output=Path(folder) / "report.html")),
        }
        for name in names if given.only is None else [given.only]:
            with Peak() as peak:
                found = steps[name]()
            line = {
                "step": name,
                "n_bags": given.bags,
                "n_points": given.points,
                "gigabytes_beyond_the_model": round(peak.bytes / 1e9, 3),
                "seconds": round(peak.seconds, 1),
                "cpu_seconds": round(peak.cpu_seconds, 1),
                "isa": _native.isa(),
                "found": found,
            }
            print(line, flush=True)
            with (HERE / "memory.jsonl").open("a", encoding="utf-8") as record:
                record.write(json.dumps(line) + "\n")


def audited(audit):
    """Return what an audit found, in a line."""
    return f"{audit.settled.mean():.3f} of the points settled at first sight, max instability {audit.max_instability:g}"


if __name__ == "__main__":
    main()
