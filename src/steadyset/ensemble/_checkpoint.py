"""Checkpoints: every finished group is written at once, and found again by the same call.

A file ends with a digest of its content, of its bags and of the fit: a damaged file, or one of other bags, is trained
again and never read. Groups of fitted estimators are joblib files, which run code when they are read: a checkpoint
folder is trusted input. Predictions are plain arrays.
"""

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from steadyset._base import digests, validation, whole_files

_FORMAT = "checkpoint format 2"  # another one has other fingerprints
_RUN = re.compile(r"bags-(\d{1,18})-(\d{1,18})", re.ASCII)
_LIST = re.compile(r"bags-\d{1,18}(_\d{1,18})*", re.ASCII)
_LONG = re.compile(r"bags-list-[0-9a-f]{32}", re.ASCII)  # the file begins with the numbers, which make no file name
_LONGEST = 200
_OURS = re.compile(r"bags-[\w-]+\.(joblib|npy)", re.ASCII)
_AFTER = "after"  # names the fit that a refit began from


def fingerprint(*parts: Any) -> str:
    """Return a short name for data and configuration: the same for the same, another for anything else."""
    return str(joblib.hash((_FORMAT, *parts)))


def open_folder(checkpoint: Any, name: str) -> Path:
    """Return the subfolder of this fingerprint, made where it is missing, after a trial write.

    What killed writers left in it is removed.
    """
    folder = Path(checkpoint) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"checkpoint must be a folder that can be written; got {os.fspath(checkpoint)!r}: {error}."
        ) from error
    whole_files.remove_leftovers(folder)
    return folder


def write(folder: Path, numbers: tuple[int, ...], kept: Any) -> None:
    """Write a group in one step: a file is whole or not there, whatever interrupts."""
    content = io.BytesIO()
    if isinstance(kept, np.ndarray):
        np.save(content, kept, allow_pickle=False)
    else:
        joblib.dump(kept, content)
    path = folder / _name(numbers, kept)
    if _LONG.fullmatch(path.stem):
        content = io.BytesIO(_first_line(numbers) + content.getvalue())
    try:
        with whole_files.replacing(path, tidy=False) as temporary:  # a look around each time would take too long
            temporary.write_bytes(digests.sealed(content.getvalue(), _about(path)))
    except OSError as error:
        raise OSError(f"checkpoint must have room for bag {numbers[0]}; got: {whole_files.reason(error)}.") from error


def finished(
    folder: Path, wanted: Collection[int], *, shape: tuple[int, int] | None
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield (bag numbers, group) for the groups that an earlier call finished, where all of their bags are wanted.

    With a shape (points, classes), groups are the predictions of each of their bags.
    """
    left = set(wanted)
    for path in sorted(folder.glob("bags-*.joblib" if shape is None else "bags-*.npy")):
        is_long = _LONG.fullmatch(path.stem) is not None
        numbers = () if is_long else _numbers(path.stem, len(left))
        if not is_long and not left.issuperset(numbers or (None,)):
            continue
        try:
            content = digests.unsealed(whole_files.content_of(path), _about(path))
            if is_long:
                line, content = content.split(b"\n", 1)
                numbers = tuple(map(int, line.split()))
                if not left.issuperset(numbers):
                    continue
            kept = joblib.load(io.BytesIO(content)) if shape is None else _predictions(content, numbers, shape)
            if shape is None and tuple(kept.numbers) != numbers:
                raise digests.DamagedError("it holds other bags than its name says")
        except Exception:  # not ours, or damaged from outside: it is trained again
            continue
        left.difference_update(numbers)
        yield numbers, kept


def _predictions(content: bytes, numbers: tuple[int, ...], shape: tuple[int, int]) -> Any:
    proba = np.load(io.BytesIO(content), allow_pickle=False)
    validation.member_probabilities(proba, (len(numbers), *shape), numbers)
    return proba


def _about(path: Path) -> str:
    """Return what a file's digest binds it to: its fit and its bags."""
    return f"{path.parent.name}/{path.name}"


def _name(numbers: tuple[int, ...], kept: Any) -> str:
    ending = "npy" if isinstance(kept, np.ndarray) else "joblib"
    first, last = numbers[0], numbers[-1]
    if numbers == tuple(range(first, last + 1)):
        return f"bags-{first:07}-{last:07}.{ending}"
    stem = f"bags-{'_'.join(map(str, numbers))}"
    if len(stem) > _LONGEST:
        stem = f"bags-list-{digests.digest(_first_line(numbers))[:32]}"
    return f"{stem}.{ending}"


def _first_line(numbers: tuple[int, ...]) -> bytes:
    return " ".join(map(str, numbers)).encode() + b"\n"


def _numbers(name: str, most: int) -> tuple[int, ...]:
    """Return the bag numbers that a name stands for; none where there are more than `most`, or it is not ours."""
    if (run := _RUN.fullmatch(name)) is not None:
        first, last = int(run[1]), int(run[2])
        return tuple(range(first, last + 1)) if last - first < most else ()
    return tuple(map(int, name.removeprefix("bags-").split("_"))) if _LIST.fullmatch(name) else ()


def kept_seed(checkpoint: Any, name: str, fresh: int) -> int:
    """Return the seed that a fit with random_state=None uses in this checkpoint: the first call's."""
    path = open_folder(checkpoint, f"seed-{name}") / "seed"
    text = whole_files.write_once(path, digests.sealed(str(fresh).encode(), _about(path)))
    try:
        return int(digests.unsealed(text, _about(path)))
    except ValueError:
        raise digests.DamagedError(
            f"checkpoint must hold the seed of its fit; got the damaged file {os.fspath(path)!r}: remove it to begin "
            "again with another seed."
        ) from None


def begin_after(checkpoint: Any, name: str, before: str) -> None:
    """Note in the folder of a refit which fit it began from: what is left of it goes when another refit is done."""
    whole_files.write_once(open_folder(checkpoint, name) / _AFTER, before.encode())


def forget(checkpoint: Any, before: str, now: str) -> None:
    """Remove the bags of a fit, and of refits of it that were never finished, now that there is a new one."""
    for folder in Path(checkpoint).iterdir():
        if folder.name != now and (folder.name == before or _began_after(folder, before)):
            for path in folder.iterdir():
                if _OURS.fullmatch(path.name) or path.name == _AFTER:
                    path.unlink(missing_ok=True)
            whole_files.remove_leftovers(folder)
            with contextlib.suppress(OSError):  # somebody keeps other files there
                folder.rmdir()


def _began_after(folder: Path, before: str) -> bool:
    try:
        return whole_files.content_of(folder / _AFTER) == before.encode()
    except OSError:
        return False
