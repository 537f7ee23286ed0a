"""Joblib backends of clusters, really started: what moves, who trains, a worker that is killed, the same bits."""

import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from steadyset.ensemble import _clusters

PROGRAM = Path(__file__).parents[1] / "lib" / "helpers" / "on_a_cluster.py"
ENGINES = {"dask": "distributed", "ray": "ray"}


@pytest.mark.parametrize("ending", ["keep", "kill"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_bits_on_a_cluster(engine, ending):
    if importlib.util.find_spec(ENGINES[engine]) is None:
        pytest.skip(f"{engine} is not installed")
    learners = ["trees", "lanes", "logistic"] if ending == "keep" else ["trees"]
    command = [sys.executable, PROGRAM, engine, ending, *learners]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [found["learner"] for found in answers] == learners
    for found in answers:
        assert found["same"] == [True] * 4  # the mean, each bag, the audit, bags without their models
        assert not found["at_home"]
        assert found["killed"] == (ending == "kill")
        assert not found["audit_at_home"]
        if found["learner"] == "logistic":
            assert found["audit_places"] >= 1  # on workers alone
        if ending == "keep":
            assert 1 <= found["places"] <= 2  # a scheduler may give a few short tasks to one worker
            assert all(times <= 8 for times in found["moved"])  # X, which both workers need
            assert engine == "ray" or min(found["moved"]) > 1  # processes of one machine share memory with Ray
    assert ending == "kill" or max(found["places"] for found in answers) == 2


def test_work_that_joblib_does_here_has_the_data_that_were_sent():
    """With one worker left joblib calls the work in this process, with the names of what the workers have."""
    name, data = object(), [1, 2]
    work = _clusters._AnyPlace(lambda *given: given, [name, None], [data, None])
    assert work("rows", name, None) == ("rows", data, None)
    assert pickle.loads(pickle.dumps(_clusters._AnyPlace(max, [name], [data])))(3, 5) == 5
