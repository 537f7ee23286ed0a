"""The code in README, documentation and examples runs as it stands, and prints what the page says."""

import re
import shlex
from pathlib import Path

import pytest

from helpers import pages

ROOT = Path(__file__).parents[2]
MARK = "\x1e"  # stands between the outputs of two blocks

# Commands that take minutes: their options are checked, they are not run.
LONG = ("steadyset reproduce", "steadyset demo", "steadyset report", "steadyset explore")


def printed(output, shown, exact=True):
    """Whether the output is the one shown, in which three dots stand for anything."""
    if not exact:
        output, shown = (re.sub(r"\d[\d,.]*\d|\d", "0", text) for text in (output, shown))
    pattern = r"\s+".join(re.escape(word) for word in shown.split()).replace(re.escape("..."), r".*")
    return re.fullmatch(pattern, " ".join(output.split()).strip(), flags=re.DOTALL) is not None


@pytest.mark.parametrize("page", [page for page in pages.PAGES if pages.fences(page, "python")], ids=pages.name)
def test_code_blocks_run(page, tmp_path, run):
    blocks = pages.fences(page, "python")
    program = tmp_path / "page.py"
    program.write_text("".join(f"print({MARK!r}, end='')\n{block.code}\n" for block in blocks))
    code, stdout, stderr = run(program=program, cwd=tmp_path)
    assert code == 0, stderr
    for block, output in zip(blocks, stdout.split(MARK)[1:], strict=True):
        for line in block.said:
            assert line in output, f"{line!r} is not in:\n{output}"
        assert block.shown is None or printed(output, block.shown, block.exact), f"not as shown:\n{output}"


def commands():
    for page in pages.PAGES:
        for block in pages.fences(page, "sh"):
            for line in block.code.replace("\\\n", " ").splitlines():
                yield page, line.split("  #")[0].strip().removeprefix(".venv/bin/")


MADE = [(page, line) for page, line in commands() if line.startswith("make ")]
OURS = [
    (page, line)
    for page, line in commands()
    if line.startswith("steadyset ") and pages.name(page) in ("README.md", "docs/index.md", "docs/tutorial.md")
]


@pytest.mark.parametrize(("page", "line"), MADE, ids=lambda value: value if isinstance(value, str) else "")
def test_make_targets_exist(page, line):
    for target in line.split()[1:]:
        assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), page


@pytest.mark.parametrize(("page", "line"), OURS, ids=lambda value: value if isinstance(value, str) else "")
def test_commands_run(page, line, tmp_path, run):
    words = shlex.split(line)[1:]
    if line.startswith(LONG):
        words = [words[0], "--help"]
    code, stdout, stderr = run(*words, cwd=tmp_path)
    assert code == 0, stderr
    assert stdout


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example, tmp_path, run):
    code, stdout, stderr = run(program=example, cwd=tmp_path)
    assert code == 0, stderr
    assert stdout


def test_each_program_has_its_own_process_folder_and_warnings_as_errors(run, tmp_path):
    program = tmp_path / "page.py"
    program.write_text(
        "import os, sys, warnings\n"
        "print(os.getcwd(), __name__, os.path.abspath(__file__), sys.path[0], sorted(os.listdir()))\n"
        "print('mine' in globals() or 'helpers' in sys.modules or hasattr(os, 'mine'))\n"
        "mine = os.mine = 1\n"
        "warnings.warn('heard')\n"
    )
    for _ in range(2):
        code, stdout, stderr = run(program=program, cwd=tmp_path)
        assert stdout == f"{tmp_path} __main__ {program} {tmp_path} ['page.py']\nFalse\n"
        assert code == 1
        assert stderr.endswith("UserWarning: heard\n")


def test_the_gallery_has_enough_examples():
    assert len(list((ROOT / "examples" / "gallery").glob("plot_*.py"))) >= 8


def test_what_is_shown_is_compared():
    assert printed("a  1\nb 2\n", "a 1\nb 2")
    assert printed("a 1\nlong text\nb 2", "a 1\n...\nb 2")
    assert not printed("a 1\nb 3", "a 1\nb 2")
    assert printed("a 1.25%\n", "a 3%", exact=False)
    assert not printed("b 1.25%\n", "a 3%", exact=False)
    assert pages.Block("print(x)  # 12\nprint(y)  # a sentence\nz = 3  # 4\n", None).said == ["12"]
