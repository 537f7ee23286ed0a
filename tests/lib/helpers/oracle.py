"""Slow, literal definitions to test the kernels against. They share no code and no formula with them."""

import numpy as np

INV_SQRT2 = 1 / np.sqrt(np.longdouble(2))


def distances_over_epsilon(w: np.ndarray, epsilon: float, beyond: float = np.inf) -> np.ndarray:
    """dist(w, R_j) / epsilon for rows w of shape (n, L), by the paper's projection lemma, in extended precision.

    The projection of w on R_j is (a + h at j, min(a, w_k) elsewhere), where a solves
    w_j = a + h - sum_{k != j} (w_k - a)_+. R_j lies in the half-space {v : v_j >= v_k + h} of a largest w_k, so that
    its distance is at least (w_k - w_j + h) / sqrt 2: where that is more than `beyond`, it stands for the distance.
    """
    w = np.asarray(w, dtype=np.longdouble)
    n_labels = w.shape[1]
    u = (w - w.max(axis=1, keepdims=True)) / np.longdouble(epsilon)
    u = np.maximum(u, np.longdouble(-1e6))  # R_j is then farther than epsilon in any case
    order = np.argsort(-u, axis=1)
    descending = np.take_along_axis(u, order, axis=1)
    found = (INV_SQRT2 - descending) * INV_SQRT2  # of the half-space of the largest entry
    for rank in range(n_labels):
        near = np.flatnonzero((found[:, rank] <= beyond) | (rank == 0))
        if len(near) == 0:
            break
        found[near, rank] = _distances_of_rank(descending[near], rank)
    out = np.empty_like(u)
    np.put_along_axis(out, order, found, axis=1)
    return out


def _distances_of_rank(descending: np.ndarray, rank: int) -> np.ndarray:
    """The distances from rows of falling numbers to R_j, where j is the label of this rank."""
    n, n_labels = descending.shape
    own, others = descending[:, rank], np.delete(descending, rank, axis=1)
    # With the q largest others above a: a = (u_j - 1/sqrt 2 + their sum) / (1 + q). The right-hand side of the
    # lemma's equation rises with a, so that the right q is the number of others whose own value is above a.
    sums = np.concatenate([np.zeros((n, 1), np.longdouble), np.cumsum(others, axis=1)], axis=1)
    roots = (own[:, None] - INV_SQRT2 + sums) / (1 + np.arange(n_labels, dtype=np.longdouble))
    q = (others > roots[:, : n_labels - 1]).sum(axis=1) if n_labels > 1 else np.zeros(n, int)
    a = np.take_along_axis(roots, q[:, None], axis=1)[:, 0]
    lowered = np.maximum(others - a[:, None], 0)
    raised = a + INV_SQRT2 - own
    # On R_j itself the projection is w, and a may lie below w_j - h.
    inside = own >= (others[:, 0] if n_labels > 1 else -np.inf) + INV_SQRT2
    return np.where(inside, 0, np.sqrt(np.maximum(raised, 0) ** 2 + (lowered**2).sum(axis=1)))


def c_and_t(w: np.ndarray, epsilon: float) -> tuple[float, float]:
    """c_eps(w) and t_eps(w) of the paper's characterisation, by bisection in extended precision."""
    w = np.asarray(w, dtype=np.longdouble)
    eps = np.longdouble(epsilon)
    low, high = w.max() - eps, w.max()
    for _ in range(200):
        middle = (low + high) / 2
        positive = np.maximum(w - middle, 0)
        if positive.sum() ** 2 + (positive**2).sum() > eps**2:
            low = middle
        else:
            high = middle
    c = (low + high) / 2
    return c, c + eps * INV_SQRT2 - np.maximum(w - c, 0).sum()


def random_problem(rng: np.random.Generator, n_rows: int, max_labels: int = 1000) -> tuple[np.ndarray, float]:
    """Rows of one length and an epsilon, over the shapes that break naive code."""
    n_labels = int(np.exp(rng.uniform(0, np.log(max_labels + 0.999))))
    kind = rng.integers(6)
    epsilon = 10.0 ** rng.uniform(-300, 3) if rng.random() < 0.3 else 10.0 ** rng.uniform(-6, 1)
    if kind == 0:
        w = rng.dirichlet(np.ones(n_labels), n_rows)
    elif kind == 1:
        w = rng.standard_normal((n_rows, n_labels)) * 10.0 ** rng.uniform(-3, 3)
    elif kind == 2:  # heavy ties
        w = rng.integers(0, rng.integers(1, 6), (n_rows, n_labels)) / 7.0
    elif kind == 3:  # a large offset
        w = rng.uniform(0, 1, (n_rows, n_labels)) + rng.choice([-1, 1]) * 10.0 ** rng.uniform(0, 6)
    elif kind == 4:  # everything near the top, on epsilon's own scale
        w = rng.uniform(-1, 0, (n_rows, n_labels)) * epsilon + (0 if rng.random() < 0.5 else 1)
    else:  # few near the top, ties among them
        w = rng.dirichlet(np.full(n_labels, 0.05), n_rows).round(rng.integers(2, 17))
    return np.ascontiguousarray(w), float(epsilon)
