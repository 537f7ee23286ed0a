"""Calls of the compiled module itself, past all checks in Python: with arguments that fit, or all but one or two."""

import numpy as np
from inputs import EXTREMES, WHOLE, laid_out, numbers, parameter, probabilities, scores

from steadyset import _native


def called(rng, function, *arguments):
    """Call with these arguments, or with some of them spoilt; the last one is the number of threads."""
    given = list(arguments)
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        place = int(rng.integers(len(given)))
        given[place] = spoilt(rng, given[place])
    return function(*given, int(rng.integers(-1, 4)))


def spoilt(rng, value):
    """Return something else in place of an argument."""
    if isinstance(value, np.ndarray):
        return spoilt_array(rng, value)
    if isinstance(value, bool) or value is None:
        return [None, True, False, scores(rng)][rng.integers(4)]
    if isinstance(value, int):
        return value + int(rng.integers(-2, 3)) if rng.integers(2) else WHOLE[rng.integers(len(WHOLE))]
    if isinstance(value, float):
        return float(rng.choice(EXTREMES))
    return value


def spoilt_array(rng, array):
    """Return another array: fewer or more entries, another type, layout or values, or nothing of it at all."""
    way = rng.integers(7)
    if way == 0:
        return scores(rng, int(rng.integers(1, 4)))
    if way == 1 and array.ndim:
        return np.ascontiguousarray(array[: rng.integers(len(array) + 1)])
    if way == 2:
        return np.concatenate([array, array])
    if way == 3:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(["f8", "f4", "i8", "i4", "u2", "u1"]))
    if way == 4 and array.dtype.kind in "iu" and array.size:
        out = array.copy()
        limits = np.iinfo(array.dtype)
        whole = [limits.min, limits.max, 0, 1, limits.max // 2]
        out.flat[rng.integers(out.size)] = whole[rng.integers(len(whole))]
        return out
    if way == 5 and array.dtype.kind == "f":
        return numbers(rng, array.shape).astype(array.dtype)
    return laid_out(rng, array.copy())


def _sizes(rng, *most):
    return [int(rng.integers(1, limit + 1)) for limit in most]


def kernel_select(rng):
    """Select label sets."""
    n, c = _sizes(rng, 40, 60)
    kind = int(rng.integers(2))
    values = numbers(rng, (n, c)).astype(["f8", "f4"][kind])
    rule, k = int(rng.integers(9)), int(rng.integers(1, c + 1))
    out = np.empty((n, c), np.uint8)
    called(rng, _native.select, values, kind, rule, parameter(rng), parameter(rng), k, 1e-6, out)


def kernel_select_conformal(rng):
    """Apply a conformal rule."""
    n, c = _sizes(rng, 40, 60)
    kind = int(rng.integers(2))
    values = probabilities(rng, (n, c), 4) if rng.integers(2) else numbers(rng, (n, c))
    thresholds = rng.random(int(rng.choice([1, c])))
    out = np.empty((n, c), np.uint8)
    values, rule = values.astype(["f8", "f4"][kind]), int(rng.integers(8, 10))
    called(rng, _native.select_conformal, values, kind, rule, thresholds, 1e-6, out)


def kernel_entry_epsilons(rng):
    """Follow the epsilon-path of the argmax or of the top k."""
    n, c = _sizes(rng, 40, 60)
    kind = int(rng.integers(2))
    values = numbers(rng, (n, c)).astype(["f8", "f4"][kind])
    called(rng, _native.entry_epsilons, values, kind, int(rng.integers(1, c + 1)), np.empty((n, c)))


def kernel_draw(rng):
    """Draw bags without and with replacement."""
    n, b = _sizes(rng, 500, 6)
    m = int(rng.integers(1, n + 1))
    keys = rng.integers(0, 2**63, (b, 2), np.uint64)
    ids = rng.integers(0, 2**63, n, np.uint64) if rng.integers(2) else None
    called(rng, _native.hash_bags, keys, ids, n, m, np.empty((b, (n + 7) // 8), np.uint8), np.empty(b, np.int64))
    called(rng, _native.bootstrap_bags, keys, n, m, np.empty((b, m), np.uint32))
    if ids is not None:
        called(rng, _native.hash_rows, keys, ids, m, np.empty((b, m), np.uint32), np.empty(b, np.int64))


def kernel_sum_bags(rng):
    """Sum over bags."""
    b, c = _sizes(rng, 40, 200)
    take = (rng.random(b) < 0.5).astype(np.uint8) if rng.integers(2) else None
    called(rng, _native.sum_bags, rng.random((b, c)).astype(rng.choice(["f4", "f8"])), take, 16, np.empty(c))


def kernel_digest_rows(rng):
    """Digest the cells of rows."""
    n, c = _sizes(rng, 60, 8)
    kinds = rng.integers(0, 9, n * c, np.uint64) if rng.integers(2) else None
    ends = np.sort(rng.integers(0, n * c + 1, n))
    called(rng, _native.digest_rows, numbers(rng, (n * c,)), kinds, ends, np.empty((n, 2), np.uint64))


def kernel_known_rows(rng):
    """Find rows of a table before, and follow the bags that held them."""
    n, m, w = _sizes(rng, 60, 60, 40)
    key = rng.integers(0, 2**63, 12 + 4 * ((2 + (w + 7) // 8) // 2), np.uint64)
    prints = np.empty((n, 2), np.uint64)
    rows = rng.integers(0, 3, (n, w), np.uint8)
    called(rng, _native.fingerprint_rows, rows, rng.integers(0, 3, n), key, prints)
    _native.known_places(prints[rng.integers(0, n, m)], prints, np.empty(n, np.int64))
    before, now = (np.unique(rng.integers(0, 100, size).astype(np.uint64)) for size in (n, m))
    places, b = np.empty(len(before), np.uint32), int(rng.integers(1, 6))
    _native.match_words(before, now, places, np.empty(len(now), bool))
    held = rng.integers(0, len(before), (b, int(rng.integers(1, 9)))).astype(np.uint32)
    _native.move_rows(held, places, np.empty_like(held), np.empty(b, bool))
    keys = rng.integers(0, 2**63, (b, 2), np.uint64)
    called(rng, _native.entered_bags, keys, before, held, now, np.empty(b, bool))


def _audited(rng):
    b, p, c = _sizes(rng, 50, 12, 10)
    values = probabilities(rng, (b, p, c), 4).astype(rng.choice(["f8", "f4"]))
    units = int(rng.integers(1, 80))
    patterns = rng.integers(0, 2**16, ((b + 15) // 16, units), np.uint16)
    if b % 16:
        patterns[-1] &= (1 << b % 16) - 1
    counts = np.bitwise_count(patterns).sum(axis=0).astype(float)
    mean = np.ascontiguousarray(values.mean(axis=0, dtype=float))
    return values, patterns, counts, mean, (mean == mean.max(axis=1, keepdims=True)).astype(np.uint8), units


def kernel_audit(rng):
    """Compare models without a unit with the full one."""
    values, patterns, counts, mean, sets, units = _audited(rng)
    b, p, c = values.shape
    rule, k = int(rng.integers(-1, 10)), int(rng.integers(1, c + 1))
    rules = [] if rule < 0 else [(rule, 0.05, 0.5, k, rng.random(int(rng.choice([1, c]))))]
    if rules and rule > 1 and rng.integers(2):
        rules.append((1, 0.1, 0.0, k, None))
    entries, last = None, None
    if rule in (0, 1) and rng.integers(2):
        entries, last = np.empty((p, c)), np.empty((p, units))
        _native.entry_epsilons(mean, 0, 1, entries, 1)
    shift, conflict = np.empty((p, units), np.float32), np.empty((p, units), np.uint8)
    called(
        rng, _native.audit_points, values, patterns, counts, mean, sets, rules, 1e-6, entries, shift,
        np.empty(p), conflict, last, np.zeros(p),
    )  # fmt: skip
    start = int(rng.integers(units + 1))
    called(rng, _native.leave_out_means, values, patterns, counts, start, units, np.empty((units - start, p * c)))
    bounds, least, most = rng.random(units), np.empty(p * c, np.int64), np.empty(p * c, np.int64)
    called(rng, _native.count_below, values, patterns, counts, bounds, least, most)
    least = int(rng.integers(1, b + 1))
    called(rng, _native.survey_points, values, mean, least, parameter(rng), np.empty(p), np.empty(p, np.uint8))


def kernel_certify(rng):
    """Ask what any votes in some of the bags can do."""
    values, patterns, _, _, sets, units = _audited(rng)
    b, p, _ = values.shape
    most, times = rng.random(units) * b, rng.integers(1, 4, units)
    radius = rng.random(p) * b if rng.integers(2) else None
    rule = int(rng.integers(3))
    called(
        rng, _native.clear_points, values, patterns, np.ones(units), most, times, sets, radius, rule, 0.05,
        np.empty(p, np.int64),
    )  # fmt: skip
    least = int(rng.integers(b + 1))
    called(rng, _native.hostile_bags, values, sets, rule, 0.05, 1.0, 1e-9, least, np.empty(p, np.int64))


def kernel_weights(rng):
    """Weigh neighbours."""
    n = int(rng.choice([1, 2, 50, 3000]))
    m = int(rng.integers(1, n + 1))
    k, room = int(rng.integers(1, min(m, 40) + 1)), int(rng.integers(1, n + 1))
    arguments = [n, m, k, bool(rng.integers(2)), np.empty(room, np.int64), np.empty(room), np.empty(room)]
    if rng.integers(3) == 0:
        place = int(rng.integers(len(arguments)))
        # Not more votes than fit into memory: to count them would take all of it.
        arguments[place] = min(spoilt(rng, arguments[place]), 10**6) if place == 2 else spoilt(rng, arguments[place])
    _native.neighbor_weights(*arguments)


def kernel_search(rng):
    """Search nearest rows, dense or sparse, by products, distances or in full."""
    n, width, p = _sizes(rng, 700, 40, 9)
    depth = int(rng.integers(1, n + 1))
    rows, points = numbers(rng, (n, width)), numbers(rng, (p, width))
    columns, ends, point_columns, point_ends = None, None, None, None
    if rng.integers(2):
        rows, columns, ends = _sparse(rng, rows)
        points, point_columns, point_ends = _sparse(rng, points)
    rows = rows.astype(rng.choice(["f8", "f4"]))
    words = rng.integers(0, 3, n).astype(np.uint64)
    given = [rows, columns, ends, words, points, point_columns, point_ends, width, int(rng.integers(3)), depth]
    if rng.integers(2):
        place = int(rng.integers(len(given)))
        given[place] = spoilt(rng, given[place])
    made = _native.NeighborSearch(*given)
    way = rng.integers(3)
    if way == 0:
        made.measure_all(2)
    elif way == 1:
        called(rng, made.offer_distances, numbers(rng, (p, n)), 0, 0)
    else:
        base, slack, own = (rng.random(size).astype("f4") for size in (n, n, p))
        called(rng, made.offer_products, numbers(rng, (p, n)).astype("f4"), base, slack, own, 0, 0)
    called(rng, made.finish, np.empty((p, depth), np.int32))


def _sparse(rng, dense):
    kept = rng.random(dense.shape) < 0.5
    columns = np.nonzero(kept)[1].astype(np.int32)
    ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return dense[kept], columns, ends


def _settings(rng, features):
    return {
        "entropy": bool(rng.integers(2)),
        "random": bool(rng.integers(2)),
        "max_features": int(rng.integers(1, features + 1)),
        "max_depth": int(rng.choice([0, 0, 1, 5])),
        "max_leaf_nodes": int(rng.choice([0, 0, 2, 9])),
        "min_split": float(rng.choice([2, 5])),
        "min_leaf": float(rng.choice([1, 3])),
        "split_is_share": False,
        "leaf_is_share": False,
        "min_decrease": 0.0,
    }


def kernel_grow(rng):
    """Rank a table, grow trees on bags of it, and predict with them."""
    n, features, bags = _sizes(rng, 300, 6, 5)
    wide = bool(rng.integers(2))
    values = np.round(rng.normal(size=(n, features)), int(rng.integers(3))).astype("f8" if wide else "f4")
    values[rng.random(values.shape) < 0.1] = np.nan
    keys = np.empty((features, n), "u8" if wide else "u4")
    if called(rng, _native.tree_keys, values, keys.T) >= 0:
        return
    kinds = np.full(features, 2 if wide else 1, np.uint8)
    table = called(rng, _native.TreesTable, keys, kinds)
    classes = int(rng.integers(1, 7))
    labels = rng.integers(0, classes, n).astype(np.uint16)
    rows = [rng.integers(0, n, int(rng.integers(1, n + 1))) for _ in range(bags)]
    weights = [rng.integers(1, 1000, len(some)) for some in rows] if rng.integers(2) else None
    settings = _settings(rng, features)
    if rng.integers(3) == 0:
        name = list(settings)[rng.integers(len(settings))]
        settings[name] = spoilt(rng, settings[name])
    given = [labels, classes, rows, weights, [10] * bags, list(range(bags)), settings]
    if rng.integers(3) == 0:
        place = int(rng.integers(2))
        given[place] = spoilt(rng, given[place])
    if rng.integers(4) == 0:
        rows[0] = spoilt(rng, rows[0])
    forest = table.grow(*given, _native.TreesStop())
    _predict(rng, forest, np.ascontiguousarray(keys.T))


def kernel_forest(rng):
    """Make a forest of arrays, some of them changed, and predict with it."""
    n, features = 60, 4
    keys = (3 << 30) + rng.integers(0, 1000, (features, n)).astype(np.uint32)  # of numbers; the smallest are missing
    table = _native.TreesTable(keys, np.full(features, 1, np.uint8), 1)
    rows = [rng.integers(0, n, n) for _ in range(3)]
    labels = rng.integers(0, 3, n).astype(np.uint16)
    grown = table.grow(labels, 3, rows, None, [], [1, 2, 3], _settings(rng, features), _native.TreesStop())
    arrays = {**grown.arrays(), "n_features": features, "n_classes": 3, "wide": False}
    for _ in range(rng.integers(3)):
        name = list(arrays)[rng.integers(len(arrays))]
        arrays[name] = spoilt(rng, arrays[name])
    _predict(rng, _native.TreesForest.make(**arrays), np.ascontiguousarray(keys.T))


def _predict(rng, made, keys):
    n = len(keys)
    called(rng, made.add_shares, keys, int(rng.integers(1, 4)), np.zeros((n, made.n_classes)))
    called(rng, made.put_shares, keys, np.zeros((made.n_trees, n, made.n_classes)))
    called(rng, made.leaves, keys, np.empty((n, made.n_trees), np.int64))


KERNELS = [
    kernel_select,
    kernel_entry_epsilons,
    kernel_draw,
    kernel_sum_bags,
    kernel_digest_rows,
    kernel_known_rows,
    kernel_audit,
    kernel_certify,
    kernel_weights,
    kernel_search,
    kernel_grow,
    kernel_forest,
]
