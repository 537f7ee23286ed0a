"""Output files that are whole or not there, what writers that were killed leave behind, and the cache."""

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from steadyset._base.digests import DamagedError
from steadyset._base.memory import physical_memory

_UNFINISHED = re.compile(r"\.writing-([0-9a-f]{16})(?:\.\w+)?", re.ASCII)
_PART = re.compile(r"\w+-([0-9a-f]{16})\.\w+", re.ASCII)


def check_output(path: str | os.PathLike[str], *inputs: str | os.PathLike[str], name: str = "output") -> None:
    """Refuse an output that cannot be written, or that is one of the inputs, before any work is done."""
    target = Path(path)
    for source in inputs:
        if target.exists() and os.path.exists(source) and os.path.samefile(target, source):
            raise ValueError(f"{name} must be another file than the input; got {os.fspath(path)!r}.")
    if target.is_dir():
        raise ValueError(f"{name} must be a file; got the folder {os.fspath(path)!r}.")
    if is_special(target):
        return
    folder = _real(target).parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        words = f"{name} must be a file that can be written; got {os.fspath(path)!r}: {reason(error)}."
        raise retold(error, words) from None


def is_special(path: Path) -> bool:
    """Return whether the path is a pipe or a device, which is written to and never replaced."""
    return path.exists() and not stat.S_ISREG(path.stat().st_mode)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, tidy: bool = True, keep: bool = False) -> Iterator[Path]:
    """Give a temporary path in the same folder that becomes `path` if all goes well, and nothing otherwise.

    What killed writers left in that folder is removed first, unless not `tidy`. With `keep` a file that is there by
    then is kept, and FileExistsError raised.
    """
    target = Path(path)
    if is_special(target):
        yield target
        return
    target = _real(target)
    if tidy:
        remove_leftovers(target.parent)
    with contextlib.ExitStack() as until_done:
        try:
            temporary, lock = _unfinished(target)
            until_done.callback(os.close, lock)
            until_done.callback(_drop, temporary, lock)
            yield temporary
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            if keep:
                _put_if_new(temporary, target)
            else:
                if target.exists():
                    temporary.chmod(stat.S_IMODE(target.stat().st_mode))
                os.replace(temporary, target)
        except FileExistsError:
            raise
        except OSError as error:
            raise retold(error, f"{os.fspath(path)!r} could not be written: {reason(error)}.") from error


def part_of(unfinished: Path, name: str) -> Path:
    """Return the path of another file that belongs to an unfinished one: a leftover, unless that is finished."""
    token, suffix = token_of(unfinished), Path(name).suffix
    return unfinished.with_name(f"{name.removesuffix(suffix)}-{token}{suffix}")


def token_of(path: Path) -> str | None:
    """Return the 16 hexadecimal digits by which a temporary file and its parts know each other."""
    found = _UNFINISHED.fullmatch(path.name) or _PART.fullmatch(path.name)
    return None if found is None or found[1] != _with_check(found[1][:8]) else found[1]


def _with_check(digits: str) -> str:
    """Return random digits with a check of them behind: the name of a file that others made has none."""
    return digits + hashlib.sha256(f"steadyset {digits}".encode()).hexdigest()[:8]


def remove_leftovers(folder: Path) -> set[str]:
    """Remove the temporary files of writers that no longer live, and their parts; return the tokens of the others.

    A writer holds a lock on its temporary file, which ends with its process. Where the file system has no locks,
    nothing is removed.
    """
    alive = set()
    with contextlib.suppress(OSError):  # a folder that cannot be listed keeps what is in it
        for name in os.listdir(folder):
            token = token_of(folder / name)
            if token is not None and name.startswith(".") and not _removed(folder / name):
                alive.add(token)
    return alive


def _removed(unfinished: Path) -> bool:
    """Remove a temporary file and its parts unless its writer lives; return whether it is gone."""
    try:
        file = os.open(unfinished, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _drop(unfinished, file)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def _drop(unfinished: Path, file: int) -> None:
    """Remove a temporary file, and its parts unless it was finished: then it is gone, or has a second name."""
    with contextlib.suppress(OSError):
        if _is_still(file, unfinished):
            token = token_of(unfinished)
            for name in os.listdir(unfinished.parent) if os.fstat(file).st_nlink == 1 else ():
                if not name.startswith(".") and token_of(unfinished.with_name(name)) == token:
                    unfinished.with_name(name).unlink(missing_ok=True)
            unfinished.unlink(missing_ok=True)


def _unfinished(target: Path) -> tuple[Path, int]:
    """Make a temporary file beside the target; return it with the descriptor that holds its lock."""
    ending = target.suffix if re.fullmatch(r"\.\w{1,20}", target.suffix, re.ASCII) else ""
    while True:
        temporary = target.with_name(f".writing-{_with_check(secrets.token_hex(4))}{ending}")
        # The umask is the system's to apply.
        lock = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        with contextlib.suppress(OSError):  # no locks here: then nobody takes the file for a leftover
            fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_still(lock, temporary):  # nobody took it for a leftover before it was locked
            return temporary, lock
        os.close(lock)


def _is_still(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


def _put_if_new(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)  # of two writers at once, the first to link has written the file
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK) or target.exists():
            raise
        os.replace(temporary, target)  # a file system without links


def write_once(path: Path, content: bytes) -> bytes:
    """Write the content unless the file is there; return what the file holds, which is what the first writer wrote."""
    if not path.exists():
        with contextlib.suppress(FileExistsError), replacing(path, keep=True) as temporary:
            temporary.write_bytes(content)
    return path.read_bytes()


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file to read; a pipe or a device, which could block or never end, counts as missing."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    return open(os.fspath(path), "rb", opener=lambda *_: file)  # so that it knows its name


def content_of(path: Path) -> bytes:
    """Return all of a file; one that claims more than all memory, as a file of holes may, is damaged."""
    with open_regular(path) as file:
        check_size(file)
        return file.read()


def check_size(file: io.BufferedReader) -> None:
    """Refuse to read a file that is larger than the memory of this machine."""
    size, most = os.fstat(file.fileno()).st_size, physical_memory()
    if size > most:
        raise DamagedError(f"{file.name!r} must fit into the memory of {most:,} bytes; got {size:,}.")


def settle(folder: Path) -> None:
    """Bring the names of a folder's files to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # file systems that cannot, and need not
            raise
    finally:
        os.close(handle)


def cache_folder() -> Path:
    """Return the folder for what can be made or fetched again: STEADYSET_CACHE, or the user's cache."""
    chosen = os.environ.get("STEADYSET_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steadyset"


def reason(error: OSError) -> str:
    """Return why an operation failed, without the name of a temporary file."""
    return os.strerror(error.errno) if error.errno else str(error).rstrip(".")


def _real(target: Path) -> Path:
    return Path(os.path.realpath(target))  # the file behind a link, so that the link stays


def retold(error: OSError, words: str) -> OSError:
    """Return an error of the same kind and number that says these words."""
    told = type(error)(words)
    told.errno = error.errno
    return told
