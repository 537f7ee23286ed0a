import pytest

from reporting import browser as driver


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium."""
    executable = driver.chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield running
        running.close()
