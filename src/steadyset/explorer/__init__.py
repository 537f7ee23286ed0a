"""The explorer: one page to see the selection rules and the guarantees at work, without a network.

`parts/` holds its sources; `tools/build_explorer.py` puts them together into `explorer.html`, the file that ships.
"""

import os
import tempfile
from pathlib import Path

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
    if file.is_dir():
        raise IsADirectoryError(f"output must be a file; got the folder {file}.")
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(html())
        os.chmod(name, 0o644)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return file
