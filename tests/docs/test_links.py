"""No page links to what is not there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import pages

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs"
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
ROLE = re.compile(r"\{doc\}`(?:[^`<]*<)?(?P<target>[^`>]+)>?`")


def anchors(page):
    """Return the anchors of a page: of its headings, as GitHub and MyST make them, and those that it names itself."""
    named = set(re.findall(r"^\(([\w-]+)\)=$", page.read_text(), flags=re.MULTILINE))
    headings = re.findall(r"^#+ +(.*)$", pages.prose(page), flags=re.MULTILINE)
    return named | {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_links_lead_somewhere(page):
    for match in LINK.finditer(pages.prose(page)):
        target, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{match['target']} is not there"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{match['target']}: no such heading"


def test_there_are_links_to_look_at():
    assert sum(len(LINK.findall(pages.prose(page))) for page in pages.PAGES) > 50
    assert sum(len(ROLE.findall(page.read_text())) for page in pages.PAGES if SITE in page.parents) > 20


def role_target(page, target):
    base = SITE if target.startswith("/") else page.parent
    return (base / target.lstrip("/")).resolve()


@pytest.mark.parametrize("page", [page for page in pages.PAGES if SITE in page.parents], ids=pages.name)
def test_references_lead_to_pages(page):
    for match in ROLE.finditer(page.read_text()):
        target = role_target(page, match["target"])
        if target.is_relative_to(SITE / "gallery"):  # written by the build
            target = ROOT / "examples" / "gallery" / target.name
            assert target.with_suffix(".py").exists() or target.name == "index", match["target"]
        else:
            assert target.with_suffix(".md").exists(), match["target"]


def test_docstrings_refer_to_pages_that_are_there():
    found = []
    for source in (ROOT / "src").rglob("*.py"):
        found += [(source, target) for target in re.findall(r":doc:`/([^`]+)`", source.read_text())]
    assert found
    missing = [(source.name, target) for source, target in found if not (SITE / f"{target}.md").exists()]
    assert not missing


def check(folder):
    command = [sys.executable, ROOT / "tools" / "check_links.py", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_checker_of_the_built_site_finds_dead_links(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a><a href="https://example.org">out</a>')
    (tmp_path / "b.html").write_text('<h1 id="here"></h1><a href="a.html">a</a>')
    assert check(tmp_path).returncode == 0
    (tmp_path / "b.html").write_text('<h1 id="there"></h1><a href="gone.html">a</a>')
    done = check(tmp_path)
    assert done.returncode == 1
    assert "a.html: b.html#here leads nowhere" in done.stderr
    assert "b.html: gone.html leads nowhere" in done.stderr
