"""The benchmarks name their level, and hold their rivals to it."""

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import levels

from steadyset import _native

ROOT = Path(__file__).parents[1]
TELL = (
    "from benchmarks import levels; from steadyset import _native; "
    "levels.check(); print(_native.isa(), *levels.numpy_features())"
)


def test_the_best_level_and_avx2_are_measured():
    best = _native.isa_levels()[-1]
    assert levels.measured() == ([best, "avx2"] if best == "avx512" else [best])


@pytest.mark.skipif("avx2" not in _native.isa_levels(), reason="this CPU has no avx2")
def test_numpy_is_held_to_avx2():
    command = [sys.executable, "-W", "error", "-c", TELL]
    environment = levels.environment("avx2")
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    level, *features = done.stdout.split()
    assert level == "avx2"
    assert not [name for name in features if "AVX512" in name or name == "X86_V4"]
    assert {"X86_V3", "AVX2"} & set(features)


def test_a_numpy_that_uses_more_is_refused(monkeypatch):
    monkeypatch.setattr(_native, "isa", lambda: "avx2")
    monkeypatch.setattr(levels, "numpy_features", lambda: ["X86_V3", "X86_V4", "AVX512_ICL"])
    with pytest.raises(RuntimeError, match=r"^NumPy must be held to AVX2 here; it uses X86_V4, AVX512_ICL\.$"):
        levels.check()
