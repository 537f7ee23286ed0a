"""`steadyset fit`, `predict`, `audit` and `report` on a table that a stranger would bring."""

import csv
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.utils.parallel import delayed

import steadyset as ss
from steadyset.cli._session import told_once
from steadyset.tables import (
    choose_columns,
    choose_target,
    load_model,
    make_estimator,
    read_table,
    target_labels,
    to_frame,
    with_encoders,
)
from steadyset.trees import TreeClassifier

FIT = ["--target", "churn", "--id-column", "customer", "--n-bags", 6, "--n-jobs", 1]


def test_the_model_remembers_its_table(model):
    read = load_model(str(model))
    kinds = {column.name: column.kind for column in read.columns}
    assert kinds == {
        "joined": "date", "age": "number", "income": "number", "city": "category", "plan": "category",
        "autopay": "number", "calls": "number",
    }  # fmt: skip
    assert (read.target.name, read.target.kind, read.id_column) == ("churn", "text", "customer")
    assert read.versions["steadyset"] == ss.__version__
    assert read.classifier.classes_.tolist() == ["leaves", "pauses", "stays"]
    assert read.classifier.bags_.sample_ids[:2].tolist() == ["C000000", "C000001"]


def test_fit_says_guarantee_and_out_of_bag_score(stranger, run, tmp_path):
    found = run("fit", stranger, *FIT, "-o", tmp_path / "m.skops")
    read = load_model(str(tmp_path / "m.skops"))
    assert f"Guarantee: {read.classifier.guarantee()}" in found.stdout
    assert "Out of bag: accuracy" in found.stdout
    table = read_table(str(stranger), text=["customer"])
    X, y = read.frame(table), target_labels(table, read.target)[0]
    as_json = json.loads(run("fit", stranger, *FIT, "--json", "-o", tmp_path / "m2.skops").stdout)
    out_of_bag = read.classifier.oob_proba(X)
    known = ~np.isnan(out_of_bag).any(axis=1)
    likeliest = read.classifier.classes_[out_of_bag[known].argmax(axis=1)]
    assert as_json["out_of_bag"]["n_rows"] == known.sum()
    assert as_json["out_of_bag"]["accuracy"] == (likeliest == y[known]).mean()
    assert as_json["guarantee"]["delta"] == read.classifier.guarantee().delta


def test_predict_writes_what_the_model_predicts(model, stranger, run, tmp_path):
    found = json.loads(run("predict", model, stranger, "--n-jobs", 1, "--json", "-o", tmp_path / "p.parquet").stdout)
    frame = pd.read_parquet(tmp_path / "p.parquet")
    read = load_model(str(model))
    X = read.frame(read_table(str(stranger), text=["customer"]))
    proba = read.classifier.predict_proba(X)
    classes = read.classifier.classes_
    np.testing.assert_array_equal(frame[[f"proba_{c}" for c in classes]], proba)
    np.testing.assert_array_equal(frame[[f"in_{c}" for c in classes]], read.classifier.predict_set(X))
    assert frame["label"].tolist() == classes[proba.argmax(axis=1)].tolist()
    assert frame["customer"].tolist()[:2] == ["C000000", "C000001"]
    truth = pd.read_csv(stranger)["churn"]
    assert found["metrics"]["accuracy"] == (frame["label"] == truth).mean()
    assert found["metrics"]["coverage"]["value"] == pytest.approx(
        np.mean([t in s.split("|") for t, s in zip(truth, frame["set"], strict=True)]), rel=1e-12
    )


def test_select_goes_on_from_predictions(model, stranger, run, tmp_path):
    run("predict", model, stranger, "--n-jobs", 1, "-o", tmp_path / "p.parquet")
    run("select", tmp_path / "p.parquet", "--columns", "proba_*", "--keep", "customer", "-o", tmp_path / "s.parquet")
    first, second = pd.read_parquet(tmp_path / "p.parquet"), pd.read_parquet(tmp_path / "s.parquet")
    assert second["set"].tolist() == first["set"].tolist()
    assert second["customer"].tolist() == first["customer"].tolist()


