"""The report of the demo, as a reader opens it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import steadyset as ss
from helpers.browser import opened

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
VIEWS = [(width, name, scheme) for width, name in ((1200, "desktop"), (390, "phone")) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return the page that `steadyset demo` writes, and what it prints."""
    path = tmp_path_factory.mktemp("demo") / "digits.html"
    command = Path(sys.executable).with_name("steadyset")
    done = subprocess.run([command, "demo", "--output", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path, done.stdout


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    train, test, y_train, _ = train_test_split(X, y, random_state=0, stratify=y)
    model = ss.StableClassifier(n_estimators=500, epsilon=0.1, delta=0.05, random_state=0, n_jobs=2)
    return model.fit(train, y_train), test


def test_the_demo_tells_the_whole_story(demo):
    path, printed = demo
    told = " ".join(printed.split())
    assert "Fitting 500 decision trees on bags of 1,347 training rows, as large as the promise allows ..." in told
    assert "Fitting 500 on half of the rows, one on all, and that one again without each of 100 rows ..." in told
    assert "in at most 5 in 100 cases" in told
    for words in ("Promised:", "Observed:", "Certified:", "Bought with", "The four methods", "most ambiguous digits"):
        assert words in told
    for words in ("In full:", "Audit over all rows:", str(path)):
        assert words in printed
    assert path.stat().st_size < 6_000_000


def test_it_opens_without_network_and_its_slider_is_the_librarys(demo, digits, browser):
    path, _ = demo
    model, points = digits
    found = model.bag_predictions(points)
    audit = ss.audit_bags(found, ss.InflatedArgmax(0.1))
    with opened(browser, path) as shown:
        for epsilon in [0.1, *np.random.default_rng(9).uniform(0, 0.5, 5).round(9).tolist()]:
            assert shown.move(epsilon) == epsilon
            sets = ss.inflated_argmax(found.mean(), epsilon)
            assert shown.exact("set-size") == sets.sum(axis=1).mean()
            assert shown.exact("max-instability") == audit.at(epsilon).max()
            assert shown.exact("conflicts") == round(audit.at(epsilon).sum() * audit.n_units)
            flips = [int(text) for text in shown.page.locator("[data-flips]").all_text_contents()]
            _, units = audit.conflicts(epsilon)
            assert flips == [int((units == unit).sum()) for unit in audit.influential()[:12]]
        shown.move(0.1)
        for plot in ("survival", "tradeoff", "sizes"):
            drawn = shown.page.locator(f"#plot-{plot} .trace path")
            assert drawn.count() >= 1
            assert all(len(path.get_attribute("d")) > 10 for path in drawn.all())
            assert len(shown.page.get_attribute(f"#plot-{plot}", "aria-label")) > 40
        assert shown.complaints == []
        assert shown.requests == [f"file://{path}"]


@pytest.mark.parametrize(("width", "name", "scheme"), VIEWS)
def test_it_fits_phone_and_desktop_in_light_and_dark(demo, browser, width, name, scheme):
    path, _ = demo
    with opened(browser, path, width=width, height=844, scheme=scheme) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
        dark = shown.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)"
        assert dark == (scheme == "dark")
        ink = shown.page.evaluate("getComputedStyle(document.querySelector('#plot-survival text')).fill")
        assert ink == ("rgb(232, 229, 222)" if dark else "rgb(31, 35, 40)")
        if name == "phone" and scheme == "light":
            assert _unlabelled(shown.page) == []
        if os.environ.get("STEADYSET_SCREENSHOTS"):
            _keep_picture(shown.page, FIGURES / f"report-{name}-{scheme}.png", width)
        if (name, scheme) == ("desktop", "dark"):
            shown.page.emulate_media(media="print")
            shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
            shown.page.set_viewport_size({"width": 680, "height": 900})
            assert shown.page.evaluate("document.documentElement.scrollWidth") <= 680
            assert shown.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
            assert len(shown.page.pdf(format="A4")) > 20_000


def _keep_picture(page, path, width):
    """Write the first part of the page as a small PNG."""
    from PIL import Image

    page.set_viewport_size({"width": width, "height": 2400})
    page.screenshot(path=path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(256)
    small.save(path, optimize=True)
    assert path.stat().st_size < 300_000


def _unlabelled(page):
    """Return what a screen reader could not name: inputs, images, tables without heads."""
    return page.evaluate(
        """() => [
          ...[...document.querySelectorAll("input")].filter((e) => !e.labels.length && !e.getAttribute("aria-label")),
          ...[...document.querySelectorAll("img")].filter((e) => !e.alt),
          ...[...document.querySelectorAll("[role=img]")].filter((e) => !e.getAttribute("aria-label")),
          ...[...document.querySelectorAll("th")].filter((e) => !e.scope),
        ].map((e) => e.outerHTML)"""
    )
