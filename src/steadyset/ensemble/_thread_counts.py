"""One thread per learner: the number of threads that a learner hands to its library overrules limits from outside."""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from sklearn.base import clone

#: What learners call their number of threads, in the order in which one is chosen.
_NAMES = ("n_jobs", "nthread", "num_threads", "thread_count")


def one_thread_each(learner: Any) -> Any:
    """Return a clone whose parts use one thread each, but for those that were given a number of threads."""
    copy = clone(learner)
    for part in (copy, *copy.get_params(deep=True).values()):
        if not hasattr(part, "set_params") or isinstance(part, type):
            continue
        kind: Any = type(part)
        defaults = _defaults(kind)
        if defaults and not _is_given(part.get_params(deep=False), defaults):
            part.set_params(**{next(name for name in _NAMES if name in defaults): 1})
    return copy


def _is_given(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    """Return whether a number of threads is another than the default; one without a default is a free parameter."""
    return any(name in values and (name not in defaults or values[name] != defaults[name]) for name in _NAMES)


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Return the defaults of the parameters for the number of threads, but for those that scikit-learn understands.

    There None is one job already, and some classes warn of any other value.
    """
    found: dict[str, Any] = {}
    of_sklearn: set[str] = set()
    for base in kind.__mro__:
        if "__init__" not in base.__dict__ or base is object:
            continue
        named = {n: p for n, p in inspect.signature(base.__dict__["__init__"]).parameters.items() if n in _NAMES}
        if base.__module__.partition(".")[0] == "sklearn":
            of_sklearn |= named.keys()
        else:
            found = {n: p.default for n, p in named.items() if p.default is not p.empty} | found
    return {name: default for name, default in found.items() if default is not None or name not in of_sklearn}
