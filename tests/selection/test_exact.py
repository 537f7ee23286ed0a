"""Computed sets in exact arithmetic: stored numbers closer than the claimed epsilon share a label.

The pairs lie on both sides of the rules' own boundaries, a few units in the last place away from them.
"""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from steadyset._base.validation import sum_slack
from steadyset.selection import _arrays

DTYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
EACH = 400


def exact(values):
    return [Fraction(float(x)) for x in values]


def jittered(rng, rows, dtype):
    """Rows in the dtype, every entry moved by up to two units in the last place."""
    rows = np.maximum(rows, 0).astype(dtype)
    unit = rows.astype(np.float64) * float(ml_dtypes.finfo(dtype).eps)
    return np.maximum(rows.astype(np.float64) + rng.integers(-2, 3, rows.shape) * unit, 0).astype(dtype)


def split(rng, n_labels, share):
    """Rows with `share` of their mass spread over the first labels and the rest over the others."""
    a = int(rng.integers(1, n_labels))
    rows = np.empty((EACH, n_labels))
    rows[:, :a], rows[:, a:] = share / a, (1 - share) / (n_labels - a)
    return rows, np.roll(rows, a, axis=1) if 2 * a == n_labels else rows[:, ::-1]


def mass_pairs(rng, n_labels, dtype):
    tau = float(rng.choice([0.503, 0.52, 0.6, 0.75, 0.8, rng.uniform(0.5, 1)]))
    slack = 0.9 * sum_slack(dtype)
    scale = 1 + rng.uniform(-slack, slack, (EACH, 1)) * (rng.random((EACH, 1)) < 0.5)
    w, v = split(rng, n_labels, tau + rng.uniform(-0.02, 0.02) * (rng.random() < 0.3))
    return ss.MassThreshold(tau), jittered(rng, w * scale, dtype), jittered(rng, v * scale[::-1], dtype)


def ndc_pairs(rng, n_labels, dtype):
    beta = float(10 ** rng.uniform(-9, 1)) if rng.random() < 0.7 else 1.0
    a = int(rng.integers(1, n_labels))
    slack = 0.9 * sum_slack(dtype)
    w = np.ones((EACH, n_labels))
    w[:, :a] = 1 + beta**2 / a * rng.choice([1, 1.001])  # the others are S_a / (a + beta^2), or a little less
    w *= (1 - slack * rng.random((EACH, 1)) * (rng.random() < 0.5)) / w.sum(axis=1, keepdims=True)
    return ss.NDC(beta), jittered(rng, w, dtype), jittered(rng, w[:, ::-1], dtype)


def svbop_pairs(rng, n_labels, dtype):
    """Sets of a labels on the verge of taking one more: all others have rho_a times their mean."""
    alpha, beta = rule = [(1.6, 0.6), (2.2, 1.2), (1.0, float(rng.uniform(0.01, 0.66)))][int(rng.integers(3))]
    a = int(rng.integers(1, n_labels))
    slack = 0.9 * sum_slack(dtype)
    w = np.ones((EACH, n_labels))
    w[:, a:] = a * ((alpha / a - beta / a**2) / (alpha / (a + 1) - beta / (a + 1) ** 2) - 1)
    w *= (1 - slack * rng.random((EACH, 1)) * (rng.random() < 0.5)) / w.sum(axis=1, keepdims=True)
    return ss.SVBOP(rule), jittered(rng, w, dtype), jittered(rng, w[:, ::-1], dtype)


def margin_pairs(rng, n_labels, dtype, rule):
    scale = 10.0 ** rng.uniform(-3, 3)
    epsilon = scale * float(rng.uniform(0.01, 1))
    a = int(rng.integers(1, n_labels))
    w = np.full((EACH, n_labels), scale * rng.uniform(0, 1))
    w[:, :a] += epsilon * (math.sqrt(1 + 1 / a) - math.sqrt(0.5)) if rule is ss.InflatedArgmax else 0
    w[:, 0] = w[:, 1:].max(axis=1) + epsilon / math.sqrt(2) if a == 1 else w[:, 0]
    return rule(epsilon), jittered(rng, w, dtype), jittered(rng, w[:, ::-1], dtype)


PAIRS = {
    "mass threshold": mass_pairs,
    "ndc": ndc_pairs,
    "svbop": svbop_pairs,
    "inflated argmax": lambda *case: margin_pairs(*case, ss.InflatedArgmax),
    "fixed margin": lambda *case: margin_pairs(*case, ss.FixedMargin),
}


def as_torch(rule):
    """The rule on bfloat16, which NumPy's own array API does not know."""
    torch = pytest.importorskip("torch")
    return lambda w: rule(torch.tensor(w.astype(np.float64)).to(torch.bfloat16)).numpy()


def worst_violation(rule, w, v, n_labels, select):
    """Return the nearest disjoint pair that is closer than the claim, or None; and whether any came near to it."""
    sets = [select(x) for x in (w, v)]
    disjoint = np.flatnonzero(~np.any(sets[0] & sets[1], axis=-1))
    epsilon = rule.compatible_epsilon(n_labels)
    distance = np.linalg.norm(w.astype(np.float64) - v.astype(np.float64), axis=1)
    nearest = disjoint[np.argsort(distance[disjoint])[:20]]
    for i in nearest:
        square = sum((x - y) ** 2 for x, y in zip(exact(w[i]), exact(v[i]), strict=True))
        if square < Fraction(epsilon) ** 2:
            return (rule, w[i], v[i], float(square) ** 0.5, epsilon), True
    grain = 8 * float(ml_dtypes.finfo(w.dtype).eps) * float(w.max(initial=0))
    return None, bool(len(nearest)) and distance[nearest[0]] < 1.02 * epsilon + grain


