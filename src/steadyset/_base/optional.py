"""Libraries that only some functions need."""

import importlib
from typing import Any


def require(module: str, extra: str) -> Any:
    """Import a module of an optional library, or say what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise ImportError(f"{library} is needed here; install it with `pip install steadyset[{extra}]`.") from error
