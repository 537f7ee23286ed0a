"""Every number on the page is the one that its sentence names, worked out here from the arrays."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from helpers import report_cases as cases
from helpers.browser import opened
from steadyset.reporting import _formats as f


class _Page(HTMLParser):
    """The texts of a page's paragraphs, headings, captions, terms and table cells, in their order."""

    KEPT = ("p", "h3", "figcaption", "th", "td", "dt", "dd", "li", "button", "noscript")

    def __init__(self, html):
        super().__init__()
        self.texts, self._open, self._skipped = [], [], False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self._skipped = tag in ("script", "style")
        if tag in self.KEPT:
            self._open.append((tag, []))

    def handle_endtag(self, tag):
        if self._open and self._open[-1][0] == tag:
            self.texts.append((tag, " ".join("".join(self._open.pop()[1]).split())))

    def handle_data(self, data):
        if not self._skipped:
            for _, parts in self._open:
                parts.append(data)


def said(html):
    """Return all texts of a page as one."""
    return "\n".join(text for _, text in _Page(html.split('<script type="application/json"')[0]).texts)


def table(html, name):
    """Return the lines of the table of a section, cell by cell."""
    section = html.split(f'<section aria-labelledby="{name}">')[1].split("</section>")[0]
    rows = re.findall(r"<tr.*?</tr>", section.split("<tbody>")[1], flags=re.DOTALL)
    return [[text for tag, text in _Page(row).texts if tag in ("th", "td")] for row in rows]


RULES = {
    "moving": {"epsilon": 0.07},
    "resting": {"rule": ss.FixedMargin(0.07)},
}


@pytest.fixture(scope="module", params=list(RULES))
def made(request):
    """A report on 31 of 47 points, with some rows that stand clear of the noise, and what it is made of."""
    rng = np.random.default_rng(2)
    truth = rng.choice(3, 90, p=[0.5, 0.3, 0.2])
    X = (2.0 * truth + rng.normal(0, 0.8, 90))[:, None]
    wrong = [8, 30, 71]
    X[wrong, 0] = 2.0 * truth[wrong]
    truth[wrong] = (truth[wrong] + 1) % 3
    names = np.array(["cat", "dog", "fox"])
    model = ss.StableClassifier(DecisionTreeClassifier(), 130, max_samples=41, random_state=5, epsilon=0.07)
    model.fit(X, names[truth], sample_ids=[f"id{i}" for i in range(90)])
    points = rng.permutation(90)[:47]
    page = ss.report(model, X[points], names[truth[points]], max_points=31, **RULES[request.param])
    drawn = np.sort(np.random.default_rng(0).choice(47, 31, False))
    predictions = model.bag_predictions(X[points[drawn]])
    assert page.numbers["n_points"] == 31
    return page, model, predictions, truth[points[drawn]], drawn


def conflicts_of(predictions, rule):
    audit = ss.audit_bags(predictions, rule)
    found = np.zeros((audit.n_points, audit.n_units), bool)
    found[audit.conflicts()] = True
    return audit, found


def test_in_short(made):
    page, _, predictions, _, _ = made
    words = said(page.html)
    rule = ss.InflatedArgmax(0.07) if page.numbers["rule"].startswith("Inflated") else ss.FixedMargin(0.07)
    _, found = conflicts_of(predictions, rule)
    _, argmax = conflicts_of(predictions, ss.Argmax())
    rows = found.sum(axis=1)
    assert len({int(found.sum()), int(rows.max()), int((rows > 0).sum()), int(argmax.sum())}) == 4
    assert "31 points drawn at random from 47, 3 labels, 130 bags of 41 of 90 training rows." in words
    assert (
        f"Observed. With any one of the 90 training rows dropped, {found.sum()} of {31 * 90:,} answers "
        f"({f.percent(found.mean())}) contradict the deployed one: the two label sets share no label. The most "
        f"unstable point is contradicted by {rows.max()} of the rows, a share of {f.share(rows.max() / 90)}; "
        f"{(rows > 0).sum()} of 31 points are ever contradicted." in words
    )
    assert (
        f"The plain argmax of the same probabilities: {argmax.sum()} conflicts, at the worst point "
        f"{f.share(argmax.mean(axis=1).max())} of the rows." in words
    )
    assert ("Rule: inflated argmax at ε = 0.07." in words) == (rule == ss.InflatedArgmax(0.07))
    assert repr(page).endswith(f" {len(page.html.encode()) / 1e6:.1f} MB)")
    assert repr(page).startswith(f"StabilityReport(31 points, {found.sum()} conflicts when one of 90 rows is dropped, ")


