"""Puts the parts of the explorer together into its one page: `python tools/build_explorer.py`."""

import re
from pathlib import Path

EXPLORER = Path(__file__).parents[1] / "src" / "steadyset" / "explorer"


def page(explorer: Path = EXPLORER) -> str:
    """Return the page: the template with every `@@name@@` replaced by the part of that name."""
    parts = explorer / "parts"
    template = (parts / "template.html").read_text(encoding="utf-8")
    return re.sub(r"@@(.+?)@@", lambda found: (parts / found[1]).read_text(encoding="utf-8").strip(), template)


if __name__ == "__main__":
    (EXPLORER / "explorer.html").write_text(page(), encoding="utf-8")
