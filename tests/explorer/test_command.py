"""`steadyset explore`, as it is typed, and the page as it is put together."""

import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steadyset import explorer
from steadyset.cli import app


@pytest.fixture
def cached(monkeypatch, tmp_path):
    """Where the page is put without --output."""
    monkeypatch.setenv("STEADYSET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "explorer.html"


@pytest.fixture
def opened(monkeypatch):
    """What the browser was asked to open."""
    urls = []
    monkeypatch.setattr(webbrowser, "open", lambda url: urls.append(url) or True)
    return urls


def explore(*arguments, code=0):
    result = CliRunner().invoke(app, ["explore", *map(str, arguments)])
    assert result.exit_code == code, result.output + result.stderr
    return result


def test_the_page_holds_every_part():
    page = explorer.html()
    assert "@@" not in page
    for part in (Path(explorer.__file__).with_name("parts")).iterdir():
        assert part.name == "template.html" or part.read_text(encoding="utf-8").strip() in page


def test_it_opens_the_page(opened, cached):
    assert explore().stdout == f"{cached}\n"
    assert cached.read_text(encoding="utf-8") == explorer.html()
    assert opened == [cached.as_uri()]


def test_no_open_only_prints(opened, cached):
    assert explore("--no-open").stdout == f"{cached}\n"
    assert opened == []


def test_output_writes_a_copy_and_opens_it(opened, tmp_path):
    file = tmp_path / "new" / "page.html"
    assert explore("--output", file).stdout == f"{file}\n"
    assert file.read_text(encoding="utf-8") == explorer.html()
    assert opened == [file.as_uri()]
    assert [entry.name for entry in file.parent.iterdir()] == ["page.html"]


def test_no_browser_is_said(monkeypatch, cached):
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert "no browser could be started" in explore().stderr


def test_an_output_that_cannot_be_written_is_a_sentence(opened, tmp_path):
    result = explore("--output", tmp_path, code=2)
    assert result.stderr == f"steadyset explore: output must be a file; got the folder {str(tmp_path)!r}.\n"
    (tmp_path / "taken").write_text("")
    result = explore("--output", tmp_path / "taken" / "page.html", code=2)
    assert result.stderr.startswith("steadyset explore: ")
    assert result.stderr.count("\n") == 1
    assert opened == []
