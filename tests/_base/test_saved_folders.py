"""Saved forms of every room: whole or not at all when writers are killed, disks are full and several write at once."""

import contextlib
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import steadyset as ss
from helpers.overwrites import FORMS
from helpers.saved_files import array_file, manifest_of, put_file
from steadyset._base import digests, whole_files

PROGRAM = Path(__file__).parents[1] / "lib" / "helpers" / "overwrites.py"


@pytest.fixture(scope="module")
def run():
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    command, settings = [sys.executable, str(PROGRAM)], {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=settings) as process:

        def answer(what, form, folder, number, more=0):
            print(json.dumps([what, form, str(folder), number, more]), file=process.stdin, flush=True)
            told, status = json.loads(process.stdout.readline()), json.loads(process.stdout.readline())
            assert status == 0
            return told

        yield answer
        process.stdin.close()


@pytest.mark.trial
@pytest.mark.parametrize("form", FORMS)
def test_writers_killed_at_random_moments(tmp_path, run, form, full_trials):
    """kill -9, one writer or two, a reader beside: always the old or the new version, and no leftovers once opened."""
    trials = 200 if full_trials else 12
    told = run("kill", form, tmp_path / "saved", trials, 1)
    print(form, told)
    assert told["reader"] == 0
    assert sum(told["found"]) == trials
    assert told["leftovers"] == 0
    assert sum(told["seen"]) > trials / 4
    if full_trials:
        assert min(told["found"]) > 0
        assert min(told["seen"]) > 0
        assert told["interrupted"] > 20


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("limit", [1, 3000])
def test_a_limit_of_file_sizes(tmp_path, run, form, limit):
    told = run("fail", form, tmp_path / "saved", limit)
    assert told["told"].endswith("File too large.")
    assert (told["found"], told["left"]) == (0, [])


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, of a few megabytes."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a file system needs root")
    folder = tmp_path / "disk"
    folder.mkdir()

    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a file system is not permitted")
    yield folder
    subprocess.run(["umount", str(folder)], capture_output=True, check=False)


@pytest.mark.parametrize("form", FORMS)
def test_a_full_file_system(small_disk, run, form):
    (small_disk / "inner").mkdir()
    told = run("fail", form, small_disk / "inner" / "saved", 0)
    assert told["told"].endswith("No space left on device.")
    assert (told["found"], told["left"]) == (0, [])


def made(seed=0, n_points=6):
    bags = ss.draw_bags(20, 40, 0.5, seed=seed)
    return ss.BagPredictions(np.random.default_rng(seed).dirichlet(np.ones(3), (40, n_points)), bags, "abc")


def test_a_first_save_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    def fsync(_):
        raise OSError(28, "full")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"^folder must be one that can be written; got '.*saved': No space left on"):
        made().save(tmp_path / "some" / "deep" / "saved")
    assert os.listdir(tmp_path) == []


def test_of_several_first_writers_one_wins(tmp_path):
    def save(seed):
        try:
            made(seed).save(tmp_path / "saved")
        except FileExistsError as error:
            return str(error)
        return seed

    with ThreadPoolExecutor(8) as writers:
        told = list(writers.map(save, range(8)))
    (winner,) = [answer for answer in told if isinstance(answer, int)]
    assert all("folder must be new or empty" in answer for answer in told if answer != winner)
    assert ss.BagPredictions.load(tmp_path / "saved") == made(winner)
    assert len(os.listdir(tmp_path / "saved")) == 3


def test_a_writer_that_begins_while_another_looks_is_not_foreign(tmp_path, monkeypatch):
    """Its unfinished files come up just after living writers were looked up: both write, and the first to end wins."""
    true_remove, second = whole_files.remove_leftovers, contextlib.ExitStack()

    def begin_late(folder):
        alive = true_remove(folder)
        if not unfinished:
            begun = whole_files.replacing(folder / "steadyset.json", tidy=False, keep=True)
            unfinished.append(second.enter_context(begun))
            whole_files.part_of(unfinished[0], "proba.npy").write_bytes(b"half")
        return alive

    unfinished = []
    monkeypatch.setattr(whole_files, "remove_leftovers", begin_late)
    made(0).save(tmp_path / "saved")
    assert unfinished[0].exists()
    with pytest.raises(FileExistsError):
        second.close()
    assert ss.BagPredictions.load(tmp_path / "saved") == made(0)
    assert len(os.listdir(tmp_path / "saved")) == 3


def test_of_several_later_writers_one_wins(tmp_path):
    with ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda seed: made(seed).save(tmp_path / "saved", overwrite=True), range(8)))
    assert any(ss.BagPredictions.load(tmp_path / "saved") == made(seed) for seed in range(8))
    assert len(os.listdir(tmp_path / "saved")) == 3


