"""Run every benchmark, or those named: ``python -m benchmarks [selection ...]``."""

import importlib
import pkgutil
import sys

import benchmarks


def main() -> int:
    known = sorted(
        m.name.removeprefix("bench_") for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")
    )
    wanted = sys.argv[1:] or known
    if unknown := set(wanted) - set(known):
        print(f"benchmarks must be among {', '.join(known)}; got {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    reached = [importlib.import_module(f"benchmarks.bench_{name}").main() for name in wanted]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
