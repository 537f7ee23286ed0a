"""A fuzzer of the public functions that end in native code, and of the kernels: random shapes, types, layouts, values.

usage: python tools/sanitize/fuzz_api.py SEED SECONDS

Each call either returns or raises one of the errors that users are promised; what a sanitizer finds, it prints and
ends the process. The last line says how many calls there were of each kind.
"""

import os
import sys
import threading
import time
import warnings
from collections import Counter

import numpy as np
from inputs import laid_out, numbers, parameter, probabilities, scores
from kernels import KERNELS
from scipy.sparse import csr_matrix

import steadyset as ss
from steadyset import _native, lanes, trees

EXPECTED = (ValueError, TypeError, FloatingPointError, OverflowError, IndexError, MemoryError)


def select(rng):
    """Select label sets by one of the rules."""
    rule = rng.integers(8)
    x = scores(rng, ndim=int(rng.choice([1, 2, 2, 2, 3])), valid=bool(rng.integers(2)))
    if rule == 0:
        return ss.argmax_set(x)
    if rule == 1:
        return ss.inflated_argmax(x, parameter(rng))
    if rule == 2:
        return ss.fixed_margin(x, parameter(rng))
    if rule == 3:
        return ss.top_k(x, int(rng.choice([-1, 0, 1, 2, 16, 10**6])))
    if rule == 4:
        return ss.mass_threshold(x, parameter(rng))
    if rule == 7:
        return ss.inflated_top_k(x, int(rng.choice([-1, 0, 1, 2, 16, 10**6])), parameter(rng))
    return ss.ndc(x, parameter(rng)) if rule == 5 else ss.svbop(x, str(rng.choice(["u65", "u80"])))


def path(rng):
    """Follow the epsilon-path, of the top k too."""
    return ss.entry_epsilons(scores(rng, valid=bool(rng.integers(2))), k=int(rng.choice([1, 1, 2, 5, 100])))


def bags(rng):
    """Draw bags and list their rows."""
    n, b = int(rng.choice([1, 2, 7, 8, 9, 100, 3000])), int(rng.choice([0, 1, 3, 20]))
    size = rng.choice([0.1, 0.5, 1.0, 1, 2, 7, -1, 5000])
    ids = [None, list(range(n)), [f"r{i}" for i in range(n)], np.arange(n)[::-1]][rng.integers(4)]
    kind = str(rng.choice(["subbagging", "bootstrap"]))
    drawn = ss.draw_bags(
        n, b, size if size < 1 else int(size), resampling=kind, seed=int(rng.integers(9)), sample_ids=ids
    )
    return [drawn[i] for i in range(len(drawn))]


def ids(rng):
    """Make ids of rows."""
    return ss.content_ids(scores(rng))


def predictions(rng):
    """Return predictions of bags."""
    n, b, k, c = int(rng.integers(2, 60)), int(rng.integers(1, 50)), int(rng.integers(1, 20)), int(rng.integers(1, 12))
    drawn = ss.draw_bags(n, b, 0.5, seed=int(rng.integers(9)), sample_ids=np.arange(n))
    values = laid_out(rng, probabilities(rng, (b, k, c), 4).astype(rng.choice(["f8", "f4"])))
    return ss.BagPredictions(values, drawn, range(c))


def audit(rng):
    """Audit and certify predictions of bags."""
    made = predictions(rng)
    rule = [ss.InflatedArgmax(0.1), ss.Argmax(), ss.TopK(1), ss.NDC(1.0), ss.MassThreshold(0.6)][rng.integers(5)]
    made.mean()
    if rng.integers(2):
        ss.certify(made, rule)
    return ss.audit_bags(made, rule, n_jobs=int(rng.integers(1, 4)))


def _table(rng, most):
    """Return rows of numbers, with ties and now and then with gaps or extremes, and labels."""
    n, width = int(rng.integers(2, most)), int(rng.integers(1, 20))
    X = numbers(rng, (n, width)) if rng.integers(4) == 0 else np.round(rng.normal(size=(n, width)), rng.integers(3))
    with np.errstate(all="ignore"):
        X = laid_out(rng, X.astype(rng.choice(["f8", "f4", "i8", "i2", "u1", "?"])))
    return X, np.arange(n) % int(rng.integers(1, 5))


