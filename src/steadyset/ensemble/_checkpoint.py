"""Checkpoints: every finished group is written at once, and found again by the same call.

Groups of fitted estimators are joblib files, which run code when they are read: a checkpoint folder is trusted input.
Predictions are plain arrays.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from steadyset._base import whole_files


def fingerprint(*parts: Any) -> str:
    """Return a short name for data and configuration: the same for the same, another for anything else."""
    return str(joblib.hash(parts))


def open_folder(checkpoint: Any, name: str) -> Path:
    """Return the subfolder of this fingerprint, made where it is missing, after a trial write."""
    folder = Path(checkpoint) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"checkpoint must be a folder that can be written; got {os.fspath(checkpoint)!r}: {error}."
        ) from error
    return folder


def write(folder: Path, numbers: tuple[int, ...], kept: Any) -> None:
    """Write a group in one step: a file is whole or not there, whatever interrupts."""
    try:
        with whole_files.replacing(folder / _name(numbers, kept)) as temporary, open(temporary, "wb") as file:
            if isinstance(kept, np.ndarray):
                np.save(file, kept, allow_pickle=False)
            else:
                joblib.dump(kept, file)
    except OSError as error:
        raise OSError(f"checkpoint must have room for bag {numbers[0]}; got: {whole_files.reason(error)}.") from error


def finished(folder: Path, wanted: Iterable[int], *, arrays: bool) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield (bag numbers, group) for the groups that an earlier call finished, where all of their bags are wanted."""
    left = set(wanted)
    for path in sorted(folder.glob("bags-*.npy" if arrays else "bags-*.joblib")):
        numbers = _numbers(path)
        if not numbers or not left.issuperset(numbers):
            continue
        try:
            kept = np.load(path, allow_pickle=False) if arrays else joblib.load(path)
        except Exception:  # not ours, or damaged from outside: it is trained again
            continue
        left.difference_update(numbers)
        yield numbers, kept


def _name(numbers: tuple[int, ...], kept: Any) -> str:
    ending = "npy" if isinstance(kept, np.ndarray) else "joblib"
    first, last = numbers[0], numbers[-1]
    if numbers == tuple(range(first, last + 1)):
        return f"bags-{first:07}-{last:07}.{ending}"
    return f"bags-{'_'.join(map(str, numbers))}.{ending}"


def _numbers(path: Path) -> tuple[int, ...]:
    text = path.stem.removeprefix("bags-")
    try:
        if "-" in text:
            first, last = map(int, text.split("-"))
            return tuple(range(first, last + 1))
        return tuple(map(int, text.split("_")))
    except ValueError:
        return ()


def kept_seed(checkpoint: Any, name: str, fresh: int) -> int:
    """Return the seed that a fit with random_state=None uses in this checkpoint: the first call's."""
    return int(whole_files.write_once(open_folder(checkpoint, f"seed-{name}") / "seed", str(fresh)))
