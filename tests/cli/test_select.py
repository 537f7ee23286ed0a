"""`steadyset select`, as it is typed."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steadyset as ss

LABELS = ["cat", "dog", "fox", "hen"]
RULES = [
    (["--rule", "argmax"], ss.Argmax()),
    (["--epsilon", "0.2"], ss.InflatedArgmax(0.2)),
    (["--rule", "fixed-margin", "--epsilon", "0.3"], ss.FixedMargin(0.3)),
    (["--rule", "top_k", "--k", "2"], ss.TopK(2)),
    (["--rule", "inflated_top_k", "--k", "2", "--epsilon", "0.1"], ss.InflatedTopK(2, 0.1)),
    (["--rule", "mass_threshold", "--tau", "0.7"], ss.MassThreshold(0.7)),
    (["--rule", "ndc", "--beta", "2"], ss.NDC(2.0)),
    (["--rule", "svbop", "--utility", "u80"], ss.SVBOP("u80")),
    (["--rule", "svbop", "--utility", "1.6,0.6"], ss.SVBOP((1.6, 0.6))),
]


@pytest.fixture
def proba():
    return np.random.default_rng(3).dirichlet(np.ones(4), 300)


def written(proba, path):
    if path.suffix == ".npy":
        np.save(path, proba)
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(dict(zip(LABELS, proba.T, strict=True))), path, row_group_size=70)
    else:
        pd.DataFrame(proba, columns=LABELS).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(("options", "rule"), RULES, ids=lambda value: "" if isinstance(value, list) else repr(value))
def test_every_rule(options, rule, proba, run, tmp_path):
    source = written(proba, tmp_path / "p.parquet")
    run("select", source, *options, "--output", tmp_path / "s.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), rule(proba))


@pytest.mark.parametrize("source", ["p.csv", "p.csv.gz", "p.parquet", "p.npy"])
@pytest.mark.parametrize("output", ["s.csv", "s.parquet", "s.npy"])
def test_every_format_gives_the_same_sets(source, output, proba, run, tmp_path):
    names = ["--classes", ",".join(LABELS)] if source == "p.npy" else []
    run("select", written(proba, tmp_path / source), "--epsilon", "0.2", *names, "-o", tmp_path / output)
    expected = ss.inflated_argmax(proba, 0.2)
    if output == "s.npy":
        np.testing.assert_array_equal(np.load(tmp_path / output), expected)
        return
    frame = (pd.read_csv if output == "s.csv" else pd.read_parquet)(tmp_path / output)
    np.testing.assert_array_equal(frame[[f"in_{label}" for label in LABELS]], expected)
    assert [tuple(text.split("|")) for text in frame["set"]] == ss.to_labels(expected, LABELS)
    assert frame["size"].tolist() == expected.sum(axis=1).tolist()


@pytest.mark.parametrize("n_classes", [2, 16, 17, 64, 65, 200])
def test_joined_labels_for_any_number_of_them(n_classes, run, tmp_path):
    proba = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.1), 200)
    np.save(tmp_path / "p.npy", proba)
    run("select", tmp_path / "p.npy", "--epsilon", "0.3", "--form", "labels", "-o", tmp_path / "s.parquet")
    frame = pd.read_parquet(tmp_path / "s.parquet")
    assert list(frame.columns) == ["set", "size"]
    expected = ss.to_labels(ss.inflated_argmax(proba, 0.3), [str(j) for j in range(n_classes)])
    assert [tuple(text.split("|")) for text in frame["set"]] == expected


def test_standard_input_to_standard_output_in_blocks(proba, run, monkeypatch):
    from steadyset.tables import _blocks

    monkeypatch.setattr(_blocks, "BLOCK_ENTRIES", 64)
    text = pd.DataFrame(proba, columns=LABELS).to_csv(index=False)
    result = run("select", "-", "--form", "labels", stdin=text)
    frame = pd.read_csv(io.StringIO(result.stdout))
    assert [tuple(s.split("|")) for s in frame["set"]] == ss.to_labels(ss.inflated_argmax(proba, 0.05), LABELS)
    assert "rows per second after reading" in result.stderr


def test_patterns_name_the_labels_and_columns_are_carried_over(run, tmp_path):
    (tmp_path / "p.csv").write_text("id,note,proba_a,proba_b\n007,x,0.5,0.5\n8,y,0.9,0.1\n")
    found = run("select", tmp_path / "p.csv", "--columns", "proba_*", "--keep", "id").stdout
    assert found.splitlines() == [
        '"id","set","size","in_a","in_b"', '"007","a|b",2,true,true', '"8","a",1,true,false'
    ]  # fmt: skip


def test_votes_are_divided_only_when_asked(run, tmp_path):
    (tmp_path / "p.csv").write_text("a,b\n1,3\n5,5\n")
    assert "row 1 must hold probabilities, that sum to 1" in run("select", tmp_path / "p.csv", code=2).stderr
    assert run("select", tmp_path / "p.csv", "--normalize", "--form", "labels").stdout.splitlines()[1:] == [
        '"b",1', '"a|b",2'
    ]  # fmt: skip
    (tmp_path / "p.csv").write_text("a,b\n1,3\n0,0\n")
    assert "row 2 must hold" in run("select", tmp_path / "p.csv", "--normalize", code=2).stderr


def test_json_tells_the_rate(proba, run, tmp_path):
    found = json.loads(run("select", written(proba, tmp_path / "p.npy"), "-o", tmp_path / "s.npy", "--json").stdout)
    mask = ss.inflated_argmax(proba, 0.05)
    assert (found["n_rows"], found["n_classes"]) == mask.shape
    assert found["mean_set_size"] == pytest.approx(mask.sum() / len(mask), rel=1e-12)
    after = found["seconds"]["selecting"] + found["seconds"]["writing"]
    assert found["rows_per_second_after_reading"] == pytest.approx(len(mask) / after, rel=0.01)


BAD = [
    ("a,b\n0.5,0.5\n0.6,0.5\n", [], "row 2 must hold probabilities, that sum to 1 within 1e-06; got a sum of 1.1"),
    ("a,b\n0.5,0.5\n,0.5\n", [], "row 2 must hold probabilities, none missing or infinite"),
    ("a,b\n1.5,-0.5\n", [], "row 1 must hold probabilities, none negative; got -0.5"),
    ("a,b\n0.5,0.5,0\n", [], "line 2 has 3 fields where the header has 2"),
    ("a;b\n0.5;0.5\n", [], "--separator ';'"),
    ("a,b\nx,0.5\n", [], "must hold numbers in its columns of probabilities; got 'x'"),
    ("", [], "is empty"),
    ("a,b\n", [], "must have at least one row"),
    ("a,a\n0.5,0.5\n", [], "must have distinct names; got 'a' more than once"),
    ("a,b\n1,0\n", ["--rule", "inflated_argmx"], "near inflated_argmax"),
    ("a,b\n1,0\n", ["--rule", "argmax", "--epsilon", "1"], "--epsilon must be left out with the rule argmax"),
    ("a,b\n1,0\n", ["--epsilon", "-1"], "epsilon must be a number that is at least 0"),
    ("a,b\n1,0\n", ["--keep", "idd"], "keep must be a column of the table; got 'idd'"),
    ("a,b\n1,0\n", ["--output", "s.xlsx"], "must end in .csv, .parquet or .npy"),
    ("a|b,c\n1,0\n", [], "joiner must be a text that no label holds"),
    ("a,b\n1,0\n", ["--classes", "x"], "classes must name each of the 2 columns once; got 1 names."),
]


@pytest.mark.parametrize(("text", "options", "words"), BAD, ids=[words[:30] for _, _, words in BAD])
def test_what_is_wrong_is_a_sentence(text, options, words, zygote, tmp_path):
    (tmp_path / "p.csv").write_text(text)
    _, wait = zygote.start("select", "p.csv", "-o", "out.csv", *options, cwd=tmp_path)
    code, out, err = wait()
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("steadyset select: ")
    assert err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["p.csv"]


@pytest.mark.parametrize("form", ["parquet", "npy"])
def test_memory_is_bounded(form, tmp_path):
    """A file of 160 MB in one row group goes through a process that may hold and grow by less."""
    rows, columns = 500_000, 40
    block = np.random.default_rng(0).dirichlet(np.ones(columns), 1000)
    path = tmp_path / f"p.{form}"
    if form == "npy":
        file = np.lib.format.open_memmap(path, "w+", np.float64, (rows, columns))
        for start in range(0, rows, 1000):
            file[start : start + 1000] = block
        del file
    else:
        table = pa.table({f"c{j}": pa.array(np.tile(block[:, j], rows // 1000)) for j in range(columns)})
        pq.write_table(table, path, row_group_size=rows, use_dictionary=False, compression="none")
        del table
    program = (
        "import resource, tracemalloc\n"
        "from steadyset.cli import select\n"
        "import pyarrow.parquet, steadyset.tables\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "tracemalloc.start()\n"
        f"select.select({str(path)!r}, output={str(tmp_path / 's.npy')!r}, quiet=True)\n"
        "arrays = tracemalloc.get_traced_memory()[1] + pyarrow.default_memory_pool().max_memory()\n"
        "print(arrays // 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    arrays, growth = map(int, done.stdout.split())  # kB
    assert arrays < (110_000 if int(pa.__version__.split(".")[0]) > 16 else 140_000)  # older ones hold more of a group
    if form == "parquet":  # pages of a mapped file count as growth, though they can be taken back
        assert growth < 150_000
    assert np.load(tmp_path / "s.npy", mmap_mode="r").shape == (rows, columns)
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy", mmap_mode="r")[-1000:], ss.inflated_argmax(block, 0.05))
