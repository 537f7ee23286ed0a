"""The page in a real browser: dragging, keys, typing, the calculator, the address; no fault, no request."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import steadyset as ss
from steadyset import explorer

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
RULES = {"inflated": ss.inflated_argmax, "margin": ss.fixed_margin, "argmax": lambda w, epsilon: ss.argmax_set(w)}


def shown(page):
    """The probabilities and the set that the page shows, at full precision."""
    data = page.locator("#triangle").evaluate("(svg) => ({ ...svg.dataset })")
    return np.array(json.loads(data["proba"])), json.loads(data["set"]), float(data["epsilon"])


def braces(mask):
    return "{" + ", ".join(str(j + 1) for j in np.flatnonzero(mask)) + "}"


def inside_triangle(page, w):
    """Where a probability vector lies on the screen."""
    return page.evaluate(
        """(w) => {
            const svg = document.getElementById("triangle");
            const [one, two, three] = document.getElementById("frame").getAttribute("d").match(/-?[\\d.]+/g)
                .reduce((pairs, x, i) => (i % 2 ? pairs.at(-1).push(+x) : pairs.push([+x]), pairs), []);
            const at = [0, 1].map((i) => w[0] * one[i] + w[1] * two[i] + w[2] * three[i]);
            const point = new DOMPoint(...at).matrixTransform(svg.getScreenCTM());
            return [point.x, point.y];
        }""",
        list(map(float, w)),
    )


@pytest.mark.parametrize("rule", RULES)
def test_dragging_changes_the_set_as_the_library_does(open_page, rule):
    page = open_page(f"#rule={rule}&eps=0.3")
    rng = np.random.default_rng(3)
    start = inside_triangle(page, shown(page)[0])
    page.mouse.move(*start)
    page.mouse.down()
    sets = set()
    for target in rng.dirichlet(np.ones(3), 30):
        page.mouse.move(*inside_triangle(page, target), steps=2)
        w, mask, epsilon = shown(page)
        assert np.abs(w - target).max() < 0.01
        assert w.sum() == pytest.approx(1, abs=1e-12)
        assert mask == RULES[rule](w, epsilon).tolist()
        assert page.locator("#set").text_content() == braces(mask)
        sets.add(tuple(mask))
    page.mouse.up()
    assert len(sets) >= (3 if rule == "argmax" else 5)
    before = shown(page)[0]
    page.mouse.move(*start)
    assert np.array_equal(shown(page)[0], before)  # let go


def test_a_drag_out_of_the_triangle_stays_on_its_border(open_page):
    page = open_page()
    page.mouse.move(*inside_triangle(page, shown(page)[0]))
    page.mouse.down()
    page.mouse.move(*inside_triangle(page, [0.7, -0.4, 0.7]))
    w, mask, epsilon = shown(page)
    assert w == pytest.approx([0.5, 0, 0.5], abs=0.01)
    assert mask == ss.inflated_argmax(w, epsilon).tolist()


def test_touch_moves_the_point(open_page):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.locator("#triangle").scroll_into_view_if_needed()
    page.touchscreen.tap(*inside_triangle(page, [0.1, 0.8, 0.1]))
    w, mask, _ = shown(page)
    assert w == pytest.approx([0.1, 0.8, 0.1], abs=0.02)
    assert mask == [False, True, False]


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.value || document.activeElement.tagName")


def test_everything_is_reached_by_the_keyboard(open_page):
    page = open_page()
    order = []
    for _ in range(40):
        page.keyboard.press("Tab")
        if focused(page) in order or focused(page) == "BODY":
            break
        order.append(focused(page))
    assert order == [
        *("point", "inflated", "outline", "epsilon-slider", "epsilon"),
        *("vector", "take-point", "k", "tau", "beta", "bars-scroll"),
        *("g-n", "g-eps", "g-m", "g-labels", "g-bags", "g-resampling", "g-coupling", "g-theorem"),
        "SUMMARY",
    ]


def test_arrow_keys_move_the_point(open_page):
    page = open_page("#p=0.4,0.35,0.25&eps=0.3")
    page.keyboard.press("Tab")
    assert focused(page) == "point"
    assert float(page.locator("#point .ring").evaluate("(ring) => getComputedStyle(ring).opacity")) == 1
    for key, change in {
        "ArrowRight": [-0.01, 0, 0.01],
        "ArrowLeft": [0.01, 0, -0.01],
        "ArrowUp": [-0.005, 0.01, -0.005],
        "Shift+ArrowDown": [0.025, -0.05, 0.025],
        "Alt+ArrowUp": [-0.0005, 0.001, -0.0005],
    }.items():
        before = shown(page)[0]
        page.keyboard.press(key)
        after, mask, epsilon = shown(page)
        assert after - before == pytest.approx(change, abs=1e-12)
        assert mask == ss.inflated_argmax(after, epsilon).tolist()
    page.keyboard.press("3")
    assert shown(page)[0].tolist() == [0, 0, 1]
    page.keyboard.press("ArrowRight")
    assert shown(page)[0].tolist() == [0, 0, 1]
    page.keyboard.press("Home")
    assert shown(page)[1] == [True, True, True]


def test_a_screen_reader_hears_probabilities_and_set(open_page):
    page = open_page("#p=0.5,0.3,0.2&eps=0.3")
    point = page.locator("#point")
    assert point.get_attribute("aria-valuetext") == "label 1 0.500, label 2 0.300, label 3 0.200; set {1, 2}"
    point.focus()
    page.keyboard.press("1")
    page.locator("#live", has_text="label 1 1.000").wait_for(state="attached")
    assert page.locator("#live").text_content().endswith("inflated argmax: set {1}")
    unnamed = page.evaluate(
        """[...document.querySelectorAll("input, select, textarea, button, [tabindex]")]
           .filter((e) => !(e.labels?.length || e.textContent.trim() || e.getAttribute("aria-label"))).length"""
    )
    assert unnamed == 0


def test_epsilon_by_slider_and_by_number(open_page):
    page = open_page("#p=0.5,0.3,0.2&eps=0.1")
    assert page.locator("#set").text_content() == "{1}"
    page.locator("#epsilon-slider").fill("0.4")
    w, mask, epsilon = shown(page)
    assert epsilon == 0.4
    assert mask == ss.inflated_argmax(w, 0.4).tolist()
    page.locator("#epsilon").fill("0.123456789")
    assert shown(page)[2] == 0.123456789
    page.locator("#epsilon").fill("-1")
    assert page.locator("#epsilon-error").text_content() == 'ε must be a finite number that is at least 0; got "-1".'
    assert shown(page)[2] == 0.123456789
    page.locator("#epsilon").fill("7")
    assert page.locator("#regions path").count() == 1
    assert page.locator("#set").text_content() == "{1, 2, 3}"
    page.locator("#epsilon").fill("0")
    assert page.locator("#set").text_content() == "{1}"


def test_the_regions_are_drawn_for_each_rule(open_page):
    page = open_page("#eps=0.3")
    centre = page.locator("#regions path[data-labels='0,1,2']")
    radius = page.locator("#ball").get_attribute("r")
    assert centre.get_attribute("d").count(f"A{float(radius):.3f} {float(radius):.3f}") == 3
    page.locator("input[value=margin]").check()
    assert "A" not in centre.get_attribute("d")
    page.locator("input[value=argmax]").check()
    assert page.locator("#regions path").count() == 3
    page.locator("#outline").check()
    assert page.locator("#outlines path").count() == 14


def painted_sets(page):
    """The sets that 200 random points show by the region painted under them."""
    return page.evaluate(
        """() => {
            const paths = [...document.querySelectorAll("#regions path")];
            const numbers = document.getElementById("frame").getAttribute("d").match(/-?[\\d.]+/g).map(Number);
            let seed = 1;
            const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
            return Array.from({ length: 200 }, () => {
                const e = [0, 1, 2].map(() => -Math.log(random()));
                const w = e.map((x) => x / (e[0] + e[1] + e[2]));
                const [x, y] = [0, 1].map((i) => w.reduce((sum, p, j) => sum + p * numbers[2 * j + i], 0));
                const under = paths.filter((path) => path.isPointInFill(new DOMPoint(x, y)));
                return [w, under.map((path) => path.dataset.labels)];
            });
        }"""
    )


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.8, 1.2])
@pytest.mark.parametrize("rule", RULES)
def test_each_point_lies_on_the_colour_of_its_set(open_page, rule, epsilon):
    looked_at = 0
    for w, under in painted_sets(open_page(f"#rule={rule}&eps={epsilon}")):
        w = np.array(w)
        near = any((RULES[rule](w, e) != RULES[rule](w, epsilon)).any() for e in (epsilon - 0.002, epsilon + 0.002))
        if near or np.diff(np.sort(w)).min() < 1e-3:
            continue
        looked_at += 1
        assert under == [",".join(map(str, np.flatnonzero(RULES[rule](w, epsilon))))]
    assert looked_at > 150


def test_a_typed_vector_gets_every_set(open_page):
    page = open_page("#eps=0.25&k=3&tau=0.7&beta=0.5")
    w = np.random.default_rng(4).dirichlet(np.ones(60))
    page.locator("#vector").fill("[" + " ".join(map(repr, w.tolist())) + "]")
    expected = {
        "argmax": ss.Argmax(),
        "inflated": ss.InflatedArgmax(0.25),
        "margin": ss.FixedMargin(0.25),
        "topk": ss.TopK(3),
        "mass": ss.MassThreshold(0.7),
        "ndc": ss.NDC(0.5),
        "u65": ss.SVBOP("u65"),
        "u80": ss.SVBOP("u80"),
    }
    rows = page.locator("#rules tr").evaluate_all("(rows) => rows.map((row) => ({ ...row.dataset }))")
    assert [row["rule"] for row in rows] == list(expected)
    for row in rows:
        assert json.loads(row["set"]) == np.flatnonzero(expected[row["rule"]](w)).tolist()
    entries = page.locator("#bars tr").evaluate_all("(rows) => rows.map((row) => Number(row.dataset.entry))")
    np.testing.assert_allclose(entries, ss.entry_epsilons(w), rtol=1e-13)


def test_bad_vectors_are_sentences(open_page):
    page = open_page()
    vector, error = page.locator("#vector"), page.locator("#vector-error")
    vector.fill("0.5, x, 0.5")
    assert error.text_content() == 'Every entry must be a finite number; got "x" in place 2.'
    vector.fill("1e999 0")
    assert error.text_content() == 'Every entry must be a finite number; got "1e999" in place 1.'
    vector.fill(" ")
    assert error.text_content() == "Type at least one number."
    vector.fill("3 1")
    assert error.text_content() == ""
    assert "needs probabilities that sum to 1; got a sum of 4" in page.locator("tr[data-rule=mass]").text_content()
    page.locator("#scale").click()
    assert vector.input_value() == "0.75, 0.25"
    assert not page.locator("#scale").is_visible()
    page.locator("#k").fill("3")
    assert "needs k of at most 2" in page.locator("tr[data-rule=topk]").text_content()
    page.locator("#tau").fill("2")
    assert page.locator("#options-error").text_content() == 'τ must be a number above 0 and at most 1; got "2".'


def test_the_calculator(open_page):
    page = open_page()
    result = page.locator("#g-result")
    for fields, setting in [
        ({}, {"n_samples": 60_000, "epsilon": 0.05, "bag_size": 0.5, "n_classes": 10, "n_bags": 10_000}),
        (
            {"g-bags": "1,000", "g-n": "60,000"},
            {"n_samples": 60_000, "epsilon": 0.05, "bag_size": 0.5, "n_classes": 10, "n_bags": 1000},
        ),
        ({"g-bags": "", "g-labels": "", "g-m": "2400"}, {"n_samples": 60_000, "epsilon": 0.05, "bag_size": 2400}),
        ({"g-n": "50", "g-m": "25"}, {"n_samples": 50, "epsilon": 0.05, "bag_size": 25}),
    ]:
        for name, text in fields.items():
            page.locator(f"#{name}").fill(text)
        expected = ss.selection_stability(**setting)
        assert float(result.get_attribute("data-delta")) == pytest.approx(expected.delta, rel=1e-12, abs=0)
        assert result.get_attribute("data-theorem") == expected.theorem
        assert page.locator("#g-vacuous").is_visible() == expected.vacuous
        assert page.locator("#g-sentence").text_content() == str(expected)
    assert expected.vacuous
    page.locator("#g-resampling").select_option("bootstrap")
    page.locator("#g-coupling").select_option("hash")
    assert "Hash coupling is for subbagging only" in page.locator("#g-error").text_content()
    assert not result.is_visible()
    page.locator("#g-n").fill("many")
    assert page.locator("#g-error").text_content() == '"training rows n" must be a number; got "many".'


def test_the_address_keeps_the_view(open_page):
    page = open_page("#p=0.2,0.3,0.5&eps=0.45&rule=margin&outline=1&w=0.6,0.4&n=1000&theorem=paper")
    page.locator("#point").focus()
    page.keyboard.press("ArrowLeft")
    page.locator("#g-m").fill("100")
    page.wait_for_url("**m=100**")
    again = open_page("#" + page.url.split("#", 1)[1])
    for one in (page, again):
        w, _, epsilon = shown(one)
        assert (w.tolist(), epsilon) == (shown(page)[0].tolist(), 0.45)
        assert one.locator("input[name=rule]:checked").get_attribute("value") == "margin"
        assert one.locator("#outline").is_checked()
        assert one.locator("#vector").input_value() == "0.6,0.4"
        assert [one.locator(f"#g-{name}").input_value() for name in ("n", "m", "theorem")] == ["1000", "100", "paper"]


def test_a_spoiled_address_shows_the_first_view(open_page):
    page = open_page("#p=nan,2&eps=x&rule=toString&w=&resampling=none")
    assert shown(page)[0].tolist() == [0.46, 0.4, 0.14]
    assert page.locator("#g-resampling").input_value() == "subbagging"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width", "height"), [("desktop", 1200, 1130), ("phone", 390, 844)])
def test_it_fits_the_screen(open_page, tmp_path, device, width, height, scheme):
    """No sideways scrolling; with STEADYSET_FIGURES=1 the screenshots of the documentation are taken anew."""
    page = open_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    long = ", ".join(["0.005"] * 200)
    folder = FIGURES if os.environ.get("STEADYSET_FIGURES") else tmp_path
    file = folder / f"explorer-{device}-{scheme}.png"
    page.screenshot(path=file)
    assert 10_000 < file.stat().st_size < 300_000
    page.locator("#vector").fill(long)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(", "))) > 384) == (scheme == "light")


def test_the_kept_screenshots_are_small():
    for device in ("desktop", "phone"):
        for scheme in ("light", "dark"):
            assert (FIGURES / f"explorer-{device}-{scheme}.png").stat().st_size < 300_000


def test_the_page_is_one_small_file():
    text = explorer.html()
    assert len(text.encode()) < 200_000
    assert "@@" not in text
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_page_runs_no_script_but_its_own(open_page):
    """The policy names the page's scripts by their digests: one that is put in later does not run."""
    text = explorer.html()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("'sha256-") == text.count("<script>") == 4
    assert "script-src 'unsafe-inline'" not in policy
    assert not re.search(r"\son\w+=", text.split("<script>")[0])
    page = open_page()
    assert page.locator("#set").text_content()
