"""The pages of the documentation and what is written in them."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[3]
GENERATED = ("docs/api/", "docs/gallery/")  # written by the build
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not page.relative_to(ROOT).as_posix().startswith(GENERATED)
)

ABOUT = "{code-block} text"  # an output whose numbers depend on how the CPU rounds

_FENCE = re.compile(r"^(?P<fence>```+)(?P<kind>[^\n`]*)\n(?P<code>.*?)^(?P=fence)[ ]*$", flags=re.DOTALL | re.MULTILINE)
_PRINTED = re.compile(r"print\(.*\)  # (?P<said>(?:[^a-zA-Z]|True|False|None).*)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block: what stands in it, and what it is said to print."""

    code: str
    shown: str | None  # the whole output, where a text block follows at once
    exact: bool = True  # whether its numbers are the same on every CPU

    @property
    def said(self) -> list[str]:
        """What comments behind a print call say that it prints; a comment that starts with a letter is prose."""
        return [match["said"].strip() for match in _PRINTED.finditer(self.code)]


def fences(page, *kinds):
    """Return the blocks of these kinds, each with the text block that follows it without a word in between."""
    text = page.read_text()
    found = list(_FENCE.finditer(text))
    blocks = []
    for match, following in zip_longest(found, found[1:]):
        if match["kind"].strip() not in kinds:
            continue
        output, exact = None, True
        if following and not text[match.end() : following.start()].strip():
            exact = following["kind"].strip() != ABOUT
            if following["kind"].strip() in ("text", ABOUT):
                output = re.sub(r"^:\w+:.*\n", "", following["code"], flags=re.MULTILINE)
        blocks.append(Block(match["code"], output, exact))
    return blocks


def prose(page):
    """Return the page without its code blocks, which may look like links."""
    return re.sub(r"`[^`\n]+`", "", _FENCE.sub("", page.read_text()))


def name(page):
    """Return the page's path in the project, which names its tests."""
    return page.relative_to(ROOT).as_posix()
