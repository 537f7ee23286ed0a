"""Ctrl-C in a real process: answered within a second, on any number of threads."""

import signal
import subprocess
import sys
import time

import pytest

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
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.7)
            sent = time.time()
            process.send_signal(signal.SIGINT)
            word, heard, threads = process.stdout.readline().split()
            assert word == "interrupted"
            assert float(heard) - sent < 1.0
            assert int(threads) == 1
            assert process.wait(timeout=5) == 0
        finally:
            process.kill()
