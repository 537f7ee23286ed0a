"""Whatever goes wrong is a sentence on stderr and an exit code, in real processes, and leaves no half-written file."""

import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io

from steadyset.tables import load_model, save_model

GOOD = "a,b,y\n" + "".join(f"{i},{'u' if i % 3 else 'v'},{'yes' if i % 2 else 'no'}\n" for i in range(60))


def fails(zygote, folder, *arguments, command="fit", code=2, **more):
    """Run a command that has to fail in its way; return its sentence."""
    before = {file.name for file in folder.iterdir()}
    _, wait = zygote.start(command, *arguments, cwd=folder, **more)
    found, out, err = wait()
    assert (found, out) == (code, ""), err
    assert "Traceback" not in err
    assert err.startswith(f"steadyset {command}: ")
    assert err.count("\n") == 1
    assert {file.name for file in folder.iterdir()} == before
    return err


def lines(*values, header="a,y"):
    return "\n".join([header, *values]) + "\n"


TABLES = [
    ("", [], "is empty"),
    ("a,y\n", [], "must have at least one row below its header"),
    ("a,y\n1,x\n", [], "target must have at least 2 labels; got only 'x' in 'y'"),
    ("a,y\n1,x\n2\n", [], "line 3 has 1 fields where the header has 2"),
    ('a,y\n1,"x\n2,z\n', [], "a quote that is opened is never closed"),
    ("a;y\n1;x\n2;z\n", [], "--separator ';'"),
    ("a,a,y\n1,2,x\n", [], "must have distinct names; got 'a' more than once"),
    ("y\nx\nz\n", [], "must have a column besides the target"),
    (GOOD, ["--target", "yy"], "target must be a column of the table; got 'yy', near 'y'"),
    (GOOD, ["--drop", "c"], "drop must be a column of the table; got 'c'"),
    (GOOD, ["--estimator", "tre"], "there is no estimator 'tre'; did you mean tree"),
    (GOOD, ["--estimator", "sklearn.tree.DecisionTreClassifier"], "near names are DecisionTreeClassifier"),
    (GOOD, ["--estimator", "sklearn.tree.DecisionTreeRegressor"], "must be a classifier"),
    (GOOD, ["--estimator", "nowhere.Classifier"], "needs nowhere, which is not installed"),
    (GOOD, ["--param", "max_dept=3"], "has no parameter 'max_dept'; did you mean max_depth"),
    (GOOD, ["--param", "max_depth"], "param must be written as name=value"),
    (GOOD, ["--param", "max_depth=-3"], "max_depth must be None or a whole number that is at least 1; got -3"),
    (GOOD, ["--bag-size", "60"], "max_samples must be"),
    (GOOD, ["--n-bags", "0"], "n_estimators must be"),
    (GOOD, ["--format", "pickle"], "format must be skops or joblib"),
    (GOOD, ["--encoding", "utf-99"], "encoding must be one that Python knows"),
    (GOOD, ["--id-column", "b"], "must have distinct names; got 'u' more than once"),
    (GOOD, ["-o", "nowhere/m.skops"], "output must be a file that can be written; got 'nowhere/m.skops': No such file"),
    (GOOD, ["-o", "."], "output must be a file; got the folder"),
    (GOOD, ["-o", "d.csv"], "output must be another file than the input"),
    (GOOD, ["--weights", "a", "--estimator", "knn"], "weights must be left out for KNeighborsClassifier"),
    (
        lines("1,x", "2,", "3,z", "4,x"),
        [],
        "rows have none, the first is row 2: leave such rows out with --drop-unlabel",
    ),
    (lines(*(f"{i},{i / 3}" for i in range(60))), [], "holds numbers with fractions, such as 0.333333: it"),
    (lines(*(f"{i},{i}" for i in range(60))), [], "60 distinct values in 60 rows: it looks like a quantity"),
    (lines(*(f"t{i},{i % 2}" for i in range(60))), [], "column 'a' holds 60 distinct texts in 60 rows"),
    (lines(*(f"{i if i else '?'},{i % 2}" for i in range(60))), [], "holds numbers, but '?' in row 1"),
    (lines(*(f"0{i % 9 + 1}/02/2024,{i % 2}" for i in range(60))), [], "day and month cannot be told apart"),
    (lines("inf,0", "1,1", "2,0", "3,1"), [], "column 'a' must hold finite numbers; got inf in row 1"),
]