def test_rules_side_by_side(made):
    page, _, predictions, truth, _ = made
    proba = predictions.mean()
    lines = {line[0].split(",")[0].split(" (in use)")[0]: line[1:] for line in table(page.html, "rules")}
    rules = {"argmax": ss.Argmax(), "inflated argmax": ss.InflatedArgmax(0.07), "fixed margin": ss.FixedMargin(0.07)}
    for name, rule in {**rules, "top 2": ss.TopK(2)}.items():
        sets = rule(proba)
        held = sets[np.arange(31), truth]
        sizes = sets.sum(axis=1)
        u65, u80 = (np.where(held, a / sizes - b / sizes**2, 0) for a, b in ((1.6, 0.6), (2.2, 1.2)))
        _, found = conflicts_of(predictions, ss.InflatedArgmax(0.07) if name == "fixed margin" else rule)
        bound = "≤ " if name == "fixed margin" else ""
        assert lines[name][0] == bound + f.share(found.mean(axis=1).max())
        for cell, values in zip(lines[name][1:6], (held & (sizes == 1), sizes, held, u65, u80), strict=True):
            error = np.sqrt(((values - values.mean()) ** 2).sum()) / 31
            assert cell == f"{f.fixed(values.mean())} ({f.fixed(error)})"
        large = sizes >= 2
        top = proba[np.arange(31), truth] == proba.max(axis=1)
        both = [(top & large).sum(), (held & large).sum()]
        assert lines[name][6].split(" ")[0] == (f.fixed(both[0] / both[1]) if both[1] else "–")


def test_captions(made):
    page, _, predictions, _, _ = made
    words = said(page.html)
    _, found = conflicts_of(predictions, ss.InflatedArgmax(0.07))
    sets = ss.inflated_argmax(predictions.mean(), 0.07)
    assert (
        f"At ε = 0.07, {found.any(axis=1).sum()} of 31 points are ever contradicted; the worst by "
        f"{f.share(found.mean(axis=1).max())} of the rows." in words
    )
    assert f"at ε = 0.07: {(sets.sum(axis=1) > 1).sum()} of 31 points have more than one label." in words
    assert "Any value from 0 to 0.5; 0 is the argmax." in words
    assert "Every number in the text is right at ε = 0.07." in words
    assert "Back to 0.07" in words
    readout = re.search(r'<dl class="readout">.*?</dl>', page.html, flags=re.DOTALL).group()
    assert [text for tag, text in _Page(readout).texts if tag == "dd"] == [
        f.fixed(sets.sum() / 31), f.share(found.mean(axis=1).max()), str(found.sum())
    ]  # fmt: skip


