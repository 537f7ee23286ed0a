"""How many threads a native call takes."""

import os
import threading

import joblib

from steadyset._base.cpu import allowed_threads


def test_affinity_and_omp_num_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert allowed_threads() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert allowed_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1,4")
    assert allowed_threads() == 1
    for nonsense in ("", "many", "-2", "0"):
        monkeypatch.setenv("OMP_NUM_THREADS", nonsense)
        assert allowed_threads() == len(os.sched_getaffinity(0))


def test_one_in_a_thread_that_is_not_the_main_one():
    seen = []
    worker = threading.Thread(target=lambda: seen.append(allowed_threads()))
    worker.start()
    worker.join()
    assert seen == [1]


def test_one_inside_joblib_workers():
    for backend in ("loky", "threading"):
        assert joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(allowed_threads)() for _ in range(2)) == [1, 1]
