"""Stable neighbours from the command line: fit, predict, audit and report."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import steadyset as ss
from steadyset.cli import app


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = X.assign(species=np.array(["a", "b", "c"])[y])
    frame[::2].to_csv("train.csv", index=False)
    frame[1::2].to_csv("test.csv", index=False)
    frame.assign(colour="red").to_csv("words.csv", index=False)
    return lambda text: CliRunner().invoke(app, text.split())


def in_one_line(done):
    return " ".join((done.output + done.stderr).split())


def fitted(command):
    return command("fit train.csv --target species --estimator neighbors --param n_neighbors=3 --output m.skops --json")


def test_a_model_is_fitted_and_read_again(command):
    done = fitted(command)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["n_bags"] is None
    assert told["n_rows"] == 75
    assert told["types_to_trust"] == []
    assert told["out_of_bag"]["accuracy"] > 0.9
    X, y = load_iris(return_X_y=True)
    model = ss.StableNeighborsClassifier(3).fit(X[::2], np.array(["a", "b", "c"])[y[::2]])
    assert told["guarantee"]["delta"] == pytest.approx(model.guarantee().delta)
    assert command("predict m.skops test.csv --output sets.csv").exit_code == 0
    sets = pd.read_csv("sets.csv")
    assert np.allclose(sets[["proba_a", "proba_b", "proba_c"]], model.predict_proba(X[1::2]), rtol=0, atol=1e-12)
    audited = command("audit m.skops test.csv --json")
    assert json.loads(audited.stdout)["max_instability"] == model.audit(X[1::2]).max_instability
    seen = command("predict m.skops train.csv --output sets.csv")
    assert "75 of the 75 rows were among the training rows" in seen.output + seen.stderr


def test_a_report(command, tmp_path):
    assert fitted(command).exit_code == 0
    made = command("report m.skops test.csv --output report.html --json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["n_rows"] == 75
    assert "infinitely many bags of 38 of 75 training rows" in (tmp_path / "report.html").read_text()


def test_words_are_refused(command):
    done = command("fit words.csv --target species --estimator neighbors --output m.skops")
    assert done.exit_code != 0
    assert "estimator neighbors must have columns of numbers; got the category 'colour'" in in_one_line(done)


@pytest.mark.parametrize(("option", "role"), [("--weights", "weights"), ("--group", "group")])
def test_roles_that_have_no_say_are_refused(command, option, role):
    column = "petal_width"
    pd.read_csv("train.csv").rename(columns={"petal width (cm)": column}).to_csv("named.csv", index=False)
    done = command(f"fit named.csv --target species --estimator neighbors {option} {column} --output m.skops")
    assert done.exit_code != 0
    assert f"{role} must be left out for neighbors" in in_one_line(done)


def test_a_promise_makes_bags_small(command):
    done = command(
        "fit train.csv --target species --estimator neighbors --epsilon 0.3 --delta 0.05 --output m.skops --json"
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["guarantee"]["delta"] <= 0.05
    assert told["bag_size"] < 37
    assert (
        "infinitely many bags of"
        in command("fit train.csv --target species --estimator neighbors --output m.skops").stdout
    )
