"""Ctrl-C in a real process: answered within a second, on any number of threads."""

import pytest

from helpers.interrupts import seconds_to_answer

PROGRAM = """
import sys, threading, time
import numpy as np
from steadyset import lanes

x = np.zeros((60_000, 28, 28), np.uint8)
y = np.arange(60_000) % 10
net = lanes.NetClassifier(lanes.lenet5(), epochs=1000, batch_size=BATCH, scale="minus_one_one")
print("ready", flush=True)
try:
    list(net.fit_bags(x, y, [np.arange(60_000)] * 8, range(8), n_jobs=JOBS))
except KeyboardInterrupt:
    print("interrupted", time.time(), threading.active_count(), flush=True)
"""


@pytest.mark.parametrize(("jobs", "batch"), [(1, 4), (2, 4), (2, 4096)])
def test_ctrl_c(jobs, batch):
    program = PROGRAM.replace("JOBS", str(jobs)).replace("BATCH", str(batch))
    assert seconds_to_answer(program, after=0.7) < 1.0
