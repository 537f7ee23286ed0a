"""Files that were changed behind the library's back: every one is refused with a sentence, or reads as before.

As a program it reads lines of JSON, [what, form, folder, count, seed], and prints how many were refused and how many
equal. What was crafted, with right digests, may be another object, but it works or says in a sentence why not. Signals
end the process, and so are seen.
"""

import json
import os
import pickle
import random
import re
import resource
import shutil
import signal
import sys
import warnings
from pathlib import Path

from helpers import crafted_files
from helpers.overwrites import FORMS, LostBagError, forked

SENTENCE = re.compile(r"[^\n]*[^.\n]\.")


class Proof:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def flip(data, rng, _):
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def truncate(data, rng, _):
    del data[rng.randrange(len(data)) :]


def append(data, rng, _):
    data += rng.randbytes(rng.choice([1, 8, 4096]))


def blank(data, rng, _):
    start = rng.randrange(len(data))
    data[start : start + 512] = bytes(len(data[start : start + 512]))


def move(data, rng, _):
    start, to = rng.randrange(len(data)), rng.randrange(len(data))
    piece = data[start : start + 64]
    data[to : to + len(piece)] = piece


def number(data, rng, _):
    """Change a digit, as in a manifest or a header."""
    digits = [i for i, byte in enumerate(data[:20_000]) if 48 <= byte < 58]
    if digits:
        data[rng.choice(digits)] = rng.randrange(48, 58)


def another_file(data, rng, others):
    data[:] = rng.choice(others)


def hostile(data, rng, others):
    data[:] = pickle.dumps(Proof(PROOF))


KINDS = [flip, flip, flip, truncate, append, blank, move, number, another_file, hostile]
PROOF = None


def files_of(target):
    return sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]


def try_one(form, rng, contents, others):
    """Change a file, or swap two, read, and say what came of it."""
    for path, data in contents.items():
        path.write_bytes(data)
    if len(contents) > 1 and rng.random() < 0.1:
        one, two = rng.sample(list(contents), 2)
        one.write_bytes(contents[two])
        two.write_bytes(contents[one])
    else:
        path = rng.choice(list(contents))
        data = bytearray(contents[path])
        rng.choice(KINDS)(data, rng, [*contents.values(), *others])
        path.write_bytes(data)
    try:
        version = form.load()
    except LostBagError:  # a damaged checkpoint is not refused but trained again
        return "refused"
    except (ValueError, FileNotFoundError) as error:
        if SENTENCE.fullmatch(str(error)) is None:
            raise AssertionError(f"no sentence: {error}") from error
        return "refused"
    assert version == 0, "another version"
    return "equal"


def try_crafted(form, rng, contents, _):
    """Change what a file says under a right digest, read and use it, and say what came of it."""
    for path, data in contents.items():
        path.write_bytes(data)
    crafted_files.craft(form, rng)
    signal.alarm(60)
    try:
        loaded = form.read()
    except (ValueError, FileNotFoundError) as error:
        if SENTENCE.fullmatch(str(error)) is None:
            raise AssertionError(f"no sentence: {error}") from error
        return "refused"
    finally:
        signal.alarm(0)
    try:
        form.use(loaded)
    except (ValueError, ArithmeticError):
        return "unusable"
    return "equal" if any(form.same(made, loaded) for made in form.versions[:1]) else "another"


WAYS = {"mutate": try_one, "craft": try_crafted}


def mutate(what, form, count, seed):
    """Try that many changes of a saved form."""
    global PROOF
    PROOF = form.target.parent / "proof"
    rng = random.Random(seed)
    form.save(1)
    # A file of another version does not belong into a folder; by itself it would be whole and right.
    others = [path.read_bytes() for path in form.target.glob("*.npy")]
    form.save(0)
    assert form.load() == 0
    contents = {path: path.read_bytes() for path in files_of(form.target)}
    told = {"refused": 0, "equal": 0, "another": 0, "unusable": 0}
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error" if what == "mutate" else "ignore")
        for _ in range(count):
            told[WAYS[what](form, rng, contents, others)] += 1
    assert not PROOF.exists(), "code was run"
    print(json.dumps(told))


def serve():
    for line in sys.stdin:
        what, name, folder, count, seed = json.loads(line)

        def work(what=what, form=FORMS[name], folder=Path(folder), count=count, seed=seed):
            mutate(what, form(folder), count, seed)
            sys.stdout.flush()

        status = os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1])
        shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps(status), flush=True)


if __name__ == "__main__":
    serve()
