"""Write the table of results.json into README.md and docs/guide/choosing.md: `python experiments/promise/tables.py`."""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGES = (HERE.parents[1] / "README.md", HERE.parents[1] / "docs" / "guide" / "choosing.md")


def table():
    """Return the table as Markdown."""
    lines = [
        "| data | rows, labels | bags | promise | accuracy | set size | observed | CPU seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in json.loads((HERE / "results.json").read_text())["data"].items():
        for variant, words in (("half", "half"), ("promised", "delta = 0.05")):
            v = found[variant]
            lines.append(
                f"| {name} | {found['n_rows']:,}, {found['n_classes']} | {words}: {v['bag_size']:,} rows | "
                f"{v['guarantee']:.3f} | {v['accuracy']:.3f} | {v['set_size']:.3f} | {v['max_instability']:.4f} | "
                f"{v['cpu_seconds']:.0f} |"
            )
    return "\n".join(lines)


def main():
    """Replace what stands between the two marks of each page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        marked = r"(<!-- promise table -->\n).*?(\n<!-- end of the promise table -->)"
        page.write_text(re.sub(marked, rf"\g<1>{table()}\g<2>", text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
