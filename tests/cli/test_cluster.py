"""Bags trained by programs of one's own in real processes: the same evidence as at home, or a sentence."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset.bags import bag_digests, guarantee_of_rule
from steadyset.tables import collect

SCRIPTS = Path(__file__).parents[2] / "examples" / "cluster"
ENV = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TRAIN_PART": "train_part.py"}
TASKS = range(8)


@pytest.fixture(scope="module")
def work(tmp_path_factory, run):
    """A folder with tables, scripts and the bags of the training table."""
    folder = tmp_path_factory.mktemp("cluster")
    frame = load_iris(as_frame=True)
    table = frame.data.assign(species=frame.target_names[frame.target])
    test = np.arange(len(table)) % 3 == 0
    table[~test].to_csv(folder / "train.csv", index=False)
    table[test].to_csv(folder / "test.csv", index=False)
    for script in SCRIPTS.iterdir():
        shutil.copy(script, folder)
    drawn = ("--target", "species", "--n-bags", 40, "--bag-size", 50, "--format", "npz")
    said = run("bags", folder / "train.csv", *drawn, "-o", folder / "bags").stdout
    assert said.endswith("bags.npz: bags 0 to 39, 50 of 100 rows each, 3 labels.\n")
    return folder


def rows_of(path):
    table = pd.read_csv(path)
    return table.drop(columns="species"), table["species"].to_numpy()


@pytest.fixture(scope="module")
def home(work):
    learner = DecisionTreeClassifier(max_features="sqrt")
    model = ss.StableClassifier(learner, 40, max_samples=50, epsilon=0.1, random_state=0)
    X, y = rows_of(work / "train.csv")
    return model.fit(X.to_numpy(), y)


def submit(work, task):
    started = {**ENV, "SLURM_ARRAY_TASK_ID": str(task)}
    return subprocess.Popen(["bash", "slurm.sh"], cwd=work, env=started, start_new_session=True)


@pytest.fixture(scope="module")
def predictions(work, run):
    """The folder that collect makes of eight tasks, of which two are killed and submitted again."""
    jobs = [submit(work, task) for task in TASKS]
    time.sleep(0.3)
    for task in (2, 5):
        os.killpg(jobs[task].pid, signal.SIGKILL)
    assert [job.wait(120) for job in jobs] == [-signal.SIGKILL if task in (2, 5) else 0 for task in TASKS]
    missing = run("collect", work / "parts", "--bags", work / "bags", "-o", work / "early", code=2).stderr
    assert missing == (
        "steadyset collect: the parts must hold each of the 40 bags once; got none of bag 10 to 14, 25 to 29.\n"
    )
    assert not (work / "early").exists()
    again = [submit(work, task) for task in (2, 5)]
    assert [job.wait(120) for job in again] == [0, 0]
    said = run("collect", work / "parts", "--bags", work / "bags", "-o", work / "predictions").stdout
    assert said.endswith("predictions: 40 bags at 50 points, 3 labels, every bag once.\n")
    return work / "predictions"


def test_collected_parts_are_the_ensemble_at_home(work, predictions, home):
    X_test, y_test = rows_of(work / "test.csv")
    collected, at_home = ss.BagPredictions.load(predictions), home.bag_predictions(X_test.to_numpy())
    assert collected == at_home
    rule = ss.InflatedArgmax(0.1)
    for ours, theirs in (
        (ss.audit_bags(collected, rule), home.audit(X_test.to_numpy())),
        (ss.certify(collected, rule), home.certify(X_test.to_numpy())),
    ):
        for name, value in vars(theirs).items():
            np.testing.assert_array_equal(vars(ours)[name], value, err_msg=name)
    assert guarantee_of_rule(collected.bags, rule, 3) == home.guarantee()
    ours, theirs = (ss.report(source, X_test.to_numpy(), y_test, epsilon=0.1).html for source in (collected, home))
    differ = [line for line in ours.splitlines() if line not in set(theirs.splitlines())]
    assert [line for line in differ if "<dt>Written</dt>" not in line] == [
        '<div><dt>Learner</dt><dd class="user">not known: the report was made from predictions</dd></div>'
    ]


def test_commands_take_the_folder_as_they_take_a_model(work, predictions, home, run):
    X_test, _ = rows_of(work / "test.csv")
    audited = run("audit", predictions, work / "test.csv", "--epsilon", 0.1, "--json", "-o", work / "points.csv")
    assert run("audit", predictions, "--epsilon", 0.1, "--json").stdout == audited.stdout
    found = home.audit(X_test.to_numpy())
    assert pd.read_csv(work / "points.csv")["instability"].tolist() == found.instability.tolist()
    proved = run("certify", predictions, "--epsilon", 0.1).stdout
    assert proved == home.certify(X_test.to_numpy()).summary() + "\n"
    page = work / "page.html"
    run("report", predictions, work / "test.csv", "--target", "species", "--epsilon", 0.1, "-o", page)
    assert "not known: the report was made from predictions" in page.read_text()
    assert (
        "DATA must have a row for each of the 50 points" in run("audit", predictions, work / "train.csv", code=2).stderr
    )
    assert run("audit", work / "model.skops", code=2).stderr.startswith("steadyset audit: DATA must be given")


def test_the_job_of_kubernetes_runs_the_same_program(work, predictions):
    (container,) = yaml.safe_load((work / "kubernetes.yaml").read_text())["spec"]["template"]["spec"]["containers"]
    given = {entry["name"]: entry["value"] for entry in container["env"]}
    before = (work / "parts" / "part-3.npz").read_bytes()
    (work / "parts" / "part-3.npz").unlink()
    command = [*container["command"], *container["args"]]
    subprocess.run(command, cwd=work, env={**ENV, **given, "JOB_COMPLETION_INDEX": "3"}, check=True)
    assert (work / "parts" / "part-3.npz").read_bytes() == before


def changed(part, **arrays):
    held = dict(np.load(part))
    np.savez(
        part,
        **{name: change(held[name]) for name, change in arrays.items()},
        **{n: a for n, a in held.items() if n not in arrays},
    )


def doubled(folder):
    shutil.copy(folder / "part-1.npz", folder / "part-9.npz")


def of_another_seed(folder):
    changed(folder / "part-1.npz", digest=lambda held: np.array(["0" * 32, *held[1:]]))


def truncated(folder):
    part = folder / "part-1.npz"
    part.write_bytes(part.read_bytes()[:-100])


def damaged(folder):
    truncated(folder)
    (folder / "part-1.npz.sha256").write_text("0" * 64 + "  part-1.npz")


BAD = {
    "missing": (lambda folder: (folder / "part-1.npz").unlink(), r"got none of bag 5 to 9\."),
    "doubled": (doubled, r"part '.*part-9.npz' must hold bags of its own; got bag 5, which '.*part-1.npz' holds too\."),
    "twice in itself": (
        lambda folder: changed(folder / "part-1.npz", bag=lambda bag: np.array([5, 5, 7, 8, 9])),
        r"part '.*part-1.npz' must hold bags of its own; got bag 5, which",
    ),
    "another seed": (of_another_seed, r"part '.*part-1.npz' must carry the digests of the bags .* for bag 5, which is"),
    "another bag": (
        lambda folder: changed(folder / "part-1.npz", bag=lambda bag: bag + 100),
        r"part '.*part-1.npz' must hold bags 0 to 39; got bag 105\.",
    ),
    "truncated": (truncated, r"part '.*part-1.npz' could not be read as npz: .*\."),
    "digest of the file": (damaged, r"part '.*part-1.npz' must have the digest in 'part-1.npz.sha256'; got another"),
    "fewer points": (
        lambda folder: changed(folder / "part-0.npz", proba=lambda proba: proba[:, :-1]),
        r"part '.*part-0.npz' must predict 50 points, as most do; got 49\.",
    ),
    "other labels": (
        lambda folder: changed(folder / "part-1.npz", classes=lambda classes: classes[::-1]),
        r"part '.*part-1.npz' must have the classes \['setosa', .*, in this order; got",
    ),
    "fewer labels": (
        lambda folder: changed(folder / "part-1.npz", proba=lambda proba: proba[:, :, :2]),
        r"part '.*part-1.npz' must have a probability for each of 3 labels; got 2\.",
    ),
    "no probabilities": (
        lambda folder: changed(folder / "part-1.npz", proba=lambda proba: proba * 1.01),
        r"part '.*part-1.npz' must hold probabilities: predict_proba of bag 5 must return probability vectors, a sum",
    ),
    "NaN": (
        lambda folder: changed(folder / "part-1.npz", proba=lambda proba: proba * np.nan),
        r"part '.*part-1.npz' must hold probabilities: .* finite; got",
    ),
    "another program": (
        lambda folder: np.savez(folder / "part-1.npz", proba=np.ones(3)),
        r"part '.*part-1.npz' must hold the arrays bag, digest and proba; got none called 'bag'\.",
    ),
    "a pickle": (
        lambda folder: np.savez(folder / "part-1.npz", bag=np.array([object()], object)),
        r"part '.*part-1.npz' could not be read as npz: Object arrays cannot be loaded",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_part_is_named(case, work, predictions, run, tmp_path):
    spoil, sentence = BAD[case]
    shutil.copytree(work / "parts", tmp_path / "parts")
    for digest in (tmp_path / "parts").glob("*.sha256"):
        digest.unlink()
    spoil(tmp_path / "parts")
    said = run("collect", tmp_path / "parts", "--bags", work / "bags", "-o", tmp_path / "out", code=2).stderr
    assert said.startswith("steadyset collect: ")
    assert said.count("\n") == 1
    assert re.search(sentence, said), said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_parts_are_tables_too(ending, work, predictions, run, tmp_path):
    """Bags written in two steps, as Parquet, and parts with a row per bag and point."""
    drawn = ("--target", "species", "--bag-size", 50)
    folders = [tmp_path / "bags-0", tmp_path / "bags-15"]
    for folder, first, n_bags in zip(folders, (0, 15), (15, 25), strict=True):
        run("bags", work / "train.csv", *drawn, "--first", first, "--n-bags", n_bags, "-o", folder)
    bags = pd.concat([pd.read_parquet(folder / "bags.parquet") for folder in folders])
    assert ss.Bags.load(folders[1]) == ss.Bags.load(work / "bags")[15:]
    whole = ss.BagPredictions.load(predictions)
    assert [rows.tolist() for rows in bags["rows"]] == [rows.tolist() for rows in whole.bags]
    assert bags["learner_seed"].tolist() == [ss.bag_seed(0, bag) for bag in range(40)]
    tables = [
        pd.DataFrame(proba, columns=whole.classes).assign(bag=bag, digest=digest, point=range(50))
        for bag, digest, proba in zip(range(40), bags["digest"], whole.proba, strict=True)
    ]
    write = pd.DataFrame.to_csv if ending == ".csv" else pd.DataFrame.to_parquet
    for k, part in enumerate((tables[:13], tables[13:])):
        write(pd.concat(part).sample(frac=1, random_state=0), tmp_path / f"{k}{ending}", index=False)
    named = [word for folder in reversed(folders) for word in ("--bags", folder)]
    parts = [tmp_path / f"{k}{ending}" for k in (1, 0)]
    run("collect", *parts, *named, "-o", tmp_path / "out")
    assert ss.BagPredictions.load(tmp_path / "out") == whole
    short = pd.concat(tables[:13])[:-1]
    write(short, parts[1], index=False)
    said = run("collect", *parts, *named, "-o", tmp_path / "again", code=2).stderr
    assert f"'{parts[1]}' must have points 0 to 49 of every bag, each once; got 49 rows of bag 12." in said


def test_bags_that_are_there_are_kept(work, run):
    drawn = ("--target", "species", "--n-bags", 40, "--bag-size", 50, "--format", "npz")
    before = (work / "bags" / "bags.npz").read_bytes()
    said = run("bags", work / "train.csv", *drawn, "-o", work / "bags", code=2).stderr
    assert "folder must be new or empty, or overwrite=True" in said
    run("bags", work / "train.csv", *drawn, "-o", work / "bags", "--overwrite")
    assert (work / "bags" / "bags.npz").read_bytes() == before


def test_points_that_are_not_there_take_no_memory(tmp_path):
    """Their number is the part's to say, and may be anything."""
    bags = ss.draw_bags(10, 2, 0.5)
    bags.save(tmp_path / "bags")
    digests = bag_digests(bags)
    lines = [f"{bag},{digests[bag]},{point},0.5,0.5" for bag, point in ((0, 0), (0, 10**15), (1, 0), (1, 1))]
    (tmp_path / "part.csv").write_text("\n".join(["bag,digest,point,a,b", *lines]))
    with pytest.raises(
        ValueError, match=f"must have points 0 to {10**15} of every bag, each once; got 2 rows of bag 0"
    ):
        collect([str(tmp_path / "bags")], [str(tmp_path / "part.csv")])
