"""Interrupted fits: real processes that are killed, disks that are full, and workers that die."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

X, Y = load_iris(return_X_y=True)
LIB = Path(__file__).parents[1] / "lib"

PROGRAM = """
import sys, joblib, numpy as np, steadyset as ss
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier
X, y = load_digits(return_X_y=True)
model = ss.StableClassifier(DecisionTreeClassifier(), 60, random_state=4, n_jobs={n_jobs}, checkpoint=sys.argv[1])
print("start", flush=True)
with joblib.parallel_config(backend="loky"):  # worker processes
    np.save(sys.argv[2], model.fit(X, y).bag_predictions(X[:100]).proba)
"""


def run(folder, out, *, kill_after=None, n_jobs=1):
    """Run the fit in a process of its own; kill -9 its whole group after that many seconds of work."""
    program = PROGRAM.format(n_jobs=n_jobs)
    command = [sys.executable, "-c", program, str(folder), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, text=True) as process:
        assert process.stdout.readline() == "start\n"
        if kill_after is None:
            assert process.wait() == 0
            return
        time.sleep(kill_after)
        os.killpg(process.pid, signal.SIGKILL)


def finished_files(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*/bags-*")}


@pytest.mark.trial
def test_killed_with_its_worker_processes_and_continued(tmp_path, full_trials):
    """kill -9 of a fit and its workers at uniformly random moments, then the same call again: the same bits."""
    start = time.perf_counter()
    run(tmp_path / "straight", tmp_path / "straight.npy")
    length = time.perf_counter() - start
    moments = random.Random(1)
    for trial in range(20 if full_trials else 1):
        folder, out = tmp_path / f"killed-{trial}", tmp_path / "out.npy"
        run(folder, out, kill_after=moments.uniform(0, length), n_jobs=2)
        done = finished_files(folder)
        run(folder, out)
        assert np.array_equal(np.load(out), np.load(tmp_path / "straight.npy"))
        assert len(finished_files(folder)) == 60
        assert done.items() <= finished_files(folder).items(), "a finished bag was trained again"
        out.unlink()


FORKING = """
import os, sys, traceback, numpy as np, steadyset as ss
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier
X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]

def work(folder, out, n_jobs, stream):
    model = ss.StableClassifier(DecisionTreeClassifier(), 40, random_state=4, n_jobs=int(n_jobs), checkpoint=folder)
    bags = model.fit_predict_bags(X, y, X[:50]) if stream == "True" else model.fit(X, y).bag_predictions(X[:50])
    np.save(out, bags.proba)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            work(*line.rstrip().split("\t"))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()  # the process number stays taken until the other side has done with it
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Fits:
    """Fits in forked children of one process, which has imported everything: a start costs next to nothing."""

    def __init__(self, process):
        self._process = process

    def start(self, *arguments):
        print(*arguments, sep="\t", file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def end(self):
        print(file=self._process.stdin, flush=True)
        return os.waitstatus_to_exitcode(int(self._process.stdout.readline()))


@pytest.fixture
def fits():
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Fits(process)
        process.stdin.close()


def kill_at_a_random_moment(child, folder, moments, length):
    """Kill after a uniformly random share of the fit, told by its finished bags: a busy machine is slow in spells."""
    bags, share = divmod(moments.uniform(0, 40), 1)
    while len(finished_files(folder)) < bags:
        time.sleep(0.001)
    time.sleep(share * length / 40)
    os.kill(child, signal.SIGKILL)


def kill_during_a_write(child, folder, moments):
    """Stop the process at random moments until one falls into a write, and kill it there."""
    while True:
        time.sleep(moments.uniform(0, 0.01))
        os.kill(child, signal.SIGSTOP)
        state = ""
        while state != "T":
            state = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0]
            assert state != "Z", "the fit ended before a write was met"
        if list(folder.glob("*/.writing-*")):
            os.kill(child, signal.SIGKILL)
            return
        os.kill(child, signal.SIGCONT)


