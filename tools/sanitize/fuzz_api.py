"""A fuzzer of the public functions that end in native code: random shapes, dtypes, strides, alignments and values.

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

import steadyset as ss
from steadyset import _native, lanes

EXPECTED = (ValueError, TypeError, FloatingPointError, OverflowError, IndexError, MemoryError)
KINDS = ["f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", ">f8", "<f4", "O", "c16", "U3"]
EXTREMES = [0.0, -0.0, 1.0, 0.5, np.nan, np.inf, -np.inf, 1e-320, 1e308, -1e308, 2.0**53, 1e-200, 1 / 3]


def numbers(rng, shape):
    """Return float64 values of one of several characters."""
    way = rng.integers(6)
    if way == 0:
        return rng.random(shape)
    if way == 1:
        return rng.choice(EXTREMES, shape)
    if way == 2:
        return np.full(shape, rng.choice(EXTREMES))
    if way == 3:
        return -(rng.random(shape) ** rng.integers(1, 400))
    if way == 4:
        return rng.integers(0, 3, shape).astype(float)
    values = rng.random(shape) + 1e-9
    return values / values.sum(axis=-1, keepdims=True) if shape and 0 not in shape else values


def laid_out(rng, array):
    """Return the same numbers in another layout: strided, reversed, transposed, unaligned, read-only."""
    way = rng.integers(7)
    if way == 0 and array.ndim:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif way == 1 and array.ndim:
        array = np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    elif way == 2:
        array = np.asfortranarray(array)
    elif way == 3 and array.dtype != object:
        shift = int(rng.integers(1, 8))
        buffer = np.zeros(array.nbytes + 8, np.uint8)
        moved = buffer[shift : shift + array.nbytes].view(array.dtype).reshape(array.shape)
        moved[...] = array
        array = moved
    elif way == 4 and array.ndim and array.shape[0]:
        array = np.broadcast_to(array[:1], array.shape)
    if rng.integers(5) == 0 and array.flags.owndata:
        array.flags.writeable = False
    return array


def scores(rng, ndim=2, valid=False):
    """Return an array of scores, or of probabilities."""
    shape = tuple(int(s) for s in rng.choice([0, 1, 2, 3, 5, 16, 17, 48, 49, 100, 1000], ndim, p=P))
    if valid:
        shape = tuple(max(1, s) for s in shape)
        values = rng.random(shape) + 1e-9
        return laid_out(rng, (values / values.sum(axis=-1, keepdims=True)).astype(rng.choice(["f8", "f4"])))
    with np.errstate(all="ignore"):
        return laid_out(rng, numbers(rng, shape).astype(rng.choice(KINDS, p=KIND_P)))


P = np.array([1, 2, 2, 2, 2, 2, 2, 1, 1, 1, 0.3])
P /= P.sum()
KIND_P = np.array([6, 6, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5])
KIND_P /= KIND_P.sum()


def parameter(rng):
    """Return an epsilon, tau or beta, good or bad."""
    return float(rng.choice([0.0, 0.05, 0.3, 1.0, 1.5, 1e-12, 1e9, np.nan, np.inf, -1.0]))


def select(rng):
    """Select label sets by one of the rules."""
    rule = rng.integers(7)
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
    return ss.ndc(x, parameter(rng)) if rule == 5 else ss.svbop(x, str(rng.choice(["u65", "u80"])))


def path(rng):
    """Follow the epsilon-path."""
    return ss.entry_epsilons(scores(rng, valid=bool(rng.integers(2))))


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
    values = rng.random((b, k, c)) ** 4 + 1e-9
    values = laid_out(rng, (values / values.sum(axis=-1, keepdims=True)).astype(rng.choice(["f8", "f4"])))
    return ss.BagPredictions(values, drawn, range(c))


def audit(rng):
    """Audit and certify predictions of bags."""
    made = predictions(rng)
    rule = [ss.InflatedArgmax(0.1), ss.Argmax(), ss.TopK(1), ss.NDC(1.0), ss.MassThreshold(0.6)][rng.integers(5)]
    made.mean()
    if rng.integers(2):
        ss.certify(made, rule)
    return ss.audit_bags(made, rule, n_jobs=int(rng.integers(1, 4)))


def kernels(rng):
    """Call the compiled module itself with arrays that do not fit together."""
    values, a = scores(rng, 3), [scores(rng, int(rng.integers(1, 4))) for _ in range(6)]
    way = rng.integers(7)
    if way == 0:
        return _native.sum_bags(scores(rng), None, int(rng.integers(-1, 20)), a[0], 2)
    if way == 1:
        return _native.survey_points(values, a[0], int(rng.integers(0, 5)), parameter(rng), a[1], a[2], 2)
    if way == 2:
        return _native.leave_out_means(values, a[0], a[1], 0, int(rng.integers(0, 5)), a[2], 2)
    if way == 3:
        return _native.audit_points(
            values,
            a[0],
            a[1],
            a[2],
            a[3],
            int(rng.integers(-1, 8)),
            0.1,
            0.0,
            1,
            1e-6,
            None,
            a[4],
            a[5],
            a[0],
            None,
            a[1],
            2,
        )
    if way == 4:
        return _native.select(a[0], int(rng.integers(-1, 14)), int(rng.integers(-1, 8)), 0.1, 0.1, 1, 1e-6, a[1], 2)
    if way == 5:
        return _native.digest_rows(a[0], None, a[1], a[2], 2)
    return _native.hash_bags(a[0], None, int(rng.integers(-1, 50)), int(rng.integers(-1, 50)), a[1], a[2], 2)


def networks(rng):
    """Train small networks of random layers."""
    layers = []
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(5)
        size = int(rng.choice([1, 2, 3, 7, 16, 33, 10**9]))
        layers += [
            [lanes.Conv2d(size, 3, padding=1), lanes.ReLU(), lanes.MaxPool2d(2), lanes.Linear(size), lanes.Flatten()][
                kind
            ]
        ]
    layers += [lanes.Flatten(), lanes.Linear()]
    n = int(rng.integers(4, 12))
    x = laid_out(rng, rng.random((n, 1, 5, 6)).astype(rng.choice(["f4", "f8", "u1"])))
    net = lanes.NetClassifier(layers, epochs=1, batch_size=int(rng.integers(1, 9)), random_state=0)
    return net.fit(x, np.arange(n) % 2).predict_proba(x)


def both_at_once(rng):
    """Change an array while it is read: wrong numbers may come, no crash."""
    x = np.ascontiguousarray(rng.random((500, 20)))
    stop = threading.Event()

    def change():
        while not stop.is_set():
            x[rng.integers(500)] = np.nan

    thread = threading.Thread(target=change)
    thread.start()
    try:
        ss.inflated_argmax(x, 0.3)
    finally:
        stop.set()
        thread.join()


CALLS = [select, select, select, path, bags, ids, audit, kernels, kernels, networks]
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
