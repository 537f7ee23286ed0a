"""A program: fit under a cluster's joblib backend and at home, and print whether all bits are the same.

python on_a_cluster.py dask|ray keep|kill trees lanes logistic
"""

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

if __name__ == "__main__":  # workers, which start later and import this file, have the same folders
    LIB = str(Path(__file__).parents[1])
    sys.path.insert(0, LIB)
    os.environ["PYTHONPATH"] = LIB + os.pathsep + os.environ.get("PYTHONPATH", "")
    os.environ["FAR_LEARNER_NOTES"] = tempfile.mkdtemp()
NOTES = os.environ.get("FAR_LEARNER_NOTES", "")

KILLED = []

import joblib  # noqa: E402
import numpy as np  # noqa: E402

import steadyset as ss  # noqa: E402
from helpers import tcp_bytes  # noqa: E402
from helpers.far_learners import LEARNERS  # noqa: E402


@contextlib.contextmanager
def dask():
    """Give two worker processes, how many bytes all have received, and what joblib is told."""
    from distributed import Client, LocalCluster

    sizes = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**sizes, dashboard_address=":0") as made, Client(made) as client:
        client.wait_for_workers(2)
        yield lambda: tcp_bytes.received() + sum(client.run(tcp_bytes.received).values()), {"backend": "dask"}


@contextlib.contextmanager
def ray():
    """Give the same of Ray: bytes are those of the processes that have trained so far; shared memory is not counted."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    os.environ |= {"RAY_worker_niceness": "0", "RAY_raylet_start_wait_time_s": "120"}  # a machine may have other work
    import ray
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2**28)
    ray.get([ray.remote(meet).remote(2) for _ in range(2)])
    yield lambda: tcp_bytes.received() + received_by_workers(), {"backend": "ray", "n_jobs": 2}
    ray.shutdown()


def meet(n):
    """Wait until n processes are here."""
    Path(NOTES, f"here-{os.getpid()}").touch()
    while sum(name.startswith("here") for name in os.listdir(NOTES)) < n:
        time.sleep(0.02)


def received_by_workers():
    """Return the bytes that the workers had received when they last trained."""
    return sum(int(path.read_text() or 0) for path in Path(NOTES).iterdir() if path.name.isdigit())


def main(engine, ending, *names):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    weights, points = rng.uniform(1, 2, len(X)), X[:50]
    sizes = {"n_estimators": 64, "max_samples": 2000, "random_state": 0}
    with {"dask": dask, "ray": ray}[engine]() as (received, told):
        for name in names:
            model, home = (ss.StableClassifier(LEARNERS[name], **sizes, n_jobs=n_jobs) for n_jobs in (2, None))
            home.fit(X, y, sample_weight=weights)
            if ending == "kill":
                threading.Thread(target=kill_the_first_that_trains, daemon=True).start()
            before = received()
            with joblib.parallel_config(**told):
                model.fit(X, y, sample_weight=weights)
                by_fit = received() - before
                model.predict_proba(X)
                by_prediction = received() - before - by_fit
                found = [model.predict_proba(points), model.bag_predictions(points).proba]
                who_predicted()
                found += [model.audit(points).instability]
                for_audit = who_predicted()
                found += [model.fit_predict_bags(X, y, points, sample_weight=weights).proba]
            proba = home.bag_predictions(points).proba
            expected = [home.predict_proba(points), proba, home.audit(points).instability, proba]
            trained = [group if name != "logistic" else group.estimator for group in model.groups_]
            places = {each.trained_in for each in trained}
            helped = [set(each.helped_by) <= {each.trained_in} for each in trained if hasattr(each, "helped_by")]
            answer = {
                "learner": name,
                "same": [bool(np.array_equal(a, b)) for a, b in zip(found, expected, strict=True)],
                "at_home": os.getpid() in places,
                "places": len(places),
                "own_work_stays": all(helped),
                "killed": len(KILLED),
                "audit_at_home": os.getpid() in for_audit,
                "audit_places": len(for_audit),
                "moved": [by_fit / X.nbytes, by_prediction / X.nbytes],
            }
            print(json.dumps(answer), flush=True)


def who_predicted():
    """Return the processes in which logistic regressions have predicted since the last call."""
    found = [path for path in Path(NOTES).iterdir() if path.name.startswith("predicted-")]
    for path in found:
        path.unlink()
    return {int(path.name.removeprefix("predicted-")) for path in found}


def kill_the_first_that_trains():
    """Kill a worker as soon as it says that it trains."""
    while not (found := [int(name) for name in os.listdir(NOTES) if name.isdigit() and int(name) != os.getpid()]):
        time.sleep(0.02)
    os.kill(found[0], signal.SIGKILL)
    KILLED.append(found[0])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
