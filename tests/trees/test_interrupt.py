"""Ctrl-C in a real process: answered within a second, on any number of threads."""

import pytest

from helpers.interrupts import seconds_to_answer

PROGRAM = """
import sys, threading, time
import numpy as np
from steadyset.trees import TreeClassifier

rng = np.random.default_rng(0)
x, y = rng.normal(size=(300_000, 20)).astype(np.float32), rng.integers(0, 5, 300_000)
print("ready", flush=True)
try:
    while True:
        list(TreeClassifier(SETTINGS).fit_bags(x, y, [np.arange(300_000)] * 8, range(8), n_jobs=JOBS))
except KeyboardInterrupt:
    print("interrupted", time.time(), threading.active_count(), flush=True)
"""


@pytest.mark.parametrize(("jobs", "settings"), [(1, ""), (2, 'max_features="sqrt"')])
def test_ctrl_c(jobs, settings):
    program = PROGRAM.replace("JOBS", str(jobs)).replace("SETTINGS", settings)
    assert seconds_to_answer(program, after=1.5) < 1.0


CODES = """
import threading, time
import numpy as np
from steadyset import _native
from steadyset.trees import TreeClassifier

rng = np.random.default_rng(0)
x, y = rng.integers(0, 1000, size=(60_000, 8)).astype(np.int16), rng.integers(0, 5, 60_000)
(group,) = TreeClassifier(max_features=1).fit_bags(x, y, [np.arange(60_000)], [0])
keys, n = group.prepared(x[:64]).keys, 4_000_000 // group._forest.n_nodes
print("ready", flush=True)
try:
    while True:
        forest = _native.TreesForest.joined([group._forest] * n)
        forest.leaves(keys, np.empty((64, n), np.int64), 1)
except KeyboardInterrupt:
    print("interrupted", time.time(), threading.active_count(), flush=True)
"""


def test_ctrl_c_in_the_first_prediction_of_a_large_forest():
    assert seconds_to_answer(CODES, after=1.0) < 1.0
