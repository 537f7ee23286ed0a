"""Rows that a model was trained on are told, where their labels measure it."""

import json

import numpy as np
import pandas as pd
import pytest

from steadyset.bags import content_words
from steadyset.ensemble import rows_seen_in_training
from steadyset.tables import load_model, save_model


@pytest.fixture
def mixed(stranger, tmp_path):
    """A CSV file of 37 training rows, 20 with another age, 12 with another label and 6 without one."""
    frame = pd.read_csv(stranger, dtype=str, keep_default_na=False).sample(75, random_state=1)
    place = {name: column for column, name in enumerate(frame.columns)}
    frame.iloc[37:57, place["age"]] = [f"{number + 0.125}" for number in range(20)]
    other = {"stays": "leaves", "leaves": "pauses", "pauses": "stays"}
    frame.iloc[57:69, place["churn"]] = frame["churn"].iloc[57:69].map(other)
    frame.iloc[69:, place["churn"]] = ""
    frame.sample(75, random_state=2).to_csv(tmp_path / "mixed.csv", index=False)
    return tmp_path / "mixed.csv"


def test_predict_and_report_count_the_training_rows(model, mixed, run, tmp_path):
    words = "37 of the 69 rows were among the training rows: accuracy on them is training accuracy.\n"
    done = run("predict", model, mixed, "--n-jobs", 1, "-o", tmp_path / "p.csv")
    assert f"note: {words}" in done.stderr
    found = json.loads(run("predict", model, mixed, "--n-jobs", 1, "--json", "-o", tmp_path / "p.csv").stdout)
    assert (found["metrics"]["n_rows"], found["metrics"]["n_training_rows"]) == (69, 37)
    done = run("report", model, mixed, "--n-jobs", 1, "-o", tmp_path / "r.html")
    assert f"note: {words}" in done.stderr
    assert f'<p class="note" id="training-rows">{words.strip()}</p>' in (tmp_path / "r.html").read_text()
    found = json.loads(run("report", model, mixed, "--n-jobs", 1, "--json", "-o", tmp_path / "r.html").stdout)
    assert found["n_training_rows"] == 37


def test_another_format_holds_the_same_rows(model, stranger, run, tmp_path):
    frame = pd.read_csv(stranger).iloc[[5]].assign(extra=1)
    frame.to_parquet(tmp_path / "one.parquet")
    told = run("predict", model, tmp_path / "one.parquet", "--n-jobs", 1, "-o", tmp_path / "p.csv").stderr
    assert "1 of the 1 rows was among the training rows: accuracy on them is training accuracy.\n" in told


def test_nothing_is_said_of_other_rows(model, stranger, run, tmp_path):
    frame = pd.read_csv(stranger)
    frame.drop(columns="churn").to_csv(tmp_path / "unlabelled.csv", index=False)
    frame.assign(income=frame.index + 0.125).to_csv(tmp_path / "new.csv", index=False)
    for name in ("unlabelled.csv", "new.csv"):
        for command, output in (("predict", "p.csv"), ("report", "r.html")):
            more = ["--points", 20] if command == "report" else []
            done = run(command, model, tmp_path / name, "--n-jobs", 1, *more, "-o", tmp_path / output)
            assert "training rows" not in done.stderr
        assert "among the training rows" not in (tmp_path / "r.html").read_text()


def test_a_model_that_kept_no_digests_says_nothing(model, stranger, run, tmp_path):
    read = load_model(str(model))
    read.classifier.bags_ = read.classifier.bags_.without_ids()
    read.classifier.__dict__.pop("row_digests_", None)
    save_model(read, str(tmp_path / "old.skops"))
    found = run("predict", tmp_path / "old.skops", stranger, "--n-jobs", 1, "--json", "-o", tmp_path / "p.csv")
    assert json.loads(found.stdout)["metrics"]["n_training_rows"] is None
    assert "training rows" not in found.stderr


def test_digests_are_of_the_content():
    dates = pd.to_datetime(["2024-01-01", None, "2024-01-01", "2024-01-02"])
    X = pd.DataFrame({"n": [0.0, np.nan, -0.0, 0.0], "d": dates, "c": pd.Categorical(["u", None, "u", "u"])})
    digests = content_words(X, np.array(["yes", "no", "yes", "yes"]))
    assert digests[0] == digests[2]
    assert len(set(digests.tolist())) == 3
    codes_moved = X.assign(c=pd.Categorical(["u", None, "u", "u"], categories=["a", "u"]))
    np.testing.assert_array_equal(content_words(codes_moved, np.array(["yes", "no", "yes", "yes"])), digests)
    swapped = X[["d", "n", "c"]]
    same = np.isin(content_words(swapped, np.array(["yes", "no", "yes", "yes"])), digests)
    assert same.tolist() == [False, True, False, False]  # the second row is missing altogether
    assert rows_seen_in_training(object(), X, [0, 0, 0, 0]) is None


def test_names_of_rows_and_a_file_without_any(stranger, run, tmp_path):
    """`--id` names rows; without it they are known by what they hold; `--no-ids` keeps neither in the file."""
    words = ["--target", "churn", "--n-bags", 4, "--n-jobs", 1, "--no-score"]
    kinds = {"given": ["--id", "customer"], "content": ["--drop", "customer"]}
    for kind, more in kinds.items():
        for keep in (True, False):
            run(
                "fit",
                stranger,
                *words,
                *more,
                *([] if keep else ["--no-ids"]),
                "-o",
                tmp_path / "m.skops",
            )
            clf = load_model(str(tmp_path / "m.skops")).classifier
            assert clf.bags_.ids.kind == kind
            assert clf.bags_.coupling == "hash"
            assert (clf.bags_.sample_ids is not None) == keep
            assert hasattr(clf, "row_digests_") == (keep and kind == "given")
            told = run("predict", tmp_path / "m.skops", stranger, "--n-jobs", 1, "-o", tmp_path / "p.csv")
            assert ("among the training rows" in told.stderr) == keep
