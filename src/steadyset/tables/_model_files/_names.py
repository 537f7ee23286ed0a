"""Names of attributes: a value under the name of a method would be called in its place."""

from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from steadyset.tables._model_files._plan import Made
from steadyset.tables._model_files._refusal import insist


def check_names(made: Made) -> None:
    """Refuse an object of a known type with a value where its class has a method, a property or a constant.

    A tree whose validation of rows is a function of the file's choice would read rows of any width, and bags with
    prepared answers would not be asked. Fields of dataclasses are values, whatever their defaults.
    """
    kind = _class(made.type)
    own = {field.name for field in fields(kind)} if is_dataclass(kind) else set()
    for name in made.state or ():
        insist(name in own or not hasattr(kind, name), f"a value in place of {kind.__name__}.{name}")


@cache
def _class(name: str) -> Any:
    module, _, kind = name.rpartition(".")
    return getattr(import_module(module), kind)
