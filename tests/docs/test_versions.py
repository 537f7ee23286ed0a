"""The site by version, as it is hosted, and the list of versions on its pages."""

import functools
import http.server
import json
import runpy
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "site_versions.py"))
PAGE = (ROOT / "docs/_templates/versions.html").read_text()


def test_releases_are_ordered_by_number():
    assert TOOL["releases"](["v0.9.0", "v0.10.0", "nightly", "v1.0rc1", "v0.1"]) == ["0.10.0", "0.9.0", "0.1"]


@pytest.fixture
def site(tmp_path):
    def build(version, target):
        target.mkdir()
        (target / "index.html").write_text(f"<p>{version}</p>" + PAGE.replace("{{ pathto('', 1) }}", "."))

    built = tmp_path / "built"
    build("dev", built)
    TOOL["lay_out"](built, tmp_path / "site", ["0.2.0", "0.1.0"], build)
    return tmp_path / "site"


def test_versions_stand_side_by_side(site):
    assert json.loads((site / "versions.json").read_text()) == ["0.2.0", "0.1.0", "dev"]
    assert "url=0.2.0/index.html" in (site / "index.html").read_text()
    assert {path.name for path in site.iterdir() if path.is_dir()} == {"0.1.0", "0.2.0", "dev"}


def test_a_reader_goes_from_one_version_to_another(site, chromium):
    serve = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with chromium.new_page() as page:
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            page.wait_for_selector("#versions")
            assert page.inner_text("p") == "0.2.0"
            page.select_option("#versions", "0.1.0")
            page.wait_for_url("**/0.1.0/index.html")
            assert page.inner_text("p") == "0.1.0"
        server.shutdown()


def test_a_local_copy_has_no_list(site, chromium):
    with chromium.new_page() as page:
        page.goto(f"file://{site}/dev/index.html")
        assert page.locator("#versions").is_hidden()
