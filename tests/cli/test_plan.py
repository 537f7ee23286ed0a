"""`steadyset plan`, as it is typed."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import steadyset as ss
from steadyset import selection_stability, solve_stability
from steadyset.cli import app

MNIST = ["--n-samples", "60000", "--n-classes", "10"]


def plan(*arguments, code=0):
    result = CliRunner().invoke(app, ["plan", *arguments], env={"COLUMNS": "120"})
    assert result.exit_code == code, result.output + result.stderr
    return result


def choices(*arguments):
    return json.loads(plan(*arguments, "--json").stdout)["choices"]


def test_the_choices_stand_side_by_side():
    text = plan(*MNIST, "--theorem", "paper", "--bag-size", "0.5", "--n-bags", "1000", "--n-bags", "inf").stdout
    assert "n_samples = 60,000, epsilon = 0.05" in text
    line = next(line for line in text.splitlines() if "0.5 " in line and "│" in line)
    assert "vacuous (42.6)" in line
    assert "0.006" in line
    assert "vacuous: the bound is not below 0.995 and promises nothing." in text


def test_small_bags_are_among_the_choices():
    text = plan(*MNIST).stdout
    line = next(line for line in text.splitlines() if "3,108" in line and "│" in line)
    assert re.search(r"\b0 \*", line)
    assert "* for every single row" in text


def test_json_holds_the_guarantees():
    found = choices(*MNIST, "--bag-size", "0.5", "--bag-size", "600", "--n-bags", "1000", "--epsilon", "0.05")
    assert len(found) == 2
    for choice, bag_size in zip(found, (0.5, 600), strict=True):
        guarantee = selection_stability(n_samples=60_000, n_classes=10, bag_size=bag_size, n_bags=1000, epsilon=0.05)
        assert choice["guarantee"]["delta"] == guarantee.delta
        assert choice["guarantee"]["vacuous"] is False
        assert choice["guarantee"]["sentence"] == str(guarantee)


@pytest.mark.parametrize(
    ("coupling", "bags"), [("any", 12_637), ("independent", 6_319), ("hash", 3_544), (None, 3_544)]
)
def test_delta_alone_solves_for_the_number_of_bags(coupling, bags):
    extra = [] if coupling is None else ["--coupling", coupling]
    found = choices(*MNIST, "--bag-size", "0.5", "--delta", "0.05", *extra)
    assert [choice["n_bags"] for choice in found] == [bags]
    assert f"{bags:,}" in plan(*MNIST, "--bag-size", "0.5", "--delta", "0.05", *extra).stdout


def test_rows_that_come():
    found = choices(*MNIST, "--bag-size", "0.1", "--n-bags", "5000", "--epsilon", "0.3", "--n-added", "3000")
    setting = {"n_samples": 60_000, "n_classes": 10, "bag_size": 0.1, "n_bags": 5000, "epsilon": 0.3}
    guarantee = selection_stability(**setting, n_added=3000)
    assert found[0]["guarantee"]["delta"] == guarantee.delta
    assert found[0]["guarantee"]["sentence"].startswith("Adding 3,000 rows to 60,000 training rows")


@pytest.mark.parametrize("unknown", ["epsilon", "bag_size", "n_samples", "n_bags"])
def test_every_direction(unknown):
    setting = {"n_samples": 60_000, "epsilon": 0.05, "bag_size": 3000, "n_bags": 5000}
    del setting[unknown]
    arguments = [word for name, value in setting.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    found = choices(*arguments, "--delta", "0.02", "--solve", unknown)
    answer = solve_stability(unknown, delta=0.02, **setting)
    assert found[0][unknown] == answer
    assert found[0]["guarantee"]["delta"] == selection_stability(**setting, **{unknown: answer}).delta <= 0.02
    assert f"{unknown} for delta = 0.02\n" in plan(*arguments, "--delta", "0.02", "--solve", unknown).stdout


def test_what_cannot_be_reached_is_said_in_its_place():
    setting = ["--n-samples", "1000", "--delta", "0.05", "--bag-size", "0.5", "--bag-size", "3"]
    found = choices(*setting)
    assert found[0]["n_bags"] is None
    assert "no n_bags reaches delta=0.05: the bound is 0.4" in found[0]["reason"]
    assert found[1]["n_bags"] == solve_stability("n_bags", delta=0.05, n_samples=1000, bag_size=3, epsilon=0.05)
    text = plan(*setting).stdout
    assert "none: no n_bags reaches delta=0.05" in text
    few = plan("--n-samples", "10").stdout.splitlines()  # too few rows for bags of which no row can matter
    assert next(line for line in few if "small" in line).count("none") == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "n_samples must be given"),
        (["--n-samples", "1"], "n_samples must be a whole number from 2 to 2**53; got 1."),
        (["--n-samples", "many"], "n_samples must be a number; got 'many'."),
        ([*MNIST, "--epsilon", "-1"], "epsilon must be a finite number above 0; got -1."),
        ([*MNIST, "--bag-size", "60000"], "bag_size must be"),
        ([*MNIST, "--n-bags", "0"], "n_bags must be"),
        ([*MNIST, "--delta", "2"], "delta must be"),
        ([*MNIST, "--solve", "epsilon"], "delta must be given"),
        ([*MNIST, "--delta", "0.1", "--solve", "seed"], "solve must be"),
        ([*MNIST, "--delta", "0.1", "--n-bags", "5"], "n_bags must be left out"),
        ([*MNIST, "--delta", "0.1", "--solve", "epsilon", "--bag-size", "small"], "bag_size must be a number"),
        ([*MNIST, "--theorem", "lemma"], "theorem must be"),
        ([*MNIST, "--resampling", "bootstrap", "--coupling", "hash"], 'coupling="hash" is for subbagging only'),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(arguments, message):
    result = plan(*arguments, code=2)
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.startswith("steadyset plan: ")
    assert result.stderr.count("\n") == 1


def cells(text):
    """Return the texts of a printed table, line by line."""
    lines = [line for line in text.splitlines() if line.startswith(("│", "┃"))]
    return [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in lines]


def test_every_cell_is_the_bound_of_its_line_and_column():
    arguments = ["--n-samples", "4000", "--n-samples", "9000", "--epsilon", "0.04", "--epsilon", "0.3"]
    arguments += ["--bag-size", "0.5", "--bag-size", "70", "--n-bags", "200", "--n-bags", "1300", "--n-bags", "inf"]
    text = plan(*arguments, "--n-classes", "6").stdout
    assert text.splitlines()[0] == "probability of a disjoint label set, at most"
    expected, found = [["n_samples", "epsilon", "bag_size", "200 bags", "1,300 bags", "inf bags"]], []
    for n_samples in (4000, 9000):
        for epsilon in (0.04, 0.3):
            for bag_size in (0.5, 70):
                setting = {"n_samples": n_samples, "epsilon": epsilon, "bag_size": bag_size, "n_classes": 6}
                row = [selection_stability(**setting, n_bags=n_bags) for n_bags in (200, 1300, None)]
                found += row
                shown = [f"{g.delta:.3g}{' *' if g.every_row else ''}" for g in row]
                shown = [f"vacuous ({g.delta:.3g})" if g.vacuous else t for g, t in zip(row, shown, strict=True)]
                expected.append([f"{n_samples:,}", f"{epsilon:g}", f"{bag_size:g}", *shown])
    assert cells(text) == expected
    assert any(g.every_row for g in found)
    assert not all(g.every_row for g in found)
    best = min((g for g in found if not g.vacuous and g.n_bags is not None), key=lambda g: g.delta)
    assert " ".join(text.split()).endswith(f"For example: {best}")


def test_every_answer_stands_in_its_cell():
    arguments = [
        "--n-samples",
        "70000",
        "--bag-size",
        "0.5",
        "--bag-size",
        "900",
        "--n-bags",
        "300",
        "--n-bags",
        "5000",
    ]
    text = plan(*arguments, "--n-classes", "4", "--delta", "0.03", "--solve", "epsilon").stdout
    assert text.splitlines()[0] == "n_samples = 70,000: epsilon for delta = 0.03"
    for line, bag_size in zip(cells(text)[1:], (0.5, 900), strict=True):
        setting = {"delta": 0.03, "n_samples": 70_000, "bag_size": bag_size, "n_classes": 4}
        answers = [solve_stability("epsilon", **setting, n_bags=n_bags) for n_bags in (300, 5000)]
        assert [cell.removesuffix(" *") for cell in line] == [f"{bag_size:g}", *(f"{a:.6g}" for a in answers)]
    found = json.loads(plan(*arguments, "--delta", "0.03", "--solve", "epsilon", "--json").stdout)
    assert (found["solve"], found["delta"]) == ("epsilon", 0.03)


def test_the_example_promises_something_where_anything_does():
    setting = {"n_samples": 60_000, "epsilon": 0.02, "bag_size": 0.5}
    text = plan("--n-samples", "60000", "--epsilon", "0.02", "--bag-size", "0.5", "--n-bags", "50", "--n-bags", "inf")
    assert selection_stability(**setting, n_bags=50).vacuous
    assert not selection_stability(**setting).vacuous
    assert " ".join(text.stdout.split()).endswith(f"For example: {selection_stability(**setting)}")


def test_the_ways_to_keep_a_promise_stand_beside():
    text = plan(*MNIST, "--delta", "0.05").stdout
    expected = ss.plan(60_000, 10, delta=0.05)
    assert str(expected) in text
    found = json.loads(plan(*MNIST, "--delta", "0.05", "--json").stdout)["plan"]
    assert [c["bag_size"] for c in found["choices"]] == [c.bag_size for c in expected.choices]
    assert "plan" not in json.loads(plan(*MNIST, "--delta", "0.05", "--coupling", "any", "--json").stdout)


def test_choices_are_tried_on_data(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    np.savez(tmp_path / "d.npz", X=X, y=(X[:, 0] > 0).astype(int))
    given = ["--data", str(tmp_path / "d.npz"), "--estimator", "naive-bayes", "--epsilon", "0.3", "--n-bags", "100"]
    found = json.loads(plan(*given, "--delta", "0.1", "--json").stdout)
    assert (found["n_samples"], found["n_classes"], found["trial_bags"]) == (120, 2, 25)
    assert found["choices"][0]["accuracy"] > 0.8
    assert "accuracy" in plan(*given, "--delta", "0.1").stdout
    assert "delta must be given where the choices are tried on data" in plan(*given, code=2).stderr
