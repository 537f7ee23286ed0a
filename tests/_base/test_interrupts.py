"""Ctrl-C in real processes: every native loop answers it within a second and leaves no thread behind."""

import pytest

from helpers.interrupts import seconds_to_answer

PROGRAM = """
import threading, time
from pathlib import Path
import numpy as np
import steadyset as ss
from steadyset import _native

def unread(shape, dtype):
    '''More zeros than memory: a file with nothing in it.'''
    path = Path("zeros")
    with open(path, "wb") as file:
        file.truncate(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    return np.memmap(path, dtype, "r", shape=shape)

def audited(points, classes, bags, units):
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(classes), (bags, points)).astype(np.float32)
    patterns = rng.integers(1, 2**16, (-(-bags // 16), units), dtype=np.uint16)
    return values, patterns, np.full(units, bags / 2.0), values.mean(axis=0, dtype=np.float64)

THREADS = 2
ss.content_ids(np.eye(3)), ss.draw_bags(10, 2, 0.5), ss.entry_epsilons(np.eye(3)), ss.inflated_argmax(np.eye(3), 0.1)
PREPARE
print("ready", flush=True)
try:
    while True:  # a fast machine may finish a call before it is interrupted
        CALL
except KeyboardInterrupt:
    answered = time.time()
    while (left := len(list(Path("/proc/self/task").iterdir())) - TASKS) > 1 and time.time() < answered + 1:
        time.sleep(0.01)  # a thread of Python's own ends a moment after it was joined
    print("interrupted", answered, left, flush=True)
"""

AUDIT = """
values, patterns, counts, mean = audited(POINTS)
sets = np.zeros(mean.shape, np.uint8); sets[:, 0] = 1
pairs = (len(mean), patterns.shape[1])
out = np.empty(pairs, np.float32), np.empty(len(mean)), np.empty(pairs, np.uint8), None, np.zeros(len(mean))
"""

CASES = {
    "draw_bags": ("", "ss.draw_bags(3_000_000, 400, 0.5, seed=0)"),
    "draw one bag": ("", "ss.draw_bags(400_000_000, 1, 0.5, seed=0)"),
    "content ids": ("x = unread((2_000_000, 1_000), np.float64)", "ss.content_ids(x)"),
    "digest of one row": (
        "x, end, out = unread((4_000_000_000,), np.float64), np.array([4_000_000_000]), np.empty((1, 2), np.uint64)",
        "_native.digest_rows(x, None, end, out, THREADS)",
    ),
    "digest of an array": (
        "from steadyset._base import digests\nx = unread((16_000_000_000,), np.uint8)",
        "digests.array_digest(x)",
    ),
    "sums of bags": (
        "x, out = unread((1_000, 20_000_000), np.float32), np.empty(20_000_000)",
        "_native.sum_bags(x, None, 16, out, THREADS)",
    ),
    "inflated argmax": (
        "x = np.random.default_rng(0).random((1_000_000, 50))",
        "[ss.inflated_argmax(x, 0.5) for _ in range(50)]",
    ),
    "one long row, prefix": (
        "x = np.random.default_rng(0).random((1, 30_000_000)); x /= x.sum()",
        "[ss.ndc(x, 1.0) for _ in range(9)]",
    ),
    "one flat row, mass": (
        "x = np.full((1, 1_000_000), 1e-18); x[0, 0] = 1 - 1e-12",
        "ss.mass_threshold(x, x[0, 0] + 5e-13)",
    ),
    "epsilon path": ("x = np.random.default_rng(0).random((40, 1_000_000))", "ss.entry_epsilons(x)"),
    "epsilon path of tiny gaps": ("x = -np.arange(400_000) * 1e-200; x[-1] = -1.0", "ss.entry_epsilons(x[None])"),
    "audit": (
        AUDIT.replace("POINTS", "200, 10, 2000, 400_000"),
        "_native.audit_points(values, patterns, counts, mean, sets, [RULE], 1e-6, None, *out, THREADS)".replace(
            "RULE", "(1, 0.1, 0.0, 1, None)"
        ),
    ),
    "audit by the definition": (
        AUDIT.replace("POINTS", "200, 10, 2000, 200_000"),
        "_native.audit_points(values, patterns, counts, mean, sets, [RULE], 1e-6, None, *out, THREADS)".replace(
            "RULE", "(3, 0.0, 0.0, 1, None)"
        ),
    ),
    "leave-one-out means": (
        AUDIT.replace("POINTS", "400, 50, 4000, 2_000") + "means = np.empty((2_000, 20_000))",
        "[_native.leave_out_means(values, patterns, counts, 0, 2_000, means, THREADS) for _ in range(9)]",
    ),
    "counts below a bound": (
        AUDIT.replace("POINTS", "400, 50, 4000, 60_000")
        + "bounds = np.full(60_000, 0.5); below = np.empty((2, 20_000), np.int64)",
        "[_native.count_below(values, patterns, counts, bounds, *below, THREADS) for _ in range(9)]",
    ),
    "survey": (
        "values = np.random.default_rng(0).dirichlet(np.ones(20), (20_000, 40))\n"
        "values[..., 0] += 1\nmean = values.mean(axis=0); spread, calm = np.empty(40), np.empty(40, np.uint8)",
        "[_native.survey_points(values, mean, 10, 0.999, spread, calm, THREADS) for _ in range(50)]",
    ),
    "weights of many votes of few rows": (
        "room = np.empty(200, np.int64), np.empty(200), np.empty(200)",
        "_native.neighbor_weights(200, 2_000_000, 1_000_000, True, *room)",
    ),
    "nearest of equal rows": (
        "x, y = np.ones((50_000, 400), np.float32), np.arange(50_000) % 2\n"
        "model = ss.StableNeighborsClassifier(5, n_jobs=THREADS).fit(x, y); model.predict_proba(x[:2])",
        "model.predict_proba(x[:8_000])",
    ),
    "audit of nearest rows": (
        "x = np.random.default_rng(0).normal(size=(20_000, 2)); y = np.arange(20_000) % 100\n"
        "model = ss.StableNeighborsClassifier(5, max_samples=200, n_jobs=THREADS).fit(x, y)\n"
        "(block,) = model._blocks(model._points(x[:200]), THREADS)\n"
        "from steadyset.audit import Margin, ShiftBoard\n"
        "unit_of, score, leader = (np.arange(20_000).astype(kind) for kind in (np.int32, np.float32, np.int64))\n"
        "board = ShiftBoard(0, unit_of, score, leader, np.array([9_999]))",
        "[block.ranked(board, Margin.of(0.1)) for _ in range(50)]",
    ),
    "predictions of networks": (
        "layers = [('linear', 512, 0, 0, 0, 0.0), ('relu', 0, 0, 0, 0, 0.0), ('linear', 3, 0, 0, 0, 0.0)]\n"
        "net = _native.LanesNetwork.make(784, 1, 1, layers)\n"
        "weights, x = np.zeros((4, net.n_parameters), np.float32), np.zeros((400_000, 784), np.uint8)\n"
        "out, watch = np.empty((4, 400_000, 3)), _native.LanesWatch()",
        "net.predict(x, weights, None, None, 1.0, 0.0, out, 0, watch)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_ctrl_c_is_answered_within_a_second(case, tmp_path):
    prepare, call = CASES[case]
    program = PROGRAM.replace("PREPARE", f"{prepare}\nTASKS = len(list(Path('/proc/self/task').iterdir())) - 1")
    assert seconds_to_answer(program.replace("CALL", call), after=0.5, cwd=tmp_path) < 1.0
