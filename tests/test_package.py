"""The package as users meet it: imports, names, the environment variable, the command."""

import copy
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import numpy as np
import pytest

import steadyset as ss
from steadyset import selection


def run(program, **env):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )


def test_import_pulls_in_no_framework():
    done = run(
        "import contextlib, sys, sklearn.ensemble\n"
        "with contextlib.suppress(ImportError): import sklearn.callback\n"  # which loads pandas where there is one
        "before = set(sys.modules)\n"
        "import steadyset\n"
        "names = [getattr(steadyset, name) for name in steadyset.__all__]\n"
        "heavy = {'torch', 'jax', 'matplotlib', 'plotly', 'pandas', 'polars', 'cupy', 'dask'}\n"
        "frameworks = {'torch', 'jax', 'matplotlib', 'plotly'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)), sorted(frameworks & set(sys.modules)))"
    )
    assert done.stdout == "[] []\n", done.stderr


def test_import_waits_for_what_is_asked_for():
    done = run(
        "import sys, steadyset\n"
        "print(sorted({'numpy', 'scipy', 'sklearn'} & set(sys.modules)))\n"
        "print(steadyset.inflated_argmax([0.9, 0.1], 0.05), steadyset.__version__)\n"
        "print('StableClassifier' in dir(steadyset))\n"
        "print('sklearn' in sys.modules)\n"
    )
    assert done.stdout == f"[]\n[ True False] {ss.__version__}\nTrue\nFalse\n", done.stderr


def public_names():
    for name in ss.__all__:
        thing = getattr(ss, name)
        if isinstance(thing, types.ModuleType):
            yield from ((f"{name}.{inner}", getattr(thing, inner)) for inner in thing.__all__)
        yield name, thing


# Data, an abstract class, and modules, whose examples are those of their functions.
WITHOUT_EXAMPLE = {"TRUSTED_TYPES", "Rule", "lanes", "metrics", "plot", "trees", "metrics.SCORERS"}


@pytest.mark.parametrize(
    ("name", "thing"), list(public_names()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_public_name_is_documented_with_an_example(name, thing):
    if name in ("TRUSTED_TYPES", "metrics.SCORERS"):
        assert thing
        return
    assert thing.__doc__
    assert name in WITHOUT_EXAMPLE or ">>>" in thing.__doc__


def test_rules_are_frozen_equal_by_value_and_printable():
    for rule in (
        ss.Argmax(),
        ss.InflatedArgmax(0.1),
        ss.FixedMargin(),
        ss.TopK(3),
        ss.InflatedTopK(3, 0.1),
        ss.MassThreshold(),
        ss.NDC(),
        ss.SVBOP((2, 1)),
    ):
        assert pickle.loads(pickle.dumps(rule)) == rule == copy.deepcopy(rule)
        assert eval(repr(rule), vars(ss)) == rule
        assert hash(rule) == hash(copy.deepcopy(rule))
        for field in vars(rule):
            with pytest.raises(AttributeError):
                setattr(rule, field, 0.5)
    assert ss.InflatedArgmax(0.1) != ss.FixedMargin(0.1)


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_the_environment_picks_the_instruction_set(level):
    from steadyset import _native

    if level not in _native.isa_levels():
        pytest.skip(f"this CPU has no {level}")
    done = run("from steadyset import _native; print(_native.isa())", STEADYSET_ISA=level)
    assert done.stdout == f"{level}\n", done.stderr


def test_an_unknown_instruction_set_is_an_error_with_a_sentence():
    done = run("import steadyset; steadyset.inflated_argmax", STEADYSET_ISA="sse9")
    assert done.returncode != 0
    assert "STEADYSET_ISA must be one of baseline" in done.stderr
    assert "got 'sse9'" in done.stderr


def test_labels_of_any_kind_come_back():
    mask = np.array([[True, False, True], [False, True, False]])
    assert ss.to_labels(mask, np.array(["a", "b", "c"])) == [("a", "c"), ("b",)]
    assert ss.to_labels(mask, [True, None, 3.5]) == [(True, 3.5), (None,)]
    assert ss.to_labels(mask[0], range(3)) == [(0, 2)]
    assert ss.to_labels(np.zeros((0, 3), bool), "abc") == []
    assert ss.to_labels(mask[None], "abc") == [("a", "c"), ("b",)]


def test_what_the_source_distribution_takes_and_leaves_out_is_named_from_the_root():
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["tool"]["scikit-build"]
    # A bare "build" would leave out tools/platforms/build too, a bare "native" takes object files of build/*/native.
    assert all(pattern.startswith("/") for pattern in settings["sdist"]["exclude"] + settings["sdist"]["include"])


def test_what_skops_is_told_to_trust_is_there_and_is_all_of_it():
    for name in ss.TRUSTED_TYPES:
        module, _, kind = name.rpartition(".")
        assert hasattr(importlib.import_module(module), kind), name
    lanes, rules = ([getattr(room, name) for name in room.__all__] for room in (ss.lanes, selection))
    layers = [kind for kind in lanes if isinstance(kind, type) and kind.__module__.endswith("lanes._layers")]
    rules = [kind for kind in rules if isinstance(kind, type) and issubclass(kind, selection.Rule)]
    ours = {kind for kind in [*layers, *rules] if not inspect.isabstract(kind)}
    assert len(ours) > 15
    assert {f"{kind.__module__}.{kind.__qualname__}" for kind in ours} <= set(ss.TRUSTED_TYPES)
