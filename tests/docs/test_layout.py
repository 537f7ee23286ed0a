"""The check of the built site's layout sees what runs out of its column, and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIDE = "x" * 300
STYLE = "<style>body { margin: 0 } article { width: 90vw; overflow: hidden } .box { overflow-x: auto }</style>"
SOUND = {
    "index": "<p>short</p><pre>print()</pre>",
    "code": f'<pre class="box">{WIDE}</pre>',
    "table": f'<div class="box"><table><tr><td>{WIDE}</table></div>',
}
FAULTY = {
    "index": f'<pre class="box">{WIDE}</pre>',  # code of the first page has to be seen whole
    "table": f"<table><tr><td>{WIDE}</table>",
    "formula": f'<div class="math box"><span>{WIDE}</span></div>',
    "image": '<img alt="" width="500" height="9">',
}


def checked(folder, pages):
    for name, article in pages.items():
        (folder / f"{name}.html").write_text(f"<!doctype html>{STYLE}<article>{article}</article>")
    command = [sys.executable, ROOT / "tools" / "check_layout.py", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_runs_out_of_its_column_is_named(tmp_path):
    names = ("chromium", "chromium-browser")
    if not any(map(shutil.which, names)) and not os.environ.get("STEADYSET_REQUIRE_BROWSER"):
        pytest.skip("chromium is not installed (Debian's chromium)")
    done = checked(tmp_path, FAULTY)
    assert done.returncode == 1
    assert [line.split(' "')[0] for line in done.stderr.splitlines()] == [
        "formula.html on a desktop: <div>",
        "image.html on a phone: <img>",
        "index.html on a desktop: <pre>",
        "table.html on a desktop: <table>",
        "table.html on a phone: <table>",
    ]
    for path in tmp_path.iterdir():
        path.unlink()
    done = checked(tmp_path, SOUND)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_without_a_browser_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("STEADYSET_REQUIRE_BROWSER", raising=False)
    done = checked(tmp_path, SOUND)
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "layout: not checked")
    monkeypatch.setenv("STEADYSET_REQUIRE_BROWSER", "1")
    assert checked(tmp_path, SOUND).returncode == 1