def test_new_categories_missing_values_extra_and_missing_columns(model, stranger, run, tmp_path):
    frame = pd.read_csv(stranger, dtype=str, keep_default_na=False).head(20)
    frame.loc[0, "city"] = "Atlantis"
    frame.loc[1, ["age", "income", "city", "plan", "joined", "autopay", "calls"]] = ""
    frame.drop(columns="churn").assign(extra=1).to_csv(tmp_path / "new.csv", index=False)
    found = run("predict", model, tmp_path / "new.csv", "--n-jobs", 1)
    assert len(found.stdout.splitlines()) == 21
    assert "columns that the model does not use are ignored: 'extra'" in found.stderr
    assert "target column" not in found.stderr
    frame.drop(columns=["age", "city"]).to_csv(tmp_path / "less.csv", index=False)
    assert "'age', 'city' missing" in run("predict", model, tmp_path / "less.csv", code=2).stderr
    frame.assign(age="old").to_csv(tmp_path / "words.csv", index=False)
    assert "column 'age' must hold finite numbers" in run("predict", model, tmp_path / "words.csv", code=2).stderr


def test_the_audit_is_the_librarys(model, stranger, run, tmp_path):
    options = ["--points", 200, "--n-jobs", 1]
    found = json.loads(run("audit", model, stranger, *options, "--json", "-o", tmp_path / "a.csv").stdout)
    lines = pd.read_csv(tmp_path / "a.csv")
    read = load_model(str(model))
    X = read.frame(read_table(str(stranger), text=["customer"])).iloc[lines["row"] - 1]
    audit = read.classifier.audit(X)
    assert found["max_instability"] == audit.max_instability
    assert found["n_left_out"] == 2000
    np.testing.assert_allclose(lines["instability"], audit.instability, rtol=1e-12)
    words = run("audit", model, stranger, *options, "--left-out", 300, "--epsilon", 0.2).stdout
    assert "300 training rows left out (drawn at random from 2,000)" in words
    assert "InflatedArgmax(epsilon=0.2)" in words


