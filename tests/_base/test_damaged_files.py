"""Thousands of damaged files of every saved form: refused with a sentence or read as before, no signal, no code run.

And of crafted ones, whose digests are right.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.overwrites import FORMS

PROGRAM = Path(__file__).parents[1] / "lib" / "helpers" / "mutations.py"


@pytest.fixture(scope="module")
def mutate():
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    command, settings = [sys.executable, str(PROGRAM)], {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=settings) as process:

        def answer(*arguments):
            print(json.dumps(arguments), file=process.stdin, flush=True)
            told = json.loads(process.stdout.readline())
            assert isinstance(told, dict), f"exit code {told}"
            assert json.loads(process.stdout.readline()) == 0
            return told

        yield answer
        process.stdin.close()


@pytest.mark.trial
@pytest.mark.parametrize("form", FORMS)
def test_damaged_files(tmp_path, mutate, form, full_trials):
    batches, size = (10, 300) if full_trials else (1, 40)
    told = [mutate("mutate", form, str(tmp_path / "saved"), size, seed) for seed in range(batches)]
    print(form, {came: sum(each[came] for each in told) for came in told[0]})
    assert sum(each["refused"] + each["equal"] for each in told) == batches * size
    assert sum(each["refused"] for each in told) > 0.5 * batches * size


@pytest.mark.trial
@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("models", "checkpoints", "choices")])
def test_crafted_files(tmp_path, mutate, form, full_trials):
    """Odd values under right digests: refused, or an object that works or says why not; models have their own test."""
    batches, size = (10, 300) if full_trials else (1, 60)
    told = [mutate("craft", form, str(tmp_path / "saved"), size, seed) for seed in range(batches)]
    print(form, {came: sum(each[came] for each in told) for came in told[0]})
    assert sum(sum(each.values()) for each in told) == batches * size
    assert sum(each["refused"] for each in told) > 0.3 * batches * size
