"""The explorer: one page to see the selection rules and the guarantees at work, without a network.

`parts/` holds its template, its style and its scripts, which are put together when the page is asked for.
"""

import base64
import hashlib
import re
from pathlib import Path

from steadyset._base import whole_files

_PARTS = Path(__file__).with_name("parts")


def html() -> str:
    """Return the page: the template with every `@@name@@` replaced by the part of that name, and the page's policy.

    Examples
    --------
    >>> from steadyset import explorer
    >>> "<title>steadyset explorer</title>" in explorer.html()
    True
    """
    page = re.sub(r"@@(\w+\.\w+)@@", lambda found: _part(found[1]).strip(), _part("template.html"))
    return page.replace("@@policy@@", _policy(page))


def write(file: Path | None = None) -> Path:
    """Write the page, whole or not at all, and return its absolute path; without a file, into the user's cache."""
    file = (whole_files.cache_folder() / "explorer.html" if file is None else file).absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    whole_files.check_output(file)
    with whole_files.replacing(file) as temporary:
        temporary.write_text(html(), encoding="utf-8")
    return file


def _policy(page: str) -> str:
    """Return the Content-Security-Policy: nothing is fetched, and no script runs but those of the page, by digest."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _part(name: str) -> str:
    if name == "guarantees.js":
        from steadyset.guarantees import javascript  # it loads scipy, which no help page needs

        return javascript()
    return (_PARTS / name).read_text(encoding="utf-8")
