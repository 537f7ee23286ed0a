"""Results as a notebook shows them, in cards and in a real notebook that a browser opens."""

import os
import re
from html import unescape
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import steadyset as ss
from steadyset._base import notebook

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
PROGRAM = [
    "from sklearn.datasets import load_iris\nimport steadyset as ss\n\nX, y = load_iris(return_X_y=True)\n"
    "model = ss.StableClassifier(n_estimators=500, epsilon=0.2, delta=0.05, random_state=0).fit(X, y)\n"
    "model.guarantee()",
    "model.audit(X)",
    "model.certify(X)",
    "rules = [ss.Argmax(), ss.InflatedArgmax(0.2), ss.TopK(2)]\n"
    "ss.metrics.set_report(y, rules, model.predict_proba(X))",
    "ss.plan(len(X), 3, delta=0.05, n_bags=500)",
    "votes = ['depth 3'] * 52 + ['depth 5'] * 45 + ['depth 8'] * 3  # one per bag\nss.stable_choice(votes, 0.1)",
]
BAR = "model.set_params(verbose=1).fit(X, y)"


def text_of(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html.replace("<wbr>", ""))).split())


@pytest.fixture(scope="module")
def results():
    X, y = load_iris(return_X_y=True)
    model = ss.StableClassifier(n_estimators=60, epsilon=0.2, random_state=0).fit(X, y)
    neighbors = ss.StableNeighborsClassifier(3, max_samples=0.1, epsilon=0.2).fit(X, y)
    return [
        (model.guarantee(), [str(model.guarantee())]),
        (model.audit(X), model.audit(X).summary().split("\n")),
        (model.certify(X), model.certify(X).summary().split("\n")),
        (neighbors.certify(X), neighbors.certify(X).summary().split("\n")),
        (ss.plan(150, 3, delta=0.05), str(ss.plan(150, 3, delta=0.05)).replace(":", "").split()),
        (ss.metrics.set_report(y, [ss.Argmax()], model.predict_proba(X)), ["correct_single ↑", "Argmax()"]),
        (ss.stable_choice(["a", "b", "a"], 0.1), [ss.stable_choice(["a", "b", "a"], 0.1).summary()]),
    ]


def test_a_notebook_shows_all_that_print_shows(results):
    for result, said in results:
        shown = text_of(result._repr_html_())
        for words in said:
            assert " ".join(words.split()) in shown, type(result).__name__


def test_texts_are_escaped():
    choice = ss.stable_choice(["<script>alert(1)</script>", "b"], 0.1)
    assert "<script" not in choice._repr_html_()
    assert "&lt;script&gt;" in choice._repr_html_()
    assert "<b>" not in notebook.card("<b>", ["<b>"]) + notebook.table(["<b>"], [["<b>"]])


def test_labels_and_ids_are_escaped():
    X, y = load_iris(return_X_y=True)
    labels = [f"<script>alert({label})</script>" for label in y]
    ids = [f"<img src=x onerror=alert({row})>" for row in range(len(X))]
    model = ss.StableClassifier(n_estimators=60, epsilon=0.2, random_state=0).fit(X, labels, sample_ids=ids)
    shown = [model.guarantee(), model.audit(X), model.certify(X)]
    shown.append(ss.metrics.set_report(labels, [model.rule_], model.predict_proba(X), classes=model.classes_))
    for result in shown:
        assert not re.search("<script|<img", result._repr_html_()), type(result).__name__


def test_a_real_notebook_in_a_browser(tmp_path, request):
    nbformat, nbclient, nbconvert = (pytest.importorskip(name) for name in ("nbformat", "nbclient", "nbconvert"))
    pytest.importorskip("ipywidgets")
    chromium = request.getfixturevalue("chromium")
    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in [*PROGRAM, BAR]])
    nbclient.NotebookClient(written, timeout=120, kernel_name="python3", allow_errors=False).execute()
    bars = [one.data for one in written.cells[-1].outputs if one.output_type == "display_data"]
    assert any("application/vnd.jupyter.widget-view+json" in data for data in bars)
    for cell in written.cells[:-1]:
        (output,) = (one for one in cell.outputs if one.output_type == "execute_result")
        assert "text/html" in output.data, cell.source
    html, _ = nbconvert.HTMLExporter(embed_images=True).from_notebook_node(written)
    path = tmp_path / "notebook.html"
    path.write_text(html, encoding="utf-8")
    with chromium.new_page(viewport={"width": 1000, "height": 900}) as page:
        page.goto(f"file://{path}")
        shown = page.inner_text("body")
        for words in (
            "At most 0.047",
            "Largest instability",
            "Certificates of 150 points",
            "A promise of at most 0.05",
        ):
            assert words in shown
        assert page.locator("table").count() >= 3
        heights = page.locator("table[style] td").evaluate_all("cells => cells.map(cell => cell.clientHeight)")
        assert len(set(heights)) == 1  # no number is broken over two lines
        hidden = page.locator("div:has(> table[style])").evaluate_all(
            "all => all.map(one => one.scrollWidth - one.clientWidth)"
        )
        assert not any(hidden)  # nor is a column out of sight
        if os.environ.get("STEADYSET_SCREENSHOTS"):
            page.screenshot(path=FIGURES / "notebook.png", full_page=True)
