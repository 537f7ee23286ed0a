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
