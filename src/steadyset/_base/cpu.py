"""How many threads a native call may use."""

import multiprocessing
import os
import sys
import threading
from functools import cache
from typing import Any

from steadyset._base import validation


def allowed_threads() -> int:
    """Return the CPUs that this process may use, at most ``OMP_NUM_THREADS``; one inside somebody's worker.

    CPU affinity counts, and with joblib imported the quota of a container. A caller in a joblib worker, a pool's
    process or a thread other than the main one already runs in parallel: more threads there would only fight over the
    same cores.
    """
    if threading.current_thread() is not threading.main_thread():
        return 1
    if multiprocessing.parent_process() is not None or "JOBLIB_SPAWNED_PROCESS" in os.environ:
        return 1
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if "joblib" in sys.modules:  # as it is with every learner; importing it takes a tenth of a second and 11 MB
        cpus = _usable_cpus(cpus)
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # a list names one number per nesting level
    if first.isdigit() and int(first) > 0:
        return min(cpus, int(first))
    return cpus


def threads(n_jobs: Any) -> int:
    """Return the threads of a native call: None for the CPUs that this process may use, a number as in joblib."""
    if n_jobs is None:
        return allowed_threads()
    number = validation.whole_number(n_jobs, "n_jobs", "None or a whole number that is not 0")
    if number == 0:
        raise ValueError("n_jobs must be None or a whole number that is not 0; got 0.")
    import joblib  # a tenth of a second, which selection alone does not pay

    return int(joblib.effective_n_jobs(number))


@cache
def _usable_cpus(affinity: int) -> int:
    # Reading a container's quota takes a tenth of a millisecond, so it is read once for each affinity.
    import joblib

    return int(joblib.cpu_count())
