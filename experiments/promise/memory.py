"""Memory beyond the model: 10,000 bags of 1,000 of 20,000 rows, audited, certified and reported at 50,000 points.

`python experiments/promise/memory.py` prints the peak of the resident memory above that of the fitted model, and the
seconds. The learner is a cheap one, the nearest mean of a class, so that the memory is that of what follows training.
The report is that of its 10,000 points, drawn from all.
"""

import argparse
import resource
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import steadyset as ss

CLASSES, FEATURES, TOGETHER = 10, 8, 100


class Means:
    """A hundred bags that vote for the class whose mean is nearest."""

    def __init__(self, numbers, means):
        self.numbers, self._means = numbers, means

    def predict_proba(self, X):
        """Return (bags, points, classes)."""
        votes = np.zeros((len(self._means), len(X), self._means.shape[1]), np.float32)
        for bag, means in enumerate(self._means):
            nearest = np.argmax(X @ (2 * means.T) - (means**2).sum(axis=1), axis=1)
            votes[bag, np.arange(len(X)), nearest] = 1
        return votes


class MeansClassifier(ClassifierMixin, BaseEstimator):
    """The means of the classes, of many bags at once."""

    def fit_bags(self, X, y, bags, seeds, *, classes, n_jobs, progress):
        """Yield the bags a hundred at a time."""
        columns = np.searchsorted(classes, y)
        for start in range(0, len(bags), TOGETHER):
            numbers = range(start, min(start + TOGETHER, len(bags)))
            means = np.zeros((len(numbers), len(classes), X.shape[1]))
            for place, bag in enumerate(numbers):
                rows = bags[bag]
                np.add.at(means[place], columns[rows], X[rows])
                means[place] /= np.maximum(np.bincount(columns[rows], minlength=len(classes)), 1)[:, None]
            yield Means(list(numbers), means)


class Peak:
    """The largest resident memory while something runs, in bytes above what it was before."""

    def __enter__(self):
        self._before, self.bytes, self._stop = resident(), 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        self._started = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self._started
        self._stop.set()
        self._thread.join()

    def _watch(self):
        while not self._stop.wait(0.02):
            self.bytes = max(self.bytes, resident() - self._before)


def resident():
    """Return the bytes that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main():
    """Fit, then measure each step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bags", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--only", choices=["sets", "audit over all rows", "certificates", "report"])
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    centres = 2.5 * rng.normal(size=(CLASSES, FEATURES))
    y, truth = rng.integers(0, CLASSES, 20_000), rng.integers(0, CLASSES, given.points)
    X, points = (centres[labels] + rng.normal(size=(len(labels), FEATURES)) for labels in (y, truth))
    model = ss.StableClassifier(MeansClassifier(), given.bags, max_samples=1_000, epsilon=0.05, random_state=0).fit(
        X, y
    )
    print(f"fitted: {model.bags_}, {resident() / 1e9:.2f} GB", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        steps = {
            "sets": lambda: model.predict_set(points),
            "audit over all rows": lambda: model.audit(points),
            "certificates": lambda: model.certify(points),
            "report": lambda: ss.report(model, points, truth, output=Path(folder) / "report.html"),
        }
        for name, step in steps.items() if given.only is None else [(given.only, steps[given.only])]:
            with Peak() as peak:
                found = step()
            print(f"{name}: {peak.bytes / 1e9:.2f} GB beyond the model, {peak.seconds:.0f} s", flush=True)
            print(f"  {str(found)[:120]}" if name == "report" else "", end="", flush=True)
            del found


if __name__ == "__main__":
    main()
