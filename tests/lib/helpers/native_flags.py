"""The flags of the native build, read where they are stated."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def flags_of(level: str) -> list[str]:
    """The flags of a level as the build states them."""
    stated = dict(re.findall(r"set\(isa_flags_(\w+) ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text()))
    words = stated[level].replace('""', "").split()
    return [flag for word in words for flag in (flags_of(word[12:-1]) if word.startswith("${") else [word])]
