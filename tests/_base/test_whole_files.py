"""The one writer of files: a file is whole or as it was, and a failure names it."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from steadyset._base import whole_files


def write(path, text="new"):
    with whole_files.replacing(path) as temporary:
        temporary.write_text(text)


def test_a_new_file_has_the_permissions_that_the_system_gives(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "a.txt")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_replaced_file_keeps_its_permissions_and_its_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "real.txt").chmod(0o604)
    (tmp_path / "link.txt").symlink_to("real.txt")
    write(tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real.txt").stat().st_mode) == 0o604


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), ValueError("bad")])
def test_what_fails_leaves_the_old_file(tmp_path, failure):
    (tmp_path / "a.txt").write_text("old")

    def fail():
        with whole_files.replacing(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise failure

    with pytest.raises(type(failure)) as caught:
        fail()
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"
    if isinstance(failure, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert str(caught.value) == f"{str(tmp_path / 'a.txt')!r} could not be written: No space left on device."


def test_a_folder_that_is_not_there_is_named_and_not_the_temporary_file(tmp_path):
    path = tmp_path / "none" / "a.txt"
    with pytest.raises(FileNotFoundError, match=r"none/a\.txt' could not be written: No such file or directory\.$"):
        write(path)
    with pytest.raises(FileNotFoundError, match=r"^output must be a file that can be written; got .*none/a\.txt'"):
        whole_files.check_output(path)


def test_an_input_and_a_folder_are_no_output(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(ValueError, match=r"^output must be another file than the input; got"):
        whole_files.check_output(tmp_path / "a.txt", tmp_path / "a.txt")
    with pytest.raises(ValueError, match=r"^output must be a file; got the folder"):
        whole_files.check_output(tmp_path)


def test_of_several_writers_the_first_one_wins(tmp_path):
    path = tmp_path / "seed"
    with ThreadPoolExecutor(8) as writers:
        read = list(writers.map(lambda k: whole_files.write_once(path, str(k).encode() * 3), range(8)))
    assert set(read) == {path.read_bytes()}
    assert path.read_bytes() in {str(k).encode() * 3 for k in range(8)}
    assert whole_files.write_once(path, b"late") == read[0]
    assert os.listdir(tmp_path) == ["seed"]


DIES = """
import os, signal, sys
from steadyset._base import whole_files
with whole_files.replacing(sys.argv[1]) as temporary:
    whole_files.part_of(temporary, "proba.npy").write_text("half")
    print("here", flush=True)
    if sys.argv[2] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.readline()
"""


@pytest.fixture
def writer(tmp_path):
    """A process that stays in the middle of a write, or dies there."""
    running = []

    def start(how):
        command = [sys.executable, "-c", DIES, str(tmp_path / "a.txt"), how]
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert running[-1].stdout.readline() == "here\n"
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(tmp_path, writer):
    foreign = [
        ".writing-abc",
        ".writing-0123456789abcdef0",
        ".writing-0123456789abcdef",
        "proba-0123456789abcdef.npy",
        "writing-0123456789abcdef",
    ]
    for name in foreign:
        (tmp_path / name).write_text("mine")
    writer("dies").wait()
    assert len(os.listdir(tmp_path)) == len(foreign) + 2
    living = writer("lives")  # which removes what the dead one left
    theirs = set(os.listdir(tmp_path)) - set(foreign)
    assert len(theirs) == 2
    assert whole_files.remove_leftovers(tmp_path) == {whole_files.token_of(tmp_path / name) for name in theirs}
    assert set(os.listdir(tmp_path)) == theirs | set(foreign)
    living.communicate("go on\n")
    assert (tmp_path / "a.txt").exists()
    assert whole_files.remove_leftovers(tmp_path) == set()


def test_without_locks_nothing_is_taken_for_a_leftover(tmp_path, writer, monkeypatch):
    writer("dies").wait()
    before = sorted(os.listdir(tmp_path))

    def flock(*_):
        raise OSError(errno.ENOLCK, "no locks")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        write(tmp_path / "b.txt")
        assert sorted(os.listdir(tmp_path)) == sorted([*before, "b.txt"])
    write(tmp_path / "b.txt")
    assert os.listdir(tmp_path) == ["b.txt"]


def test_a_first_writer_that_dies_right_after_its_link_has_written(tmp_path):
    """Its temporary file is a second name then; its parts are in force and stay."""
    with whole_files.replacing(tmp_path / "a.txt", keep=True) as temporary:
        part = whole_files.part_of(temporary, "proba.npy")
        part.write_text("whole")
    os.link(tmp_path / "a.txt", temporary)
    assert whole_files.remove_leftovers(tmp_path) == set()
    assert sorted(os.listdir(tmp_path)) == ["a.txt", part.name]


def test_a_file_system_without_links_keeps_what_is_there(tmp_path, monkeypatch):
    def link(*_):
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", link)
    assert whole_files.write_once(tmp_path / "seed", b"1") == b"1"
    assert whole_files.write_once(tmp_path / "seed", b"2") == b"1"
    assert os.listdir(tmp_path) == ["seed"]


def test_pipes_and_folders_are_not_opened_as_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError):
            whole_files.open_regular(path)
