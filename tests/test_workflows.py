"""The workflows take every action at one commit, and call what the Makefile has."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="the source distribution has no workflows")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_taken_at_a_commit_with_its_release_beside_it(path):
    for used in re.findall(r"uses: (.+)", path.read_text()):
        assert used.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_job_may_more_than_it_says(path):
    text = path.read_text()
    assert "\npermissions: {}\n" in text
    assert text.count("    permissions:\n") == len(re.findall(r"^  [\w-]+:\n    name: ", text, re.M))


def test_what_is_made_is_in_the_makefile():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    called = {name for path in WORKFLOWS for name in re.findall(r"run: make ([\w-]+)", path.read_text())}
    assert {"test", "test-oldest", "docs", "platforms", "dist"} <= called <= targets


def test_every_supported_python_is_run():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    run = set(re.findall(r'"(3\.\d+)"', text))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert run == set(re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"])))
