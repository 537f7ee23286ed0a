"""How many threads a native call takes."""

import os
import subprocess
import sys
import threading

import joblib
import pytest

from steadyset._base import cpu
from steadyset._base.cpu import allowed_threads


@pytest.fixture
def no_limit(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cpu._usable_cpus.cache_clear()
    yield
    cpu._usable_cpus.cache_clear()


def test_omp_num_threads(monkeypatch, no_limit):
    assert allowed_threads() == joblib.cpu_count() <= len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert allowed_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1,4")
    assert allowed_threads() == 1
    for nonsense in ("", "many", "-2", "0"):
        monkeypatch.setenv("OMP_NUM_THREADS", nonsense)
        assert allowed_threads() == joblib.cpu_count()


def test_affinity_as_it_is_now(no_limit):
    before = os.sched_getaffinity(0)
    assert allowed_threads() <= len(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert allowed_threads() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert allowed_threads() == joblib.cpu_count()


def test_a_containers_quota_is_read_once(monkeypatch, no_limit):
    asked = []
    monkeypatch.setattr(joblib, "cpu_count", lambda: asked.append(None) or 5)
    assert [allowed_threads() for _ in range(3)] == [5, 5, 5]
    assert len(asked) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert allowed_threads() == 3


def test_selection_alone_does_not_import_joblib():
    program = (
        "import os, sys, numpy as np, steadyset as ss\n"
        "from steadyset._base.cpu import allowed_threads\n"
        "ss.inflated_argmax(np.zeros((100_000, 10)), 0.05)\n"
        "print('joblib' in sys.modules, allowed_threads() == len(os.sched_getaffinity(0)))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "False True\n"


def test_one_in_a_thread_that_is_not_the_main_one():
    seen = []
    worker = threading.Thread(target=lambda: seen.append(allowed_threads()))
    worker.start()
    worker.join()
    assert seen == [1]


def test_one_inside_joblib_workers():
    for backend in ("loky", "threading"):
        assert joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(allowed_threads)() for _ in range(2)) == [1, 1]