def test_a_version_that_is_open_stays_readable(tmp_path):
    made(0).save(tmp_path / "saved")
    mapped = ss.BagPredictions.load(tmp_path / "saved", mmap=True)
    made(1).save(tmp_path / "saved", overwrite=True)
    assert mapped == made(0)
    assert ss.BagPredictions.load(tmp_path / "saved") == made(1)


def test_a_reader_that_a_writer_overtakes_reads_the_new_version(tmp_path, monkeypatch):
    """Between manifest and arrays another version comes into force: all of the new one is read."""
    made(0).save(tmp_path / "saved")
    true_open = whole_files.open_regular
    overtaken = []

    def open_late(path):
        if path.suffix == ".npy" and not overtaken:
            overtaken.append(path)
            made(1).save(tmp_path / "saved", overwrite=True)
        return true_open(path)

    monkeypatch.setattr(whole_files, "open_regular", open_late)
    assert ss.BagPredictions.load(tmp_path / "saved") == made(1)
    assert len(overtaken) == 1


def test_permissions_links_and_foreign_files_stay(tmp_path):
    folder = tmp_path / "saved"
    made(0).save(folder)
    folder.chmod(0o2750)
    (folder / "steadyset.json").chmod(0o600)
    (folder / "notes.txt").write_text("mine")
    (folder / "sub").mkdir()
    (tmp_path / "link").symlink_to("saved")
    made(1).save(tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert ss.BagPredictions.load(tmp_path / "link") == ss.BagPredictions.load(folder) == made(1)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o2750
    assert stat.S_IMODE((folder / "steadyset.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(array_file(folder, "proba").stat().st_mode) == 0o600
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "sub").is_dir()
    assert len(os.listdir(folder)) == 5


@pytest.mark.parametrize("kind", ["file", "dangling link", "loop", "below a file"])
def test_what_is_no_folder_is_refused(tmp_path, kind):
    target = tmp_path / "saved"
    if kind == "dangling link":
        target.symlink_to("nowhere")
    elif kind == "loop":
        target.symlink_to("saved")
    else:
        target.write_text("mine")
    with pytest.raises(
        FileExistsError, match="folder must be new or empty, or overwrite=True for saved BagPredictions"
    ):
        made().save(target / "deep" if kind == "below a file" else target, overwrite=True)
    assert len(os.listdir(tmp_path)) == 1


def test_a_manifest_that_leads_elsewhere_is_refused(tmp_path):
    """Its arrays would come to lie beside the file that the link leads to, and that file would change."""
    made(0).save(tmp_path / "other")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "steadyset.json").symlink_to("../other/steadyset.json")
    with pytest.raises(FileExistsError, match="folder must be new or empty"):
        made(1).save(tmp_path / "saved", overwrite=True)
    assert ss.BagPredictions.load(tmp_path / "other") == made(0)
    with pytest.raises(ValueError, match=r"folder must hold bags_bits\.npy"):
        ss.BagPredictions.load(tmp_path / "saved")


def test_reading_under_the_manifest_of_another_version_removes_nothing(tmp_path):
    made(0).save(tmp_path / "saved")
    before = (tmp_path / "saved" / "steadyset.json").read_bytes()
    made(1).save(tmp_path / "saved", overwrite=True)
    in_force = (tmp_path / "saved" / "steadyset.json").read_bytes()
    (tmp_path / "saved" / "steadyset.json").write_bytes(before)  # from a backup of this one file
    with pytest.raises(ValueError, match=r"folder must hold bags_bits\.npy; got .* without it"):
        ss.BagPredictions.load(tmp_path / "saved")
    (tmp_path / "saved" / "steadyset.json").write_bytes(in_force)
    assert ss.BagPredictions.load(tmp_path / "saved") == made(1)


def test_arrays_of_others_stay(tmp_path):
    """Names that look like those of arrays that are no longer in force, but for the check digits in them."""
    made(0).save(tmp_path / "saved")
    np.save(tmp_path / "saved" / "proba-0123456789abcdef.npy", np.arange(3))
    made(1).save(tmp_path / "saved", overwrite=True)
    assert ss.BagPredictions.load(tmp_path / "saved") == made(1)
    assert np.load(tmp_path / "saved" / "proba-0123456789abcdef.npy").tolist() == [0, 1, 2]
    assert len(os.listdir(tmp_path / "saved")) == 4


def test_a_folder_in_place_of_an_array_keeps_no_other_array(tmp_path):
    """It is somebody's, and stays; the rest of a version that is no longer in force goes."""
    made(0).save(tmp_path / "saved")
    odd = array_file(tmp_path / "saved", "bags_bits")
    odd.unlink()
    odd.mkdir()
    made(1).save(tmp_path / "saved", overwrite=True)
    assert ss.BagPredictions.load(tmp_path / "saved") == made(1)
    assert odd.is_dir()
    assert len(os.listdir(tmp_path / "saved")) == 4


def test_a_name_that_no_file_system_takes_is_a_sentence(tmp_path):
    with pytest.raises(OSError, match=r"^folder must be one that can be written; got '.*n': File name too long\.$"):
        made().save(tmp_path / ("n" * 300))
    with pytest.raises(OSError, match=r"^folder must be one that can be read; got '.*n': File name too long\.$"):
        ss.BagPredictions.load(tmp_path / ("n" * 300))


def test_another_kind_and_a_damaged_manifest_are_not_overwritten(tmp_path):
    ss.audit_bags(made(), ss.Argmax()).save(tmp_path / "audit")
    made().save(tmp_path / "saved")
    (tmp_path / "saved" / "steadyset.json").write_text("{")
    for name in ("audit", "saved"):
        before = sorted(os.listdir(tmp_path / name))
        with pytest.raises(FileExistsError, match="overwrite=True for saved BagPredictions"):
            made(1).save(tmp_path / name, overwrite=True)
        assert sorted(os.listdir(tmp_path / name)) == before


@pytest.mark.parametrize("order", ["C", "F", "strided", "float32"])
def test_arrays_of_any_layout(tmp_path, order):
    proba = made(n_points=5).proba
    layouts = {"F": np.asfortranarray(proba), "strided": np.repeat(proba, 2, axis=1)[:, ::2]}
    layouts |= {"C": proba, "float32": proba.astype(np.float32)}
    given = ss.BagPredictions(layouts[order], made().bags, "abc")
    given.save(tmp_path / "saved")
    assert np.array_equal(np.load(array_file(tmp_path / "saved", "proba")), given.proba)
    for mmap in (True, False):
        assert ss.BagPredictions.load(tmp_path / "saved", mmap=mmap) == given


def test_numbers_that_are_not_aligned_are_refused(tmp_path):
    """No writer of NumPy files shifts them, and compiled code would read them where they lie."""
    made().save(tmp_path / "saved")
    data = array_file(tmp_path / "saved", "proba").read_bytes()
    length = int.from_bytes(data[8:10], "little")
    shifted = data[:8] + (length + 3).to_bytes(2, "little") + data[10 : 9 + length] + b"   \n" + data[10 + length :]
    put_file(tmp_path / "saved", "proba", shifted)
    assert np.array_equal(np.load(array_file(tmp_path / "saved", "proba")), made().proba)
    with pytest.raises(ValueError, match=r"^proba\.npy must be a plain NumPy array file"):
        ss.BagPredictions.load(tmp_path / "saved")


def test_a_large_array_has_the_digest_of_its_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "BLOCK", 1000)
    made().save(tmp_path / "saved")
    file = array_file(tmp_path / "saved", "proba")
    data = file.read_bytes()
    blocks = [hashlib.sha256(data[start : start + 1000]).digest() for start in range(0, len(data), 1000)]
    assert len(blocks) > 3
    assert manifest_of(tmp_path / "saved")["files"]["proba"]["digest"] == hashlib.sha256(b"".join(blocks)).hexdigest()
    assert ss.BagPredictions.load(tmp_path / "saved") == made()
    first, second, rest = data[:1000], data[1000:2000], data[2000:]
    for changed in (second + first + rest, data[:-1] + bytes([data[-1] ^ 1]), data[:1500] + b"x" + data[1501:]):
        file.write_bytes(changed)
        with pytest.raises(ValueError, match=r"^proba\.npy must have the digest of its manifest"):
            ss.BagPredictions.load(tmp_path / "saved")


@pytest.mark.parametrize("depth", [100, 900, 970, 985, 1000, 100_000])
def test_brackets_without_end_are_damage(tmp_path, depth):
    made().save(tmp_path / "saved")
    manifest = tmp_path / "saved" / "steadyset.json"
    text = manifest.read_text().rstrip().removesuffix("}")
    manifest.write_text(f'{text}, "more": {"[" * depth}{"]" * depth}}}')
    with pytest.raises(ValueError, match=r"^steadyset\.json must (be a JSON object|have the digest)"):
        ss.BagPredictions.load(tmp_path / "saved")


def test_files_larger_than_memory_are_not_read(tmp_path, monkeypatch):
    """A file of holes takes no room on a disk, and would fill all memory."""
    made().save(tmp_path / "saved")
    for most, file in ((50, "steadyset.json"), (2000, "proba")):
        monkeypatch.setattr(whole_files, "physical_memory", lambda most=most: most)
        with pytest.raises(ValueError, match=rf"{file}.* must fit into the memory of {most:,} bytes; got [\d,]+\.$"):
            ss.BagPredictions.load(tmp_path / "saved", mmap=False)
