"""Arrays of torch and JAX: the native kernels on their memory, and the traced forms against their own argmax."""

import jax
import jax.numpy as jnp
import numpy as np
import torch

import steadyset as ss
from benchmarks.bench_selection import EPSILON, classifier_rows, flat_rows
from benchmarks.harness import Line, interleaved_best, report


def on_the_same_memory(n: int, n_labels: int) -> list[Line]:
    w = classifier_rows(np.random.default_rng(0), n, n_labels)
    tensor, array = torch.from_numpy(w), jnp.asarray(w)
    best = interleaved_best(
        {
            "numpy": lambda: ss.inflated_argmax(w, EPSILON),
            "torch": lambda: ss.inflated_argmax(tensor, EPSILON),
            "jax": lambda: ss.inflated_argmax(array, EPSILON).block_until_ready(),
        },
        rounds=15,
    )
    what = f"the NumPy call on the same rows, {n:,} x {n_labels:,}"
    return [
        Line(f"torch on the CPU / {what}", best["torch"] / best["numpy"], 1.3),
        Line(f"JAX on the CPU / {what}", best["jax"] / best["numpy"], 1.5),
    ]


def traced(name: str, w: np.ndarray) -> list[Line]:
    rule = ss.InflatedArgmax(EPSILON)
    tensor, array = torch.from_numpy(w), jnp.asarray(w)
    compiled, jitted = torch.compile(rule, fullgraph=True, dynamic=False), jax.jit(rule)
    argmax = jax.jit(lambda x: jnp.argmax(x, axis=-1))
    native = ss.inflated_argmax(w, EPSILON)
    for mask in (compiled(tensor).numpy(), np.asarray(jitted(array))):
        assert np.all(mask >= native), "a label is missing"
        assert np.mean(mask != native) < 1e-5, "too many labels beyond the boundary"
    argmax(array).block_until_ready()
    best = interleaved_best(
        {
            "torch.argmax": lambda: torch.argmax(tensor, dim=-1),
            "compiled": lambda: compiled(tensor),
            "jnp.argmax": lambda: argmax(array).block_until_ready(),
            "jitted": lambda: jitted(array).block_until_ready(),
        },
        rounds=9,
    )
    what = f"{name} 20,000 x 1,000 float32"
    return [
        Line(f"torch.compile(inflated argmax) / torch.argmax, {what}", best["compiled"] / best["torch.argmax"], 8),
        Line(f"jax.jit(inflated argmax) / jnp.argmax, {what}", best["jitted"] / best["jnp.argmax"], 8),
    ]


def main() -> bool:
    rng = np.random.default_rng(1)
    lines = on_the_same_memory(20_000, 1_000) + on_the_same_memory(200, 128_000)
    lines += traced("classifier rows", classifier_rows(rng, 20_000, 1_000))
    lines += traced("flat rows", flat_rows(rng, 20_000, 1_000))
    return report("arrays", lines)
