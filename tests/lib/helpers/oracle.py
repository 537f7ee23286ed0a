"""Slow, literal definitions to test the kernels against. They share no code and no formula with them."""

import numpy as np

INV_SQRT2 = 1 / np.sqrt(np.longdouble(2))


def distances_over_epsilon(w: np.ndarray, epsilon: float) -> np.ndarray:
    """dist(w, R_j) / epsilon for rows w of shape (n, L), by the paper's projection lemma, in extended precision.

    The projection of w on R_j is (a + h at j, min(a, w_k) elsewhere), where a solves
    w_j = a + h - sum_{k != j} (w_k - a)_+.
    """
    w = np.asarray(w, dtype=np.longdouble)
    n, n_labels = w.shape
    u = (w - w.max(axis=1, keepdims=True)) / np.longdouble(epsilon)
    u = np.maximum(u, np.longdouble(-1e6))  # R_j is then farther than epsilon in any case
    out = np.empty_like(u)
    order = np.argsort(-u, axis=1)
    descending, place = np.take_along_axis(u, order, axis=1), np.argsort(order, axis=1)
    for j in range(n_labels):
        behind = np.arange(n_labels - 1) >= place[:, [j]]
        others = np.where(behind, descending[:, 1:], descending[:, :-1])  # all but u_j, largest first
        # With the q largest others above a: a = (u_j - 1/sqrt 2 + their sum) / (1 + q). The right-hand side of the
        # lemma's equation rises with a, so that the right q is the number of others whose own value is above a.
        sums = np.concatenate([np.zeros((n, 1), np.longdouble), np.cumsum(others, axis=1)], axis=1)
        roots = (u[:, [j]] - INV_SQRT2 + sums) / (1 + np.arange(n_labels, dtype=np.longdouble))
        q = (others > roots[:, : n_labels - 1]).sum(axis=1) if n_labels > 1 else np.zeros(n, int)
        a = np.take_along_axis(roots, q[:, None], axis=1)[:, 0]
        lowered = np.maximum(others - a[:, None], 0)
        # On R_j itself the projection is w, and a may lie below w_j - h.
        raised = a + INV_SQRT2 - u[:, j]
        out[:, j] = np.sqrt(np.maximum(raised, 0) ** 2 + (lowered**2).sum(axis=1))
        inside = u[:, j] >= (others[:, 0] if n_labels > 1 else -np.inf) + INV_SQRT2
        out[inside, j] = 0
    return out


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
