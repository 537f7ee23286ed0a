"""Which compilers build the native code, and whether it is understood for systems that the tests do not run on."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.native_flags import ROOT, flags_of

#: Systems without a header of theirs here: what the hot units take from the standard library is declared below.
TARGETS = {
    "arm64-apple-macos11": ["baseline"],
    "x86_64-apple-macos11": ["baseline", "avx2", "avx512"],
    "x86_64-pc-windows-msvc": ["baseline", "avx2", "avx512"],
}
SIZES = "#include <stddef.h>\n"
HEADERS = {
    "cstdint": "#include <stdint.h>",
    "stdlib.h": SIZES
    + 'extern "C" { void *malloc(size_t), *realloc(void*, size_t); void free(void*);'
    + "void qsort(void*, size_t, size_t, int (*)(const void*, const void*)); }",
    "string.h": SIZES + 'extern "C" { void *memcpy(void*, const void*, size_t), *memset(void*, int, size_t); }',
    "utility": (
        "namespace std { template <class T, T... at> struct integer_sequence {};\n"
        "template <class T, T count> using make_integer_sequence = __make_integer_seq<integer_sequence, T, count>; }"
    ),
}
ALIGNED_MEMORY = {
    "apple": ("stdlib.h", 'extern "C" int posix_memalign(void**, size_t, size_t);'),
    "pc": ("malloc.h", SIZES + 'extern "C" { void* _aligned_malloc(size_t, size_t); void _aligned_free(void*); }'),
}


def told(compiler: str) -> subprocess.CompletedProcess[str]:
    """What the build says to a compiler."""
    command = ["cmake", f"-DCMAKE_CXX_COMPILER_ID={compiler}", "-P", str(ROOT / "native/check_compiler.cmake")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_other_compilers_are_refused_in_a_sentence() -> None:
    for compiler in ("GNU", "Clang", "AppleClang"):
        assert told(compiler).returncode == 0
    refused = told("MSVC")
    assert refused.returncode != 0
    said = " ".join(refused.stderr.split())
    assert "steadyset is compiled by GCC, Clang or clang-cl, whose vector types it is written in; got MSVC." in said


@pytest.mark.parametrize("room", ["selection", "bags", "audit", "lanes", "trees", "neighbors"])
@pytest.mark.parametrize("target", TARGETS)
def test_hot_units_are_understood_for(target: str, room: str, tmp_path: Path) -> None:
    compiler = shutil.which("clang++")
    if compiler is None and not os.environ.get("STEADYSET_REQUIRE_CLANG"):
        pytest.skip("clang++ is not installed (Debian's clang)")
    assert compiler is not None, "STEADYSET_REQUIRE_CLANG is set, and there is no clang++"
    name, text = ALIGNED_MEMORY[target.split("-")[1]]
    for header, words in {**HEADERS, name: HEADERS.get(name, "") + text}.items():
        (tmp_path / header).write_text(f"#pragma once\n{words}\n")
    for level in TARGETS[target]:
        flags = ["-std=c++17", "-O3", "-ffreestanding", "-nostdinc++", "-fno-exceptions", "-fno-rtti", *flags_of(level)]
        flags += ["-w", f"-DSTEADYSET_LEVEL={level}", f"-I{ROOT / 'native'}", f"-I{tmp_path}"]
        if "windows" in target:  # as clang-cl takes them
            flags = ["--driver-mode=cl", *(f"/clang:{flag}" for flag in flags), "/clang:-fsyntax-only"]
        else:
            flags.append("-fsyntax-only")
        source = str(ROOT / "native" / room / "unit.cpp")
        done = subprocess.run(
            [compiler, *flags, f"--target={target}", "--", source], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
