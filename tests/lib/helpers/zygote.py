"""Real processes of the command line that do not import it anew: one process imports it and forks the others.

It reads one line of JSON per process to start, and answers with the process id and then with the exit code.
"""

import json
import os
import resource
import subprocess
import sys
import traceback


class Zygote:
    def __init__(self, folder):
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, *arguments, cwd, stdin=b"", largest_file=None):
        """Start a command; give a function that waits for it and returns (exit code, stdout, stderr)."""
        files = {name: str(self._folder / name) for name in ("stdin", "stdout", "stderr")}
        (self._folder / "stdin").write_bytes(stdin)
        order = {
            "arguments": [str(a) for a in arguments],
            "cwd": str(cwd),
            "files": files,
            "largest_file": largest_file,
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


def serve():
    import pandas  # noqa: F401
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401
    import skops.io  # noqa: F401

    import steadyset.cli  # noqa: F401
    from steadyset.__main__ import main

    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(order, main)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(order, main):
    os.setsid()  # a group of its own, to which Ctrl-C goes
    os.chdir(order["cwd"])
    for number, (name, flags) in enumerate({"stdin": os.O_RDONLY, "stdout": 0o1101, "stderr": 0o1101}.items()):
        handle = os.open(order["files"][name], flags, 0o600)
        os.dup2(handle, number)
    if order["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest_file"], order["largest_file"]))
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


if __name__ == "__main__":
    serve()
