"""`steadyset plan`, as it is typed."""

import json
import re

import pytest
from typer.testing import CliRunner

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
    assert "vacuous: the bound is not below 1" in text


def test_small_bags_are_among_the_choices():
    text = plan(*MNIST).stdout
    line = next(line for line in text.splitlines() if "2,448" in line and "│" in line)
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
    ("coupling", "bags"), [("any", 32_728), ("independent", 16_364), ("hash", 8_183), (None, 8_183)]
)
def test_delta_alone_solves_for_the_number_of_bags(coupling, bags):
    extra = [] if coupling is None else ["--coupling", coupling]
    found = choices(*MNIST, "--bag-size", "0.5", "--delta", "0.05", *extra)
    assert [choice["n_bags"] for choice in found] == [bags]
    assert f"{bags:,}" in plan(*MNIST, "--bag-size", "0.5", "--delta", "0.05", *extra).stdout


@pytest.mark.parametrize("unknown", ["epsilon", "bag_size", "n_samples", "n_bags"])
def test_every_direction(unknown):
    setting = {"n_samples": 60_000, "epsilon": 0.05, "bag_size": 3000, "n_bags": 5000}
    del setting[unknown]
    arguments = [word for name, value in setting.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    found = choices(*arguments, "--delta", "0.02", "--solve", unknown)
    assert found[0][unknown] == solve_stability(unknown, delta=0.02, **setting)
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
