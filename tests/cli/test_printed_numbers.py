"""Every number that a command prints is the one that its sentence names, worked out here from the arrays."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import steadyset as ss
from steadyset.tables import load_model, read_table, some_names, target_labels

FIT = ["--n-bags", 61, "--bag-size", 37, "--epsilon", 0.43, "--n-jobs", 1]
ONE = ["--n-jobs", 1]


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """A table of 83 rows, of which some have the wrong label, its model, and what `fit` printed in 3.25 seconds."""
    made = tmp_path_factory.mktemp("numbers")
    rng = np.random.default_rng(4)
    truth = rng.choice(3, 83, p=[0.5, 0.3, 0.2])
    place = 2 * truth + rng.normal(0, 0.8, 83)
    wrong = np.array([11, 29, 60])
    place[wrong] = 2 * truth[wrong]
    truth[wrong] = (truth[wrong] + 1) % 3
    frame = pd.DataFrame({
        "a": place.round(4), "b": rng.normal(size=83).round(3), "kind": rng.choice(["u", "v"], 83),
        "day": pd.date_range("2024-01-01", periods=83).strftime("%Y-%m-%d").to_numpy(),
        "y": np.array(["cat", "dog", "fox"])[truth],
    })  # fmt: skip
    frame.to_csv(made / "d.csv", index=False)
    return made


@pytest.fixture(scope="module")
def told(folder, run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steadyset.cli.fit.time", SimpleNamespace(perf_counter=iter([100.0, 103.26]).__next__))
        return run("fit", folder / "d.csv", *FIT, "-o", folder / "m.skops")


@pytest.fixture(scope="module")
def fitted(folder, told):
    read = load_model(str(folder / "m.skops"))
    table = read_table(str(folder / "d.csv"))
    return read.classifier, read.frame(table), target_labels(table, read.target)[0]


def measured(proba, sets, y, classes):
    """Return accuracy, coverage, the share of sets that hold the true label alone, and the mean size."""
    right = classes[None, :] == y[:, None]
    held = (sets & right).any(axis=1)
    accuracy = (classes[proba.argmax(axis=1)] == y).mean()
    return accuracy, held.mean(), (held & (sets.sum(axis=1) == 1)).mean(), sets.sum() / len(sets)


def test_fit(folder, told, fitted, run):
    clf, X, y = fitted
    proba = clf.oob_proba(X)
    found = measured(proba, ss.inflated_argmax(proba, 0.43), y, clf.classes_)
    assert len({f"{value:.4f}" for value in found}) == 4  # else two could be swapped unseen
    accuracy, coverage, single, size = found
    assert told.stdout.splitlines() == [
        f"{folder / 'm.skops'}: 61 bags of 37 of 83 rows, 3 labels, 4 features (2 number, 1 category, 1 date), 3.3 s.",
        f"Guarantee: {clf.guarantee()}",
        f"Out of bag: accuracy {accuracy:.4f} (of the most probable label); the sets hold the true label for "
        f"{coverage:.4f} of the rows and nothing else for {single:.4f}, with {size:.3f} labels on average.",
    ]
    guarantee = ss.selection_stability(n_samples=83, bag_size=37, n_bags=61, n_classes=3, epsilon=0.43)
    assert clf.guarantee() == guarantee
    assert load_model(str(folder / "m.skops")).facts["n_rows"] == 83
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steadyset.cli.fit.time", SimpleNamespace(perf_counter=iter([7.0, 7.5]).__next__))
        answer = json.loads(run("fit", folder / "d.csv", *FIT, "--json", "-o", folder / "m2.skops").stdout)
    expected = {"n_rows": 83, "n_bags": 61, "bag_size": 37, "seconds": 0.5}
    assert {name: answer[name] for name in expected} == expected
    assert answer["guarantee"]["delta"] == guarantee.delta
    assert answer["guarantee"]["sentence"] == str(guarantee)
    names = ("accuracy", "coverage", "correct_single", "mean_set_size")
    assert answer["out_of_bag"] == {"n_rows": 83} | {
        name: pytest.approx(value, rel=1e-12) for name, value in zip(names, found, strict=True)
    }


def test_fit_counts_rows_without_a_label(folder, run):
    frame = pd.read_csv(folder / "d.csv")
    frame.loc[[5, 6, 40], "y"] = None
    frame.to_csv(folder / "some.csv", index=False)
    refused = run("fit", folder / "some.csv", *FIT, "-o", folder / "x.skops", code=2).stderr
    assert "3 rows have none, the first is row 6: leave such rows out" in refused
    done = run("fit", folder / "some.csv", *FIT, "--no-score", "--drop-unlabelled", "-o", folder / "x.skops")
    assert "note: 3 rows without a label are left out\n" in done.stderr
    assert ": 61 bags of 37 of 80 rows, " in done.stdout


@pytest.mark.parametrize(
    ("column", "changes", "options", "words"),
    [
        ("w", {7: -2.5, 9: -1}, ["--weights", "w"], "weights must be numbers that are at least 0; got -2.5 in row 8."),
        ("i", {4: None, 8: None}, ["--id-column", "i"], "must have a name for every row; got none in row 5."),
        ("b", {2: "inf"}, [], "column 'b' must hold finite numbers; got inf in row 3."),
        ("b", {3: "?", 6: "?"}, [], "column 'b' holds numbers, but '?' in row 4:"),
    ],
)
def test_rows_that_fit_refuses_are_counted_from_1(column, changes, options, words, folder, run):
    frame = pd.read_csv(folder / "d.csv").assign(w=1.5, i=[f"r{i}" for i in range(83)]).astype({column: object})
    for row, value in changes.items():
        frame.loc[row, column] = value
    frame[["a", "b", "y", *({column} - {"b"})]].to_csv(folder / "bad.csv", index=False)
    assert words in run("fit", folder / "bad.csv", *FIT, *options, "-o", folder / "x.skops", code=2).stderr


def test_numbers_of_distinct_values(folder, run):
    frame = pd.read_csv(folder / "d.csv").assign(name=[f"n{i % 61}" for i in range(83)])
    frame.to_csv(folder / "names.csv", index=False)
    refused = run("fit", folder / "names.csv", *FIT, "-o", folder / "x.skops", code=2).stderr
    assert "column 'name' holds 61 distinct texts in 83 rows, such as 'n0'" in refused
    refused = run("fit", folder / "names.csv", *FIT, "--target", "name", "-o", folder / "x.skops", code=2).stderr
    assert "target 'name' holds 61 distinct values in 83 rows" in refused


def test_some_names_counts_the_rest():
    assert some_names(list("abcde")) == "'a', 'b', 'c', 'd', 'e'"
    assert some_names(list("abcdefgh")) == "'a', 'b', 'c', 'd', 'e' and 3 more"


def test_predict(folder, fitted, run):
    clf, X, y = fitted
    frame = pd.read_csv(folder / "d.csv")
    frame.loc[[1, 2, 3, 4], "y"] = None
    frame.loc[[20, 30, 31], "y"] = "emu"
    frame.to_csv(folder / "new.csv", index=False)
    known = np.setdiff1d(np.arange(83), [1, 2, 3, 4, 20, 30, 31])
    proba = clf.predict_proba(X)
    sets = ss.inflated_argmax(proba, 0.31)
    accuracy, coverage, single, size = measured(proba[known], sets[known], y[known], clf.classes_)
    all_size, all_single = sets.sum() / 83, (sets.sum(axis=1) == 1).mean()
    assert len({f"{v:.4f}" for v in (accuracy, coverage, single, size, all_size, all_single)}) == 6
    done = run("predict", folder / "m.skops", folder / "new.csv", "--epsilon", 0.31, *ONE, "-o", folder / "p.csv")
    lines = done.stderr.splitlines()
    assert lines[0] == "note: 3 rows have a label that the model does not know, such as 'emu'"
    assert lines[1] == f"note: 83 rows, mean set size {all_size:.4g}, {all_single:.1%} single labels"
    assert lines[2] == (
        "note: the target column measures the sets of 76 rows (standard errors in brackets); accuracy of the single "
        f"label {accuracy:.4f}"
    )
    table = ss.metrics.set_report(y[known], {"sets": sets[known]}, proba[known], classes=clf.classes_)
    assert "\n".join(lines[3:-1]) == str(table)
    assert lines[-1].startswith("note: 76 of the 76 rows were among")
    options = ["--epsilon", 0.31, *ONE, "--json", "-o", folder / "p.csv"]
    found = json.loads(run("predict", folder / "m.skops", folder / "new.csv", *options).stdout)
    assert found["n_rows"] == 83
    assert found["mean_set_size"] == pytest.approx(all_size, rel=1e-12)
    assert found["share_of_single_labels"] == all_single
    metrics = found["metrics"]
    assert (metrics["n_rows"], metrics["accuracy"]) == (76, accuracy)
    assert metrics["coverage"]["value"] == pytest.approx(coverage, rel=1e-12)
    assert metrics["correct_single"]["value"] == pytest.approx(single, rel=1e-12)
    assert metrics["size"]["value"] == pytest.approx(size, rel=1e-12)
    for name, cell in zip(table.columns[1:], table.rows[0][1:], strict=True):
        assert metrics[name]["standard_error"] == pytest.approx(cell.standard_error, rel=1e-12, nan_ok=True)


def table_rows(text, title):
    """Return the cells of the table below a title, line by line."""
    lines = text[text.index(title) :].splitlines()[1:]
    rows = [line for line in lines if line.startswith(("│", "└"))]
    end = next(i for i, line in enumerate(rows) if line.startswith("└"))
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in rows[:end]]


def audited(clf, X, rows, rule, left_out):
    """Return the audit that a command makes, and which (point, unit) pairs conflict."""
    found = clf.audit(X.iloc[rows], rule, left_out=left_out, random_state=3)
    conflicts = np.zeros((len(rows), found.n_units), bool)
    conflicts[found.conflicts()] = True
    return found, conflicts


@pytest.mark.parametrize("left_out", ["all", 57])
def test_audit(left_out, folder, fitted, run):
    clf, X, _ = fitted
    options = ["--points", 47, "--left-out", left_out, "--seed", 3, "--epsilon", 0.02, *ONE]
    done = run("audit", folder / "m.skops", folder / "d.csv", *options, "-o", folder / "a.csv")
    rows = pd.read_csv(folder / "a.csv")["row"].to_numpy() - 1
    assert len(rows) == 47
    assert not np.array_equal(rows, np.arange(47))
    chosen = "all" if left_out == "all" else int(left_out)
    found, conflicts = audited(clf, X, rows, ss.InflatedArgmax(0.02), chosen)
    shown = pd.read_csv(folder / "a.csv", converters={"instability": float})["instability"]  # older parsers round
    np.testing.assert_array_equal(shown, found.instability)
    share, n_units = conflicts.mean(axis=1), conflicts.shape[1]
    worst, clear = int(share.argmax()), found.influential()
    stand = "training row stands" if len(clear) == 1 else "training rows stand"
    assert 0 < len(clear) < 20
    drawn = "." if left_out == "all" else " (drawn at random from 83)."
    assert done.stdout.splitlines()[1:5] == [
        f"Rule: InflatedArgmax(epsilon=0.02). 47 rows of the table, {n_units} training rows left out{drawn}",
        f"Instability: largest {share.max():.4g} (row {rows[worst] + 1}), mean {conflicts.sum() / conflicts.size:.4g}; "
        f"{conflicts.any(axis=1).sum()} rows of the table are ever contradicted. Mean Jaccard index "
        f"{found.jaccard.mean():.4g}.",
        f"{found.settled.sum()} are settled: a bound proves that no training row can change their sets.",
        f"{len(clear)} {stand} clear of Monte Carlo noise (shift above {found.score_limit()[clear[0]]:.1f} standard "
        "errors, which noise alone reaches anywhere with probability at most 0.05).",
    ]
    assert done.stderr == "note: rows of the table and of the training data are counted from 1\n"
    order = np.argsort(-share, kind="stable")[:10]
    assert table_rows(done.stdout, "rows of the table that most training rows contradict") == [
        [f"{rows[p] + 1}", f"{share[p]:.4g}", f"{found.jaccard[p]:.4f}"] for p in order if share[p] > 0
    ]
    assert table_rows(done.stdout, "training rows that stand") == [
        [f"{found.left_out[u] + 1}", f"{conflicts[:, u].sum()}", f"{found.row_score[u]:.1f}"] for u in clear
    ]
    answer = json.loads(run("audit", folder / "m.skops", folder / "d.csv", *options, "--json").stdout)
    low, high = found.interval()
    assert answer == {
        "algorithm": found.algorithm, "unit": "row", "rule": "InflatedArgmax(epsilon=0.02)", "n_points": 47,
        "n_left_out": n_units,
        "sampled": left_out != "all", "unanswered": [], "max_instability": share.max(),
        "mean_instability": pytest.approx(conflicts.sum() / conflicts.size, rel=1e-12),
        "points_ever_in_conflict": conflicts.any(axis=1).sum(),
        "mean_jaccard": pytest.approx(found.jaccard.mean(), rel=1e-12), "settled_points": found.settled.sum(),
        "worst_points": [
            {"row": rows[p] + 1, "instability": share[p], "low": low[p], "high": high[p]} for p in order if share[p] > 0
        ],
        "influential_rows": [
            {"row": found.left_out[u] + 1, "flips": conflicts[:, u].sum(), "score": found.row_score[u]} for u in clear
        ],
    }  # fmt: skip


def test_audit_where_some_rows_have_no_answer_and_none_stands_clear(folder, run):
    run("fit", folder / "d.csv", "--n-bags", 3, "--bag-size", 70, *ONE, "--epsilon", 0.02, "-o", folder / "few.skops")
    done = run("audit", folder / "few.skops", folder / "d.csv", *ONE)
    clf = load_model(str(folder / "few.skops")).classifier
    held = (np.array([np.isin(np.arange(83), clf.bags_[b]) for b in range(3)])).all(axis=0)
    numbers = np.flatnonzero(held) + 1
    assert len(numbers) > 5
    named = ", ".join(map(str, numbers[:5]))
    assert f"No answer for {len(numbers)} training rows that every bag holds: {named}, ....\n" in done.stdout
    read = load_model(str(folder / "few.skops"))
    found = read.classifier.audit(read.frame(read_table(str(folder / "d.csv"))))
    assert len(found.influential()) == 0
    limit = found.score_limit().min()
    assert f"No training row stands clear of Monte Carlo noise (shift above {limit:.1f} standard errors" in done.stdout
    answer = json.loads(run("audit", folder / "few.skops", folder / "d.csv", *ONE, "--json").stdout)
    assert answer["unanswered"] == numbers.tolist()
    assert answer["n_left_out"] == 83 - len(numbers)


@pytest.mark.parametrize("left_out", ["all", 50])
def test_audit_where_nothing_conflicts(left_out, folder, told, run):
    done = run("audit", folder / "m.skops", folder / "d.csv", "--epsilon", 1.2, "--left-out", left_out, *ONE)
    rows = "83 training rows" if left_out == "all" else "50 training rows drawn"
    assert f"In words: dropping any one of the {rows} contradicts the set of no row of the table.\n" in done.stdout
    assert "Instability: largest 0, mean 0; 0 rows of the table are ever contradicted." in done.stdout


def test_report(folder, told, run):
    refused = run(
        "report", folder / "m.skops", folder / "d.csv", "--points", -3, "-o", folder / "x.html", code=2
    ).stderr
    assert "points must be a whole number that is at least 1; got -3." in refused
    options = ["--points", 41, *ONE, "-o", folder / "r.html"]
    answer = json.loads(run("report", folder / "m.skops", folder / "d.csv", *options, "--json").stdout)
    assert answer["n_rows"] == 41
    assert answer["bytes"] == (folder / "r.html").stat().st_size
    assert answer["has_labels"] is True
    assert "41 points, 3 labels, 61 bags of 37 of 83 training rows." in (folder / "r.html").read_text()


def test_select(run, tmp_path, monkeypatch):
    from steadyset.tables import _blocks

    proba = np.random.default_rng(5).dirichlet([1, 2, 3, 4], 50)
    np.save(tmp_path / "p.npy", proba)
    sets = ss.inflated_argmax(proba, 0.3)
    monkeypatch.setattr(_blocks, "BLOCK_ENTRIES", 4 * 30)  # two blocks
    ticks = [0.0, 1.0, 3.0, 7.0, 7.5, 9.0, 9.25]  # start, then read, selected and written of each block
    monkeypatch.setattr("steadyset.cli.select.time", SimpleNamespace(perf_counter=iter(ticks).__next__))
    done = run("select", tmp_path / "p.npy", "--epsilon", 0.3, "-o", tmp_path / "s.npy")
    size, single = sets.sum() / 50, (sets.sum(axis=1) == 1).mean()
    selecting, writing = 2.0 + 1.5, 4.0 + 0.25
    assert done.stderr == (
        f"note: 50 rows, 4 labels, mean set size {size:.4g}, {single:.1%} single labels; "
        f"{50 / (selecting + writing):,.0f} rows per second after reading\n"
    )
    monkeypatch.setattr("steadyset.cli.select.time", SimpleNamespace(perf_counter=iter(ticks).__next__))
    found = json.loads(run("select", tmp_path / "p.npy", "--epsilon", 0.3, "-o", tmp_path / "s.npy", "--json").stdout)
    assert found == {
        "rule": "InflatedArgmax(epsilon=0.3)", "n_rows": 50, "n_classes": 4,
        "mean_set_size": pytest.approx(size, rel=1e-12), "share_of_single_labels": single,
        "output": str(tmp_path / "s.npy"), "seconds": {"reading": 1.5, "selecting": selecting, "writing": writing},
        "rows_per_second_selecting": 50 / selecting, "rows_per_second_after_reading": 50 / (selecting + writing),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ([0.2, 0.3, 0.1], r"that sum to 1 within 1e-06; got a sum of 0\.6 \(--normalize divides each row by its sum\)"),
        ([1.2, -0.3, 0.1], r"none negative; got -0\.3"),
        ([0.2, np.nan, 0.1], "none missing or infinite; got nan"),
    ],
)
def test_select_names_the_row_off_the_simplex_in_any_block(row, what, run, tmp_path, monkeypatch):
    from steadyset.tables import _blocks

    monkeypatch.setattr(_blocks, "BLOCK_ENTRIES", 3 * 10)
    proba = np.random.default_rng(5).dirichlet([1, 2, 3], 50)
    proba[36] = row
    proba[44] = [0.1, 0.1, 0.1]
    np.save(tmp_path / "p.npy", proba)
    told = run("select", tmp_path / "p.npy", "-o", tmp_path / "s.npy", code=2).stderr
    assert re.fullmatch(rf"steadyset select: row 37 must hold probabilities, {what}\.\n", told)
