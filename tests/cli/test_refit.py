"""`steadyset refit`: the model of a changed table, in one step; a kill leaves the old or the new one, whole."""

import contextlib
import json
import os
import random
import signal
import time
import zipfile

import numpy as np
import pandas as pd
import pytest

import steadyset as ss
from steadyset.tables import load_model

ROWS = 300


def written(folder, n=ROWS):
    """Write a training table, the same without one row, and some points."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n)
    frame = pd.DataFrame(rng.normal(size=(n, 3)) + labels[:, None], columns=list("abc"))
    frame["town"] = rng.choice(["Aix", "Bonn", "Cork"], n)
    frame["who"] = [f"person-{k:03}" for k in range(n)]
    frame["visit"] = np.arange(n) // 3
    frame["weight"] = rng.integers(1, 4, size=n)
    frame["y"] = np.array(["low", "mid", "top"])[labels]
    frame.loc[7, "town"] = "Zwolle"
    frame.to_csv(folder / "all.csv", index=False)
    frame.drop(index=11).to_csv(folder / "less.csv", index=False)
    frame.drop(index=7).to_csv(folder / "forgotten.csv", index=False)
    frame.head(40).to_csv(folder / "points.csv", index=False)
    return frame


FITS = {
    "trees with ids": ("--id", "who", "--drop", "visit", "--drop", "weight"),
    "logistic with groups": ("--group", "visit", "--estimator", "logistic", "--drop", "who", "--drop", "weight"),
    "trees with weights": ("--weights", "weight", "--drop", "who", "--drop", "visit"),
}


@pytest.mark.parametrize("kind", FITS)
def test_the_file_becomes_that_of_a_fresh_fit(kind, run, tmp_path):
    written(tmp_path)
    given = (*FITS[kind], "--target", "y", "--n-bags", 20, "--bag-size", 10, "--n-jobs", 1, "--epsilon", 0.2, "-q")
    run("fit", tmp_path / "all.csv", *given, "-o", tmp_path / "model.skops")
    run("fit", tmp_path / "less.csv", *given, "-o", tmp_path / "fresh.skops")
    answer = run("refit", tmp_path / "model.skops", tmp_path / "less.csv", "--n-jobs", 1, "--json").stdout
    told = json.loads(answer)
    assert told["changes"]["n_dropped"] == (0 if "groups" in kind else 1)
    assert told["changes"]["n_changed"] == (1 if "groups" in kind else 0)
    assert told["changes"]["n_trained"] < 10
    one, fresh = (load_model(str(tmp_path / name)) for name in ("model.skops", "fresh.skops"))
    frame = one.frame(_table(tmp_path / "points.csv"))
    assert np.array_equal(one.classifier.predict_proba(frame), fresh.classifier.predict_proba(frame))
    assert one.classifier.bags_ == fresh.classifier.bags_
    assert one.columns == fresh.columns
    assert one.facts == fresh.facts
    assert vars(one.classifier).keys() == vars(fresh.classifier).keys()


def _table(path):
    from steadyset.tables import read_table

    return read_table(str(path))


def test_nothing_of_a_forgotten_row_is_left_in_the_file(run, tmp_path):
    written(tmp_path)
    given = (*FITS["trees with ids"], "--target", "y", "--n-bags", 20, "--bag-size", 10, "--n-jobs", 1)
    run("fit", tmp_path / "all.csv", *given, "--checkpoint", tmp_path / "work", "-o", tmp_path / "model.skops")

    def everything():
        parts = [path.read_bytes() for path in (tmp_path / "work").rglob("*") if path.is_file()]
        with zipfile.ZipFile(tmp_path / "model.skops") as archive:
            return b"\n".join([*parts, *(archive.read(name) for name in archive.namelist())])

    traces = [b"Zwolle", "person-007".encode("utf-32-le")]
    assert all(trace in everything() for trace in traces)
    found = run("refit", tmp_path / "model.skops", tmp_path / "forgotten.csv", "--checkpoint", tmp_path / "work")
    assert "20 of 20 bags were trained again: 1 row dropped, 299 rows kept." in found.stdout  # a category is gone
    assert "299 training rows" in found.stdout
    assert not any(trace in everything() for trace in traces)
    assert len(list((tmp_path / "work").iterdir())) == 1


def test_two_versions_side_by_side(run, tmp_path):
    written(tmp_path)
    given = (*FITS["trees with ids"], "--target", "y", "--n-bags", 20, "--bag-size", 10, "--n-jobs", 1, "-q")
    old, new = tmp_path / "old.skops", tmp_path / "new.skops"
    run("fit", tmp_path / "all.csv", *given, "-o", old)
    run("refit", old, tmp_path / "less.csv", "--n-jobs", 1, "-o", new)
    picture = tmp_path / "compared.png"
    told = run("compare", old, new, tmp_path / "points.csv", "--n-jobs", 1, "--figure", picture, "--json", "-q").stdout
    found = json.loads(told)
    assert (found["n_points"], found["n_added"], found["n_dropped"]) == (40, 0, 1)
    assert found["n_stayed"] + found["n_changed"] + found["n_disjoint"] == 40
    assert found["promise"]["n_dropped"] == 1
    assert picture.read_bytes().startswith(b"\x89PNG")
    page = tmp_path / "compared.html"
    words = run("compare", old, new, tmp_path / "points.csv", "--n-jobs", 1, "--page", page, "-q").stdout
    assert words.startswith("Of 40 points, ")
    shown = page.read_text(encoding="utf-8")
    assert f"<strong>{found['n_disjoint']}</strong> of 40 points" in shown
    assert "0 training rows came and 1 went" in shown
    assert "http" not in shown.replace("http-equiv", "")  # it needs no network


def test_what_is_refused_leaves_the_file_alone(run, tmp_path):
    frame = written(tmp_path)
    given = (*FITS["trees with ids"], "--target", "y", "--n-bags", 5, "--bag-size", 10, "--n-jobs", 1)
    run("fit", tmp_path / "all.csv", *given, "-o", tmp_path / "model.skops")
    before = (tmp_path / "model.skops").read_bytes()
    frame.drop(columns="who").to_csv(tmp_path / "nameless.csv", index=False)
    frame.drop(columns="b").to_csv(tmp_path / "narrow.csv", index=False)
    frame.assign(y="new").to_csv(tmp_path / "other.csv", index=False)
    for name, words in {
        "nameless": "id_column must be a column of the table; got 'who'",
        "narrow": "the table must have the columns that the model was fitted on; 'b' missing",
        "other": "y must hold labels of classes only; got 'new'",
    }.items():
        assert words in run("refit", tmp_path / "model.skops", tmp_path / f"{name}.csv", code=2).stderr
    assert (tmp_path / "model.skops").read_bytes() == before
    run("fit", tmp_path / "all.csv", *given, "--no-ids", "-o", tmp_path / "bare.skops")
    told = run("refit", tmp_path / "bare.skops", tmp_path / "less.csv", code=2).stderr
    assert "a refit must know the ids of the rows of the fit; got a model whose ids were left out" in told


def test_stable_neighbours_take_a_table_in(run, tmp_path):
    frame = written(tmp_path)[["a", "b", "c", "y"]]
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame[5:].to_csv(tmp_path / "less.csv", index=False)
    run("fit", tmp_path / "all.csv", "--estimator", "neighbors", "-o", tmp_path / "model.skops")
    assert "295 rows" in run("refit", tmp_path / "model.skops", tmp_path / "less.csv").stdout
    fresh = ss.StableNeighborsClassifier(max_samples=0.5).fit(frame[["a", "b", "c"]][5:], frame["y"][5:])
    one = load_model(str(tmp_path / "model.skops")).classifier
    assert np.array_equal(one.predict_proba(frame[["a", "b", "c"]]), fresh.predict_proba(frame[["a", "b", "c"]]))


@pytest.mark.trial
@pytest.mark.parametrize("seed", [0, 1])
def test_killed_at_random_moments_the_old_or_the_new_model_is_there_whole(seed, run, zygote, tmp_path, full_trials):
    """kill -9 of real processes; every other one keeps a checkpoint, and the same command again then ends the work."""
    kills = 25 if full_trials else 2
    written(tmp_path, n=2_000 if full_trials else ROWS)
    given = ("--id", "who", "--drop", "visit", "--drop", "weight", "--target", "y", "--n-jobs", 1, "--n-bags", 60)
    first = tmp_path / "first.skops"
    run("fit", tmp_path / "all.csv", *given, "--estimator", "logistic", "--bag-size", 0.5, "-o", first)
    old, model = first.read_bytes(), tmp_path / "model.skops"
    run("refit", first, tmp_path / "less.csv", "--n-jobs", 1, "--no-score", "-o", tmp_path / "new.skops")
    points = load_model(str(first)).frame(_table(tmp_path / "points.csv"))
    expected = {name: load_model(str(tmp_path / f"{name}.skops")).classifier.predict_proba(points) for name in NAMES}
    assert not np.array_equal(expected["first"], expected["new"])
    moments, length, found = random.Random(seed), None, []
    for trial in range(kills + 1):
        model.write_bytes(old)
        more = ("--checkpoint", tmp_path / f"work-{trial}") if trial % 2 else ()
        started = time.monotonic()
        pid, wait = zygote.start(
            "refit", model, tmp_path / "less.csv", "--n-jobs", 1, "--no-score", "-q", *more, cwd=tmp_path
        )
        if length is not None:
            # The first kill finds the old model for certain, and some of many come when the new one is there.
            time.sleep(moments.uniform(0, 1.5 * length) if trial > 1 else 0)
            with contextlib.suppress(ProcessLookupError):  # it may be over by then
                os.kill(pid, signal.SIGKILL)
        code, _, _ = wait()
        length = length or time.monotonic() - started
        proba = load_model(str(model)).classifier.predict_proba(points)  # reads and checks all of it
        now = [name for name in NAMES if np.array_equal(proba, expected[name])]
        assert len(now) == 1, "neither the old nor the new model"
        assert code != 0 or now == ["new"]
        found += now
    print(f"{found[1:].count('first')} old and {found[1:].count('new')} new models after {kills} kills")
    assert "first" in found
    if full_trials:
        assert "new" in found[1:]
    pid, wait = zygote.start("refit", model, tmp_path / "less.csv", "--n-jobs", 1, "--no-score", "-q", cwd=tmp_path)
    assert wait()[0] == 0
    assert np.array_equal(load_model(str(model)).classifier.predict_proba(points), expected["new"])
    assert not list(tmp_path.glob(".writing-*")), "leftovers of killed writers are removed"


NAMES = ("first", "new")
