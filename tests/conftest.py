import os
import shutil
import signal

import hypothesis
import pytest

from helpers import elsewhere

hypothesis.settings.register_profile(
    "steadyset", deadline=None, max_examples=200, derandomize=bool(os.environ.get("CI"))
)
# Old dependencies break calls, not mathematics: a few examples show it.
hypothesis.settings.register_profile("oldest", hypothesis.settings.get_profile("steadyset"), max_examples=20)
hypothesis.settings.load_profile("steadyset")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a plain shell, and in all it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def full_trials() -> bool:
    """Whether the long trials run at full size (`make trials`)."""
    return os.environ.get("STEADYSET_TRIALS") == "full"


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def isa(request):
    """Run the test once on every instruction-set level of this CPU."""
    from steadyset import _native

    if request.param not in _native.isa_levels():
        pytest.skip(f"this CPU has no {request.param}")
    before = _native.isa()
    _native.use_isa(request.param)
    yield request.param
    _native.use_isa(before)


@pytest.fixture(params=elsewhere.PLACES)
def place(request) -> elsewhere.Place:
    """Another CPU, another compiler or another architecture, each once."""
    return elsewhere.place(request.param)


@pytest.fixture(scope="session")
def chromium():
    """Headless Chromium, one for all pages; skip where there is none, unless STEADYSET_REQUIRE_BROWSER is set."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None and not os.environ.get("STEADYSET_REQUIRE_BROWSER"):
        pytest.skip("chromium is not installed (Debian's chromium)")
    assert executable is not None, "STEADYSET_REQUIRE_BROWSER is set, and there is no chromium"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()
