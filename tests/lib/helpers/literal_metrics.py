"""Every metric as its definition says, with Python sets and one loop; shares no code with the package."""

import math

UTILITIES = {"u65": (1.6, 0.6), "u80": (2.2, 1.2)}


def mean(values, weights):
    total = math.fsum(weights)
    if total == 0:
        return math.nan, math.nan
    m = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / total
    squares = math.fsum((w * (v - m)) ** 2 for w, v in zip(weights, values, strict=True))
    alone = sum(w > 0 for w in weights) < 2
    return m, math.nan if alone else math.sqrt(squares) / total


def correct_single(labels, sets, weights):
    return mean([float(s == {y}) for y, s in zip(labels, sets, strict=True)], weights)


def size(sets, weights):
    return mean([float(len(s)) for s in sets], weights)


def coverage(labels, sets, weights):
    return mean([float(y in s) for y, s in zip(labels, sets, strict=True)], weights)


def utility(labels, sets, weights, alpha, beta):
    earned = [(alpha / len(s) - beta / len(s) ** 2) if y in s else 0.0 for y, s in zip(labels, sets, strict=True)]
    return mean(earned, weights)


def argmax(row, classes):
    return {label for label, p in zip(classes, row, strict=True) if p == max(row)}


def superfluous_inflation(labels, sets, tops, weights):
    """The ratio, its standard error and the paper's."""
    top = bottom = 0.0
    for y, s, t, w in zip(labels, sets, tops, weights, strict=True):
        top += w * (y in t and len(s) >= 2)
        bottom += w * (y in s and len(s) >= 2)
    if bottom == 0:
        return math.nan, math.nan, math.nan
    r, squares, counted = top / bottom, 0.0, 0
    for y, s, t, w in zip(labels, sets, tops, weights, strict=True):
        a, d = y in t and len(s) >= 2, y in s and len(s) >= 2
        squares += (w * (a - r * d)) ** 2
        counted += w > 0 and (a or d)
    error = math.sqrt(squares) / bottom if counted > 1 else math.nan
    shares = [w / math.fsum(weights) for w in weights]
    paper = math.sqrt(r * (1 - r) * math.fsum(s * s for s in shares)) if r <= 1 else math.nan
    return r, error, paper


def conflicts(old, new, weights):
    return mean([float(not (a & b)) for a, b in zip(old, new, strict=True)], weights)
