"""Checkpoints of choices: what a bag chose is written as soon as it is known, and found again by the same call.

A file ends with a digest of its content, of its bag and of the fit: a damaged file, or one of another fit, is passed
over and its bag asked again. Files are joblib's, which run code when they are read: a checkpoint folder is trusted
input.
"""

import io
import os
import pickle
import types
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib

from steadyset._base import digests, validation, whole_files
from steadyset.ensemble import fingerprint, open_folder


@dataclass(frozen=True)
class FinishedBags:
    """The folder of one fit."""

    folder: Path

    def write(self, bag: int, chosen: Any) -> None:
        """Write what a bag chose in one step: a file is whole or not there, whatever interrupts."""
        content, path = io.BytesIO(), self._path(bag)
        joblib.dump(chosen, content)
        try:
            with whole_files.replacing(path, tidy=False) as temporary:
                temporary.write_bytes(digests.sealed(content.getvalue(), self._about(path)))
        except OSError as error:
            raise OSError(f"checkpoint must have room for bag {bag}; got: {whole_files.reason(error)}.") from error

    def read(self, n_bags: int) -> dict[int, Any]:
        """Return what the bags chose that an earlier call finished."""
        found = {}
        for bag in range(n_bags):
            path = self._path(bag)
            try:
                content = digests.unsealed(whole_files.content_of(path), self._about(path))
                found[bag] = joblib.load(io.BytesIO(content))
            except Exception:  # not there, not ours, or damaged from outside: the bag is asked again
                continue
        return found

    def _path(self, bag: int) -> Path:
        return self.folder / f"bag-{bag:07}.joblib"

    def _about(self, path: Path) -> str:
        return f"{self.folder.name}/{path.name}"


def opened(checkpoint: Any, *parts: Any) -> FinishedBags:
    """Return the folder of a fit, which is known by what its bags do and by everything that they do it with."""
    return FinishedBags(open_folder(checkpoint, named(*parts)))


def named(*parts: Any) -> str:
    """Return the name of a fit; a function counts with its code, so that one that was changed is another."""
    try:
        return fingerprint("choices", *(_content(part) for part in parts))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ValueError(
            f"checkpoint must be None where a fit cannot be told from others by its pickle; got: {error}."
        ) from error


def checked(checkpoint: Any) -> Any:
    """Check the parameter `checkpoint`."""
    if checkpoint is None or isinstance(checkpoint, str | os.PathLike):
        return checkpoint
    raise TypeError(f"checkpoint must be a folder or None; got {validation.shown(checkpoint)}.")


def _content(value: Any, inside: tuple[Any, ...] = ()) -> Any:
    """Return a form of a value in which functions are their code, their defaults and what they close over."""
    if isinstance(value, types.FunctionType):
        name = (value.__module__, value.__qualname__)
        if value in inside:  # it calls itself
            return name
        cells = [_content(cell.cell_contents, (*inside, value)) for cell in value.__closure__ or ()]
        return (*name, _code(value.__code__), value.__defaults__, value.__kwdefaults__, cells)
    if isinstance(value, partial):
        return ("partial", _content(value.func, inside), value.args, value.keywords)
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__qualname__, *(_content(getattr(value, part.name), inside) for part in fields(value)))
    if isinstance(value, tuple):
        return tuple(_content(part, inside) for part in value)
    return value


def _code(value: Any) -> Any:
    """Return what a function does, in an order that is the same in every process."""
    if isinstance(value, types.CodeType):
        return (value.co_code, value.co_names, value.co_varnames, [_code(part) for part in value.co_consts])
    return ("set", sorted(map(repr, value))) if isinstance(value, frozenset) else value
