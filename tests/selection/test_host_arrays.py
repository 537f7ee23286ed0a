"""Arrays of torch and JAX on the CPU reach the native kernels without a copy and come back as their own kind."""

import numpy as np
import pytest

import steadyset as ss
from helpers.grid import ONE_OF_EACH_RULE
from steadyset.selection import _arrays, _host

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
jnp = jax.numpy

FLOATS = ("float64", "float32", "float16", "bfloat16")


def rows(*shape):
    """Probabilities in eighths, which every float holds exactly: ties, and sums of exactly 1."""
    rng = np.random.default_rng(shape)
    return rng.multinomial(8, np.full(shape[-1], 1 / shape[-1]), shape[:-1]) / 8


def answers(proba):
    return [rule(proba) for rule in ONE_OF_EACH_RULE] + [ss.entry_epsilons(proba)]


def layouts(tensor):
    """The same numbers in memory of other strides."""
    wide = torch.zeros(2 * tensor.shape[0], 3 * tensor.shape[1], dtype=tensor.dtype)
    wide[::2, 1::3] = tensor
    return [tensor, tensor.T.contiguous().T, wide[::2, 1::3], torch.stack([tensor, tensor])[1]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_torch_tensors_of_any_layout(dtype):
    w = rows(12, 7)
    expected = answers(w)
    for tensor in layouts(torch.tensor(w, dtype=getattr(torch, dtype))):
        view = _host.host_view(tensor)
        assert view.values.ctypes.data == tensor.data_ptr()
        assert not _arrays.is_foreign(tensor)
        for given in (tensor, tensor.clone().requires_grad_(), torch.nn.Parameter(tensor)):
            got = answers(given)
            assert all(type(answer) is torch.Tensor and not answer.requires_grad for answer in got)
            assert all(np.array_equal(a.numpy(), e) for a, e in zip(got, expected, strict=True))


@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
def test_jax_arrays(dtype, x64):
    w = rows(12, 7)
    expected = answers(w)
    with jax.enable_x64(x64):
        array = jnp.asarray(w, dtype=dtype if x64 or dtype != "float64" else "float32")
        assert _host.host_view(array).values.ctypes.data == array.unsafe_buffer_pointer()
        got = answers(array)
        assert all(isinstance(answer, jax.Array) and answer.devices() == array.devices() for answer in got)
        assert got[-1].dtype == (jnp.float64 if x64 else jnp.float32)
        for answer, other in zip(got, expected, strict=True):
            assert np.array_equal(np.asarray(answer), other.astype(np.asarray(answer).dtype))


def test_masks_are_handed_over_without_a_copy():
    mask = _host.empty((50, 40), np.bool_)
    mask[...] = True
    assert mask.ctypes.data % 64 == 0
    tensor = _host.host_view(torch.zeros(1)).own_kind(mask)
    array = _host.host_view(jnp.zeros(1)).own_kind(mask)
    assert tensor.data_ptr() == array.unsafe_buffer_pointer() == mask.ctypes.data


@pytest.mark.parametrize("shape", [(1,), (5,), (0, 3), (2, 0, 3), (0, 1), (4, 1), (2, 3, 4, 5)])
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_shapes(shape, library):
    w = rows(*shape)
    proba = torch.tensor(w) if library == "torch" else jnp.asarray(w, dtype="float32")
    for rule in ONE_OF_EACH_RULE:
        if not isinstance(rule, ss.TopK) or shape[-1] >= 2:
            assert np.array_equal(np.asarray(rule(proba)), rule(w))
    assert ss.entry_epsilons(proba).shape == shape


def test_integers_of_torch_and_jax():
    w = np.random.default_rng(3).integers(0, 9, (40, 5))
    for name in ("int8", "int16", "int32", "int64", "uint8", "bool"):
        proba = (w > 4 if name == "bool" else w).astype(name)
        expected = ss.inflated_argmax(proba, 2.0)
        assert np.array_equal(ss.inflated_argmax(torch.tensor(proba), 2.0).numpy(), expected)
        with jax.enable_x64(True):
            assert np.array_equal(np.asarray(ss.inflated_argmax(jnp.asarray(proba), 2.0)), expected)


def test_what_has_no_values_here_has_no_view():
    assert _host.host_view(torch.zeros(2, 3, device="meta")) is None
    assert _host.host_view(torch.zeros(2, 3).to_sparse()) is None
    assert _host.host_view([0.5, 0.5]) is None
    seen = []
    torch.func.vmap(lambda row: seen.append(_host.host_view(row)) or row)(torch.zeros(2, 3))
    jax.jit(lambda row: seen.append(_host.host_view(row)) or row)(jnp.zeros(3))
    assert seen == [None, None]


def test_radii_come_back_as_the_arrays_own_kind():
    w = rows(12, 7)
    for rule in (ss.InflatedArgmax(0.2), ss.MassThreshold(0.8)):
        expected = ss.stability_radius(w, rule)
        assert np.array_equal(ss.stability_radius(torch.tensor(w), rule).numpy(), expected)
        assert np.array_equal(np.asarray(ss.stability_radius(jnp.asarray(w), rule)), expected.astype(np.float32))
