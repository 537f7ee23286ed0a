"""`steadyset fit --group`: the promise, the audit and the report are about groups."""

import json
import re

import numpy as np
import pandas as pd
import pytest

RNG = np.random.default_rng(2)


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    patient = np.repeat(np.arange(60), RNG.integers(1, 6, 60))
    frame = pd.DataFrame({"patient": [f"p{code:03}" for code in patient], "a": RNG.normal(size=len(patient))})
    frame["ill"] = np.where(frame["a"] + RNG.normal(size=len(patient)) > 0, "yes", "no")
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    frame.to_csv(path, index=False)
    return path


def fit(run, visits, *options):
    model = visits.with_name("model.skops")
    command = ["fit", visits, "--target", "ill", "--group", "patient", "--estimator", "naive-bayes", "--n-jobs", 1]
    return model, run(*command, "--n-bags", 100, "--epsilon", 0.3, *options, "-o", model)


def test_groups_from_fit_to_report(run, visits):
    model, told = fit(run, visits, "--delta", 0.05)
    assert re.search(r"100 bags of \d+ of 60 groups, 2 labels, 1 features", told.stdout)
    assert "Dropping one of 60 training groups gives" in told.stdout
    found = json.loads(fit(run, visits, "--delta", 0.05, "--json")[1].stdout)
    assert (found["unit"], found["n_units"]) == ("group", 60)
    assert found["n_rows"] == len(pd.read_csv(visits))
    assert found["guarantee"]["delta"] <= 0.05
    audit = run("audit", model, visits, "--n-jobs", 1).stdout
    assert "60 training groups left out" in audit
    answer = json.loads(run("audit", model, visits, "--n-jobs", 1, "--json").stdout)
    assert (answer["unit"], answer["n_left_out"]) == ("group", 60)
    page = visits.with_name("report.html")
    run("report", model, visits, "--n-jobs", 1, "-o", page)
    text = page.read_text()
    assert "of 60 training groups." in text
    assert "on average over the groups and over the draw of bags" in text


def test_names_of_groups_can_be_left_out_of_the_file(run, visits):
    model, _ = fit(run, visits, "--no-ids")
    answer = json.loads(run("audit", model, visits, "--n-jobs", 1, "--json").stdout)
    assert answer["n_left_out"] == 60
    assert b"p001" not in model.read_bytes()


def test_a_row_without_a_group_is_named(run, visits):
    broken = visits.with_name("broken.csv")
    frame = pd.read_csv(visits)
    frame.loc[4, "patient"] = None
    frame.to_csv(broken, index=False)
    told = run("fit", broken, "--target", "ill", "--group", "patient", "-o", broken.with_name("m.skops"), code=2).stderr
    assert "group 'patient' must have a name for every row; got none in row 5." in told