def accepted(w, v, dtype):
    """Rows that the rules on probabilities take."""
    sums = np.array([x.astype(np.float64).sum(axis=1) for x in (w, v)])
    return np.all(np.abs(sums - 1) <= 0.99 * sum_slack(dtype), axis=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("engine", ["native", "array API"])
def test_stored_numbers_closer_than_the_claim_share_a_label(name, dtype, engine, monkeypatch):
    if engine == "array API":
        monkeypatch.setattr(_arrays, "is_foreign", lambda proba: True)
    rng = np.random.default_rng(5)
    came_near = 0
    for n_labels in [2] * 12 + [3, 4, 5, 6, 10, 30] * 4:
        rule, w, v = PAIRS[name](rng, n_labels, dtype)
        if name in ("mass threshold", "ndc", "svbop"):
            good = accepted(w, v, dtype)
            w, v = w[good], v[good]
        select = as_torch(rule) if engine == "array API" and dtype is ml_dtypes.bfloat16 else rule
        violation, near = worst_violation(rule, w, v, n_labels, select)
        assert violation is None, violation
        came_near += near
    assert came_near >= 2


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", PAIRS)
def test_jax_without_x64_keeps_the_claim(name, dtype):
    jnp = pytest.importorskip("jax").numpy
    rng = np.random.default_rng(6)
    for n_labels in [2] * 8 + [3, 6]:
        rule, w, v = PAIRS[name](rng, n_labels, dtype)
        if name in ("mass threshold", "ndc", "svbop"):
            good = accepted(w, v, dtype)
            if not good.any():
                continue
            w, v = (np.resize(x[good], x.shape) for x in (w, v))  # one shape: JAX compiles anew for each
        violation, _ = worst_violation(rule, w, v, n_labels, lambda x, rule=rule: np.asarray(rule(jnp.asarray(x))))
        assert violation is None, violation


def smallest_exact_set(w, tau):
    """The shortest prefix that holds tau and leaves out at most 1 - tau, with its ties, in fractions."""
    values, tau = exact(w), Fraction(tau)
    order = sorted(values, reverse=True)
    for k in range(1, len(order) + 1):
        if sum(order[:k]) >= tau and sum(order[k:]) <= 1 - tau:
            break
    return [x >= order[k - 1] for x in values]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_the_mass_is_compared_without_rounding(dtype, monkeypatch):
    rng = np.random.default_rng(7)
    cases = []
    while len(cases) < 300:
        w = rng.dirichlet(np.full(rng.integers(1, 9), 0.5))
        w = (w if rng.random() < 0.5 else np.round(w * 32) / 32).astype(dtype)
        if abs(float(w.astype(np.float64).sum()) - 1) > 0.9 * sum_slack(dtype):
            continue
        mass = float(np.cumsum(-np.sort(-w.astype(np.float64)))[rng.integers(len(w))])
        tau = rng.choice([mass, math.nextafter(mass, 0), math.nextafter(mass, 2), rng.random()])
        if 0 < tau <= 1:
            cases.append((w, float(tau)))
    assert [ss.mass_threshold(w, tau).tolist() for w, tau in cases] == [smallest_exact_set(*case) for case in cases]
    monkeypatch.setattr(_arrays, "is_foreign", lambda proba: True)
    if dtype is ml_dtypes.bfloat16:
        sets = [as_torch(ss.MassThreshold(tau))(w).tolist() for w, tau in cases]
    else:
        sets = [ss.mass_threshold(w, tau).tolist() for w, tau in cases]
    assert sets == [smallest_exact_set(*case) for case in cases]


def test_bits_far_below_the_rounding_decide(monkeypatch):
    for last, size in [(2.0**-54, 7), (2.0**-54 - 2.0**-90, 8)]:
        w = np.array([0.5, 0.25 - 2.0**-54, *[0.0625] * 4, last, 0.0])
        assert sum(exact(w)) == 1 - Fraction(2.0**-54) + Fraction(last)
        assert ss.mass_threshold(w, 1.0).sum() == size
        monkeypatch.setattr(_arrays, "is_foreign", lambda proba: True)
        assert ss.mass_threshold(w, 1.0).sum() == size
        monkeypatch.undo()


@given(st.floats(0.5, 1, exclude_min=True), st.integers(2, 10**6))
def test_the_claim_of_the_mass_threshold_is_rounded_down(tau, n_labels):
    half = n_labels // 2
    claim, square = ss.MassThreshold(tau).compatible_epsilon(n_labels), (2 * Fraction(tau) - 1) ** 2
    square *= Fraction(1, half) + Fraction(1, n_labels - half)
    assert Fraction(claim) ** 2 <= square < Fraction(math.nextafter(math.nextafter(claim, 3), 3)) ** 2


@pytest.mark.parametrize(
    ("beta", "w"),
    [
        (math.sqrt(3.3e-16), np.array([0.5, 0.5 - 2.0**-53])),  # 1 + beta^2 rounds down by a third of beta^2
        (0.2, np.array([0.4868, 0.468], np.float16)),  # a row that sums to 0.955
    ],
)
@pytest.mark.parametrize("engine", ["native", "array API"])
def test_ndc_keeps_its_claim_where_rounding_or_a_short_row_could_break_it(beta, w, engine, monkeypatch):
    square = sum((x - y) ** 2 for x, y in zip(exact(w), exact(w[::-1]), strict=True))
    assert square < Fraction(ss.NDC(beta).compatible_epsilon(2)) ** 2
    if engine == "array API":
        monkeypatch.setattr(_arrays, "is_foreign", lambda proba: True)
    assert np.any(ss.ndc(w, beta) & ss.ndc(w[::-1], beta))
