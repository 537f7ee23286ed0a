"""Lay the site out by version, as it is hosted: `python tools/site_versions.py BUILT SITE`, after `make docs`.

`SITE/dev/` is what was built from the commit that is checked out, `SITE/0.1.0/` each release, built from its tag,
`SITE/versions.json` what the pages offer to go to, and `SITE/index.html` leads to the newest release, or to `dev`.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def releases(tags: list[str]) -> list[str]:
    """Return the releases among the tags, newest first: v0.10.0 is newer than v0.9.0, and v1.0rc1 is none."""
    found = [tag[1:] for tag in tags if re.fullmatch(r"v\d+(\.\d+)*", tag)]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")], reverse=True)


def build_release(version: str, target: Path) -> None:
    """Build the site of a release in a worktree of its tag, by its own Makefile."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", tree, f"v{version}"], cwd=ROOT, check=True)
        try:
            subprocess.run(["make", "docs"], cwd=tree, check=True)
            shutil.copytree(tree / "build" / "docs", target)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def lay_out(built: Path, site: Path, versions: list[str], build=build_release) -> None:
    """Put all versions side by side; a release that is there already is not built again."""
    site.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(site / "dev", ignore_errors=True)
    shutil.copytree(built, site / "dev")
    for version in versions:
        if not (site / version).exists():
            build(version, site / version)
    (site / "versions.json").write_text(json.dumps([*versions, "dev"]) + "\n")
    newest = versions[0] if versions else "dev"
    (site / "index.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>steadyset</title>'
        f'<meta http-equiv="refresh" content="0; url={newest}/index.html">'
        f'<a href="{newest}/index.html">steadyset {newest}</a></html>\n'
    )


if __name__ == "__main__":
    told = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lay_out(Path(sys.argv[1]), Path(sys.argv[2]), releases(told.split()))
