import pytest


@pytest.fixture(scope="session")
def browser(chromium):
    """Headless Chromium."""
    return chromium
