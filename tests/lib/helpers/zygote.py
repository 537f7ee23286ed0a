"""Real processes that do not import everything anew: one process imports and forks the others.

It reads one line of JSON per process to start, and answers with the process id and then with the exit code.
"""

import atexit
import gc
import importlib
import json
import os
import resource
import runpy
import subprocess
import sys
import threading
import traceback
import warnings

COMMAND_LINE = ("pandas", "pyarrow.csv", "pyarrow.parquet", "skops.io", "steadyset.cli", "steadyset.__main__")
PROGRAMS = (
    "matplotlib.pyplot",
    "pandas",
    "skops.io",
    "sklearn.datasets",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.pipeline",
    "steadyset.lanes",
    "steadyset.reporting",
    "steadyset.cli",
    "steadyset.__main__",
)


class Zygote:
    """Forks processes that have these modules imported; `options` are Python's own."""

    def __init__(self, folder, imports=COMMAND_LINE, options=(), env=None):
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, *options, __file__, *imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )

    def start(self, *arguments, cwd, stdin=b"", largest_file=None, program=None):
        """Start a command, or a program; give its id and a function that waits for (exit code, stdout, stderr)."""
        files = {name: str(self._folder / name) for name in ("stdin", "stdout", "stderr")}
        (self._folder / "stdin").write_bytes(stdin)
        order = {
            "arguments": [str(a) for a in arguments],
            "cwd": str(cwd),
            "files": files,
            "largest_file": largest_file,
            "program": program and str(program),
        }
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())

        def wait():
            code = int(self._process.stdout.readline())
            return code, *((self._folder / name).read_text() for name in ("stdout", "stderr"))

        return pid, wait

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def serve(imports):
    for name in imports:
        importlib.import_module(name)
    gc.freeze()  # what is imported stays shared with the forked processes
    for line in sys.stdin:
        order = json.loads(line)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside the threads of a numeric library
            pid = os.fork()
        if pid == 0:
            _become(order)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(order):
    os.setsid()  # a group of its own, to which Ctrl-C goes
    os.chdir(order["cwd"])
    for number, (name, flags) in enumerate({"stdin": os.O_RDONLY, "stdout": 0o1101, "stderr": 0o1101}.items()):
        handle = os.open(order["files"][name], flags, 0o600)
        os.dup2(handle, number)
    if order["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest_file"], order["largest_file"]))
    if order["program"] is not None:
        _run(order["program"], order["arguments"])
    from steadyset.__main__ import main

    sys.argv = ["steadyset", *order["arguments"]]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(program, arguments):
    """Run a file as `python file` does; at the end threads are joined and exit functions called, as Python does."""
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(program)
    code = 0
    try:
        runpy.run_path(program, run_name="__main__")
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1:])
