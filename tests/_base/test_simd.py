"""The vectors that the kernels are written in: each operation at each level, and what machine code comes of them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.native_flags import ROOT, flags_of
from steadyset import _native

COMPILER = os.environ.get("CXX", "c++")
FLAGS = ["-std=c++17", "-O3", "-w", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]

pytestmark = pytest.mark.skipif(shutil.which(COMPILER) is None, reason="needs a C++ compiler")


def levels() -> list[str]:
    machine = os.uname().machine
    return ["baseline", "avx2", "avx512"] if machine in ("x86_64", "AMD64") else ["baseline"]


@pytest.mark.parametrize("level", levels())
def test_each_operation_is_what_a_loop_gives(level: str, tmp_path: Path) -> None:
    program = tmp_path / "simd_check"
    source = Path(__file__).with_name("simd_check.cpp")
    build = [COMPILER, *FLAGS, *flags_of(level), f"-DSTEADYSET_LEVEL={level}", f"-I{ROOT / 'native'}"]
    subprocess.run([*build, str(source), "-o", str(program)], check=True, timeout=300)
    if level not in _native.isa_levels():
        pytest.skip(f"compiled, but this CPU does not run {level}")
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout
    assert int(ran.stdout.split()[0]) > 10_000_000


def test_headers_stand_by_themselves() -> None:
    headers = [path for path in (ROOT / "native").rglob("*.hpp") if "STEADYSET_LEVEL" in path.read_text()]
    assert len(headers) > 20
    for header in headers:
        check = [COMPILER, "-std=c++17", "-fsyntax-only", "-w", "-x", "c++", f"-I{ROOT / 'native'}", str(header)]
        done = subprocess.run(check, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{header}: {done.stderr}"


def innermost_loops(disassembly: str) -> list[list[tuple[str, str]]]:
    """The instructions, with their operands, of each loop that holds no other."""
    code = []
    for line in disassembly.splitlines():
        found = re.match(r"\s+([0-9a-f]+):\t(\S+)\s*(.*)", line)
        code.append((int(found[1], 16), found[2], found[3]) if found else (-1, "", ""))
    place = {address: i for i, (address, _, _) in enumerate(code)}
    backward = []
    for last, (address, operation, operands) in enumerate(code):
        target = re.match(r"([0-9a-f]+) <", operands)
        if target and operation.startswith("j") and operation != "jmp" and int(target[1], 16) <= address:
            backward.append((place[int(target[1], 16)], last))
    inner = [
        (first, last)
        for first, last in backward
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in backward)
    ]
    return [[(operation, operands) for _, operation, operands in code[first : last + 1]] for first, last in inner]


def count(pattern: str, loop: list[tuple[str, str]]) -> int:
    return sum(bool(re.match(pattern, operation)) for operation, _ in loop)


@pytest.mark.skipif("avx2" not in levels() or shutil.which("objdump") is None, reason="needs objdump, on x86")
@pytest.mark.parametrize(("room", "at_least"), [("selection", 20), ("audit", 20), ("bags", 4)])
def test_hot_loops_compare_whole_registers(room: str, at_least: int, tmp_path: Path) -> None:
    unit = tmp_path / "unit.o"
    build = [COMPILER, *FLAGS, "-fPIC", *flags_of("avx2"), "-DSTEADYSET_LEVEL=avx2", f"-I{ROOT / 'native'}", "-c"]
    subprocess.run([*build, str(ROOT / "native" / room / "unit.cpp"), "-o", str(unit)], check=True, timeout=300)
    listed = subprocess.run(
        ["objdump", "-d", "-j", ".text", "--no-show-raw-insn", str(unit)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    wide = [loop for loop in innermost_loops(listed) if any("%ymm" in operands for _, operands in loop)]
    assert len(wide) >= at_least
    # A comparison of vectors that the compiler takes apart compares each of their 8 or 16 numbers by itself; to compare
    # integers it moves them to general registers first.
    chains = [loop for loop in wide if count(r"v?u?comis[sd]|vcmp\w*s[sd]$", loop) >= 8 or count(r"v?pextr", loop) >= 4]
    assert not chains
