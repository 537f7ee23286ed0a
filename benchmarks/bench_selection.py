"""Selection: the inflated argmax against numpy.argmax and against its closed form in NumPy."""

import statistics
import timeit

import numpy as np

import steadyset as ss
from benchmarks.harness import Line, interleaved_best, report, run_python

EPSILON = 0.05


def softmax(z: np.ndarray) -> np.ndarray:
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def classifier_rows(rng: np.random.Generator, n: int, n_labels: int) -> np.ndarray:
    """Standard Gaussian logits, log L + 4 more at one class and, in every fifth row, at a second."""
    z = rng.standard_normal((n, n_labels), dtype=np.float32)
    lift = np.float32(np.log(n_labels) + 4)
    z[np.arange(n), rng.integers(n_labels, size=n)] += lift
    fifth = np.arange(0, n, 5)
    z[fifth, rng.integers(n_labels, size=len(fifth))] += lift
    return softmax(z)


def flat_rows(rng: np.random.Generator, n: int, n_labels: int) -> np.ndarray:
    """Softmax of twice a standard Gaussian: with many labels nearly all of them are candidates."""
    return softmax(2 * rng.standard_normal((n, n_labels), dtype=np.float32))


def closed_form(w: np.ndarray, epsilon: float) -> np.ndarray:
    """The paper's closed form as one writes it in NumPy, shifted by the maximum."""
    u = (w - w.max(axis=-1, keepdims=True)) / epsilon
    v = -np.sort(-u, axis=-1)
    k = np.arange(1, w.shape[-1] + 1)
    s1, s2 = np.cumsum(v, axis=-1), np.cumsum(v * v, axis=-1)
    f = (s1 - k * v) ** 2 + s2 - 2 * v * s1 + k * v * v
    last = (f <= 1).sum(axis=-1, keepdims=True).clip(1) - 1
    a1 = np.take_along_axis(s1, last, axis=-1) / (last + 1)
    a2 = np.take_along_axis(s2, last, axis=-1) / (last + 1)
    t = np.sqrt(0.5) + a1 - np.sqrt(last + 2) * np.sqrt(1 / (last + 1) + a1**2 - a2)
    return u > t


def extra_memory_share(n: int, n_labels: int, kind: str) -> float:
    """Peak resident memory of a call beyond input and output, over the input's size, in a fresh process."""
    program = f"""
import re, numpy as np, steadyset as ss
from benchmarks.bench_selection import {kind}
w = {kind}(np.random.default_rng(0), {n}, {n_labels})
ss.inflated_argmax(w[:2], {EPSILON})
def status(field): return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
mask = ss.inflated_argmax(w, {EPSILON})
print((status("VmHWM") - before - mask.nbytes) / w.nbytes)
"""
    return float(run_python(program))


def import_cost_ms() -> float:
    """The package and every name of it, but for the rooms that not everybody enters."""
    program = (
        "import sklearn.ensemble, time; start = time.perf_counter(); import steadyset; "
        "rooms = {'lanes', 'metrics', 'plot', 'report'}; "
        "[getattr(steadyset, name) for name in steadyset.__all__ if name not in rooms]; "
        "print((time.perf_counter() - start) * 1e3)"
    )
    return statistics.median(float(run_python(program)) for _ in range(9))


def main() -> bool:
    rng = np.random.default_rng(0)
    lines = []
    for n, n_labels, mark in ((1_000_000, 10, 0.5), (20_000, 1_000, 1.0), (200, 128_000, 1.0)):
        w = classifier_rows(rng, n, n_labels)
        calls = {"argmax": lambda w=w: np.argmax(w, axis=-1), "ours": lambda w=w: ss.inflated_argmax(w, EPSILON)}
        if n_labels == 10:
            calls["path"] = lambda w=w: ss.entry_epsilons(w)
        best = interleaved_best(calls, rounds=15)
        lines.append(
            Line(
                f"inflated_argmax / numpy.argmax, classifier rows {n:,} x {n_labels:,}",
                best["ours"] / best["argmax"],
                mark,
            )
        )
        if n_labels == 10:
            lines.append(Line(f"entry_epsilons / inflated_argmax, {n:,} x {n_labels}", best["path"] / best["ours"], 10))
    for n, n_labels in ((20_000, 1_000), (200, 128_000)):
        w = flat_rows(rng, n, n_labels)
        for epsilon in (EPSILON, 0.5):
            calls = {
                "argmax": lambda w=w: np.argmax(w, axis=-1),
                "ours": lambda w=w, e=epsilon: ss.inflated_argmax(w, e),
            }
            best = interleaved_best(calls, rounds=9)
            rival = interleaved_best({"closed form": lambda w=w, e=epsilon: closed_form(w, e)}, rounds=2)["closed form"]
            what = f"flat rows {n:,} x {n_labels:,}, epsilon {epsilon}"
            lines.append(Line(f"inflated_argmax / numpy.argmax, {what}", best["ours"] / best["argmax"], 6))
            lines.append(
                Line(f"closed form in NumPy / inflated_argmax, {what}", rival / best["ours"], 15, at_least=True)
            )
    for n, n_labels, kind in (
        (1_000_000, 10, "classifier_rows"),
        (20_000, 1_000, "flat_rows"),
        (200, 128_000, "flat_rows"),
    ):
        share = extra_memory_share(n, n_labels, kind)
        lines.append(Line(f"extra memory / input, {kind.replace('_', ' ')} {n:,} x {n_labels:,}", share, 0.1))
    row = np.random.default_rng(1).dirichlet(np.ones(10))
    single = min(timeit.repeat(lambda: ss.inflated_argmax(row, EPSILON), number=2000, repeat=9)) / 2000
    lines.append(Line("one row of 10 labels, end to end", single * 1e6, 10, unit="us"))
    lines.append(Line("import of steadyset and its names, median of 9", import_cost_ms(), 150, unit="ms"))
    return report("selection", lines)
