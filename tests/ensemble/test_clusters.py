"""Joblib backends of clusters, really started: what moves, who trains, a worker that is killed, the same bits."""

import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

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
        assert found["same"] == [True] * 4, found  # the mean, each bag, the audit, bags without their models
        assert not found["at_home"]
        assert found["own_work_stays"]  # what a learner runs in parallel, in the process that trains it
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


def shifted(array):
    """Return the array at an address that is no multiple of its items' size, as it may come over a network."""
    moved = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    assert not moved.flags.aligned
    return moved


@pytest.mark.parametrize("kind", ["array", "frame", "series"])
def test_work_gets_arrays_at_addresses_of_their_type(kind):
    numbers = np.random.default_rng(0).normal(size=(5, 2))
    if kind == "array":
        given = shifted(numbers)
    else:
        pandas = pytest.importorskip("pandas")
        given = (
            pandas.DataFrame(shifted(numbers), copy=False)
            if kind == "frame"
            else pandas.Series(shifted(numbers[:, 0].copy()), copy=False)
        )
    [found] = _clusters._AnyPlace(lambda *given: given, [], [])(given)
    arrays = [found] if kind == "array" else [found.to_numpy()]
    assert all(each.flags.aligned for each in arrays)
    assert_array_equal(np.asarray(found), np.asarray(given))


def test_work_gets_what_is_aligned_as_it_is():
    given = [np.arange(6.0), np.arange(6, dtype=np.int8)[1:], None, "text"]
    assert all(a is b for a, b in zip(_clusters._AnyPlace(lambda *given: given, [], [])(*given), given, strict=True))
