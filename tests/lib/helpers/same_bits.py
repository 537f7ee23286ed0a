"""One grid of inputs, and the hashes of what selection, path, bags and audit make of it.

Every level, compiler and architecture has to give the same bits. Inputs are made of the generator's own words by
arithmetic that IEEE 754 fixes, so that they are the same everywhere too.
"""

import hashlib
import json

import numpy as np

import steadyset as ss
from steadyset import _native

#: What every build gives. A change that alters a line alters results of users: it belongs into the changelog.
PINNED = {
    "selection": "1597c8547182dd5673542405062d9b36f9251831899371687a9672739129dcf3",
    "path": "a30031d54ccf166a10b0ef16e7572b4649c066ed608af6dd46ef432b01fcc1c6",
    "bags": "fe9b2857ed28948ce5eca1dae92397357329cd9e51d8945c49f6a29e9b9623b6",
    "audit": "fd715ab4145aeb18245e2e20145c3d2bca189a4abac99afff6f39918be53398a",
}

EPSILONS = (1e-9, 0.01, 0.05, 0.3, 1.5)
LABELS = (1, 2, 3, 5, 8, 10, 16, 17, 31, 33, 64, 100, 257, 1000, 4099)


def whole(seed: int, *shape: int, below: int) -> np.ndarray:
    """Whole numbers from 0 to `below`, of a stream that NumPy promises to keep."""
    words = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    return (words % np.uint64(below)).astype(np.int64).reshape(shape)


def rows(n: int, n_labels: int) -> list[np.ndarray]:
    """Probabilities of three kinds: flat, sharp, and with many ties."""
    flat = whole(n_labels, n, n_labels, below=1 << 20) + 1
    sharp = flat**3 >> 20
    ties = whole(n_labels + 1, n, n_labels, below=4)
    ties[:, 0] += 1
    return [counts / counts.sum(axis=1, keepdims=True) for counts in (flat, sharp + 1, ties)]


def grid() -> list[np.ndarray]:
    """Rows of every length, in every precision and in other layouts."""
    found = []
    for n_labels in LABELS:
        for proba in rows(max(2, 2000 // n_labels), n_labels):
            found += [proba, proba.astype(np.float32), proba.astype(np.float16), np.asfortranarray(proba)]
    found.append(rows(1, 60_000)[0])
    found.append(rows(1, 60_000)[1].astype(np.float32))
    return found


def scores() -> list[np.ndarray]:
    """Beside the grid, numbers that are no probabilities: negative, far from 0, nearly equal."""
    plain = [(whole(7 + n, 50, n, below=1 << 30) - (1 << 29)) / 2**20 for n in (2, 10, 33, 300)]
    return [*grid(), *plain, *(s / 2**30 + 1 for s in plain), *(s + 2.0**20 for s in plain)]


def digest(arrays) -> str:
    whole_thing = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        whole_thing.update(f"{array.dtype.str}{array.shape}".encode())
        whole_thing.update(array.tobytes())
    return whole_thing.hexdigest()


def selection():
    for proba in grid():
        if proba.dtype == np.float16:
            proba = proba / np.float16(2)  # scores: they need not sum to 1
        for epsilon in EPSILONS:
            yield ss.inflated_argmax(proba, epsilon)
            yield ss.fixed_margin(proba, epsilon)
        yield ss.argmax_set(proba)
        yield ss.top_k(proba, min(3, proba.shape[1]))
    for proba in grid():
        if proba.dtype == np.float64:
            yield ss.mass_threshold(proba, 0.75)
            yield ss.ndc(proba)
            yield ss.svbop(proba, "u65")


def path():
    for proba in scores():
        yield ss.entry_epsilons(proba)
        if proba.shape[1] > 1:
            yield ss.stability_radius(proba, ss.InflatedArgmax(0.05))


def bags():
    for n, m in ((2, 1), (9, 8), (64, 17), (1000, 500), (20_011, 10_000)):
        for drawn in (ss.draw_bags(n, 5, m, seed=n), ss.draw_bags(n, 3, m, seed=n, resampling="bootstrap")):
            yield from drawn
            yield drawn.counts
    for n_points, n_classes in ((1, 2), (7, 3), (50, 10), (9, 40)):
        yield predictions(200, 60, n_points, n_classes, np.float32).mean()
        yield predictions(200, 60, n_points, n_classes, np.float64).leave_one_out(3)


def predictions(n: int, n_bags: int, n_points: int, n_classes: int, dtype) -> ss.BagPredictions:
    """Bags of half of the rows, and predictions that lean on few rows, so that some of these make conflicts."""
    drawn = ss.draw_bags(n, n_bags, n // 2, seed=3, sample_ids=range(n))
    counts = whole(n_points, n_bags, n_points, n_classes, below=1 << 16) + 1
    counts[drawn.holds(0), :, 0] += 1 << 17
    counts[drawn.holds(1), :, -1] += 1 << 17
    proba = (counts / counts.sum(axis=2, keepdims=True)).astype(dtype)
    return ss.BagPredictions(proba, drawn, range(n_classes))


AUDIT_FIELDS = (
    *("instability", "jaccard", "max_shift", "shift_quantiles", "spread", "settled", "row_influence", "row_point"),
    *("pair_starts", "pair_units", "pair_epsilons", "pair_shifts"),
)


def audit():
    f32, f64 = np.float32, np.float64
    for n_points, n_classes, dtype in ((40, 3, f32), (40, 10, f32), (30, 10, f64), (12, 33, f32)):
        made = predictions(300, 120, n_points, n_classes, dtype)
        for rule in (ss.InflatedArgmax(0.02), ss.FixedMargin(0.02), ss.Argmax()):
            found, certified = ss.audit_bags(made, rule), ss.certify(made, rule)
            yield from (getattr(found, field) for field in AUDIT_FIELDS)
            yield from (certified.radius, certified.unsafe_rows, certified.poisoning_radius)


def learners():
    """What trees and neighbours predict: the same everywhere too, but free to change."""
    X, y = whole(1, 300, 6, below=50) / 8, whole(2, 300, below=4)
    points = whole(3, 80, 6, below=50) / 8
    for features in (None, 2):
        yield ss.trees.TreeClassifier(max_features=features, random_state=5).fit(X, y).predict_proba(points)
    yield ss.StableNeighborsClassifier(n_jobs=1).fit(X, y).predict_proba(points)


def hashes() -> dict[str, str]:
    """The hash of each kernel's results at the level in use."""
    return {kind.__name__: digest(kind()) for kind in (selection, path, bags, audit)}


def print_hashes() -> None:
    """Print, as JSON, the hashes of each level that this CPU runs."""
    found = {}
    for level in _native.isa_levels():
        _native.use_isa(level)
        found[level] = hashes()
    print(json.dumps(found))