@pytest.mark.trial
@pytest.mark.parametrize("stream", [False, True])
def test_killed_at_random_moments_and_continued(tmp_path, fits, stream, full_trials):
    """kill -9 at random moments of the fit, then at moments during a write: the same bits, and no bag is lost."""
    random_kills, kills_during_a_write = (20, 4) if full_trials else (6, 2)
    fits.start(tmp_path / "straight", tmp_path / "straight.npy", 1, stream)
    assert fits.end() == 0
    expected = np.load(tmp_path / "straight.npy")
    start = time.perf_counter()
    fits.start(tmp_path / "timed", tmp_path / "timed.npy", 1, stream)
    assert fits.end() == 0
    length = time.perf_counter() - start
    moments = random.Random(1)
    caught = 0
    for trial in range(random_kills + kills_during_a_write):
        folder, out = tmp_path / f"killed-{trial}", tmp_path / "out.npy"
        child = fits.start(folder, out, 1 + trial % 2, stream)
        if trial < random_kills:
            kill_at_a_random_moment(child, folder, moments, length)
        else:
            kill_during_a_write(child, folder, moments)
        killed = fits.end() == -signal.SIGKILL
        caught += killed
        done = finished_files(folder)
        if trial >= random_kills:
            assert killed
            assert list(folder.glob("*/.writing-*")), "the kill came during a write"
            assert len(done) < 40
        fits.start(folder, out, 1, stream)
        assert fits.end() == 0
        assert np.array_equal(np.load(out), expected)
        assert len(finished_files(folder)) == 40
        assert done.items() <= finished_files(folder).items(), "a finished bag was trained again"
        out.unlink()
    assert caught >= kills_during_a_write + 0.8 * random_kills  # a fit may end before a late moment comes


class Fails(DecisionTreeClassifier):
    """Raises on the few bags of the longest flowers, while a file exists; the first of them is bag 6."""

    def fit(self, X, y):
        if Path(os.environ.get("STEADYSET_TEST_FAIL", "/nonexistent")).exists() and X[:, 0].sum() > 439:
            raise RuntimeError("this bag fails")
        return super().fit(X, y)


def test_one_failing_bag_loses_no_finished_bag(tmp_path, monkeypatch):
    expected = ss.StableClassifier(Fails(), 30, random_state=0).fit(X, Y).predict_proba(X)
    trigger = tmp_path / "fail"
    trigger.touch()
    monkeypatch.setenv("STEADYSET_TEST_FAIL", str(trigger))
    model = ss.StableClassifier(Fails(), 30, random_state=0, checkpoint=tmp_path / "c")
    with pytest.raises(RuntimeError, match=r"bag \d+ \(learner seed \d+\) failed: this bag fails"):
        model.fit(X, Y)
    finished = {path: path.stat().st_mtime_ns for path in (tmp_path / "c").glob("*/bags-*")}
    assert 0 < len(finished) < 30
    trigger.unlink()
    assert np.array_equal(model.fit(X, Y).predict_proba(X), expected)
    assert len(list((tmp_path / "c").glob("*/bags-*"))) == 30
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())


def test_more_bags_use_the_same_checkpoint(tmp_path):
    few = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=10, random_state=0, checkpoint=tmp_path).fit(X, Y)
    before = sorted(path.stat().st_mtime_ns for path in tmp_path.glob("*/bags-*"))
    many = ss.StableClassifier(
        DecisionTreeClassifier(), n_estimators=15, random_state=0, n_jobs=2, epsilon=0.3, checkpoint=tmp_path
    ).fit(X, Y)
    assert len(list(tmp_path.iterdir())) == 1
    after = sorted(path.stat().st_mtime_ns for path in tmp_path.glob("*/bags-*"))
    assert len(after) == 15
    assert after[:10] == before
    assert np.array_equal(few.bag_predictions(X).proba, many.bag_predictions(X).proba[:10])


@pytest.mark.parametrize(
    "change",
    [
        {"random_state": 1},
        {"max_samples": 0.4},
        {"bootstrap": True},
        {"estimator": DecisionTreeClassifier(max_depth=2)},
        {"estimator": LogisticRegression(max_iter=500)},
    ],
    ids=str,
)
def test_another_configuration_has_another_folder(tmp_path, change):
    ss.StableClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0, checkpoint=tmp_path).fit(X, Y)
    ss.StableClassifier(
        **{
            "estimator": DecisionTreeClassifier(),
            "n_estimators": 3,
            "random_state": 0,
            "checkpoint": tmp_path,
            **change,
        }
    ).fit(X, Y)
    assert len(list(tmp_path.iterdir())) == 2


def test_other_data_has_another_folder(tmp_path):
    for rows, labels, weights in ((X, Y, None), (X + 1, Y, None), (X, (Y + 1) % 3, None), (X, Y, np.ones(150))):
        ss.StableClassifier(DecisionTreeClassifier(), n_estimators=2, random_state=0, checkpoint=tmp_path).fit(
            rows, labels, sample_weight=weights
        )
    assert len(list(tmp_path.iterdir())) == 4


