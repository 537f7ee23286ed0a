"""Output files that are whole or not there, and the cache."""

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path


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
        raise _retold(error, words) from None


def is_special(path: Path) -> bool:
    """Return whether the path is a pipe or a device, which is written to and never replaced."""
    return path.exists() and not stat.S_ISREG(path.stat().st_mode)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the same folder that becomes `path` if all goes well, and nothing otherwise."""
    target = Path(path)
    if is_special(target):
        yield target
        return
    target = _real(target)
    temporary = target.with_name(f".writing-{secrets.token_hex(8)}{target.suffix}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # the umask is the system's to apply
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _retold(error, f"{os.fspath(path)!r} could not be written: {reason(error)}.") from error
        raise


@contextlib.contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Give a new folder beside `target` that takes its place if all goes well, and is removed otherwise."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield fresh
        fresh.chmod(0o755)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            os.replace(target, old)
            os.replace(fresh, target)
            shutil.rmtree(old)
        else:
            os.replace(fresh, target)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def write_once(path: Path, text: str) -> str:
    """Write the text unless the file is there; return what the file says, which is what the first writer wrote."""
    if not path.exists():
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        with contextlib.suppress(FileExistsError):  # of two writers at once, the first to link has written the file
            os.link(temporary, path)
        os.unlink(temporary)
    return path.read_text()


def cache_folder() -> Path:
    """Return the folder for what can be made or fetched again: STEADYSET_CACHE, or the user's cache."""
    chosen = os.environ.get("STEADYSET_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steadyset"


def reason(error: OSError) -> str:
    """Return why an operation failed, without the name of a temporary file."""
    return os.strerror(error.errno) if error.errno else str(error).rstrip(".")


def _real(target: Path) -> Path:
    return Path(os.path.realpath(target))  # the file behind a link, so that the link stays


def _retold(error: OSError, words: str) -> OSError:
    """Return an error of the same kind and number that says these words."""
    told = type(error)(words)
    told.errno = error.errno
    return told
