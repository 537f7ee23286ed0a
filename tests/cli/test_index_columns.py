"""The index of a pandas frame is no feature and no probability, unless it is asked for by name."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steadyset as ss
from steadyset.tables import index_columns, load_model

FIT = ["--n-bags", 20, "--n-jobs", 1]
SAVED = "columns that hold the index of a saved frame or have no name are left out"


@pytest.fixture
def sorted_rows():
    """A frame whose index gives the label away, and whose feature is noise."""
    noise = np.random.default_rng(0).normal(size=(800, 2))
    frame = pd.DataFrame({"a": noise[:, 0], "y": np.repeat([0, 1], 400)})
    return frame[noise[:, 1] > 0]


def indexes(frame):
    """Return the frame under the indexes that pandas saves, each with the columns that hold it."""
    number = np.arange(len(frame)) + 7
    return {
        "filtered": (frame, ["__index_level_0__"]),
        "named": (frame.rename_axis("customer"), ["customer"]),
        "several": (
            frame.set_index(pd.MultiIndex.from_arrays([number, number % 3], names=["shop", None])),
            ["shop", "__index_level_1__"],
        ),
        "range": (frame.reset_index(drop=True), []),
        "read twice": (frame.rename_axis("Unnamed: 0").reset_index(), ["Unnamed: 0"]),
        "read twice, several": (
            frame.set_index(
                pd.MultiIndex.from_arrays([number, number % 3], names=["Unnamed: 0", "Unnamed: 1"])
            ).reset_index(),
            ["Unnamed: 0", "Unnamed: 1"],
        ),
        "without metadata": (frame.rename_axis("__index_level_0__").reset_index(), ["__index_level_0__"]),
    }


@pytest.mark.parametrize("kind", [*indexes(pd.DataFrame({"a": [1]}))])
def test_the_index_of_a_parquet_file_is_no_feature(kind, sorted_rows, run, tmp_path):
    frame, names = indexes(sorted_rows)[kind]
    frame.to_parquet(tmp_path / "d.parquet")
    model = tmp_path / "m.skops"
    done = run("fit", tmp_path / "d.parquet", *FIT, "--json", "-o", model)
    found = json.loads(done.stdout)
    assert list(found["features"]) == ["a"]
    assert found["out_of_bag"]["accuracy"] < 0.6  # with the index it is almost 1
    told = f"{SAVED}: {', '.join(map(repr, names))} (--feature NAME takes one in)"
    assert (told in done.stderr) == bool(names)
    assert (SAVED in done.stderr) == bool(names)
    ignored = f"columns that the model does not use are ignored: {', '.join(map(repr, names))}\n"
    for command, more in {"predict": ["-o", tmp_path / "p.csv"], "audit": [], "report": ["-o", tmp_path / "r"]}.items():
        assert (ignored in run(command, model, tmp_path / "d.parquet", "--n-jobs", 1, *more).stderr) == bool(names)


def test_an_index_that_is_asked_for_is_used(sorted_rows, run, tmp_path):
    path, model = tmp_path / "d.parquet", tmp_path / "m.skops"
    sorted_rows.to_parquet(path)
    as_feature = run("fit", path, *FIT, "--feature", "__index_level_0__", "--json", "-o", model)
    assert list(json.loads(as_feature.stdout)["features"]) == ["a", "__index_level_0__"]
    assert json.loads(as_feature.stdout)["out_of_bag"]["accuracy"] > 0.95
    assert SAVED not in as_feature.stderr
    assert "ignored" not in run("predict", model, path, "--n-jobs", 1, "-o", tmp_path / "p.csv").stderr
    as_names = run("fit", path, *FIT, "--id-column", "__index_level_0__", "-o", model)
    assert SAVED not in as_names.stderr
    expected = [str(name) for name in sorted_rows.index]
    assert load_model(str(model)).classifier.bags_.sample_ids.tolist() == expected
    run("predict", model, path, "--n-jobs", 1, "-o", tmp_path / "p.csv")
    assert pd.read_csv(tmp_path / "p.csv", dtype=str)["__index_level_0__"].tolist() == expected
    sorted_rows.set_index("y").to_parquet(path)
    assert json.loads(run("fit", path, *FIT, "--json", "-o", model).stdout)["target"] == "y"
    sorted_rows.set_index("a").assign(b=1.0).to_parquet(path)
    assert list(json.loads(run("fit", path, *FIT, "--categorical", "a", "--json", "-o", model).stdout)["features"]) == [
        "b", "a"
    ]  # fmt: skip
    refused = run("fit", path, *FIT, "--feature", "aa", "-o", model, code=2).stderr
    assert "feature must be a column of the table; got 'aa', near 'a'" in refused


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_of_a_csv_file_is_no_feature(name, sorted_rows, run, tmp_path):
    sorted_rows.rename_axis(name).to_csv(tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text().startswith(f"{name},a,y\n")
    done = run("fit", tmp_path / "d.csv", *FIT, "--json", "-o", tmp_path / "m.skops")
    assert list(json.loads(done.stdout)["features"]) == ["a"]
    assert f"{SAVED}: {name!r} (--feature NAME takes one in)" in done.stderr
    told = run("predict", tmp_path / "m.skops", tmp_path / "d.csv", "--n-jobs", 1, "-o", tmp_path / "p.csv").stderr
    assert f"columns that the model does not use are ignored: {name!r}\n" in told


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_select_leaves_the_index_out(form, run, tmp_path):
    proba = np.random.default_rng(0).dirichlet([1, 1, 1], 6)
    frame = pd.DataFrame(proba, columns=list("uvw"), index=np.arange(6) + 3)
    path = tmp_path / f"p.{form}"
    (frame.to_parquet if form == "parquet" else frame.to_csv)(path)
    name = "__index_level_0__" if form == "parquet" else ""
    for columns in ([], ["--columns", "*"]):
        done = run("select", path, "--epsilon", 0.4, *columns, "-o", tmp_path / "s.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), ss.inflated_argmax(proba, 0.4))
        assert f"{SAVED}: {name!r} (--columns NAME takes one in)" in done.stderr
    kept = run("select", path, "--keep", name, "-o", tmp_path / "s.csv")
    assert SAVED not in kept.stderr
    assert pd.read_csv(tmp_path / "s.csv").iloc[:, 0].tolist() == [3, 4, 5, 6, 7, 8]
    assert SAVED not in run("select", path, "--quiet", "-o", tmp_path / "s.csv").stderr
    named = ["--columns", "u", "--columns", "v", "--columns", "w", "--columns", name]
    assert "row 1 must hold probabilities, that sum to 1" in run("select", path, *named, code=2).stderr


@pytest.mark.parametrize("metadata", ["not JSON", "[]", "{}", '{"index_columns": null}', '{"index_columns": [{}]}'])
def test_metadata_of_another_make_name_no_index(metadata, tmp_path):
    table = pa.table({"a": [1.0]}).replace_schema_metadata({"pandas": metadata})
    pq.write_table(table, tmp_path / "d.parquet")
    assert index_columns(pq.read_table(tmp_path / "d.parquet").schema) == []
