"""The whole path of the Fashion-MNIST experiment at a toy size, in real processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache

import numpy as np
import pytest
from typer.testing import CliRunner

import steadyset as ss
from helpers import toy_images
from helpers.zygote import Zygote
from steadyset.cli import app
from steadyset.paper import _output, fashion_mnist
from steadyset.paper.fashion_mnist import _printed
from steadyset.paper.fashion_mnist._data import Images
from steadyset.paper.fashion_mnist._networks import Recipe, Sizes, train
from steadyset.paper.fashion_mnist._run_folder import RunFolder

SIZES = {"bags": 40, "bag-size": 200, "left-out": 10, "base-fits": 4, "epochs": 3, "learning-rate": 0.01}


def arguments(data, run):
    options = [word for name, value in SIZES.items() for word in (f"--{name}", value)]
    where = ["--data", data, "--unchecked-data", "--folder", run]
    return [str(word) for word in ("reproduce", "fashion-mnist", *where, "--independent-seeds", *options)]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run without interruption: its folder and what it printed."""
    root = tmp_path_factory.mktemp("fashion")
    start = [sys.executable, "-W", "error", "-m", "steadyset"]
    words = arguments(toy_images.write(root / "data"), root / "run")
    done = subprocess.run([*start, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return root, done.stdout


@pytest.fixture(scope="module")
def zygote(tmp_path_factory):
    made = Zygote(tmp_path_factory.mktemp("zygote"))
    yield made
    made.close()


def results(folder):
    return json.loads((folder / "results.json").read_text())


def but_for_times(folder):
    found = results(folder)
    found.pop("times")
    return found


def test_every_file_is_there(straight):
    root, printed = straight
    for line in printed.splitlines():
        assert (root / line).stat().st_size > 0
    named = {line.rsplit("/", 1)[-1] for line in printed.splitlines()}
    assert {"results.json", "results.md", "survival.png", "survival-all-rows.svg", "epsilon.pdf"} <= named


def test_tables_have_the_papers_rows(straight):
    found = results(straight[0] / "run")
    assert [(row["rule"], row["algorithm"]) for row in found["main_table"]] == list(_printed.MAIN)
    assert [(row["rule"], row["algorithm"]) for row in found["extended_table"]] == list(_printed.EXTENDED)
    assert len(found["claims"]) == 14
    assert found["base_fits"]["n_fits"] == 4
    audited = {(row["rule"], row["algorithm"], row["rows_left_out"]) for row in found["instability"]}
    assert ("inflated argmax", "subbagged", 400) in audited
    assert found["times"]["wall_minutes"] > found["times"]["wall_minutes_of_the_papers_part"] > 0


@cache
def trained(folder):
    X_train, y_train, X_test, y_test = toy_images.arrays()
    images = Images(X_train, y_train, X_test, y_test, "digits", False)
    sizes = Sizes(n_bags=40, bag_size=200, left_out=10, base_fits=4)
    return train(images, sizes, Recipe(epochs=3, learning_rate=0.01), RunFolder(folder), 2, lambda stage, share: None)


def test_numbers_are_those_of_the_networks(straight):
    """Every cell of the first table, worked out anew from the predictions with NumPy alone."""
    predictions = trained(straight[0] / "run")
    y = toy_images.arrays()[3]
    for row in results(straight[0] / "run")["main_table"]:
        bagged = row["algorithm"] == "subbagged"
        proba = predictions.bags.proba.mean(axis=0) if bagged else predictions.base[0]
        select = ss.argmax_set if row["rule"] == "argmax" else lambda p: ss.inflated_argmax(p, 0.05)
        sets = select(proba)
        right = (sets.sum(axis=1) == 1) & sets[np.arange(len(y)), y]
        assert row["correct_single"]["value"] == pytest.approx(right.mean(), abs=1e-12)
        assert row["set_size"]["value"] == pytest.approx(sets.sum(axis=1).mean(), abs=1e-12)
        conflicts = np.zeros(len(y))
        for k, left_out in enumerate(predictions.rows):
            held = predictions.bags.bags.holds(int(left_out))
            model = predictions.bags.proba[~held].mean(axis=0) if bagged else predictions.left_out[k]
            conflicts += ~(sets & select(model)).any(axis=1)
        assert row["max_instability"]["value"] == pytest.approx(conflicts.max() / len(predictions.rows), abs=1e-12)


def test_bags_are_those_of_the_estimator(straight):
    predictions = trained(straight[0] / "run").bags
    X_train, y_train, X_test, _ = toy_images.arrays()
    learner = Recipe(epochs=3, learning_rate=0.01).learner()
    model = ss.StableClassifier(learner, n_estimators=40, max_samples=200, random_state=0)
    assert np.array_equal(model.fit_predict_bags(X_train, y_train, X_test).proba, predictions.proba)


def test_killed_twice_and_continued(straight, zygote, tmp_path):
    root, _ = straight
    run = tmp_path / "run"
    words = arguments(root / "data", run)
    for finished in (2, 5):  # groups: in the midst of the bags, and of the left-out fits
        pid, wait = zygote.start(*words, cwd=tmp_path)
        until = time.monotonic() + 120
        while len(list(run.glob("*/*/bags-*.npy"))) < finished:
            assert time.monotonic() < until
            time.sleep(0.002)
        os.kill(pid, signal.SIGKILL)
        assert wait()[0] == -signal.SIGKILL
        assert not (run / "results.json").exists()
    _, wait = zygote.start(*words, cwd=tmp_path)
    code, _, err = wait()
    assert code == 0, err
    assert but_for_times(run) == but_for_times(root / "run")


def test_another_epsilon_needs_no_training(straight, tmp_path, monkeypatch):
    monkeypatch.setattr(_output, "_FORMATS", {"svg": {}})  # drawing takes longer than all the rest
    run = shutil.copytree(straight[0] / "run", tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in run.glob("*/*/bags-*.npy")}
    assert before
    told = []
    asked = fashion_mnist.options(
        n_bags=40, bag_size=200, left_out=10, base_fits=4, epochs=3, learning_rate=0.01, epsilon=0.2
    )
    X_train, y_train, X_test, y_test = toy_images.arrays()
    images = Images(X_train, y_train, X_test, y_test, "digits", False)
    fashion_mnist.reproduce(run, asked, images=images, n_jobs=1, progress=lambda stage, share: told.append(share))
    assert sum(told) == pytest.approx(1.0)
    assert before == {path: path.stat().st_mtime_ns for path in run.glob("*/*/bags-*.npy")}
    found = results(run)
    assert found["configuration"]["epsilon"] == 0.2
    assert "--epsilon 0.2" in found["command"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scale", "huge"], 'scale must be "paper" or "small"; got \'huge\''),
        (["--bags", "0"], "n_bags must be"),
        (["--bag-size", "400"], "bag_size must be from 1 to 399; got 400"),
        (["--left-out", "401"], "left_out must be from 1 to 400; got 401"),
        (["--epsilon", "-1"], "epsilon must be"),
    ],
)
def test_bad_options_are_a_sentence(straight, tmp_path, words, message):
    done = CliRunner().invoke(app, [*arguments(straight[0] / "data", tmp_path / "run"), *words])
    assert done.exit_code == 2
    assert done.stderr.startswith("steadyset reproduce fashion-mnist: ")
    assert message in done.stderr


def test_a_run_folder_that_is_a_file_is_a_sentence(straight, zygote, tmp_path):
    (tmp_path / "run").write_text("")
    _, wait = zygote.start(*arguments(straight[0] / "data", tmp_path / "run"), cwd=tmp_path)
    code, out, err = wait()
    assert (code, out) == (2, "")
    assert "the run folder must be writable" in err
    assert "Traceback" not in err
