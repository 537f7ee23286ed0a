"""`--coverage`: covering sets from the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from steadyset.cli import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("coverage")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    rows = np.column_stack([rng.normal(size=(200, 2)) + y[:, None], y])
    for name, part in (("train", rows[:120]), ("test", rows[120:])):
        lines = [f"{a:.4f},{b:.4f},k{int(label)}" for a, b, label in part]
        (here / f"{name}.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    called("fit", here / "train.csv", "--n-bags", 40, "--bag-size", 0.2, "--epsilon", 0.2, "-o", here / "m.skops")
    return here


def called(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


def test_predicted_sets_cover_and_hold_the_stable_ones(folder):
    plain, both = folder / "plain.npy", folder / "both.npy"
    called("predict", folder / "m.skops", folder / "test.csv", "-o", plain)
    done = called("predict", folder / "m.skops", folder / "test.csv", "--coverage", 0.9, "-o", both, "--json")
    answer = json.loads(done.stdout)
    assert answer["coverage"]["asked"] == 0.9
    assert answer["coverage"]["proved"] == 0.8
    assert 0 < answer["coverage"]["delta"] <= 1
    assert answer["metrics"]["coverage"]["value"] > 0.8
    assert (np.load(both) >= np.load(plain)).all()
    told = called("predict", folder / "m.skops", folder / "test.csv", "--coverage", 0.9, "-o", both)
    assert "about 0.9 of the sets hold the true label in practice, and at least 0.8 by theorem" in told.output
    assert "Stability: " in told.output


def test_the_report_shows_both(folder):
    pytest.importorskip("plotly")
    called("report", folder / "m.skops", folder / "test.csv", "--coverage", 0.9, "-o", folder / "r.html")
    assert "Coverage and stability in one set" in (folder / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["predict", "report"])
def test_what_it_needs(folder, command):
    out = ("-o", folder / ("o.html" if command == "report" else "o.csv"))
    done = called(command, folder / "m.skops", folder / "test.csv", "--coverage", 1.5, *out, code=2)
    assert "coverage must be a number above 0 and below 1; got 1.5" in done.output
    called("fit", folder / "train.csv", "--n-bags", 10, "--no-score", "-o", folder / "n.skops")
    done = called(command, folder / "n.skops", folder / "test.csv", "--coverage", 0.9, *out, code=2)
    assert "--coverage needs a model fitted with its out-of-bag score; got one of `fit --no-score`" in done.output
