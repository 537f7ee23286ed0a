"""Splits of trees by brute force: every feature, every threshold, missing values on either side."""

import numpy as np


def weighted_impurity(labels, weights, entropy):
    """Return the impurity of some rows times their weight."""
    totals = np.array([weights[labels == c].sum() for c in np.unique(labels)])
    weight = totals.sum()
    if weight == 0:
        return 0.0
    shares = totals / weight
    return float(weight * (-(shares * np.log2(shares)).sum() if entropy else 1 - (shares**2).sum()))


def decrease(labels, weights, left, entropy):
    """Return by how much a split decreases the impurity, times the weight of the rows."""
    sides = sum(weighted_impurity(labels[side], weights[side], entropy) for side in (left, ~left))
    return weighted_impurity(labels, weights, entropy) - sides


def splits(column):
    """Yield every way to split the rows by a column: which go left."""
    missing = np.isnan(column)
    for value in np.unique(column[~missing]):
        below = column <= value
        for left in {False, True} if missing.any() else {False}:
            side = below | missing if left else below
            if 0 < side.sum() < len(side):
                yield side


def best_decrease(X, labels, weights, entropy, min_leaf=1):
    """Return the largest decrease that any split gives, or None where none is allowed."""
    found = [
        decrease(labels, weights, side, entropy)
        for column in X.T
        for side in splits(column)
        if min_leaf <= side.sum() <= len(side) - min_leaf
    ]
    return max(found, default=None)


def best_decrease_of_many(X, labels, entropy):
    """Return the same for many rows of weight 1 without limits, by counts up to each value."""
    each = labels[:, None] == np.unique(labels)
    whole, best = np.array([_impurities(each.sum(axis=0)[None], entropy)[0]]), 0.0
    for column in X.T:
        missing = np.isnan(column)
        order = np.flatnonzero(~missing)[np.argsort(column[~missing], kind="stable")]
        if not len(order):
            continue
        last = np.append(np.diff(column[order]) > 0, missing.any())  # of its value, with rows after it
        below = np.cumsum(each[order], axis=0)[last]
        for left in (below, below + each[missing].sum(axis=0)):
            right = each.sum(axis=0) - left
            held = (left.sum(axis=1) > 0) & (right.sum(axis=1) > 0)
            if held.any():
                sides = _impurities(left[held], entropy) + _impurities(right[held], entropy)
                best = max(best, float((whole - sides).max()))
    return best


def _impurities(counts, entropy):
    """Return the impurity of each row of counts, times its sum."""
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / totals
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, -shares * np.log2(shares), 0) if entropy else shares * (1 - shares)
    return totals[:, 0] * terms.sum(axis=1)


def nodes_of(tree, X):
    """Yield (node, rows that reach it) of a scikit-learn tree, and which of them go left, or None at a leaf."""
    arrays = tree.tree_
    waiting = [(0, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        child = arrays.children_left[node]
        if child < 0:
            yield node, rows, None
            continue
        values = X[rows, arrays.feature[node]]
        with np.errstate(invalid="ignore"):
            left = values <= arrays.threshold[node]
        left = np.where(np.isnan(values), bool(arrays.missing_go_to_left[node]), left)
        yield node, rows, left
        waiting += [(child, rows[left]), (arrays.children_right[node], rows[~left])]