def test_clones_of_a_search_do_not_collide(tmp_path):
    def search(checkpoint):
        model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0, checkpoint=checkpoint)
        return GridSearchCV(model, {"max_samples": [0.3, 0.6]}, cv=3, n_jobs=2).fit(X, Y).cv_results_["mean_test_score"]

    assert np.array_equal(search(tmp_path), search(None))
    assert len(list(tmp_path.iterdir())) == 7


def test_without_random_state_the_checkpoint_keeps_the_seed(tmp_path):
    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=5, checkpoint=tmp_path)
    first = model.fit(X, Y).predict_proba(X)
    seed = model.seed_
    assert np.array_equal(model.fit(X, Y).predict_proba(X), first)
    assert model.seed_ == seed
    assert (
        ss.StableClassifier(DecisionTreeClassifier(), n_estimators=5, checkpoint=tmp_path / "other").fit(X, Y).seed_
        != seed
    )


def test_damaged_files_are_trained_again(tmp_path):
    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=8, random_state=0, checkpoint=tmp_path)
    expected = model.fit(X, Y).predict_proba(X)
    files = sorted(tmp_path.glob("*/bags-*"))
    files[1].write_bytes(files[1].read_bytes()[:100])
    files[2].write_bytes(b"")
    files[3].write_text("nonsense")
    (files[0].parent / "bags-x.joblib").write_text("foreign")
    (files[0].parent / ".writing-abc").write_text("left over")
    before = {path: path.stat().st_mtime_ns for path in files}
    assert np.array_equal(model.fit(X, Y).predict_proba(X), expected)
    assert [path for path in files if path.stat().st_mtime_ns != before[path]] == files[1:4]


def train_again(model, files):
    """Return which files a further fit wrote again."""
    before = {path: path.stat().st_mtime_ns for path in files}
    proba = model.fit(X, Y).predict_proba(X)
    return proba, [path for path in files if path.stat().st_mtime_ns != before[path]]


def test_swapped_files_are_trained_again(tmp_path):
    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=8, random_state=0, checkpoint=tmp_path)
    expected = model.fit(X, Y).predict_proba(X)
    files = sorted(tmp_path.glob("*/bags-*"))
    one, two = files[1].read_bytes(), files[2].read_bytes()
    files[1].write_bytes(two)
    files[2].write_bytes(one)
    proba, again = train_again(model, files)
    assert again == files[1:3]
    assert np.array_equal(proba, expected)


def test_files_of_another_fit_are_trained_again(tmp_path):
    other = ss.StableClassifier(
        DecisionTreeClassifier(), n_estimators=8, random_state=1, checkpoint=tmp_path / "other"
    ).fit(X, Y)
    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=8, random_state=0, checkpoint=tmp_path / "this")
    expected = model.fit(X, Y).predict_proba(X)
    assert not np.array_equal(other.predict_proba(X), expected)
    files = sorted((tmp_path / "this").glob("*/bags-*"))
    for path, source in zip(files[:3], sorted((tmp_path / "other").glob("*/bags-*")), strict=False):
        path.write_bytes(source.read_bytes())
    proba, again = train_again(model, files)
    assert again == files[:3]
    assert np.array_equal(proba, expected)


def test_files_that_say_other_bags_inside_are_trained_again(tmp_path):
    """A digest that is right for the name does not make bag 2 of bag 1."""
    from steadyset._base import digests
    from steadyset.ensemble import _checkpoint

    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=4, random_state=0, checkpoint=tmp_path)
    expected = model.fit(X, Y).predict_proba(X)
    files = sorted(tmp_path.glob("*/bags-*"))
    content = digests.unsealed(files[2].read_bytes(), _checkpoint._about(files[2]))
    files[1].write_bytes(digests.sealed(content, _checkpoint._about(files[1])))
    proba, again = train_again(model, files)
    assert again == [files[1]]
    assert np.array_equal(proba, expected)


@pytest.mark.parametrize(
    "wrong",
    [np.full((1, 1, 3), 1 / 3), np.full((1, 150, 2), 0.5), np.full((1, 150, 3), 0.5), np.full((150, 3), 1 / 3)],
    ids=["one point", "two classes", "no probabilities", "no bags"],
)
def test_predictions_of_other_shapes_are_made_again(tmp_path, wrong):
    import io

    from steadyset._base import digests
    from steadyset.ensemble import _checkpoint

    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=4, random_state=0, checkpoint=tmp_path)
    expected = model.fit_predict_bags(X, Y, X).proba
    path = sorted(tmp_path.glob("*/bags-*.npy"))[1]
    content = io.BytesIO()
    np.save(content, wrong)
    path.write_bytes(digests.sealed(content.getvalue(), _checkpoint._about(path)))
    assert np.array_equal(model.fit_predict_bags(X, Y, X).proba, expected)