def test_examples_are_counted_from_1(made):
    page, _, predictions, truth, drawn = made
    proba, names = predictions.mean(), np.array(["cat", "dog", "fox"])
    entries = ss.entry_epsilons(proba)
    order = [p for p in np.argsort(np.sort(entries, axis=1)[:, 1], kind="stable") if np.sort(entries[p])[1] < 0.5][:24]
    section = page.html.split('<section aria-labelledby="examples">')[1].split("</section>")[0]
    cards = section.split('<li class="card"')[1:]
    assert len(cards) == len(order) > 3
    for card, point in zip(cards, order, strict=True):
        assert f'data-example="{point}"' in card
        heading = next(text for tag, text in _Page(card).texts if tag == "h3")
        assert heading == f"Point {drawn[point] + 1} truth: {names[truth[point]]}"
        labels = re.findall(
            r'<span class="user">(\w+)</span> <span class="number">([\d.]+)</span>.*? data-in> (.*?)<', card
        )
        close = [j for j in np.lexsort((-proba[point], entries[point])) if entries[point, j] < 0.5]
        inside = ss.inflated_argmax(proba[point], 0.07)
        told = page.numbers["examples"][order.index(point)]["labels"]
        assert [label["entry"] for label in told] == [entries[point, j] for j in close]
        keys = [float(key) for key in re.findall(r'data-key="(.*?)"', card)]
        assert keys == [label["key"] for label in told] == [entries[point, j] for j in close]
        assert labels == [
            (names[j], f.fixed(proba[point, j]), "in the set" if inside[j] else "not in the set") for j in close
        ]


def test_images_are_named_by_the_number_of_their_point():
    found, _ = cases.predictions()
    page = ss.report(found, np.random.default_rng(0).random((30, 5, 6)), epsilon=0.2)
    positions = [card["position"] for card in page.numbers["examples"]]
    assert re.findall(r'alt="Point (\d+)"', page.html) == [str(position + 1) for position in positions]


def test_pairs_of_labels():
    found, truth = cases.predictions(n_points=70)
    sets, names = ss.inflated_argmax(found.mean(), 0.1), list(found.classes)
    right = np.array([names.index(label) for label in truth])
    lines = table(ss.report(found, y=truth, epsilon=0.1).html, "pairs")
    assert len(lines) > 3
    for line in lines:
        first, second = (names.index(name) for name in line[0].split(" · "))
        both = sets[:, first] & sets[:, second]
        counts = [(right[both] == label).sum() for label in (first, second)]
        shares = [n / both.sum() for n in (*counts, both.sum() - sum(counts))]
        assert line[1:] == [str(both.sum()), *map(f.percent, shares)]
    assert any(len(set(line[1:])) == 4 for line in lines)
    unlabelled = ss.report(found, epsilon=0.1)
    assert table(unlabelled.html, "pairs") == [line[:2] for line in lines]
    assert unlabelled.numbers["n_pairs"] == len(lines)


def test_rows_that_stand_clear(made):
    page, _, predictions, _, drawn = made
    audit, found = conflicts_of(predictions, ss.InflatedArgmax(0.07))
    clear, limits = audit.influential(), audit.score_limit()
    assert 0 < len(clear) <= 12
    assert table(page.html, "rows") == [
        [
            f"{audit.left_out[u] + 1} id{audit.left_out[u]}",
            f.fixed(audit.row_score[u], 1),
            f.fixed(limits[u], 1),
            str(drawn[audit.row_point[u]] + 1),
            str(found[:, u].sum()),
        ]
        for u in clear
    ]
    assert any(audit.left_out[u] != audit.row_point[u] for u in clear)
    words = said(page.html)
    assert f"{len(clear)} of 90 rows move some point by more than Monte Carlo noise explains. If no row" in words
    assert "Rows and points are counted from 1." in words
    assert page.numbers["rows"][0]["row"] == audit.left_out[clear[0]]  # a position


def test_where_many_rows_or_none_stand_clear(monkeypatch):
    found, truth = cases.predictions(n_points=6)
    words = said(ss.report(found, y=truth).html)
    limit = ss.audit_bags(found, ss.InflatedArgmax(0.05)).score_limit().min()
    assert f"None does: no row moves any point by more than {f.fixed(limit, 1)} standard errors" in words
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    model = ss.StableClassifier(DecisionTreeClassifier(), 300, random_state=0).fit(X, y)
    clear = model.audit(X).influential()
    assert len(clear) > 12
    words = said(ss.report(model, X, y).html)
    assert f"{len(clear)} of 60 rows move some point by more than Monte Carlo noise explains; the first 12." in words


