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
from steadyset.paper.fashion_mnist import _certified, _printed
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
    found = model.fit_predict_bags(X_train, y_train, X_test, sample_ids=range(len(X_train)))
    assert np.array_equal(found.proba, predictions.proba)
    assert (predictions.bags.coupling, predictions.bags.ids.kind) == ("hash", "given")


def test_every_point_is_certified(straight):
    """The shares in the table are those of `certify` at all points, and a second call reads what is kept."""
    predictions, found = trained(straight[0] / "run").bags, results(straight[0] / "run")["promises"]
    rules = {"argmax": ss.Argmax(), "inflated argmax": ss.InflatedArgmax(0.05), "fixed margin": ss.FixedMargin(0.05)}
    assert [row["rule"] for row in found["proved"]] == list(rules)
    for row in found["proved"]:
        proved = ss.certify(predictions, rules[row["rule"]])
        assert row["points"] == found["certificates"]["points"] == predictions.n_points
        assert row["theorem_4_points_without_a_conflict"] == np.mean(proved.bound == 0)
        assert row["theorem_4_rows_cleared"] == pytest.approx(1 - proved.bound.mean())
        assert row["theorem_6_points_without_a_conflict"] == np.mean(proved.unsafe_rows == 0)
        assert row["theorem_6_rows_cleared"] == pytest.approx(1 - proved.unsafe_rows.mean() / 400)
        assert row["rows_that_may_change_at_the_most_robust_point"] == proved.poisoning_radius.max()
    page = (straight[0] / "run" / "results.md").read_text()
    assert f"Of all {predictions.n_points:,} test points, and of the 400 rows at a point on average" in page


def test_a_record_is_certified_anew_from_its_bags(straight, tmp_path):
    """What is proved comes back, to the letter, and nothing else of the record is touched."""
    root, _ = straight
    shutil.copytree(root / "run", tmp_path / "record")
    shutil.copytree(root / "run" / "bags", tmp_path / "run" / "bags")
    whole = (tmp_path / "record" / "results.json").read_text()
    found = json.loads(whole)
    found["promises"] = {}
    (tmp_path / "record" / "results.json").write_text(json.dumps(found))
    words = ["--data", root / "data", "--unchecked-data", "--folder", tmp_path / "run"]
    command = ["reproduce", "certificates", tmp_path / "record", *words]
    done = CliRunner().invoke(app, [str(word) for word in command])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "record" / "results.json").read_text() == whole
    assert (tmp_path / "record" / "results.md").read_text() == (root / "run" / "results.md").read_text()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["bags", "certificates"]


@pytest.mark.parametrize("damage", ["another number", "no results"])
def test_certificates_of_other_bags_are_refused(straight, tmp_path, damage):
    found = results(straight[0] / "run")
    for row in found["instability"]:
        row["conflicting_pairs"] += 1
    (tmp_path / "results.json").write_text(json.dumps(found if damage == "another number" else []))
    X_train, y_train, X_test, y_test = toy_images.arrays()
    images = Images(X_train, y_train, X_test, y_test, "digits", False)
    before = (tmp_path / "results.json").read_bytes()
    sentence = "the bags must be those of the record" if damage == "another number" else "record must be the folder"
    with pytest.raises(ValueError, match=sentence):
        fashion_mnist.recertify(tmp_path, straight[0] / "run", images=images, n_jobs=1)
    assert (tmp_path / "results.json").read_bytes() == before


def test_certificates_are_kept(straight, tmp_path, monkeypatch):
    predictions, rules = trained(straight[0] / "run").bags, (ss.Argmax(), ss.InflatedArgmax(0.05))
    first = _certified.proved(tmp_path, predictions, rules)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    files[0].write_bytes(b"damaged")
    asked = []
    monkeypatch.setattr(_certified, "certify", lambda p, rule: asked.append(rule) or ss.certify(p, rule))
    second = _certified.proved(tmp_path, predictions, rules)
    assert len(asked) == 1  # the damaged one
    for name in ("argmax", "inflated argmax"):
        assert second[name].summary() == first[name].summary()
        for field in ("bound", "radius", "unsafe_rows", "poisoning_radius"):
            assert np.array_equal(getattr(second[name], field), getattr(first[name], field))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, reversed(contents), strict=True):
        file.write_bytes(content)
    assert _certified.proved(tmp_path, predictions, rules)["argmax"].summary() == first["argmax"].summary()
    assert len(asked) == 3  # each holds what is proved of the other rule
    fewer = ss.BagPredictions(predictions.proba[:39], predictions.bags.with_bags(39), predictions.classes)
    _certified.proved(tmp_path, fewer, rules)
    assert len(asked) == 5  # other predictions


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
