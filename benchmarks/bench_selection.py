"""Selection: the inflated argmax against numpy.argmax and its closed form in NumPy, the inflated top k against
numpy.partition."""

import statistics
import tempfile
import timeit

import numpy as np

import steadyset as ss
from benchmarks import levels
from benchmarks.harness import Line, at_level, interleaved_best, report, run_python

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
    """The package and every name of it, but for the rooms that not everybody enters; from bytecode, as installed."""
    program = (
        "import sklearn.ensemble, time; start = time.perf_counter(); import steadyset; "
        "rooms = {'lanes', 'metrics', 'plot', 'report'}; "
        "[getattr(steadyset, name) for name in steadyset.__all__ if name not in rooms]; "
        "print((time.perf_counter() - start) * 1e3)"
    )
    with tempfile.TemporaryDirectory() as bytecode:
        kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        run_python(program, **kept)
        return statistics.median(float(run_python(program, **kept)) for _ in range(9))


def classifier_lines(rng: np.random.Generator) -> list[Line]:
    """Beside numpy.argmax on rows as classifiers give them; doubles have a mark 1.3 times that of floats."""
    lines = []
    for n, n_labels, avx2, avx512 in ((1_000_000, 10, 0.4, 0.25), (20_000, 1_000, 1.4, 0.75), (200, 128_000, 1.6, 0.9)):
        floats = classifier_rows(rng, n, n_labels)
        for w, slack in ((floats, 1.0), (floats.astype(np.float64), 1.3)):
            calls = {"argmax": lambda w=w: np.argmax(w, axis=-1), "ours": lambda w=w: ss.inflated_argmax(w, EPSILON)}
            if n_labels == 10 and w is floats:
                calls["path"] = lambda w=w: ss.entry_epsilons(w)
            best = interleaved_best(calls, rounds=15)
            what = f"inflated_argmax / numpy.argmax, {w.dtype}, classifier rows {n:,} x {n_labels:,}"
            mark = at_level(avx2=avx2 * slack, avx512=avx512 * slack)
            lines.append(Line(what, best["ours"] / best["argmax"], mark))
            if "path" in best:
                what = f"entry_epsilons / inflated_argmax, {n:,} x {n_labels}"
                lines.append(Line(what, best["path"] / best["ours"], 8))
    return lines


def flat_lines(rng: np.random.Generator) -> list[Line]:
    """Where nearly every label is a candidate: beside numpy.argmax, and beside the closed form in NumPy."""
    lines = []
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
            mark = at_level(avx2=5, avx512=2)
            lines.append(Line(f"inflated_argmax / numpy.argmax, {what}", best["ours"] / best["argmax"], mark))
            lines.append(
                Line(f"closed form in NumPy / inflated_argmax, {what}", rival / best["ours"], 15, at_least=True)
            )
    return lines


def top_k_lines(rng: np.random.Generator) -> list[Line]:
    lines = []
    for kind in (classifier_rows, flat_rows):
        w = kind(rng, 20_000, 1_000)
        calls = {
            "partition": lambda w=w: np.partition(w, -5, axis=-1),
            "ours": lambda w=w: ss.inflated_top_k(w, 5, EPSILON),
        }
        best = interleaved_best(calls, rounds=9)
        what = f"inflated_top_k / numpy.partition, k = 5, {kind.__name__.replace('_', ' ')} 20,000 x 1,000"
        lines.append(Line(what, best["ours"] / best["partition"], 1.0))
    return lines


def memory_lines() -> list[Line]:
    shapes = ((1_000_000, 10, "classifier_rows"), (20_000, 1_000, "flat_rows"), (200, 128_000, "flat_rows"))
    return [
        Line(
            f"extra memory / input, {kind.replace('_', ' ')} {n:,} x {n_labels:,}",
            extra_memory_share(n, n_labels, kind),
            0.1,
        )
        for n, n_labels, kind in shapes
    ]


def main() -> bool:
    rng = np.random.default_rng(0)
    lines = classifier_lines(rng) + flat_lines(rng) + top_k_lines(rng)
    row = np.random.default_rng(1).dirichlet(np.ones(10))
    single = min(timeit.repeat(lambda: ss.inflated_argmax(row, EPSILON), number=500, repeat=60)) / 500
    lines.append(Line("one row of 10 labels, end to end", single * 1e6, 5, unit="us"))
    if levels.at_best():
        lines += memory_lines()
        lines.append(Line("import of steadyset and its names, median of 9", import_cost_ms(), 150, unit="ms"))
    return report("selection", lines)
