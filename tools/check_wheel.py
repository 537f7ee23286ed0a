"""Run the core tests against the installed package, from a folder that has no sources: `python tools/check_wheel.py`.

Every build of a wheel is tried with it, so it needs no more than pytest and what these tests import.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = [
    "tests/selection/test_golden.py",
    "tests/selection/test_path.py",
    "tests/bags/test_bags.py",
    "tests/audit/test_audit_exact.py",
    "tests/audit/test_theorem_6.py",
    "tests/guarantees/test_theorems.py",
    "tests/trees/test_exact.py",
    "tests/neighbors/test_search.py",
    "tests/lanes/test_groups.py",
    "tests/_base/test_released_files.py",
    "tests/_base/test_python_threads.py",
]


def main() -> int:
    """Copy the tests, say which package they meet, and run them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "tests", Path(folder) / "tests")
        shutil.copy(ROOT / "pyproject.toml", folder)
        found = subprocess.run(
            [sys.executable, "-c", "import steadyset, sys; print(steadyset.__version__, steadyset.__file__)"],
            cwd=folder, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        print(f"check_wheel: steadyset {found}", flush=True)
        if str(ROOT / "src") in found:
            raise SystemExit("check_wheel: steadyset must be installed, not read from its sources; got the sources.")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not elsewhere", *CORE]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
