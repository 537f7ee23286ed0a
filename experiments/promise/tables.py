"""Write the table of results.json into README.md and docs/guide/choosing.md: `python experiments/promise/tables.py`."""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGES = (HERE.parents[1] / "README.md", HERE.parents[1] / "docs" / "guide" / "choosing.md")


def table():
    """Return the table as Markdown: a row per data set, half bags and promised ones side by side."""
    lines = [
        "| data | rows, labels | rows in a bag | promise | accuracy | set size | observed |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in json.loads((HERE / "results.json").read_text())["data"].items():
        cells = ["{bag_size:,}", "{guarantee:.3f}", "{accuracy:.3f}", "{set_size:.3f}", "{max_instability:.5f}"]
        made = [found.get(variant) for variant in ("half", "promised")]
        both = [" / ".join("–" if one is None else cell.format(**one) for one in made) for cell in cells]
        lines.append(f"| {name} | {found['n_rows']:,}, {found['n_classes']} | {' | '.join(both)} |")
    return "\n".join(lines)


def main():
    """Replace what stands between the two marks of each page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        marked = r"(<!-- promise table -->\n).*?(\n<!-- end of the promise table -->)"
        page.write_text(re.sub(marked, rf"\g<1>{table()}\g<2>", text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
