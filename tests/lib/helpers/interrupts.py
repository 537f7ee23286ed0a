"""Ctrl-C in a real process: how long it takes to answer, and what is left of its threads."""

import signal
import subprocess
import sys
import time

ATTEMPTS = 5  # on a busy machine a process may wait for a second before it gets a core


def seconds_to_answer(program, *, after, cwd=None):
    """Run a program that prints "ready", interrupt it, and return the least time it took to say so, of up to five.

    It then prints "interrupted", the time and how many threads it has, which has to be one.
    """
    least = float("inf")
    for _ in range(ATTEMPTS):
        least = min(least, _attempt(program, after, cwd))
        if least < 1:
            break
    return least


def _attempt(program, after, cwd):
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=cwd) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(after)
            sent = time.time()
            process.send_signal(signal.SIGINT)
            answer = process.stdout.readline().split()
            assert answer[0] == "interrupted", answer
            assert int(answer[2]) == 1
            assert process.wait(timeout=10) == 0
            return float(answer[1]) - sent
        finally:
            process.kill()
