"""The sort-free forms: traced by torch.compile, jax.jit and vmap, and as other devices run them."""

import os

import numpy as np
import pytest

import steadyset as ss
from helpers.golden import CASES, wrong_cases
from helpers.grid import ONE_OF_EACH_RULE, RULES_ON_SCORES, scores
from helpers.oracle import distances_over_epsilon
from steadyset.selection import _arrays, _newton

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
jnp = jax.numpy

FULL = os.environ.get("STEADYSET_TRIALS") == "full"
SOME = CASES if FULL else CASES[::60]


@pytest.fixture
def as_on_a_device(monkeypatch):
    """No array is read in place: what tensors on a GPU go through, on the CPU."""
    monkeypatch.setattr(_arrays, "is_foreign", _arrays.is_of_other_library)


def slack(n_labels, ulp):
    """How far outside its boundary, in epsilons, a label may be taken: a few times what the form rounds by."""
    return 2 * (32 + 2 * _newton._chain(n_labels)) * ulp


def check_outward(mask, w, epsilon, ulp):
    """Assert that no label of the exact set is missing, and that none is taken beyond the tolerance."""
    exact = distances_over_epsilon(w, epsilon)
    assert np.all(mask | (exact >= 1))
    assert np.all(~mask | (exact < 1 + 4 * slack(w.shape[-1], ulp)))


def test_golden_cases_as_on_a_device(as_on_a_device):
    assert wrong_cases(lambda w: torch.tensor(w, dtype=torch.float64), lambda mask: mask.numpy(), SOME) == []


def test_golden_cases_under_vmap_of_torch():
    def one_row(rule, w):
        return torch.func.vmap(rule)(w[None])[0]

    assert wrong_cases(lambda w: torch.tensor(w, dtype=torch.float64), lambda m: m.numpy(), SOME[::2], one_row) == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_changes_nothing(dtype):
    w = torch.tensor(np.random.default_rng(0).dirichlet(np.ones(40), 30), dtype=dtype)
    rules = [rule for rule in ONE_OF_EACH_RULE if not isinstance(rule, ss.NDC | ss.SVBOP | ss.MassThreshold)]
    plain = [torch.func.vmap(rule)(w) for rule in rules]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert all(torch.equal(torch.func.vmap(r)(w), p) for r, p in zip(rules, plain, strict=True))
        assert all(torch.equal(rule(w), p) for rule, p in zip(rules, plain, strict=True))


@pytest.mark.parametrize("x64", [True, False])
def test_jax_traced(x64):
    w = np.random.default_rng(20).multinomial(64, np.full(7, 1 / 7), 40) / 64
    with jax.enable_x64(x64):
        for rule in ONE_OF_EACH_RULE:
            assert np.array_equal(np.asarray(jax.jit(jax.vmap(rule) if x64 else rule)(jnp.asarray(w))), rule(w)), rule


CONFORMAL = ["conformal LAC 0.9", "conformal APS 0.9", "conformal APS 0.9 + inflated argmax"]


@pytest.mark.parametrize("rule", ["argmax", "inflated argmax", "fixed margin", "top 2", *CONFORMAL, "path"])
def test_torch_traces_whole_graphs(rule):
    functions = {rule.display_name: rule for rule in ONE_OF_EACH_RULE} | {"path": ss.entry_epsilons}
    w = torch.tensor(np.random.default_rng(1).dirichlet(np.ones(9), 30))
    got = torch.compile(functions[rule], fullgraph=True, backend="eager", dynamic=False)(w)
    assert torch.allclose(got.double(), functions[rule](w).double(), rtol=1e-12)


