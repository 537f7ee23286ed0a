"""The page's arithmetic is the library's: every rule, entry epsilon, radius and guarantee."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import steadyset as ss
from helpers.oracle import random_problem
from steadyset.guarantees import TITLES, VACUOUS

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "selection_golden.json").read_text())

SETS_OF_A_CASE = """(cases) => cases.map((c) => ({
    inflated_argmax: Selection.inflatedArgmax(c.w, c.epsilon),
    fixed_margin: Selection.fixedMargin(c.w, c.epsilon),
    argmax_set: Selection.argmaxSet(c.w),
    top_k: Selection.topK(c.w, c.k),
    ...("tau" in c ? {
        mass_threshold: Selection.massThreshold(c.w, c.tau),
        ndc: Selection.ndc(c.w, c.beta ?? 1),
        svbop_u65: Selection.svbop(c.w, "u65"),
        svbop_u80: Selection.svbop(c.w, "u80"),
    } : {}),
}))"""


def library_sets(case):
    w = np.array(case["w"])
    found = {
        "inflated_argmax": ss.inflated_argmax(w, case["epsilon"]),
        "fixed_margin": ss.fixed_margin(w, case["epsilon"]),
        "argmax_set": ss.argmax_set(w),
        "top_k": ss.top_k(w, case["k"]),
    }
    if "tau" in case:
        found["mass_threshold"] = ss.mass_threshold(w, case["tau"])
        found["ndc"] = ss.ndc(w, case["beta"])
        found["svbop_u65"] = ss.svbop(w, "u65")
        found["svbop_u80"] = ss.svbop(w, "u80")
    return {rule: mask.tolist() for rule, mask in found.items()}


def test_all_golden_cases(engine):
    assert len(GOLDEN) == 600
    found = engine.run(SETS_OF_A_CASE, GOLDEN)
    wrong = [
        (number, rule)
        for number, (case, sets) in enumerate(zip(GOLDEN, found, strict=True))
        for rule, mask in sets.items()
        if mask != [bool(value) for value in case[rule]]
    ]
    assert wrong == []
    assert sum(map(len, found)) == sum(len(case.keys() & found[1].keys()) for case in GOLDEN)


def probability_cases(n_cases):
    rng = np.random.default_rng(11)
    cases = []
    for number in range(n_cases):
        n_labels = int(rng.integers(2, 301))
        if number % 3 == 0:  # ties, and sums that end on a threshold
            w = rng.multinomial(20, np.full(n_labels, 1 / n_labels)) / 20
        else:
            w = rng.dirichlet(np.full(n_labels, rng.choice([0.05, 0.3, 1.0, 30.0])))
        near = ss.entry_epsilons(w)[rng.integers(n_labels)]
        cases.append(
            {
                "w": w.tolist(),
                "epsilon": float(rng.choice([near, near * (1 + 1e-15), 10 ** rng.uniform(-4, 0.3)])),
                "k": int(rng.integers(1, n_labels + 1)),
                "tau": float(rng.choice([0.5, 0.8, 0.95, rng.uniform(0.01, 1)])),
                "beta": float(rng.choice([0.0, 0.5, 1.0, 2.0])),
            }
        )
    return cases


def test_random_probabilities_of_2_to_300_labels(engine):
    cases = probability_cases(600)
    assert engine.run(SETS_OF_A_CASE, cases) == [library_sets(case) for case in cases]


def test_scores_that_break_naive_code(engine):
    rng = np.random.default_rng(12)
    cases = []
    for _ in range(600):
        w, epsilon = random_problem(rng, 1, max_labels=1500)
        cases.append({"w": w[0].tolist(), "epsilon": epsilon, "k": int(rng.integers(1, w.shape[1] + 1))})
    assert engine.run(SETS_OF_A_CASE, cases) == [library_sets(case) for case in cases]


def test_entry_epsilons(engine):
    rng = np.random.default_rng(13)
    vectors = [random_problem(rng, 1, max_labels=300)[0][0].tolist() for _ in range(300)]
    vectors += [case["w"] for case in probability_cases(300)]
    vectors += [[0.0, -1e-200, -2e-200, -2.5e-200, -1.0], [1.7e308, -1.7e308, 0.0], [3.0]]
    found = engine.run("(ws) => ws.map((w) => Selection.entryEpsilons(w).map(String))", vectors)
    for w, entries in zip(vectors, found, strict=True):
        expected = ss.entry_epsilons(np.array(w))
        np.testing.assert_allclose([float(e.replace("Infinity", "inf")) for e in entries], expected, rtol=1e-13, atol=0)


def test_stability_radii(engine):
    cases = [case for case in probability_cases(150) if case["beta"] > 0]
    found = engine.run(
        "(cases) => cases.map((c) => Selection.RULES.map((rule) => String(rule.radius(c.w, c))))",
        cases,
    )
    for case, radii in zip(cases, found, strict=True):
        epsilon = case["epsilon"]
        rules = [ss.Argmax(), ss.InflatedArgmax(epsilon), ss.FixedMargin(epsilon), ss.TopK(case["k"])]
        rules += [ss.MassThreshold(case["tau"]), ss.NDC(case["beta"]), ss.SVBOP("u65"), ss.SVBOP("u80")]
        for rule, radius in zip(rules, radii, strict=True):
            if radius == "null":
                assert rule.compatible_epsilon(len(case["w"])) is None
            else:
                expected = float(ss.stability_radius(np.array(case["w"]), rule))
                assert float(radius.replace("Infinity", "inf")) == pytest.approx(expected, rel=1e-12, abs=1e-15)


STABILITY = """(settings) => settings.map((s) => {
    try {
        const { delta, vacuous, theorem, everyRow, m, sentence } = Guarantees.selectionStability(s);
        return { delta, vacuous, theorem, every_row: everyRow, bag_size: m, sentence };
    } catch (error) {
        return { error: error.message };
    }
})"""


def settings(n_settings):
    grid = itertools.product(
        [2, 10, 1000, 60_000, 10**9],
        [1, 0.5, 0.01, 0.9, 0.29],
        [1e-3, 0.05, 0.3, 1.2, 2.0],
        [None, 1, 2, 10],
        [None, 1, 1000, 10**6],
        ["subbagging", "bootstrap"],
        [None, "hash", "independent", "any"],
        ["best", "best", "paper", "second-moment", "exact-second-moment", "exponential", "small-bags", "two-labels"],
    )
    everything = list(grid)
    chosen = np.random.default_rng(14).choice(len(everything), n_settings, replace=False)
    names = ("n_samples", "bag_size", "epsilon", "n_classes", "n_bags", "resampling", "coupling", "theorem")
    return [dict(zip(names, everything[i], strict=True)) for i in chosen]


def random_settings(n_settings):
    """Settings off the grid, most of them where several theorems are close."""
    rng = np.random.default_rng(17)
    chosen = []
    for number in range(n_settings):
        n = int(10 ** rng.uniform(0.5, 6)) + 1
        limit = number % 3 == 0
        chosen.append(
            {
                "n_samples": n,
                "bag_size": int(np.clip(n * rng.choice([0.5, rng.uniform(), 10 ** rng.uniform(-3, 0)]), 1, n - 1)),
                "epsilon": float(10 ** rng.uniform(-2.5, 0.1)),
                "n_classes": [2, 10, None][number // 3 % 3],
                "n_bags": None if limit else int(10 ** rng.uniform(0, 5)),
                "resampling": "bootstrap" if number % 5 == 0 else "subbagging",
                "coupling": None if number % 4 else "independent",
                "theorem": "best",
            }
        )
    return chosen


def as_javascript(setting):
    names = {"n_samples": "n", "bag_size": "size", "n_classes": "labels", "n_bags": "bags"}
    renamed = {names.get(name, name): value for name, value in setting.items()}
    return {**renamed, "isShare": isinstance(setting["bag_size"], float)}


def test_the_calculator_agrees_with_the_library(engine):
    near_one = {"n_samples": 343, "bag_size": 0.5, "epsilon": 0.05, "n_classes": 3, "resampling": "subbagging"}
    chosen = settings(3000) + random_settings(1000)
    chosen += [{**near_one, "n_bags": B, "coupling": None, "theorem": "best"} for B in (1, 20, 60, 100, 2000)]
    found = engine.run(STABILITY, [as_javascript(setting) for setting in chosen])
    seen = dict.fromkeys(("error", "vacuous", "infinite", *TITLES), 0)
    for setting, got in zip(chosen, found, strict=True):
        try:
            expected = ss.selection_stability(**setting)
        except ValueError:
            assert "error" in got, setting
            seen["error"] += 1
            continue
        assert got["delta"] == pytest.approx(expected.delta, rel=1e-12, abs=0), setting
        assert got["sentence"] == str(expected)
        for name in ("vacuous", "theorem", "every_row", "bag_size"):
            assert got[name] == getattr(expected, name), setting
        seen["vacuous"] += expected.vacuous
        seen["infinite"] += expected.n_bags is None
        seen[expected.theorem] += 1
    # of these the explorer knows nothing
    for name in ("another-seed", "another-seed-exponential", "tail-stability"):
        assert seen.pop(name) == 0
    assert min(seen.values()) > 30, seen


def test_the_same_bounds_are_called_vacuous(engine):
    assert engine.run("() => Guarantees.VACUOUS", None) == VACUOUS


def test_the_figures_of_the_paper_setting(engine):
    setting = {"n_samples": 60_000, "bag_size": 0.5, "epsilon": 0.05, "n_classes": 10, "resampling": "subbagging"}
    asked = [
        {**setting, "n_bags": None, "coupling": None, "theorem": "paper"},
        {**setting, "n_bags": 1000, "coupling": None, "theorem": "paper"},
        {**setting, "n_bags": 967_297, "coupling": None, "theorem": "paper"},
        {**setting, "n_bags": 8_183, "coupling": "hash", "theorem": "second-moment"},
        {**setting, "n_bags": 3_544, "coupling": "hash", "theorem": "best"},
    ]
    deltas = [got["delta"] for got in engine.run(STABILITY, [as_javascript(setting) for setting in asked])]
    assert [f"{deltas[0]:.4f}", f"{deltas[1]:.1f}"] == ["0.0060", "42.6"]
    assert 0.0499 < deltas[2] <= 0.05
    assert 0.0499 < deltas[3] <= 0.05
    assert 0.0499 < deltas[4] <= 0.05


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 1}, "The number of training rows must be a whole number from 2 to 2^53; got 1."),
        ({"epsilon": 0}, "epsilon must be a finite number above 0; got 0."),
        (
            {"size": 100},
            "The bag size must be a whole number from 1 to n - 1 = 99 or a share below 1 for subbagging; got 100.",
        ),
        ({"labels": 0}, "The number of labels must be a whole number from 1 to 2^53; got 0."),
        ({"bags": 1e10}, "The number of bags must be a whole number from 1 to 1,000,000,000; got 10000000000."),
    ],
)
def test_a_bad_setting_is_a_sentence(engine, change, words):
    setting = {"n": 100, "epsilon": 0.1, "size": 10, "isShare": False, "labels": None, "bags": None}
    setting |= {"resampling": "subbagging", "coupling": None, "theorem": "best", **change}
    assert engine.run(STABILITY, [setting]) == [{"error": words}]


def test_regions_are_those_of_the_library_plots(engine):
    """Corners and centres of arcs; tests/plot checks the library's own regions against the rules."""
    cases = list(itertools.product(("inflated", "margin", "argmax"), (0.05, 0.3, 0.9, 1.5)))
    edges = engine.run("(cases) => cases.map(([rule, epsilon]) => Simplex.regions(rule, epsilon))", cases)
    rules = {"inflated": ss.InflatedArgmax, "margin": ss.FixedMargin, "argmax": lambda epsilon: ss.Argmax()}
    for (name, epsilon), regions in zip(cases, edges, strict=True):
        rule = rules[name](epsilon)
        expected = ss.plot.compute_simplex_regions(rule).regions
        assert sorted(tuple(region["labels"]) for region in regions) == sorted(region.labels for region in expected)
        known = {region.labels: region for region in expected}
        for region in regions:
            drawn = known[tuple(region["labels"])]
            corners = {tuple(np.round(edge["from"], 12)) for edge in region["edges"]}
            assert corners == {tuple(np.round(edge.start, 12) + 0.0) for edge in drawn.edges}
            arcs = {tuple(np.round(edge["centre"], 12)) for edge in region["edges"] if "centre" in edge}
            assert arcs == {tuple(np.round(edge.centre, 12) + 0.0) for edge in drawn.edges if edge.centre is not None}


def test_nearest_points_decide_membership(engine):
    """A label is selected exactly where the nearest point of R_j, at which it leads by h, is closer than epsilon."""
    rng = np.random.default_rng(16)
    points, epsilons = rng.dirichlet(np.ones(3), 400), rng.uniform(0.01, 1.4, 400)
    found = engine.run(
        """(cases) => cases.map(([w, epsilon]) => [0, 1, 2].map((j) => Simplex.nearest(w, j, epsilon / Math.SQRT2)))""",
        [[w.tolist(), epsilon] for w, epsilon in zip(points, epsilons, strict=True)],
    )
    for w, epsilon, nearest in zip(points, epsilons, found, strict=True):
        for j, v in enumerate(np.array(nearest)):
            assert v[j] - np.delete(v, j).max() >= epsilon / np.sqrt(2) - 1e-12
            assert (np.linalg.norm(w - v) < epsilon) == ss.inflated_argmax(w, epsilon)[j]
