"""The page's numbers at any epsilon are the library's."""

import numpy as np
import pytest

import steadyset as ss
from helpers import report_cases as cases
from helpers.browser import opened
from steadyset.guarantees import TITLES
from steadyset.reporting import _formats, _slider

COLUMNS = ("correct_single", "size", "coverage", "u65", "u80", "superfluous_inflation")

THEOREMS = {name: f"the {title}" for name, title in TITLES.items()}
EVERY_ROW, ROWS = "for every row, on average", "on average over the rows and"


def assert_page_agrees(shown, found, truth, epsilon):
    rule = ss.InflatedArgmax(epsilon)
    sets, audit = rule(found.mean()), ss.audit_bags(found, rule)
    assert shown.exact("set-size") == sets.sum(axis=1).mean()
    assert shown.exact("max-instability") == audit.max_instability
    assert shown.exact("conflicts") == round(audit.instability.sum() * audit.n_units)
    assert shown.exact("points-in-conflict") == (audit.instability > 0).sum()
    assert shown.exact("ambiguous") == (sets.sum(axis=1) > 1).sum()
    rules = {"inflated": rule, "margin": ss.FixedMargin(epsilon)}
    table = ss.metrics.set_report(truth, rules, found.mean(), classes=found.classes)
    for row in table.rows:
        for column, cell in zip(table.columns[1:], row[1:], strict=True):
            value = shown.text(f"{row[0]}-{column}")
            if np.isnan(cell):
                assert value == "–"
            else:
                assert shown.exact(f"{row[0]}-{column}") == pytest.approx(cell, rel=1e-12, abs=1e-15)
                error = value.split("(")[1].rstrip(")").replace("–", "nan")
                assert float(error) == pytest.approx(cell.standard_error, abs=6e-4, nan_ok=True)
    certificates = ss.certify(found, rule)
    assert shown.exact("cert-none") == (certificates.bound == 0).mean()
    assert shown.exact("cert-vacuous") == (certificates.bound >= 1).mean()
    assert shown.exact("cert-median") == np.median(certificates.bound)
    bags = found.bags
    setting = {"n_samples": bags.n_samples, "bag_size": bags.bag_size, "n_classes": found.n_classes, "epsilon": epsilon}
    best = ss.selection_stability(**setting, n_bags=bags.n_bags, resampling=bags.resampling)
    assert shown.exact("bound") == pytest.approx(best.delta, rel=1e-12)
    assert shown.text("bound-theorem") == ("every theorem" if best.vacuous else THEOREMS[best.theorem])
    every = best.every_row and not best.vacuous
    assert shown.text("bound-rows") == f", {EVERY_ROW if every else ROWS} over the draw of bags"
    event = "of a contradiction at a point (label sets that share no label) is"
    assert shown.text("bound-event") == (f"Nothing: the bound on the probability {event}" if best.vacuous else
                                         f"The probability {event}")  # fmt: skip
    assert shown.text("bound") == (f"{_formats.bound(best.delta)} (vacuous)" if best.vacuous else
                                   f"at most {_formats.bound(best.delta)}")  # fmt: skip
    limit = ss.selection_stability(**setting, resampling=bags.resampling)
    assert shown.exact("bound-limit") == pytest.approx(limit.delta, rel=1e-12)
    assert shown.text("bound-limit") == _formats.bound(limit.delta) + (" (vacuous)" if limit.vacuous else "")


def pairs_on_page(page):
    rows = page.locator("#pairs-table tbody tr")
    return [[cell.strip() for cell in row.locator("th, td").all_text_contents()] for row in rows.all()]


@pytest.mark.parametrize(("bag_size", "resampling"), [(30, "subbagging"), (3, "subbagging"), (40, "bootstrap")])
def test_every_number_is_the_librarys_at_random_epsilons(browser, tmp_path, bag_size, resampling):
    found, truth = cases.predictions(bag_size=bag_size, resampling=resampling)
    made = ss.report(found, y=truth, output=tmp_path / "report.html")
    assert made.numbers["slider"]["step"] is None
    with opened(browser, tmp_path / "report.html") as shown:
        assert_page_agrees(shown, found, truth, 0.05)
        for epsilon in np.random.default_rng(bag_size).uniform(0, 0.5, 5).round(9):  # a range keeps 15 digits
            assert shown.move(float(epsilon)) == epsilon
            assert_page_agrees(shown, found, truth, float(epsilon))
            sets = ss.inflated_argmax(found.mean(), epsilon)
            expected = ss.metrics.by_pair(truth, sets, classes=found.classes)
            lines = pairs_on_page(shown.page)
            assert [line[0] for line in lines] == [" · ".join(pair) for pair in expected["pair"][:12]]
            assert [int(line[1]) for line in lines] == list(expected["n_sets"][:12])
            for card in shown.page.locator("[data-example]").all():
                point = int(card.get_attribute("data-example"))
                marked = card.locator("li.in .user").all_text_contents()
                mine = [str(found.classes[j]) for j in np.flatnonzero(sets[point])]
                assert sorted(marked) == sorted(mine)
                assert card.is_hidden() == (len(mine) < 2)
        shown.move(0.0)
        assert shown.exact("conflicts") == round(ss.audit_bags(found, ss.Argmax()).instability.sum() * 80)
        assert "not bounded" in shown.text("bound")
        assert not shown.complaints


