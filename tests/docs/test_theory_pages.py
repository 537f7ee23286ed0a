"""The theory pages hold what they promise: every theorem is proved, used and checked by a test that exists."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    "selection",
    "guarantees",
    "audit",
    "certificates",
    "neighbors",
    "metrics",
    "choices",
    "coverage",
    "corrections",
]
RESULT = re.compile(r"(Theorem|Lemma|Corollary|Correction) \w+: ")


def sections(page):
    """The titles, labels and texts of the second-level sections of a page."""
    text = (ROOT / "docs/theory" / f"{page}.md").read_text()
    starts = list(re.finditer(r"^(?:\(([\w-]+)\)=\n)?## ([^\n]*)$", text, flags=re.MULTILINE))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return [(s[2], s[1], text[s.end() : end]) for s, end in zip(starts, ends, strict=True)]


THEOREMS = [
    pytest.param(label, text, id=f"{page}: {title.split(':')[0]}")
    for page in PAGES
    for title, label, text in sections(page)
    if RESULT.match(title)
]


def functions_of(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def resolve(name):
    """Follow a dotted name from the longest module that imports; a field of a dataclass counts."""
    parts = name.lstrip("~").split(".")
    owner, rest = importlib.import_module(parts[0]), parts[1:]
    for part in rest:
        if part in getattr(owner, "__dataclass_fields__", {}):
            return owner.__dataclass_fields__[part]
        owner = getattr(owner, part)
    return owner


def test_there_are_theorems():
    assert len(THEOREMS) > 50


@pytest.mark.parametrize(("label", "text"), THEOREMS)
def test_every_theorem_is_checked_by_tests_that_exist(label, text):
    checked = text.split("**Checked by.**")
    assert len(checked) == 2, "one line that says which tests check the claim"
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", checked[1])
    assert named
    assert len(named) == checked[1].count("tests/")
    for path, test in named:
        assert (ROOT / path).is_file(), path
        assert test in functions_of(path), f"{path}::{test}"


@pytest.mark.parametrize(("label", "text"), THEOREMS)
def test_every_theorem_is_stated_proved_and_used(label, text):
    assert label is not None
    assert label.startswith("theory-")
    if "**The paper:**" in text:
        assert "**What holds.**" in text
    else:
        assert "**Statement.**" in text
        assert "**Proof" in text
        assert r"$\square$" in text
    used = text.split("**Used by.**")[1].split("**Checked by.**")[0]
    assert used.strip()


@pytest.mark.parametrize("page", [*PAGES, "index"])
def test_functions_that_are_named_exist(page):
    text = (ROOT / "docs/theory" / f"{page}.md").read_text()
    names = re.findall(r"\{(?:func|meth|class|attr|mod)\}`([^`]+)`", text)
    assert names
    for name in names:
        assert resolve(name) is not None, name


def test_labels_are_distinct_and_on_the_map():
    labels = [label for page in PAGES for title, label, _ in sections(page) if RESULT.match(title)]
    assert len(set(labels)) == len(labels)
    index = (ROOT / "docs/theory/index.md").read_text()
    for page in PAGES:
        for title, label, _ in sections(page):
            if RESULT.match(title):
                assert f"]({page}.md#{label}): {title.split(': ', 1)[1]} |" in index, title


def test_the_map_names_tests_of_its_theorems():
    index = (ROOT / "docs/theory/index.md").read_text()
    texts = {label: text for page in PAGES for _, label, text in sections(page)}
    rows = re.findall(r"^\| \[[^]]*\]\(\w+\.md#([\w-]+)\).*`(test_\w+)` \|$", index, flags=re.MULTILINE)
    assert len(rows) == len(THEOREMS)
    for label, test in rows:
        assert f"::{test}`" in texts[label]
