"""The explorer: one page to see the selection rules and the guarantees at work, without a network.

`parts/` holds its sources; `tools/build_explorer.py` puts them together into `explorer.html`, the file that ships.
"""

from pathlib import Path

from steadyset import _files

PAGE = Path(__file__).with_name("explorer.html")


def html() -> str:
    """Return the page.

    Examples
    --------
    >>> from steadyset import explorer
    >>> "<title>steadyset explorer</title>" in explorer.html()
    True
    """
    return PAGE.read_text(encoding="utf-8")


def write(file: Path) -> Path:
    """Write a copy of the page, whole or not at all, and return its absolute path."""
    file = file.absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    _files.check_output(file)
    with _files.replacing(file) as temporary:
        temporary.write_text(html(), encoding="utf-8")
    return file
