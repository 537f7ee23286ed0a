"""Run every benchmark, or those named, at the best level and at AVX2: ``python -m benchmarks [selection ...]``."""

import pkgutil
import subprocess
import sys

import benchmarks
from benchmarks import levels
from benchmarks.harness import processor

ONE_TABLE = """
import importlib, sys
from benchmarks import levels
levels.check()
sys.exit(0 if importlib.import_module(f"benchmarks.bench_{sys.argv[1]}").main() else 1)
"""


def main() -> int:
    known = sorted(
        m.name.removeprefix("bench_") for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")
    )
    wanted = sys.argv[1:] or known
    if unknown := set(wanted) - set(known):
        print(f"benchmarks must be among {', '.join(known)}; got {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    print(f"{processor()}: {' and '.join(levels.measured())}", flush=True)
    codes = [
        subprocess.run([sys.executable, "-c", ONE_TABLE, name], env=levels.environment(level), check=False).returncode
        for name in wanted
        for level in levels.measured()
    ]
    return max(map(abs, codes))


if __name__ == "__main__":
    sys.exit(main())