def test_certificates(made):
    page, _, predictions, _, _ = made
    rule = ss.InflatedArgmax(0.07) if page.numbers["rule"].startswith("Inflated") else ss.FixedMargin(0.07)
    proved = ss.certify(predictions, rule)
    at_once = proved.simultaneous_bound
    assert [line[1] for line in table(page.html, "proved")] == [
        f"{f.percent((proved.bound == 0).mean())} of points",
        f"{f.percent((proved.bound >= 1).mean())} of points",
        f.share(np.median(proved.bound)),
        f"{f.percent((at_once == 0).mean())} / {f.percent((at_once >= 1).mean())}",
        f"{f.percent((proved.unsafe_rows == 0).mean())} of points",
        f.percent(1 - proved.unsafe_rows.mean() / 90),
        f"{int(np.median(proved.poisoning_radius))} and {proved.poisoning_radius.max()}",
    ]
    words = said(page.html)
    assert "Certificates of 31 points. Epsilon may be chosen after looking." in words
    assert "With confidence 0.95, no row contradicts the point" in words
    assert "at ε = 0.07: no row / vacuous" in words
    assert "(Theorem 6, at ε = 0.07 and above)" in words
    moving = page.numbers["rule"].startswith("Inflated")
    assert ("What is certain at some epsilon is certain at every larger one" in words) is moving
    assert ("Below ε = 0.07 the lines for certain" in words) is not moving


def test_shares_of_certificates_that_differ():
    """Sharp and vacuous points together, so that no two lines of the table show the same number."""
    rng = np.random.default_rng(1)
    bags = ss.draw_bags(n_samples=900, n_bags=400, bag_size=9, seed=3, sample_ids=range(900))
    sharp = np.repeat(rng.dirichlet([60, 1, 1], size=(1, 7)), 400, axis=0)
    blurred = rng.dirichlet([1, 1, 1], size=(400, 4))
    middle = rng.dirichlet([9, 8, 1], size=(400, 2))
    found = ss.BagPredictions(np.concatenate([sharp, blurred, middle], axis=1), bags, ["u", "v", "w"])
    page = ss.report(found, epsilon=0.04, alpha=0.2)
    proved = ss.certify(found, ss.InflatedArgmax(0.04), 0.2)
    lines = [line[1] for line in table(page.html, "proved")]
    at_once = proved.simultaneous_bound
    assert lines == [
        f"{f.percent((proved.bound == 0).mean())} of points",
        f"{f.percent((proved.bound >= 1).mean())} of points",
        f.share(np.median(proved.bound)),
        f"{f.percent((at_once == 0).mean())} / {f.percent((at_once >= 1).mean())}",
        f"{f.percent((proved.unsafe_rows == 0).mean())} of points",
        f.percent(1 - proved.unsafe_rows.mean() / 900),
        f"{int(np.median(proved.poisoning_radius))} and {proved.poisoning_radius.max()}",
    ]
    assert "With confidence 0.8, no row contradicts" in said(page.html)


def test_points_drawn_to_be_certified(monkeypatch):
    monkeypatch.setattr("steadyset.reporting._evidence._CERTIFIED_POINTS", (11, 11))
    found, _ = cases.predictions()
    assert "Certificates of 11 points, drawn at random from 30." in said(ss.report(found).html)


def test_how_it_was_made(made):
    page, *_ = made
    told = page.numbers["configuration"]
    assert told["Bags"] == "130 of 41 rows, subbagging (without replacement)"
    assert told["Seed"] == "5"
    assert (told["Training rows"], told["Labels"]) == ("90", "3")
    assert told["Points"] == "31, with true labels, drawn at random from 47"
    for name, value in told.items():
        assert f"{name}\n{value}" in said(page.html)


def test_rows_without_an_answer_are_counted():
    found, _ = cases.predictions(n_bags=4, bag_size=60)
    held = np.array([np.isin(np.arange(80), found.bags[b]) for b in range(4)]).all(axis=0).sum()
    words = said(ss.report(found).html)
    assert 0 < held < 40
    assert f"With any one of the {80 - held} training rows dropped" in words
    assert f"exact over {80 - held} rows by reuse of bags" in words
    assert f"No answer for {held} rows that every bag holds." in words
    assert f"of {30 * (80 - held):,} answers" in words


