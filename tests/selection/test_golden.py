"""The 600 exact cases, for every rule, on every implementation."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import CASES, wrong_cases
from steadyset.selection import _arrays

LIB = Path(__file__).parents[1] / "lib"


def test_there_are_600_cases():
    assert len(CASES) == 600


def test_native(isa):
    assert wrong_cases(np.asarray, np.asarray) == []


def test_array_api_on_numpy(monkeypatch):
    monkeypatch.setattr(_arrays, "is_foreign", lambda proba: True)
    assert wrong_cases(np.asarray, np.asarray) == []


def test_array_api_strict():
    xp = pytest.importorskip("array_api_strict")
    assert wrong_cases(lambda w: xp.asarray(w, dtype=xp.float64), np.asarray) == []


def test_torch():
    torch = pytest.importorskip("torch")
    assert wrong_cases(lambda w: torch.tensor(w, dtype=torch.float64), lambda mask: mask.numpy()) == []


def test_jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        assert wrong_cases(lambda w: jax.numpy.asarray(np.asarray(w)), np.asarray) == []


def test_on_an_emulated_cpu_without_avx():
    emulator = shutil.which("qemu-x86_64")
    if emulator is None and not os.environ.get("STEADYSET_REQUIRE_QEMU"):
        pytest.skip("qemu-x86_64 is not installed (Debian's qemu-user)")
    program = (
        f"import sys; sys.path.insert(0, {str(LIB)!r})\n"
        "import numpy as np\n"
        "from steadyset import _native\n"
        "assert _native.isa_levels() == ['baseline'], _native.isa_levels()\n"
        "from helpers.golden import wrong_cases\n"
        "assert wrong_cases(np.asarray, np.asarray) == []\n"
        "print('all agree')"
    )
    done = subprocess.run(
        [emulator, "-cpu", "Nehalem", sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "all agree\n", done.stderr
