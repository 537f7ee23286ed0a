"""Whatever comes from the user shows as text."""

import numpy as np
import pytest

import steadyset as ss
from helpers import report_cases as cases
from helpers.browser import opened

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=hacked=1>&amp;'\""


def test_markup_in_names_and_values_shows_as_text(browser, tmp_path):
    pandas = pytest.importorskip("pandas")
    classes = [f"{HOSTILE} {j}" for j in range(3)]
    found, truth = cases.predictions(n_classes=3, classes=classes)
    X = pandas.DataFrame({HOSTILE: np.arange(30.0), "value": ["<script>hacked=1</script>"] * 30})

    def rule(proba):
        return ss.inflated_argmax(proba, 0.2)

    rule.__name__ = HOSTILE
    for name, options in {"moving": {"epsilon": 0.2}, "own": {"rule": rule}}.items():
        path = tmp_path / f"{name}.html"
        ss.report(found, X, truth, output=path, title=HOSTILE, **options)
        with opened(browser, path) as shown:
            page = shown.page
            shown.move(0.3)
            assert page.evaluate("window.hacked") is None
            assert page.title() == HOSTILE
            assert page.locator("h1").text_content() == HOSTILE
            assert page.locator("script").count() == 3
            assert page.locator("img").count() == 0
            assert page.locator(".labels .user").first.text_content().startswith(HOSTILE)
            assert page.locator("#pairs-table th .user").first.text_content().startswith(HOSTILE)
            assert page.locator("dt.user").first.text_content() == HOSTILE
            assert page.locator("dd.user").nth(1).text_content() == "<script>hacked=1</script>"
            if name == "own":
                assert HOSTILE in page.locator("header .user").text_content()
            assert shown.complaints == []
            assert shown.requests == [f"file://{path}"]
