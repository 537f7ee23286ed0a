"""The conda recipe asks for what pyproject.toml asks for, in the version of the package."""

import re
import tomllib
from pathlib import Path

import steadyset as ss

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RECIPE = (ROOT / "conda/recipe.yaml").read_text()


def asked(section):
    """Return what a section of the requirements lists, as pip writes it."""
    lines = re.search(rf"^  {section}:\n((?:    - .+\n)+)", RECIPE, re.M)[1]
    return [line.replace(" ", "") for line in re.findall(r"- (.+)", lines)]


def test_version():
    assert re.findall(r"^  version: (\d.*)$", RECIPE, re.M) == [ss.__version__]


def test_what_runs_and_what_builds():
    project = PYPROJECT["project"]
    assert asked("run") == [f"python{project['requires-python']}", *project["dependencies"]]
    assert asked("host") == ["python", "pip", *PYPROJECT["build-system"]["requires"]]


def test_summary_and_licence():
    project = PYPROJECT["project"]
    assert f'  summary: "{project["description"]}"\n' in RECIPE
    assert f"  license: {project['license']}\n" in RECIPE