def own_trees(rng):
    """Grow trees on bags of a table, predict with them and convert them."""
    X, y = _table(rng, 200)
    n = len(X)
    tree = trees.TreeClassifier(
        criterion=str(rng.choice(["gini", "entropy"])),
        splitter=str(rng.choice(["best", "random"])),
        max_depth=[None, 1, 3][rng.integers(3)],
        max_leaf_nodes=[None, None, 2, 7][rng.integers(4)],
        min_samples_leaf=[1, 1, 4, 0.2][rng.integers(4)],
        max_features=[None, "sqrt", 1, 0.5][rng.integers(4)],
        class_weight=[None, "balanced", {0: 2.5}][rng.integers(3)],
        random_state=int(rng.integers(9)),
    )
    bags = [rng.integers(0, n, int(rng.integers(1, n + 1))) for _ in range(int(rng.integers(1, 6)))]
    for group in tree.fit_bags(X, y, bags, range(len(bags)), n_jobs=int(rng.integers(1, 3))):
        group.predict_proba(X, n_jobs=2)
        group.apply(X)
        rows, sums = group.prepared(X, n_jobs=2), np.zeros((n, len(group.classes_)))
        group.add_proba(rows, sums, int(rng.integers(1, 4)), n_jobs=2)
        group.gathered([(group, len(bags) - 1, len(bags)), (group, 0, 1)]).predict_proba(X)
        group.members()[0].to_sklearn()


def own_neighbors(rng):
    """Fit stable neighbours, dense or sparse, predict sets and audit them."""
    X, y = _table(rng, 400)
    metric = str(rng.choice(["euclidean", "cosine", "manhattan"]))
    size = [0.5, 0.1, 1, 7][rng.integers(4)]
    model = ss.StableNeighborsClassifier(
        int(rng.choice([1, 3, 20])), max_samples=size, bootstrap=bool(rng.integers(2)), metric=metric, n_jobs=2
    )
    model.fit(csr_matrix(X) if rng.integers(3) == 0 else X, y)
    points = csr_matrix(X[:9]) if rng.integers(3) == 0 else X[:9]
    model.predict_set(points)
    model.spread(points)
    model.audit(points)
    return model.certify(points)


def networks(rng):
    """Train small networks of random layers."""
    layers = []
    for _ in range(rng.integers(1, 6)):
        size = int(rng.choice([1, 2, 3, 7, 16, 33, 10**9]))
        kernel, padding = int(rng.choice([1, 2, 3, 3, 5, 5, 8])), int(rng.integers(4))
        kinds = [lanes.Conv2d(size, kernel, padding)] * 3
        kinds += [lanes.ReLU(), lanes.Tanh(), lanes.MaxPool2d(int(rng.integers(1, 5))), lanes.AvgPool2d(2)]
        layers.append([*kinds, lanes.Linear(size), lanes.Flatten()][rng.integers(9)])
    layers += [lanes.Flatten(), lanes.Linear()]
    n = int(rng.integers(4, 12))
    shape = (n, int(rng.choice([1, 2, 5])), *rng.integers(4, 24, 2))
    x = laid_out(rng, rng.random(shape).astype(rng.choice(["f4", "f8", "u1"])))
    net = lanes.NetClassifier(layers, epochs=1, batch_size=int(rng.integers(1, 9)), random_state=0)
    return net.fit(x, np.arange(n) % 2).predict_proba(x)


def both_at_once(rng):
    """Change an array while it is read: wrong numbers may come, no crash."""
    x = np.ascontiguousarray(rng.random((500, 20)))
    stop, odd = threading.Event(), float(rng.choice([np.nan, 1e300, 0.0]))

    def change():
        while not stop.is_set():
            x[rng.integers(500)] = odd

    thread = threading.Thread(target=change)
    thread.start()
    try:
        ss.inflated_argmax(x, 0.3)
    finally:
        stop.set()
        thread.join()


CALLS = [select, select, select, path, bags, ids, audit, own_trees, own_neighbors, networks, *KERNELS]
#: ThreadSanitizer would report the race that this one is about.
CALLS += [] if os.environ.get("TSAN_OPTIONS") else [both_at_once]


def main(seed, seconds):
    """Call at random until the time is over."""
    rng, counts, end = np.random.default_rng(seed), Counter(), time.monotonic() + seconds
    warnings.simplefilter("ignore")
    levels = _native.isa_levels()
    while time.monotonic() < end:
        call = CALLS[rng.integers(len(CALLS))]
        _native.use_isa(levels[rng.integers(len(levels))])
        state = rng.bit_generator.state
        try:
            call(rng)
            counts[call.__name__, "answered"] += 1
        except EXPECTED:
            counts[call.__name__, "refused"] += 1
        except BaseException:
            print(f"seed {seed}, {call.__name__}, state {state}", flush=True)
            raise
    print(
        "fuzz_api:", sum(counts.values()), "calls", {f"{name} {came}": n for (name, came), n in sorted(counts.items())}
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
