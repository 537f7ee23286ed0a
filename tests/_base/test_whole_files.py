"""The one writer of files: a file is whole or as it was, and a failure names it."""

import errno
import os
import stat
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
        read = list(writers.map(lambda k: whole_files.write_once(path, str(k) * 3), range(8)))
    assert set(read) == {path.read_text()}
    assert path.read_text() in {str(k) * 3 for k in range(8)}
    assert whole_files.write_once(path, "late") == read[0]
    assert os.listdir(tmp_path) == ["seed"]