def test_what_the_server_wrote_is_what_the_script_writes(browser, tmp_path):
    found, truth = cases.predictions(seed=3)
    made = ss.report(found, y=truth, output=tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as shown:
        script = shown.page.locator("[data-value]").all_text_contents()
        context = browser.new_context(java_script_enabled=False)
        context.set_default_timeout(300_000)
        page = context.new_page()
        page.goto(f"file://{tmp_path / 'report.html'}")
        written = page.locator("[data-value]").all_text_contents()
        table = pairs_on_page(page)
        context.close()
        assert written == script
        assert len(written) > 30
        assert table == pairs_on_page(shown.page)
    assert (
        made.numbers["inflated_argmax"]["max_instability"] == ss.audit_bags(found, ss.InflatedArgmax()).max_instability
    )


def test_too_many_steps_go_on_a_grid_and_the_page_says_so(browser, tmp_path, monkeypatch):
    found, truth = cases.predictions(seed=5)
    monkeypatch.setattr(_slider, "_EXACT_LABELS", 10)
    monkeypatch.setattr(_slider, "_GRID_CONFLICTS", 300)
    made = ss.report(found, y=truth, output=tmp_path / "report.html")
    step = made.numbers["slider"]["step"]
    assert step is not None
    with opened(browser, tmp_path / "report.html") as shown:
        assert f"Moves in steps of {step:g}" in shown.page.locator("#epsilon-help").text_content()
        for wanted in np.random.default_rng(0).uniform(0.01, 0.5, 5):
            epsilon = shown.move(float(wanted))
            assert abs(epsilon - wanted) <= step
            assert epsilon == float(f"{round(epsilon / step) * step:.6f}")
            assert_page_agrees(shown, found, truth, epsilon)


def test_a_slider_with_too_many_labels_ends_earlier_but_stays_exact(monkeypatch):
    found, _ = cases.predictions(n_classes=12)
    monkeypatch.setattr(_slider, "_EXACT_LABELS", 10)
    monkeypatch.setattr(_slider, "_GRID_LABELS", 120)
    proba, audit = found.mean(), ss.audit_bags(found, ss.InflatedArgmax(0.05))
    made = _slider.steps(_slider.entries(proba, 0.05), audit, _slider.last_conflicts(audit), 0.05)
    assert 0.05 <= made.top < 0.5
    grid = _slider.grid_points(made.step, made.top)
    for number in (1, len(grid) // 2, len(grid) - 1):
        sizes = np.add.reduceat(made.inflated <= number, made.label_starts[:-1])
        assert np.array_equal(sizes, ss.inflated_argmax(proba, grid[number]).sum(axis=1))


def test_at_the_rules_own_epsilon_ties_go_as_the_rule_decides():
    """Votes in quarters put entries on sqrt(2)/4 exactly, where rules round outward."""
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 3, (40, 25))
    found = ss.BagPredictions(np.eye(3)[votes], ss.draw_bags(30, 40, 15), "abc")
    proba = found.mean()
    for epsilon in (np.sqrt(2) * 0.05, float(np.unique(ss.entry_epsilons(proba))[10]), 0.1):
        epsilon = float(epsilon)
        entries = _slider.entries(proba, epsilon)
        assert np.array_equal(
            (entries.inflated < epsilon) | (entries.inflated == 0), ss.inflated_argmax(proba, epsilon)
        )
        assert np.array_equal((entries.margin < epsilon) | (entries.margin == 0), ss.fixed_margin(proba, epsilon))
        audit = ss.audit_bags(found, ss.InflatedArgmax(epsilon))
        last = _slider.last_conflicts(audit)
        kept = [
            int((last[a:b] >= epsilon).sum()) for a, b in zip(audit.pair_starts, audit.pair_starts[1:], strict=False)
        ]
        assert kept == np.rint(audit.instability * audit.n_units).astype(int).tolist()


def test_keys_and_the_number_field_move_the_slider(browser, tmp_path):
    found, truth = cases.predictions()
    ss.report(found, y=truth, output=tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as shown:
        page = shown.page

        def now():
            return float(page.evaluate("document.body.dataset.epsilon"))

        page.focus("#epsilon")
        page.keyboard.press("ArrowRight")
        assert now() == 0.051
        page.keyboard.press("PageDown")
        assert now() == 0.041
        page.keyboard.press("End")
        assert now() == 0.5
        assert_page_agrees(shown, found, truth, 0.5)
        page.fill("#epsilon-number", "0.1234567")
        assert now() == 0.1234567
        page.fill("#epsilon-number", "7")
        assert now() == 0.1234567
        assert page.get_attribute("#epsilon-number", "aria-invalid") == "true"
        page.click("#epsilon-reset")
        assert now() == 0.05
        page.get_by_text("Epsilon 0.05: mean set size").wait_for(state="attached")  # what a screen reader says