@pytest.mark.parametrize("layout", ["transposed", "vmap"])
def test_torch_compiles_any_strides(layout):
    """What its compiler is made to store keeps the strides that it has."""
    rule = ss.InflatedArgmax(0.3)
    w = torch.tensor(np.random.default_rng(3).dirichlet(np.ones(9), 24), dtype=torch.float32)
    function = torch.func.vmap(lambda row: rule(row)) if layout == "vmap" else rule
    w = w.T.contiguous().T if layout == "transposed" else w
    torch.compiler.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=False)
    assert torch.equal(compiled(w), rule(w))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_bisection_ends_at_the_entries(dtype, as_on_a_device):
    """Rows full of ties, in which entries lie exactly at the threshold."""
    rng = np.random.default_rng(2)
    w = np.concatenate([rng.multinomial(16, np.full(5, 0.2), 60), [[8, 4, 4, 0, 0], [8, 8, 0, 0, 0]]]) / 16
    for rule in ONE_OF_EACH_RULE[3:]:
        assert np.array_equal(rule(torch.tensor(w, dtype=dtype)).numpy(), rule(w)), rule


@pytest.mark.trial
@pytest.mark.skipif(not FULL, reason="torch unrolls every pass of the bisection, for which it takes long")
@pytest.mark.parametrize("rule", ONE_OF_EACH_RULE[4:], ids=repr)
def test_torch_traces_rules_on_probabilities(rule):
    w = torch.tensor(np.random.default_rng(2).multinomial(16, np.full(5, 0.2), 20) / 16, dtype=torch.float16)
    assert torch.equal(torch.compile(rule, fullgraph=True, backend="eager", dynamic=False)(w), rule(w))


@pytest.mark.parametrize("n_labels", [1, 2, 31, 64, 65, 127, 128, 513, 1000])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rounded_outward(n_labels, dtype, as_on_a_device):
    rng = np.random.default_rng(n_labels)
    ulp = torch.finfo(dtype).eps
    for epsilon in (1e-3, 0.05, 1.0):
        for spread in (0.3, 1.5, 20.0):
            w = torch.tensor(rng.uniform(-spread, 0, (20, n_labels)) * epsilon, dtype=dtype)
            check_outward(ss.inflated_argmax(w, epsilon).numpy(), w.double().numpy(), epsilon, ulp)
            assert torch.all(ss.fixed_margin(w, epsilon) >= ss.inflated_argmax(w, epsilon))


