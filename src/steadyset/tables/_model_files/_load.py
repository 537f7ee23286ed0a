"""From bytes to the object that they describe: checked whole first, made afterwards."""

import io
import json
import zipfile
from collections.abc import Callable, Collection
from typing import Any

from steadyset._base.optional import require
from steadyset.tables._model_files._archive import SCHEMA, Archive
from steadyset.tables._model_files._names import check_names
from steadyset.tables._model_files._plan import LOADERS, Made, everything, plan, read_schema
from steadyset.tables._model_files._refusal import RefusedError, UnknownError
from steadyset.tables._model_files._types import CHECKS, TRUSTED


def asking_types(archive: Archive) -> list[str]:
    """Return the types in a file that do not load without asking."""
    schema = read_schema(archive)
    return sorted(_asking(_rewritten(schema, archive), plan(schema, archive), refuse=False))


class AskingError(Exception):
    """The file holds types that are not checked here and that nobody has trusted; nothing was made."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self.names = sorted(names)


def load(archive: Archive, trust: Collection[str], look: Callable[[Any], None]) -> Any:
    """Return what a file holds, after all of it was looked at: `look` gets its plan and may refuse it."""
    schema = read_schema(archive)
    data, planned = _rewritten(schema, archive), plan(schema, archive)
    asking = _asking(data, planned, refuse=True) - set(trust)
    if asking:
        raise AskingError(asking)
    look(planned)
    archive.check_digest()
    return _skops().loads(data, trusted=sorted({*trust, *(made.type for made in everything(planned))}))


def _skops() -> Any:
    return require("skops.io", "persist")


def _asking(data: bytes, planned: Any, refuse: bool) -> set[str]:
    asking: set[str] = set()
    if any(made.loader not in LOADERS for made in everything(planned)):
        asking |= set(_skops().get_untrusted_types(data=data)) - set(TRUSTED)  # methods too, which are no types
    for made in everything(planned):
        check = CHECKS.get((made.loader, made.type))
        try:
            known = check is not None and _checked(made, check)
        except RefusedError:
            if refuse and not asking:
                raise
            continue
        if not known:
            asking.add(made.type)
    return asking


def _checked(made: Made, check: Any) -> bool:
    """Return whether the check knows this form of the object; refuse one that contradicts itself."""
    try:
        check(made)
        if made.loader == "ObjectNode":
            check_names(made)
    except UnknownError:
        return False
    except RefusedError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        kind = made.type.rpartition(".")[2]
        raise RefusedError(f"it holds a {kind} without the parts of one") from None
    return True


def _rewritten(schema: dict[str, Any], archive: Archive) -> bytes:
    """Return a skops file of just what was looked at: this schema, and the arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, content in archive.members.items():
            file.writestr(name, json.dumps(schema) if name == SCHEMA else content)
    return buffer.getvalue()
