"""Native code, the array API on NumPy, torch and JAX agree on one grid; so do all dtypes, layouts and levels."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import steadyset as ss
from helpers.grid import RULES_ON_PROBABILITIES, RULES_ON_SCORES, probabilities, scores
from helpers.oracle import distances_over_epsilon
from steadyset import _native
from steadyset.selection import _arrays

CASES = [(rule, w) for rule in RULES_ON_SCORES for w in scores()]
CASES += [(rule, w) for rule in RULES_ON_PROBABILITIES for w in probabilities()]


def undecided(rule, w):
    """Entries so close to the rule's boundary that implementations may round them differently."""
    if isinstance(rule, ss.InflatedArgmax | ss.InflatedTopK | ss.FixedMargin) and rule.epsilon > 0:
        if isinstance(rule, ss.FixedMargin):
            return np.abs((w.max(axis=-1, keepdims=True) - w) / rule.epsilon - np.sqrt(0.5)) < 1e-12
        return np.abs(distances_over_epsilon(w, rule.epsilon) - 1) < 1e-12
    return np.zeros(w.shape, bool)


def differ(rule, w, one, other):
    return not np.array_equal(one, other) and np.any((one != other) & ~undecided(rule, w))


def disagreements(cases, convert, back):
    wrong = []
    for rule, w in cases:
        native, other = rule(w), back(rule(convert(w)))
        assert other.shape == w.shape
        if differ(rule, w, native, other):
            wrong.append((rule, w.shape))
    return wrong


def test_array_api_on_numpy(monkeypatch):
    native = [rule(w) for rule, w in CASES]
    entries = [ss.entry_epsilons(w) for w in scores()]
    monkeypatch.setattr(_arrays, "is_foreign", lambda proba: True)
    wrong = [
        (rule, w.shape) for (rule, w), expected in zip(CASES, native, strict=True) if differ(rule, w, expected, rule(w))
    ]
    assert wrong == []
    for w, expected in zip(scores(), entries, strict=True):
        assert ss.entry_epsilons(w) == pytest.approx(expected, rel=1e-10, abs=1e-300)


def test_torch():
    torch = pytest.importorskip("torch")
    assert disagreements(CASES, torch.tensor, lambda mask: mask.numpy()) == []
    for w in scores():
        got = ss.entry_epsilons(torch.tensor(w))
        assert isinstance(got, torch.Tensor)
        assert got.numpy() == pytest.approx(ss.entry_epsilons(w), rel=1e-10, abs=1e-300)


def test_jax():
    """Every rule, on arrays of three shapes: JAX compiles anew for each. The golden cases have ten other ones."""
    jax = pytest.importorskip("jax")
    shapes = {(4, 4), (40, 10), (30, 33)}
    cases = [(rule, w) for rule, w in CASES if w.shape in shapes]
    assert {w.shape for _, w in cases} == shapes
    assert {rule for rule, _ in cases} == {*RULES_ON_SCORES, *RULES_ON_PROBABILITIES}
    with jax.enable_x64(True):
        assert disagreements(cases, jax.numpy.asarray, np.asarray) == []
        for w in (w for w in scores() if w.shape in shapes | {(3, 1000)}):
            got = ss.entry_epsilons(jax.numpy.asarray(w))
            assert isinstance(got, jax.Array)
            assert np.asarray(got) == pytest.approx(ss.entry_epsilons(w), rel=1e-10, abs=1e-300)


def test_jax_under_tracing():
    jax = pytest.importorskip("jax")
    w = np.random.default_rng(0).dirichlet(np.ones(7), 20)
    with jax.enable_x64(True):
        for rule in (
            ss.Argmax(),
            ss.InflatedArgmax(0.1),
            ss.FixedMargin(0.1),
            ss.TopK(2),
            ss.MassThreshold(0.8),
            ss.NDC(),
            ss.SVBOP(),
        ):
            assert np.array_equal(np.asarray(jax.jit(rule)(w)), rule(w))
        assert np.asarray(jax.jit(ss.entry_epsilons)(w)) == pytest.approx(ss.entry_epsilons(w), rel=1e-10)


def test_jax_without_x64_rounds_outward():
    jax = pytest.importorskip("jax")
    w = np.random.default_rng(1).dirichlet(np.ones(6), 500).astype(np.float32)
    narrow = np.asarray(ss.inflated_argmax(jax.numpy.asarray(w), 0.1))
    assert np.all(narrow >= (distances_over_epsilon(w, 0.1) < 1))
    assert np.all(narrow <= (distances_over_epsilon(w, 0.1 * (1 + 1e-4)) < 1))
    assert 500 < narrow.sum() < 3000


def test_torch_gradients_and_widths():
    torch = pytest.importorskip("torch")
    w = torch.rand(4, 5, requires_grad=True)
    assert ss.inflated_argmax(w, 0.1).dtype == torch.bool
    assert np.array_equal(ss.inflated_argmax(w, 0.1).numpy(), ss.inflated_argmax(w.detach().numpy(), 0.1))
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int64, torch.uint8, torch.bool):
        narrow = (torch.rand(30, 6) * 3).to(dtype)
        wide = narrow.to(torch.float64).numpy()
        assert np.array_equal(ss.inflated_argmax(narrow, 0.7).numpy(), ss.inflated_argmax(wide, 0.7))


