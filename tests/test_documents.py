"""The README's code and the examples run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(document):
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("document", ["README.md"])
def test_code_blocks_run(document):
    found = blocks(document)
    assert found
    for block in found:
        done = subprocess.run([sys.executable, "-W", "error", "-c", block], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for expected in re.findall(r"# (\[\(.*)", block):  # what a line says it prints
            assert expected in done.stdout


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example):
    done = subprocess.run([sys.executable, "-W", "error", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