def test_columns_beyond_the_first_are_counted():
    found, _ = cases.predictions()
    X = np.arange(30 * 13.0).reshape(30, 13)
    page = ss.report(found, X, epsilon=0.2)
    assert "and 5 more columns" in said(page.html)
    card = page.numbers["examples"][0]
    values = [f"{value:.4g}" for value in X[card["point"], :8]]
    assert card["features"] == [[f"column {j}", value] for j, value in enumerate(values)]


def test_what_the_script_says_of_the_page(browser, tmp_path):
    """Labels of figures, the status line, and what is said of examples and pairs, at an epsilon that was moved to."""
    found, truth = cases.predictions(n_points=60, n_classes=9, seed=4)
    page = ss.report(found, y=truth, output=tmp_path / "report.html")
    proba = found.mean()
    with opened(browser, tmp_path / "report.html") as shown:
        epsilon = shown.move(0.21)
        _, conflicts = conflicts_of(found, ss.InflatedArgmax(epsilon))
        sets = ss.inflated_argmax(proba, epsilon)
        sizes, share = sets.sum(axis=1), conflicts.mean(axis=1)
        worst = f.share(share.max())
        assert shown.page.get_attribute("#plot-survival", "aria-label") == (
            f"Survival curve of instability at epsilon 0.21: {(share > 0).sum()} of 60 points are ever contradicted, "
            f"the worst by a share of {worst} of the rows."
        )
        ends = [ss.inflated_argmax(proba, e).sum() / 60 for e in (0, 0.5)]
        low, high = (f.share(conflicts_of(found, ss.InflatedArgmax(e))[0].max_instability) for e in (0.0, 0.5))
        assert shown.page.get_attribute("#plot-tradeoff", "aria-label") == (
            f"At epsilon 0.21 sets have {f.fixed(sizes.sum() / 60)} labels on average and the largest instability is "
            f"{worst}; over the slider they go from {f.fixed(ends[0])} to {f.fixed(ends[1])} labels and from {low} to "
            f"{high}."
        )
        tally = {k: int((sizes == k).sum()) for k in range(1, 10)}
        assert (
            shown.page.get_attribute("#plot-sizes", "aria-label")
            == "Set sizes: "
            + ", ".join(f"{n} points with {k} label{'s' if k > 1 else ''}" for k, n in tally.items() if n)
            + "."
        )
        size = f.fixed(sizes.sum() / 60)
        status = f"Epsilon 0.21: mean set size {size}, largest instability {worst}, {conflicts.sum()} conflicts."
        shown.page.get_by_text(status, exact=True).wait_for(state="attached")
        cards = [int(card.get_attribute("data-example")) for card in shown.page.locator("[data-example]").all()]
        visible = [p for p in cards if sizes[p] > 1]
        assert visible
        told = shown.page.locator("#examples-shown").text_content()
        assert told == f"{len(visible)} of {(sizes > 1).sum()} are shown."
        assert len(visible) < (sizes > 1).sum()
        instabilities = shown.page.locator("[data-instability]").all_text_contents()
        assert instabilities == [f.share(share[p]) for p in cards]
        columns = np.array([list(found.classes).index(label) for label in truth])
        pairs = {
            (i, j): sets[:, i] & sets[:, j]
            for i in range(9)
            for j in range(i + 1, 9)
            if (sets[:, i] & sets[:, j]).any()
        }
        ordered = sorted(pairs, key=lambda pair: (-pairs[pair].sum(), pair))
        rows = shown.page.locator("#pairs-table tbody tr")
        lines = [[cell.strip() for cell in row.locator("td").all_text_contents()] for row in rows.all()]
        expected = []
        for i, j in ordered[:12]:
            there = columns[pairs[i, j]]
            right = [(there == i).mean(), (there == j).mean(), ((there != i) & (there != j)).mean()]
            expected.append([str(len(there)), *map(f.percent, right)])
        assert lines == expected
        assert shown.page.locator("#pairs-more").text_content() == f"and {len(ordered) - 12} more pairs"
        bars = shown.page.evaluate("document.getElementById('plot-sizes').data[0].y")
        assert [round(60 * y) for y in bars][: max(sizes)] == [tally[k] for k in range(1, max(sizes) + 1)]
        marks = shown.page.evaluate("document.getElementById('plot-sizes').data[0].text")
        assert marks[: max(sizes)] == [str(tally[k]) if tally[k] else "" for k in range(1, max(sizes) + 1)]
        dots = shown.page.evaluate("document.getElementById('plot-tradeoff').data.slice(2).map(d => [d.x[0], d.y[0]])")
        assert dots == [[epsilon, pytest.approx(sizes.sum() / 60)], [epsilon, pytest.approx(share.max())]]
        curve = shown.page.evaluate("document.getElementById('plot-survival').data[1]")
        assert curve["name"] == "inflated argmax, ε = 0.21"
        assert shown.page.get_attribute("#epsilon", "aria-valuetext") == "epsilon 0.21"
        assert shown.page.input_value("#epsilon-number") == "0.21"
        shown.page.fill("#epsilon-number", "7")
        shown.page.press("#epsilon-number", "Tab")
        assert shown.page.input_value("#epsilon-number") == "0.21"
        steps = sorted({0.0, *share})
        assert curve["x"][: len(steps) - 1] == pytest.approx(steps[:-1])
        assert curve["y"][: len(steps) - 1] == pytest.approx([(share > t).mean() for t in steps[:-1]])
        shown.move(0.45)
        assert not conflicts_of(found, ss.InflatedArgmax(0.45))[1].any()
        notes = shown.page.evaluate("document.getElementById('plot-survival').layout.annotations.map(a => a.text)")
        assert notes == ["At ε = 0.45 no point is ever contradicted."]
        shown.move(0.0)
        tied = (ss.inflated_argmax(proba, 0).sum(axis=1) > 1).sum()
        assert tied == 0
        assert shown.page.locator("#examples-shown").text_content() == "None has a second label at this epsilon."
        assert not shown.complaints
    assert page.numbers["n_points"] == 60