@pytest.mark.parametrize("rule", RULES_ON_SCORES + RULES_ON_PROBABILITIES, ids=repr)
def test_levels_agree_to_the_bit(rule):
    grid = probabilities() if rule in RULES_ON_PROBABILITIES else scores()
    before = _native.isa()
    try:
        masks = []
        for level in _native.isa_levels():
            _native.use_isa(level)
            masks.append([rule(w) for w in grid] + [rule(w.astype(np.float32)) for w in grid])
    finally:
        _native.use_isa(before)
    for other in masks[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(masks[0], other, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("n_labels", [1, 3, 10, 47, 48, 49, 200])
def test_narrow_floats_are_widened_before_the_shift(dtype, n_labels, isa):
    rng = np.random.default_rng(n_labels)
    w = (rng.standard_normal((50, n_labels)) * 2).astype(dtype)
    for epsilon in (0.01, 0.3, 2.0):
        for rule in (ss.inflated_argmax, ss.fixed_margin):
            assert np.array_equal(rule(w, epsilon), rule(w.astype(np.float64), epsilon))
    assert np.array_equal(ss.argmax_set(w), ss.argmax_set(w.astype(np.float64)))
    assert np.array_equal(ss.top_k(w, max(1, n_labels // 2)), ss.top_k(w.astype(np.float64), max(1, n_labels // 2)))
    assert np.array_equal(ss.entry_epsilons(w), ss.entry_epsilons(w.astype(np.float64)))


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_]
)
def test_integers(dtype):
    w = np.random.default_rng(3).integers(0, 2 if dtype == np.bool_ else 9, (40, 5)).astype(dtype)
    for epsilon in (0.5, 2.0, 5.0):
        assert np.array_equal(ss.inflated_argmax(w, epsilon), ss.inflated_argmax(w.astype(np.float64), epsilon))
    assert np.array_equal(ss.entry_epsilons(w), ss.entry_epsilons(w.astype(np.float64)))


def test_large_integers_stay_apart():
    w = np.array([2**53, 2**53 + 1, 2**53 - 1])
    assert ss.argmax_set(w).tolist() == [False, True, False]
    assert ss.inflated_argmax(w, 1.5).tolist() == [True, True, False]
    extremes = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert ss.inflated_argmax(extremes, 1.0).tolist() == [False, True]


def test_any_leading_shape_and_layout(isa):
    rng = np.random.default_rng(4)
    base = rng.dirichlet(np.ones(6), (4, 5))
    expected = ss.inflated_argmax(base, 0.2)
    flat = np.array([ss.inflated_argmax(row, 0.2) for row in base.reshape(-1, 6)]).reshape(base.shape)
    assert np.array_equal(expected, flat)
    big = np.zeros((8, 10, 12))
    big[::2, ::2, ::2] = base
    byte_shifted = np.empty(base.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(base.shape)
    byte_shifted[...] = base
    read_only = base.copy()
    read_only.flags.writeable = False
    layouts = [
        np.asfortranarray(base),
        big[::2, ::2, ::2],
        base[::-1, :, ::-1][::-1, :, ::-1],
        base.transpose(2, 0, 1).copy().transpose(1, 2, 0),
        base.astype(">f8"),
        byte_shifted,
        read_only,
    ]
    for layout in layouts:
        for rule in (ss.InflatedArgmax(0.2), ss.MassThreshold(0.7)):
            assert np.array_equal(rule(layout), rule(base))
    assert np.array_equal(ss.inflated_argmax(base.tolist(), 0.2), expected)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (0, 1)])
def test_zero_rows(shape):
    empty = np.empty(shape)
    for rule in (ss.Argmax(), ss.InflatedArgmax(), ss.TopK(1), ss.MassThreshold(), ss.NDC(), ss.SVBOP()):
        assert rule(empty).shape == shape
        assert rule(empty).dtype == bool
    assert ss.entry_epsilons(empty).shape == shape
    assert ss.stability_radius(empty, ss.InflatedArgmax()).shape == shape[:-1]


@pytest.mark.parametrize("epsilon", [0, 0.0, 5e-324, 1e-310, 1e308, float("inf"), np.float32(0.1), np.float64(0.1), 1])
def test_extreme_epsilons(epsilon):
    w = np.array([[0.2, 0.2, 0.6], [1.0, 1.0, 1.0], [0.3, 0.3, 0.4]])
    sets = ss.inflated_argmax(w, epsilon)
    assert np.all(sets >= ss.argmax_set(w))
    assert np.all(ss.fixed_margin(w, epsilon) >= sets)
    epsilon = float(epsilon)
    if epsilon < 1e-300:
        assert np.array_equal(sets, ss.argmax_set(w))
    if epsilon > 1e300:
        assert sets.all()


def test_ties_go_to_the_lower_index():
    assert ss.top_k([0.25, 0.25, 0.25, 0.25], 2).tolist() == [True, True, False, False]
    assert ss.svbop([0.6, 0.2, 0.2], "u80").tolist() == [True, True, False]
    assert ss.mass_threshold([0.4, 0.3, 0.3], 0.5).tolist() == [True, True, True]


def test_the_mass_threshold_takes_the_numbers_as_they_are_stored():
    assert sum(map(Fraction, (0.7, 0.1))) < Fraction(0.8)
    assert ss.mass_threshold([0.7, 0.1, 0.1, 0.1], 0.8).sum() == 4  # all three tie
    assert ss.mass_threshold([0.7, 0.1, 0.12, 0.08], 0.8).tolist() == [True, False, True, False]
    assert ss.mass_threshold([0.7, 0.1, 0.09, 0.11], 0.8 - 1e-15).tolist() == [True, False, False, True]
    assert ss.mass_threshold([0.7, 0.1, 0.09, 0.06, 0.05], 0.8).tolist() == [True, True, True, False, False]
    assert ss.mass_threshold([0.7, 0.1, 0.09, 0.06, 0.05], 0.8 - 1e-15).tolist() == [True, True, False, False, False]
    assert ss.mass_threshold(np.full(1000, 0.001), 0.8).all()
    narrow = np.array([0.5005, 0.4995], np.float16)  # 0.503 is out of reach of either alone
    assert ss.mass_threshold(narrow, 0.503).all()