def test_names_of_no_bags_are_left_alone(tmp_path):
    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=4, random_state=0, checkpoint=tmp_path)
    expected = model.fit(X, Y).predict_proba(X)
    (folder,) = tmp_path.iterdir()
    names = ["bags-0-99999999999", "bags-5-2", "bags-1_1", "bags--1-2", "bags-0-" + "9" * 99]
    names.append("bags-\N{ARABIC-INDIC DIGIT ONE}")
    for name in names:
        (folder / f"{name}.joblib").write_bytes(b"foreign")
    assert np.array_equal(model.fit(X, Y).predict_proba(X), expected)
    assert all((folder / f"{name}.joblib").read_bytes() == b"foreign" for name in names)


def test_a_damaged_seed_is_refused(tmp_path):
    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=2, checkpoint=tmp_path).fit(X, Y)
    (path,) = tmp_path.glob("seed-*/seed")
    path.write_bytes(path.read_bytes().replace(str(model.seed_).encode(), str(model.seed_ + 1).encode()))
    with pytest.raises(ValueError, match=r"^checkpoint must hold the seed of its fit; got the damaged file '.*/seed'"):
        model.fit(X, Y)


def test_a_full_disk_is_a_sentence_and_keeps_what_was_written(tmp_path):
    """/dev/full refuses every write; here the folder fills up after a few bags."""
    written = []
    true_fsync = os.fsync

    def fsync(descriptor):
        if len(written) == 4:
            raise OSError(28, "No space left on device")
        written.append(descriptor)
        true_fsync(descriptor)

    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=10, random_state=0, checkpoint=tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match=r"checkpoint must have room for bag 4; got: .*No space left on device"):
            model.fit(X, Y)
    names = sorted(path.name for path in tmp_path.glob("*/*"))
    assert names == [f"bags-{b:07}-{b:07}.joblib" for b in range(4)]
    expected = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=10, random_state=0).fit(X, Y).predict_proba(X)
    assert np.array_equal(model.fit(X, Y).predict_proba(X), expected)


def test_ctrl_c_keeps_finished_bags(tmp_path):
    program = PROGRAM.format(n_jobs=1)
    command = [sys.executable, "-c", program, str(tmp_path / "c"), str(tmp_path / "out.npy")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "start\n"
        deadline = time.monotonic() + 30
        while not list((tmp_path / "c").glob("*/bags-*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=30)[1]
    done = len(list((tmp_path / "c").glob("*/bags-*")))
    assert 0 < done < 60
    run(tmp_path / "c", tmp_path / "resumed.npy")
    run(tmp_path / "straight", tmp_path / "straight.npy")
    assert np.array_equal(np.load(tmp_path / "resumed.npy"), np.load(tmp_path / "straight.npy"))


def test_a_dask_cluster_with_a_worker_killed(tmp_path):
    """Two real worker processes, one killed -9 while it fits: the same bits as without a cluster."""
    pytest.importorskip("distributed")
    program = f"""
import os, signal, sys, threading, time, warnings
sys.path.insert(0, {str(LIB)!r})
import joblib, numpy as np, steadyset as ss
from distributed import Client, LocalCluster
from helpers.slow_tree import SlowTree
from sklearn.datasets import load_iris
X, Y = load_iris(return_X_y=True)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    model = ss.StableClassifier(SlowTree(), 24, random_state=0, n_jobs=2)
    expected = ss.StableClassifier(SlowTree(), 24, random_state=0).fit(X, Y).predict_proba(X)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        client.run(lambda path: sys.path.insert(0, path), {str(LIB)!r})
        client.wait_for_workers(2)
        victim = next(iter(client.run(os.getpid).values()))
        threading.Timer(1.0, lambda: os.kill(victim, signal.SIGKILL)).start()
        with joblib.parallel_config(backend="dask"):
            got = model.fit(X, Y).predict_proba(X)
    print(np.array_equal(got, expected))
"""
    script = tmp_path / "cluster.py"
    script.write_text(program)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout.strip().endswith("True"), done.stderr[-3000:]