def test_report_writes_one_html_file(model, stranger, run, tmp_path):
    options = ["--points", 60, "--n-jobs", 1, "--title", "Who <stays>"]
    found = run("report", model, stranger, *options, "-o", tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text()
    assert "Who &lt;stays&gt;" in html
    assert "Who <stays>" not in html
    assert str(tmp_path / "r.html") in found.stdout


ESTIMATORS = [
    ("tree", ["max_depth=4"]),
    ("forest", []),
    ("sklearn.ensemble.RandomForestClassifier", ["n_estimators=3"]),
    ("extra-trees", ["n_estimators=3"]),
    ("hist-boosting", ["max_iter=3"]),
    ("logistic", []),
    ("knn", ["n_neighbors=3"]),
    ("naive-bayes", []),
    ("mlp", ["max_iter=2", "hidden_layer_sizes=[4]"]),
    ("net", ["epochs=2"]),
    ("sklearn.svm.LinearSVC", ["C=0.1"]),
]


@pytest.mark.parametrize(("name", "params"), ESTIMATORS, ids=[name for name, _ in ESTIMATORS])
def test_estimators_go_through_a_file_without_trust(name, params, stranger, run, tmp_path):
    small = tmp_path / "small.csv"
    small.write_text("\n".join(stranger.read_text(encoding="utf-8").splitlines()[:400]), encoding="utf-8")
    options = [word for param in params for word in ("--param", param)]
    settings = ["--target", "churn", "--id-column", "customer", "--n-bags", 2, "--n-jobs", 1]
    run("fit", small, *settings, "--estimator", name, *options, "-o", tmp_path / "m.skops")
    found = json.loads(
        run("predict", tmp_path / "m.skops", small, "--n-jobs", 1, "--json", "-o", tmp_path / "p.csv").stdout
    )
    assert found["n_rows"] == 399
    read = load_model(str(tmp_path / "m.skops"))
    table = read_table(str(small), text=["customer"])
    predicted = read.classifier.predict(read.frame(table))
    assert found["metrics"]["accuracy"] == (predicted == target_labels(table, read.target)[0]).mean()


@pytest.mark.parametrize(("name", "param"), [("lightgbm", "n_estimators=2"), ("xgboost", "n_estimators=2")])
def test_other_libraries_types_are_trusted_by_name_only(name, param, stranger, run, tmp_path):
    pytest.importorskip(name)
    path = tmp_path / "m.skops"
    told = run("fit", stranger, *FIT, "--no-score", "--estimator", name, "--param", param, "-o", path).stderr
    refused = run("predict", path, stranger, "--n-jobs", 1, code=2).stderr
    assert f"{name}." in refused
    assert "nothing was loaded" in refused
    options = told[told.index("--trust") :].split()
    assert options
    assert run("predict", path, stranger, "--n-jobs", 1, "-o", tmp_path / "p.csv", *options).exit_code == 0


def test_joblib_only_when_asked_for(stranger, run, tmp_path):
    run("fit", stranger, *FIT, "--no-score", "--format", "joblib", "-o", tmp_path / "m.joblib")
    assert "--trust-joblib" in run("predict", tmp_path / "m.joblib", stranger, code=2).stderr
    run("predict", tmp_path / "m.joblib", stranger, "--trust-joblib", "--n-jobs", 1, "-o", tmp_path / "p.csv")
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 2001


def test_dropping_a_row_leaves_the_other_bags_as_they_were(stranger):
    """Encoders are inside the bag: without a row, bags that did not hold it do not change."""
    whole = read_table(str(stranger), text=["customer"]).slice(0, 120)
    cities = whole["city"].to_pylist()
    cities[7] = "Aa, the only one"  # its removal moves the code of every other city
    whole = whole.set_column(whole.column_names.index("city"), "city", pa.array(cities))
    without = pa.concat_tables([whole.slice(0, 7), whole.slice(8)])

    def fitted(table, classes=None, size=60):
        columns = choose_columns(table, ["joined", "age", "income", "city", "plan", "calls"])
        X = to_frame(table, columns)
        y = target_labels(table, choose_target(table, "churn"))[0]
        learner = with_encoders(make_estimator("logistic", {"C": 0.1}), columns)
        clf = ss.StableClassifier(learner, 12, max_samples=size, random_state=0, classes=classes)
        return clf.fit(X, y, sample_ids=table["customer"].to_pylist()), columns

    full, columns = fitted(whole)
    less, fewer = fitted(without, full.classes_)
    assert columns[3].categories[0] == "Aa, the only one"
    points = without.slice(0, 50)
    before = full.bag_predictions(to_frame(points, columns)).proba
    after = less.bag_predictions(to_frame(points, fewer)).proba
    held = np.array([7 in rows for rows in full.bags_])
    assert 0 < held.sum() < 12
    np.testing.assert_array_equal(before[~held], after[~held])


def test_checkpoints_and_jobs_give_the_same_model(stranger, run, tmp_path):
    kept = ["--checkpoint", tmp_path / "work"]
    outputs, times = [], []
    tree = ["--estimator", "sklearn.tree.DecisionTreeClassifier"]  # a file per bag
    for number, more in enumerate([[], ["--n-jobs", 2], kept, kept]):
        run("fit", stranger, *FIT, "--no-score", *tree, *more, "-o", tmp_path / f"{number}.skops")
        run("predict", tmp_path / f"{number}.skops", stranger, "--n-jobs", 1, "-o", tmp_path / f"{number}.csv")
        outputs.append((tmp_path / f"{number}.csv").read_bytes())
        times.append({path.name: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("bags-*")})
    assert outputs == outputs[:1] * 4
    assert len(times[2]) == 6
    assert times[3] == times[2]  # nothing was trained again


def test_networks_side_by_side_on_plain_numbers(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 3))
    np.savez(tmp_path / "d.npz", X=X, y=(X[:, 0] > 0).astype(int))
    settings = ["--estimator", "net", "--param", "epochs=3", "--n-bags", 8, "--n-jobs", 1]
    run("fit", tmp_path / "d.npz", *settings, "-o", tmp_path / "m.skops")
    assert len(load_model(str(tmp_path / "m.skops")).classifier.groups_) < 8
    run("predict", tmp_path / "m.skops", tmp_path / "d.npz", "--n-jobs", 1, "-o", tmp_path / "p.csv")
    assert (pd.read_csv(tmp_path / "p.csv")["label"] == (X[:, 0] > 0)).mean() > 0.8


