"""The recorded run of the paper's experiment: whole, within the marks, and shown as it is."""

import json
from pathlib import Path

import pytest

from steadyset.paper.fashion_mnist import _printed
from steadyset.paper.fashion_mnist._page import main_table, page

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "experiments" / "fashion_mnist"


@pytest.fixture(scope="module")
def results():
    return json.loads((RECORD / "results.json").read_text())


def row(table, rule, algorithm):
    return next(row for row in table if (row["rule"], row["algorithm"]) == (rule, algorithm))


def test_it_is_the_papers_size(results):
    setting = results["configuration"]
    sizes = {name: setting[name] for name in ("n_samples", "n_points", "n_bags", "bag_size", "left_out", "epochs")}
    assert sizes == {
        "n_samples": 60000,
        "n_points": 10000,
        "n_bags": 1000,
        "bag_size": 30000,
        "left_out": 500,
        "epochs": 5,
    }
    assert setting["data_checked"]
    assert results["base_fits"]["n_fits"] >= 16
    assert results["times"]["wall_minutes_of_the_papers_part"] < 75


def test_it_has_every_row(results):
    assert [(row["rule"], row["algorithm"]) for row in results["main_table"]] == list(_printed.MAIN)
    assert [(row["rule"], row["algorithm"]) for row in results["extended_table"]] == list(_printed.EXTENDED)


@pytest.mark.parametrize("rule", ["argmax", "inflated argmax"])
@pytest.mark.parametrize("metric", ["correct_single", "set_size"])
def test_subbagged_numbers_are_the_papers(results, rule, metric):
    for table in ("main_table", "extended_table"):
        assert abs(row(results[table], rule, "subbagged")[metric]["difference"]) <= 0.006


def test_instability(results):
    stable, unstable = (row(results["main_table"], rule, "subbagged") for rule in ("inflated argmax", "argmax"))
    assert stable["max_instability"]["value"] <= 0.006
    assert stable["max_instability_all_rows"] <= 0.006
    assert unstable["max_instability"]["value"] > 0.3
    assert unstable["max_instability_all_rows"] > 0.3
    assert row(results["main_table"], "argmax", "base")["max_instability_independent_seeds"] > 0.9


def test_every_point_is_certified(results):
    promised = results["promises"]
    assert promised["certificates"]["points"] == 10_000
    assert [row["rule"] for row in promised["proved"]] == ["argmax", "inflated argmax", "fixed margin"]
    assert all((row["points"], row["rows"]) == (10_000, 60_000) for row in promised["proved"])
    assert promised["bags_that_reach_delta"]["0.05"] <= 3544


def test_pages_show_the_record(results):
    assert (RECORD / "results.md").read_text() == page(results)
    assert main_table(results) in (ROOT / "README.md").read_text()
    for figure in ("survival", "survival-all-rows", "survival-independent-seeds", "epsilon", "ambiguous"):
        assert (RECORD / "figures" / f"{figure}.png").stat().st_size > 10_000