@pytest.mark.parametrize(("text", "options", "words"), TABLES, ids=[words[:40] for _, _, words in TABLES])
def test_fit_refuses_in_a_sentence(text, options, words, zygote, tmp_path):
    (tmp_path / "d.csv").write_text(text)
    told = fails(zygote, tmp_path, "d.csv", "--target", "y", "--n-bags", 2, "--n-jobs", 1, "-o", "m.skops", *options)
    assert words in told


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, "there is no file 'none.csv'"),
        ("d.xlsx", b"x", "must end in .csv"),
        ("d.parquet", b"PAR1 but no more", "could not be read as Parquet"),
        ("d.npz", b"PK\x03\x04 and no more", "could not be read as npz"),
        ("d.csv.gz", b"not compressed", "could not be read"),
    ],
)
def test_files_that_cannot_be_read(name, content, words, zygote, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert words in fails(zygote, tmp_path, name, "--target", "y", "-o", "m.skops")


class Hostile:
    """Runs a program when it is unpickled."""

    def __init__(self, proof):
        self.proof = proof

    def __reduce__(self):
        return os.mkdir, (str(self.proof),)


@pytest.fixture(scope="module")
def hostile(model, tmp_path_factory):
    """A folder of files that are no model, and the folder that one of them makes if its code runs."""
    folder = tmp_path_factory.mktemp("hostile")
    proof = folder / "executed"
    (folder / "pickle.skops").write_bytes(pickle.dumps(Hostile(proof)))
    (folder / "short.skops").write_bytes(model.read_bytes()[: model.stat().st_size // 2])
    (folder / "text.skops").write_text("not a model")
    with zipfile.ZipFile(folder / "other.skops", "w") as file:
        file.writestr("readme.txt", "no schema here")
    skops.io.dump({"format": "steadyset table model"}, folder / "parts.skops")
    skops.io.dump([1, 2], folder / "list.skops")
    with zipfile.ZipFile(model) as source, zipfile.ZipFile(folder / "type.skops", "w") as file:
        schema = json.loads(source.read("schema.json"))
        schema["content"]["facts"] = {
            "__class__": "mkdir", "__module__": "os", "__loader__": "FunctionNode", "__id__": 1,
            "content": {"module_path": "os", "function": "mkdir"},
        }  # fmt: skip
        for name in source.namelist():
            file.writestr(name, json.dumps(schema) if name == "schema.json" else source.read(name))
    with zipfile.ZipFile(folder / "bomb.skops", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("schema.json", "{}")
        file.writestr("x.npy", b"")
    data = (folder / "bomb.skops").read_bytes()
    entry = data.rindex(b"x.npy") - 46
    size = (2**32 - 2).to_bytes(4, "little")
    (folder / "bomb.skops").write_bytes(data[: entry + 24] + size + data[entry + 28 :])
    return folder, proof


HOSTILE = [
    ("pickle.skops", "is not a skops model file, or a damaged one; nothing in it was run"),
    ("short.skops", "is not a skops model file, or a damaged one"),
    ("text.skops", "is not a skops model file"),
    ("other.skops", "could not be read as a skops file"),
    ("parts.skops", "is not a model file of `steadyset fit`"),
    ("list.skops", "is not a model file of `steadyset fit`: it holds something else"),
    ("type.skops", "does not trust"),
    ("bomb.skops", "could not be read as a skops file"),
]


@pytest.mark.parametrize(("name", "words"), HOSTILE)
def test_hostile_and_damaged_model_files_run_nothing(name, words, hostile, stranger, zygote):
    folder, proof = hostile
    assert words in fails(zygote, folder, name, stranger, "-o", "p.csv", command="predict")
    assert not proof.exists()


def test_the_pickle_would_have_run(tmp_path):
    pickle.loads(pickle.dumps(Hostile(tmp_path / "executed")))
    assert (tmp_path / "executed").is_dir()


def test_a_tree_that_leads_outside_its_nodes_is_refused(stranger, zygote, run, tmp_path):
    path = tmp_path / "good.skops"
    settings = ["--target", "churn", "--id-column", "customer", "--n-bags", 4, "--n-jobs", 1, "--no-score"]
    run("fit", stranger, *settings, "--estimator", "sklearn.tree.DecisionTreeClassifier", "-o", path)
    read = load_model(str(path))
    tree = read.classifier.groups_[3].estimator[-1].tree_
    state = tree.__getstate__()
    state["nodes"]["left_child"][0] = 10**6
    tree.__setstate__(state)
    save_model(read, str(tmp_path / "bad.skops"))
    told = fails(zygote, tmp_path, "bad.skops", stranger, "-o", "p.csv", command="predict")
    assert "a tree whose nodes lead outside of it" in told


@pytest.mark.parametrize("output", ["p.csv", "p.parquet", "p.npy"])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_full_disk_leaves_no_half_written_file(output, earlier, zygote, tmp_path):
    """The process may write files of 100 kB at most: writing fails as it does on a full disk."""
    np.save(tmp_path / "in.npy", np.random.default_rng(0).dirichlet(np.ones(50), 20_000))
    if earlier:
        (tmp_path / output).write_text("what was there before")
    told = fails(zygote, tmp_path, "in.npy", "-o", output, command="select", largest_file=100_000)
    assert "could not be written" in told
    assert not earlier or (tmp_path / output).read_text() == "what was there before"


def test_a_full_disk_while_the_model_is_written(stranger, zygote, tmp_path):
    settings = ["--target", "churn", "--id-column", "customer", "--n-bags", 4, "--n-jobs", 1, "--no-score"]
    assert "could not be written" in fails(zygote, tmp_path, stranger, *settings, "-o", "m.skops", largest_file=10_000)


def test_a_compressed_input_that_ends_early_is_not_called_a_failed_write(zygote, tmp_path):
    rows = np.random.default_rng(0).dirichlet([1, 1], 2000)
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rows) * 100  # several blocks, all of them whole but the last
    packed = gzip.compress(text.encode(), mtime=0)
    (tmp_path / "p.csv.gz").write_bytes(packed[: len(packed) * 3 // 4])
    told = fails(zygote, tmp_path, "p.csv.gz", "-o", "s.csv", command="select")
    assert "'p.csv.gz' could not be read as CSV" in told


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_device_without_room(zygote, tmp_path):
    (tmp_path / "p.csv").write_text("a,b\n0.5,0.5\n")
    assert "No space left" in fails(zygote, tmp_path, "p.csv", "-o", "/dev/full", command="select")
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_is_130_and_nothing_is_left(n_jobs, stranger, zygote, tmp_path):
    settings = ["--target", "churn", "--id-column", "customer", "--n-bags", 100_000, "--n-jobs", n_jobs]
    pid, wait = zygote.start("fit", stranger, *settings, "--checkpoint", "work", "-o", "m.skops", cwd=tmp_path)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("work/*/bags-*")):  # until bags are finished
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(pid, signal.SIGINT)
    code, out, err = wait()
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "steadyset fit: interrupted"
    assert "Traceback" not in err
    assert not (tmp_path / "m.skops").exists()
    assert list(tmp_path.glob(".writing*")) == []


def test_a_fresh_process_as_a_shell_starts_it(tmp_path):
    command = Path(sys.executable).with_name("steadyset")
    (tmp_path / "d.csv").write_text(GOOD)
    done = subprocess.run(
        [command, "fit", "d.csv", "--target", "z", "-o", "m.skops"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "steadyset fit: target must be a column of the table; got 'z', beside 'a', 'b', 'y'.\n"
