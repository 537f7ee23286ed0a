"""Every public name stands in the API reference and has a docstring with an example that runs."""

import doctest
import inspect
import re
import types
from pathlib import Path

import pytest

import steadyset as ss

API = Path(__file__).parents[2] / "docs" / "api.md"
DATA = {"steadyset.TRUSTED_TYPES", "steadyset.metrics.SCORERS"}  # lists and mappings have no docstring


def public_names():
    for name in ss.__all__:
        thing = getattr(ss, name)
        if isinstance(thing, types.ModuleType):
            yield from ((f"steadyset.{name}.{inner}", getattr(thing, inner)) for inner in thing.__all__)
        else:
            yield f"steadyset.{name}", thing


def listed_names():
    module, names = None, []
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", API.read_text(), flags=re.DOTALL):
        for line in block.splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split("::")[1].strip()
            elif re.fullmatch(r"   [A-Za-z_]\w*", line):
                names.append(f"{module}.{line.strip()}")
    return names


PUBLIC = dict(public_names())


def test_the_reference_lists_every_public_name_once_and_no_other():
    listed = listed_names()
    assert len(listed) == len(set(listed))
    assert set(listed) == set(PUBLIC)


def has_example(docstring):
    return bool(doctest.DocTestParser().get_examples(docstring or ""))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_has_an_example(name):
    thing = PUBLIC[name]
    if name in DATA:
        assert thing
    else:
        assert inspect.getdoc(thing)
        assert has_example(thing.__doc__), f"{name} has no example"


def public_methods():
    for name, thing in PUBLIC.items():
        if not inspect.isclass(thing):
            continue
        for method, value in inspect.getmembers(thing):
            ours = str(getattr(value, "__module__", "")).startswith("steadyset")
            if not method.startswith("_") and callable(value) and ours and not re.fullmatch(r"set_\w+_request", method):
                yield f"{name}.{method}", value


@pytest.mark.parametrize(("name", "method"), list(public_methods()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_public_method_has_a_docstring(name, method):
    assert inspect.getdoc(method), name