def test_npz_weights_and_integer_labels(run, tmp_path):
    """Four rows of ten have the wrong label and no weight: only a fit without the weights learns from them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    wrong = rng.random(400) < 0.4
    np.savez(tmp_path / "d.npz", X=X, y=((X[:, 0] > 0) ^ wrong).astype(int), w=np.where(wrong, 0, rng.random(400)))
    run("fit", tmp_path / "d.npz", "--weights", "w", "--n-bags", 5, "--n-jobs", 1, "-o", tmp_path / "m.skops")
    run("predict", tmp_path / "m.skops", tmp_path / "d.npz", "--n-jobs", 1, "-o", tmp_path / "p.csv")
    frame = pd.read_csv(tmp_path / "p.csv")
    assert (frame["label"] == (X[:, 0] > 0)).mean() > 0.95


def test_encodings_separators_decimals_and_marks(run, tmp_path):
    rows = [f"{'ü' if i % 3 else 'ö'};{i % 7},5;{'ja' if i % 2 else 'nein'}" for i in range(60)]
    text = "\n".join(["art;maß;ziel", *rows])
    for name, data in {"latin.csv": text.encode("latin-1"), "utf16.csv": text.encode("utf-16")}.items():
        (tmp_path / name).write_bytes(data)
    common = ["--target", "ziel", "--separator", ";", "--decimal", ",", "--n-bags", 2, "--n-jobs", 1, "--json"]
    kinds = {"art": "category", "maß": "number"}
    for name, more in {"latin.csv": ["--encoding", "latin-1"], "utf16.csv": []}.items():
        found = json.loads(run("fit", tmp_path / name, *common, *more, "-o", tmp_path / "m.skops").stdout)
        assert found["features"] == kinds
    assert "--encoding latin-1" in run("fit", tmp_path / "latin.csv", *common, "-o", tmp_path / "x", code=2).stderr


@pytest.mark.parametrize("estimator", ["forest", "tree"])
def test_trees_read_tables_as_they_are(estimator, run, tmp_path):
    """No encoder in any bag; a text that training did not have is a missing value."""
    kinds = ["red", "green", "", "blue"]
    lines = ["kind,day,x,y", *(f"{kinds[i % 4]},2024-01-{i % 9 + 1:02},{i % 5},{'uv'[i % 4 < 2]}" for i in range(80))]
    (tmp_path / "d.csv").write_text("\n".join(lines))
    run("fit", tmp_path / "d.csv", "--n-bags", 8, "--n-jobs", 1, "--estimator", estimator, "-o", tmp_path / "m.skops")
    model = load_model(str(tmp_path / "m.skops"))
    assert isinstance(model.classifier.estimator_, TreeClassifier)
    assert len(model.classifier.groups_) == 1
    (tmp_path / "p.csv").write_text("kind,day,x\nmauve,2024-01-02,1\n,2024-01-02,1\nred,2024-01-02,1\n")
    new, missing, known = model.classifier.predict_proba(model.frame(read_table(str(tmp_path / "p.csv"))))
    assert new.tolist() == missing.tolist() != known.tolist()


def test_columns_of_nothing_but_missing_values_and_without_a_name(run, tmp_path):
    lines = [",empty,a,y", *(f"{i},,{i % 5},{i % 2}" for i in range(60))]
    (tmp_path / "d.csv").write_text("\n".join(lines))
    for estimator in ("tree", "logistic"):
        settings = ["--n-bags", 2, "--n-jobs", 1, "--estimator", estimator, "-o", tmp_path / "m.skops"]
        assert "or have no name are left out: '' (" in run("fit", tmp_path / "d.csv", *settings).stderr


@pytest.mark.parametrize("quiet", [True, False])
def test_warnings_of_worker_processes_are_told_once_or_not_at_all(quiet, tmp_path):
    pd.DataFrame({"a": np.arange(60.0), "y": ["u", "v", "w"] * 20}).to_csv(tmp_path / "d.csv", index=False)
    words = ["fit", "d.csv", "--target", "y", "--estimator", "mlp", "--param", "max_iter=1", "--n-bags", "6"]
    words += ["--n-jobs", "2", "--output", "m.skops", *(["--quiet"] if quiet else [])]
    done = subprocess.run(
        [sys.executable, "-m", "steadyset", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ConvergenceWarning" not in done.stderr
    assert (done.stderr == "") == quiet


def test_the_warning_of_racing_threads_is_not_told(monkeypatch, capsys):
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    with told_once(quiet=False):
        work, numbers, _ = delayed(abs)(-1)
        work(*numbers)  # as where another thread has just emptied the filters
        warnings.warn("something else", stacklevel=1)
    assert capsys.readouterr().err == "note: something else\n"


RUN_BY_SPREADSHEETS = ["=1+1", "+cmd", "-x", "@sum", "\tq", "'quoted", "plain"]


def test_labels_that_a_spreadsheet_would_run_are_written_as_text_and_read_back(run, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array(RUN_BY_SPREADSHEETS)[np.arange(70) % 7]
    frame = pd.DataFrame(
        {"=id": [f"-r{i}" for i in range(70)], "x": np.arange(70) % 7 + rng.random(70) / 9, "y": labels}
    )
    frame.to_parquet(tmp_path / "d.parquet")
    settings = ["--target", "y", "--id-column", "=id", "--n-bags", 5, "--n-jobs", 1, "--no-score"]
    run("fit", tmp_path / "d.parquet", *settings, "-o", tmp_path / "m.skops")
    run("predict", tmp_path / "m.skops", tmp_path / "d.parquet", "--n-jobs", 1, "-o", tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="", encoding="utf-8") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    number = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?")
    run_by_them = [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [cell for cell in run_by_them if not number.fullmatch(cell)] == []
    read = read_table(str(tmp_path / "p.csv"), text=["=id"])
    assert read["=id"].to_pylist() == frame["=id"].tolist()
    assert set(read["label"].to_pylist()) == set(RUN_BY_SPREADSHEETS)
    assert {f"proba_{label}" for label in RUN_BY_SPREADSHEETS} <= set(read.column_names)
    run("select", tmp_path / "p.csv", "--columns", "proba_*", "--keep", "=id", "-o", tmp_path / "s.csv")
    again = read_table(str(tmp_path / "s.csv"), text=["=id"])
    assert again["=id"].to_pylist() == frame["=id"].tolist()
    assert set("|".join(again["set"].to_pylist()).split("|")) <= set(RUN_BY_SPREADSHEETS)


@pytest.mark.parametrize("where", ["header", "category", "target"])
def test_a_table_in_latin_1_is_named_as_such(where, run, tmp_path):
    rows = ["x,größe,y", "1,klein,ja", "2,größer,nein", "3,groß,ja", "4,klein,nein"]
    if where != "header":
        rows[0] = "x,size,y"
    if where == "target":
        rows[1:] = ["1,a,grün", "2,b,blau", "3,a,grün", "4,b,blau"]
    (tmp_path / "d.csv").write_bytes("\n".join(rows).encode("latin-1"))
    common = ["--target", "y", "--n-bags", 2, "--n-jobs", 1, "--no-score", "-o", tmp_path / "m.skops"]
    told = run("fit", tmp_path / "d.csv", *common, code=2).stderr
    assert "is not written in utf-8: name its encoding, such as --encoding latin-1." in told
    run("fit", tmp_path / "d.csv", *common, "--encoding", "latin-1")
    told = run("predict", tmp_path / "m.skops", tmp_path / "d.csv", "-o", tmp_path / "p.csv", code=2).stderr
    assert "--encoding latin-1" in told
    run("predict", tmp_path / "m.skops", tmp_path / "d.csv", "--encoding", "latin-1", "-o", tmp_path / "p.csv")
