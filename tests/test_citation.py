"""The file that says how to cite the package agrees with the package."""

import re
import tomllib
from pathlib import Path

import steadyset as ss

ROOT = Path(__file__).parents[1]


def test_the_citation_has_the_version_the_licence_and_the_paper_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == ss.__version__
    assert re.search(r"^license: (.+)$", citation, re.MULTILINE)[1] == project["license"]
    assert f"  url: {project['urls']['Paper']}\n" in citation
