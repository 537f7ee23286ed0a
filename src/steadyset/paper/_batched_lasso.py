"""The LASSO on many bags of one small table at once: the minimisers to rounding, not to a tolerance.

A loop over scikit-learn's Lasso takes hours for two million fits, and its default tolerance leaves supports undecided
where features are nearly equal.
"""

import numpy as np
from numpy.typing import NDArray

_SWEEPS = 30  # of coordinate descent between two looks at the optimality conditions
_ROUNDS = 200
_SLACK = 1e-9  # relative to the penalty


def supports(
    X: NDArray[np.float64], y: NDArray[np.float64], members: NDArray[np.bool_], penalty: float
) -> NDArray[np.bool_]:
    """Return which features the LASSO with an intercept keeps in each bag, as (bags, features).

    It minimises ||y - Xw - b||^2 / (2m) + penalty ||w||_1 over the m rows of a bag. Coordinate descent runs over all
    bags side by side; where the support that it reached solves the optimality conditions exactly, a bag is done.
    """
    gram, target = _moments(X, y, members)
    n_bags, d = target.shape
    found, w = np.zeros((n_bags, d), bool), np.zeros((n_bags, d))
    left = np.arange(n_bags)
    for _ in range(_ROUNDS):
        w = _descend(gram, target, w, penalty)
        solved = _solved(gram, target, w, penalty)
        found[left[solved]] = w[solved] != 0
        if solved.all():
            return found
        gram, target, w, left = gram[~solved], target[~solved], w[~solved], left[~solved]
    raise RuntimeError(f"the LASSO did not settle in {len(left)} of {n_bags} bags.")


def _moments(
    X: NDArray[np.float64], y: NDArray[np.float64], members: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the covariances of the features, and of features and target, in each bag."""
    columns = np.column_stack([X, y])
    columns = columns - columns.mean(axis=0)
    n, width = columns.shape
    inside = members.astype(np.float64)
    size = inside.sum(axis=1)[:, None]
    products = inside @ (columns[:, :, None] * columns[:, None, :]).reshape(n, -1) / size
    means = inside @ columns / size
    covariances = products.reshape(-1, width, width) - means[:, :, None] * means[:, None, :]
    return np.ascontiguousarray(covariances[:, :-1, :-1]), np.ascontiguousarray(covariances[:, :-1, -1])


def _descend(
    gram: NDArray[np.float64], target: NDArray[np.float64], w: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    """Return the weights after some sweeps of coordinate descent; arrays run over the bags last, as the loops do."""
    G, w = np.ascontiguousarray(gram.transpose(1, 2, 0)), np.ascontiguousarray(w.T)
    q = target.T - np.einsum("jkb,kb->jb", G, w)  # what the residual leaves of each feature's target
    for _ in range(_SWEEPS):
        for j in range(len(w)):
            rho = q[j] + G[j, j] * w[j]
            step = np.sign(rho) * np.maximum(np.abs(rho) - penalty, 0.0) / G[j, j] - w[j]
            moved = np.flatnonzero(step)
            if len(moved) == 0:
                continue
            if 2 * len(moved) < len(step):
                q[:, moved] -= G[j][:, moved] * step[moved]
            else:
                q -= G[j] * step
            w[j] += step
            w[j, np.abs(w[j]) < 1e-15] = 0.0
    return np.ascontiguousarray(w.T)


def _solved(
    gram: NDArray[np.float64], target: NDArray[np.float64], w: NDArray[np.float64], penalty: float
) -> NDArray[np.bool_]:
    """Return in which bags the support and signs of w are those of the minimiser.

    On the support, G w = target - penalty sign(w) has to give the same signs; elsewhere |target - G w| <= penalty.
    """
    solved = np.zeros(len(w), bool)
    patterns, members = np.unique(w != 0, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        bags, active = np.flatnonzero(members.ravel() == number), np.flatnonzero(pattern)
        signs = np.sign(w[np.ix_(bags, active)])
        exact = np.zeros((len(bags), w.shape[1]))
        right = target[np.ix_(bags, active)] - penalty * signs
        exact[:, active] = np.linalg.solve(gram[np.ix_(bags, active, active)], right[:, :, None])[:, :, 0]
        rest = target[bags] - np.einsum("bjk,bk->bj", gram[bags], exact)
        same = (np.sign(exact[:, active]) == signs).all(axis=1)
        solved[bags] = same & (np.abs(rest[:, ~pattern]) <= penalty * (1 + _SLACK)).all(axis=1)
    return solved
