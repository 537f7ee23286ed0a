"""Output files that are whole or not there."""

import contextlib
import os
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
        raise OSError(f"{name} must be a file that can be written; got {os.fspath(path)!r}: {reason(error)}.") from None


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
    handle, name = tempfile.mkstemp(prefix=".writing-", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(_mode(target))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise OSError(f"{os.fspath(path)!r} could not be written: {reason(error)}.") from error
        raise


def reason(error: OSError) -> str:
    """Return why an operation failed, without the name of a temporary file."""
    return os.strerror(error.errno) if error.errno else str(error).rstrip(".")


def _real(target: Path) -> Path:
    return Path(os.path.realpath(target))  # the file behind a link, so that the link stays


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those that a new file would get."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
