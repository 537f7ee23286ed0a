"""The explorer: one page to see the selection rules and the guarantees at work, without a network.

`parts/` holds its template, its style and its scripts, which are put together when the page is asked for.
"""

import re
from pathlib import Path

from steadyset._base import whole_files

_PARTS = Path(__file__).with_name("parts")


def html() -> str:
    """Return the page: the template with every `@@name@@` replaced by the part of that name.

    Examples
    --------
    >>> from steadyset import explorer
    >>> "<title>steadyset explorer</title>" in explorer.html()
    True
    """
    return re.sub(r"@@(.+?)@@", lambda found: _part(found[1]).strip(), _part("template.html"))


def write(file: Path | None = None) -> Path:
    """Write the page, whole or not at all, and return its absolute path; without a file, into the user's cache."""
    file = (whole_files.cache_folder() / "explorer.html" if file is None else file).absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    whole_files.check_output(file)
    with whole_files.replacing(file) as temporary:
        temporary.write_text(html(), encoding="utf-8")
    return file


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")
