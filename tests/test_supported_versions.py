"""The table of supported versions agrees with the floors of pyproject.toml."""

import itertools
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TABLE = dict(
    re.findall(r"^\| (\w[\w -]*?)(?: \(.*?\))? \| ([\d.]+) \|", (ROOT / "docs/api-promise.md").read_text(), re.M)
)
NAMES = {"PyArrow": "pyarrow", "PyTorch": "torch"}


def floor(name):
    every = [*PROJECT["dependencies"], *itertools.chain(*PROJECT["optional-dependencies"].values())]
    return next(found[1] for one in every if (found := re.fullmatch(rf"{name}>=([\d.]+)", one)))


def test_python():
    assert PROJECT["requires-python"] == f">={TABLE.pop('Python')}"
    assert len(TABLE) == 8


@pytest.mark.parametrize("name", [name for name in TABLE if name != "Python"])
def test_packages(name):
    assert TABLE[name] == floor(NAMES.get(name, name.lower()))


def test_every_python_of_the_table_is_a_classifier():
    (newest,) = re.findall(
        r"^\| Python \| [\d.]+ \| .* \| 3\.(\d+) \|$", (ROOT / "docs/api-promise.md").read_text(), re.M
    )
    oldest = PROJECT["requires-python"].removeprefix(">=3.")
    named = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    assert named == [str(minor) for minor in range(int(oldest), int(newest) + 1)]