def steep_rows(n_labels):
    """Rows that make Newton steps drop half of the entries each: alone, four times over, and in any order."""
    n_atoms = n_labels.bit_length()
    sizes = np.maximum(1, n_labels >> np.arange(1, n_atoms + 1))
    atoms = np.repeat(-0.7071 + 0.7071 / n_atoms * np.arange(n_atoms) + 1e-9, sizes)[:n_labels]
    steep = np.full(n_labels, -9.0)
    steep[: len(atoms)] = atoms
    rng = np.random.default_rng(n_labels)
    quarter = np.sort(-(rng.random(-(-n_labels // 4)) ** 3))
    return np.array(
        [
            steep,
            steep[::-1],
            np.append(np.full(n_labels - 3, -9.0), [0.0, -0.6, -0.69]),  # beyond the last whole group
            rng.permutation(steep),
            np.tile(quarter, 4)[:n_labels],
            np.repeat(quarter, 4)[:n_labels],
            -0.75 * rng.random(n_labels),
            -0.7 / np.log(n_labels + 1) * rng.exponential(size=n_labels),
            -0.75 * rng.random(n_labels) ** 8,
            -(10.0 ** rng.uniform(-12, 0, n_labels)),
            *(rng.permutation(few_values(rng, n_labels)) for _ in range(2 + 20 * (n_labels < 999))),
        ]
    )


def few_values(rng, n_labels):
    """Up to a dozen values, of which some are taken by many entries and others by few."""
    n_values = rng.integers(1, 13)
    counts = rng.multinomial(n_labels, rng.dirichlet(np.full(n_values, rng.choice([0.1, 0.5, 1.0]))))
    return np.repeat(-0.8 * rng.random(n_values), counts)


@pytest.mark.parametrize("n_labels", [5, 10, 30, 130, 200, 600, 1000, 5000, *([100_000, 1_000_000] if FULL else [])])
@pytest.mark.parametrize("bits", [64, 32])
def test_the_steps_suffice(n_labels, bits):
    """The bound is below the exact one, and by no more than the sums are rounded by."""
    dtype = np.dtype(f"float{bits}")
    u = steep_rows(n_labels)
    u = (u - u.max(axis=-1, keepdims=True)).astype(dtype)
    found = _arrays.Scores(np, u, float(np.finfo(dtype).eps), 53, 2.0**-126, False)
    bound = _newton.inflated_bound(found, _newton.Row(np, u))[:, 0]
    passes = _newton.Row(np, u, np.zeros_like(u[:, :1]))  # as XLA has them
    assert np.allclose(_newton.inflated_bound(found, passes)[:, 0], bound, rtol=0, atol=slack(n_labels, found.ulp))
    row = u.astype(np.longdouble)
    low, high = -np.ones((len(u), 1), np.longdouble), np.zeros((len(u), 1), np.longdouble)
    for _ in range(70):
        c = (low + high) / 2
        over = np.maximum(row - c, 0)
        over = (over.sum(axis=1) ** 2 + (over**2).sum(axis=1) > 1)[:, None]
        low, high = np.where(over, c, low), np.where(over, high, c)
    exact = low[:, 0] + np.sqrt(np.longdouble(0.5)) - np.maximum(row - low, 0).sum(axis=1)
    assert np.all(bound <= exact)
    assert np.all(bound >= exact - 2 * slack(n_labels, found.ulp))


def test_other_rows_and_shapes_as_on_a_device(as_on_a_device):
    for w in scores()[1:9:3]:
        for rule in RULES_ON_SCORES:
            mask = rule(torch.tensor(w)).numpy()
            if isinstance(rule, ss.InflatedArgmax) and rule.epsilon > 0:
                check_outward(mask, w, rule.epsilon, 2.0**-52)
            else:
                assert np.array_equal(mask, rule(w))
    for shape in [(1,), (0, 3), (2, 0, 3), (4, 1), (2, 3, 5), (0, 200)]:
        w = np.full(shape, 1 / shape[-1])
        for rule in ONE_OF_EACH_RULE:
            if not isinstance(rule, ss.TopK) or shape[-1] >= 2:
                assert np.array_equal(rule(torch.tensor(w)).numpy(), rule(w))


def test_what_nan_does_under_tracing():
    w = jnp.asarray([[0.5, np.nan, 0.5], [0.5, 0.25, 0.25]])
    for rule in ONE_OF_EACH_RULE[:3]:
        assert np.asarray(jax.jit(rule)(w)).sum(axis=1).tolist() == [0, 1]
        assert torch.func.vmap(rule)(torch.tensor(np.asarray(w))).sum(1).tolist() == [0, 1]
    for rule in ONE_OF_EACH_RULE[4:]:
        assert np.asarray(jax.jit(rule)(w))[0].tolist() == [True, False, True]


@pytest.mark.trial
def test_many_rows_and_close_pairs():
    """jax.jit and vmap of torch on rows of float32: nothing missing, nothing beyond the tolerance, close rows share."""
    n, rng = 100_000 if FULL else 2_000, np.random.default_rng(7)
    for n_labels in (3, 50):
        rule = ss.InflatedArgmax(0.1)
        jitted = jax.jit(rule)
        w = rng.dirichlet(np.full(n_labels, 0.7), n).astype(np.float32)
        move = rng.standard_normal(w.shape)
        v = (w + 0.0999 * move / np.linalg.norm(move, axis=1, keepdims=True)).astype(np.float32)
        native = rule(w)
        for one, other in (
            (np.asarray(jitted(w)), np.asarray(jitted(v))),
            (torch.func.vmap(rule)(torch.tensor(w)).numpy(), torch.func.vmap(rule)(torch.tensor(v)).numpy()),
        ):
            assert np.all(one >= native)
            odd = np.flatnonzero((one != native).any(axis=1))
            if len(odd):
                check_outward(one[odd], w[odd].astype(np.float64), 0.1, 2.0**-23)
            assert np.all((one & other).any(axis=1))