def test_the_script_counts_the_points_that_a_row_contradicts(browser, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    model = ss.StableClassifier(DecisionTreeClassifier(), 300, random_state=0).fit(X, y)
    ss.report(model, X, y, output=tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as shown:
        for epsilon in (0.0, 0.02):
            shown.move(epsilon)
            audit, found = conflicts_of(model.bag_predictions(X), ss.InflatedArgmax(epsilon))
            flips = [str(found[:, unit].sum()) for unit in audit.influential()[:12]]
            assert len(set(flips)) > 1
            assert shown.page.locator("[data-flips]").all_text_contents() == flips


def test_a_weak_promise_names_what_mends_it():
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    model = ss.StableClassifier(n_estimators=40, random_state=0).fit(X, y)
    page = ss.report(model, X[:20])
    told = page.numbers["mend"]
    found = re.fullmatch(r"A fit with (.*) would promise at most 5 in 100, with ([\d,]+) bags of ([\d,]+) rows\.", told)
    assert told in said(page.html)
    asked = dict(part.split("=") for part in found.group(1).split(", "))
    changed = {name: float(value) if name != "n_estimators" else int(value) for name, value in asked.items()}
    mended = ss.StableClassifier(random_state=0, **{"n_estimators": 40, **changed}).fit(X, y)
    assert mended.guarantee().delta <= 0.05
    assert [mended.bags_.n_bags, mended.bag_size_] == [int(number) for number in found.groups()[1:]]
    assert ss.report(mended, X[:20]).numbers["mend"] is None


def test_a_report_on_groups_counts_groups_in_its_name():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    model = ss.StableClassifier(n_estimators=40, random_state=0).fit(X, y, groups=np.arange(60) // 3)
    assert " conflicts when one of 20 groups is dropped, " in repr(ss.report(model, X[:5]))
