"""Two engines that run the page's JavaScript: Node on its parts, and Chromium on the whole page."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from steadyset import explorer
from steadyset.guarantees import javascript

PARTS = Path(explorer.__file__).with_name("parts")


class Node:
    """Runs a function of one argument on the parts that need no page."""

    def __init__(self, command):
        self.command = command

    def run(self, function, argument):
        parts = [(PARTS / f"{name}.js").read_text() for name in ("selection", "simplex")] + [javascript()]
        call = f"console.log(JSON.stringify(({function})(JSON.parse(require('fs').readFileSync(0, 'utf8')))));"
        done = subprocess.run(
            [self.command, "-e", "\n".join([*parts, call])],
            input=json.dumps(argument),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


class Chromium:
    """Runs a function of one argument in the page."""

    def __init__(self, page):
        self.page = page

    def run(self, function, argument):
        text = self.page.evaluate(f"(text) => JSON.stringify(({function})(JSON.parse(text)))", json.dumps(argument))
        return json.loads(text)


@pytest.fixture
def open_page(chromium, tmp_path):
    """Open the page; at the end of the test, demand that nothing was logged, thrown or requested."""
    contexts, faults = [], []
    url = explorer.write(tmp_path / "explorer.html").as_uri()

    def open_page(fragment="", **options):
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request", lambda request: None if request.url.startswith((url, "data:")) else faults.append(request.url)
        )
        page.goto(url + fragment)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(params=["node", "chromium"])
def engine(request):
    if request.param == "chromium":
        return Chromium(request.getfixturevalue("open_page")())
    command = shutil.which("node")
    if command is None:
        pytest.skip("node is not installed; the same tests run in Chromium")
    return Node(command)
