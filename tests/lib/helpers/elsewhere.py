"""Other places where the package runs: another CPU, another compiler, another architecture."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

LIB = Path(__file__).parents[1]

#: Builds of `make platforms`, and whether their CPU is emulated. It names their folder in STEADYSET_PLATFORMS and those
#: that it made in STEADYSET_BUILDS.
BUILDS = {"clang": False, "aarch64": True, "aarch64-clang": True}
NO_AVX = "x86-64 without AVX"
PLACES = (NO_AVX, *BUILDS)


@dataclass(frozen=True)
class Place:
    """A Python that has the package."""

    name: str
    command: tuple[str, ...]
    emulated: bool

    def run(self, program: str, *arguments: object) -> str:
        """Standard output of a program that can import the helpers; a failure there fails here, with its words."""
        program = f"import sys; sys.path.insert(0, {str(LIB)!r})\n{program}"
        command = [*self.command, "-c", program, *map(str, arguments)]
        # Kernels that OpenBLAS was told to use are this CPU's.
        machine = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=machine)
        assert done.returncode == 0, done.stderr
        return done.stdout


def place(name: str) -> Place:
    """The place of that name; skip where it is not there and nobody insists on it."""
    if name == NO_AVX:
        emulator = shutil.which("qemu-x86_64")
        if emulator is None and not os.environ.get("STEADYSET_REQUIRE_QEMU"):
            pytest.skip("qemu-x86_64 is not installed (Debian's qemu-user)")
        assert emulator is not None, "STEADYSET_REQUIRE_QEMU is set, and there is no qemu-x86_64"
        return Place(name, (emulator, "-cpu", "Nehalem", sys.executable), True)
    folder = os.environ.get("STEADYSET_PLATFORMS")
    if not folder:
        pytest.skip("built and run by `make platforms`")
    if name not in os.environ.get("STEADYSET_BUILDS", " ".join(BUILDS)).split():
        pytest.skip("not among BUILDS of `make platforms`")
    return Place(name, (str(Path(folder, name, "python")),), BUILDS[name])
