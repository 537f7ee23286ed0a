"""Model files that were damaged or made by somebody hostile, read in a process of their own.

Run as a program it makes one file after the other from a seed, reads each and predicts with what it gets, and prints
one line per file before and after: a process that dies leaves the line of the file that killed it.
"""

import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

DIGEST = "steadyset.sha256"
EXTREMES = [-(10**9), -(10**8), -3, -2, -1, 0, 1, 2, 7, 255, 256, 10**6, 2**30 - 1, 2**31 - 1, 2**31, 2**62]
WORDS = ["euclidean", "precomputed", "poly", "", "x" * 40, "MT19937", "PCG64", "\ud800", "position"]
CALLS = [("os", "mkdir"), ("os", "system"), ("builtins", "eval"), ("builtins", "exec"), ("subprocess", "Popen")]
TYPES = [
    ("sklearn.tree._tree", "Tree"),
    ("sklearn.svm._classes", "SVC"),
    ("sklearn.neighbors._kd_tree", "KDTree"),
    ("sklearn.ensemble._forest", "RandomForestClassifier"),
    ("numpy.random.mtrand", "RandomState"),
    ("steadyset.bags._bags", "Bags"),
    *CALLS,
]
LOADERS = ["ObjectNode", "FunctionNode", "TypeNode", "MethodNode", "TreeNode", "PartialNode", "DictNode", "CachedNode"]
LOADERS += ["OperatorFuncNode", "ConstructorFromReduceNode", "SparseMatrixNode", "RandomGeneratorNode", "BytesNode"]


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def archive_of(members, sealed):
    """Return a zip file with right checksums; sealed: with the right digest too."""
    from steadyset.tables._model_files._archive import digest

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(name, digest(members) if sealed and name == DIGEST else content)
    return buffer.getvalue()


def flipped(content, rng, n=1):
    changed = bytearray(content)
    for _ in range(n):
        if changed:
            changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def arrays(members):
    return [name for name in members if name.endswith(".npy")]


def crafted_array(content, rng):
    """Return an .npy file with one entry, one shape or one dtype changed."""
    array = np.load(io.BytesIO(content), allow_pickle=False).copy()
    kind = rng.integers(6)
    if kind == 0 and array.ndim:
        array = array[: rng.integers(len(array) + 1)]
    elif kind == 1 and array.ndim:
        array = np.concatenate([array, array])
    elif kind == 2:
        array = array.ravel()
    elif kind == 3 and array.dtype.names is None and array.dtype.kind in "iufb":
        array = array.astype(rng.choice(["i1", "u4", "f4", "f8", "i8", ">i8", "c16"]))
    elif array.size:
        target = array
        if array.dtype.names is not None:
            target = array[str(rng.choice(array.dtype.names))]
        if target.dtype.kind in "iufb":
            extreme = EXTREMES[rng.integers(len(EXTREMES))] if rng.integers(4) else float(rng.choice([np.nan, np.inf]))
            with np.errstate(all="ignore"):
                target.flat[rng.integers(target.size)] = np.float64(extreme).astype(target.dtype)
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def nodes_of(value):
    """Return every node of a schema."""
    found = []
    if isinstance(value, dict):
        found += [value] if "__loader__" in value else []
        for part in value.values():
            found += nodes_of(part)
    elif isinstance(value, list):
        for part in value:
            found += nodes_of(part)
    return found


def crafted_schema(content, rng):
    """Return a schema with one node changed: a value, an attribute, a type, a loader, an identity, or nesting."""
    schema = json.loads(content)
    nodes = nodes_of(schema)
    node = nodes[rng.integers(len(nodes))]
    other = nodes[rng.integers(len(nodes))]
    kind = rng.integers(9)
    if kind <= 2:  # values
        plain = [n for n in nodes if n["__loader__"] == "JsonNode"]
        value = EXTREMES[rng.integers(len(EXTREMES))] if rng.integers(2) else str(rng.choice(WORDS[:-2]))
        plain[rng.integers(len(plain))]["content"] = json.dumps([value, None, True][rng.choice(3, p=[0.8, 0.1, 0.1])])
    elif kind <= 4:  # attributes
        dicts = [n for n in nodes if n["__loader__"] == "DictNode" and n["content"]]
        holder = dicts[rng.integers(len(dicts))]["content"]
        name = str(rng.choice(list(holder)))
        if kind == 3:
            del holder[name]
        else:
            holder[name] = json.loads(json.dumps(other))  # which may hold this very place
    elif kind == 5:
        node["__module__"], node["__class__"] = TYPES[rng.integers(len(TYPES))]
        if rng.integers(2):
            node["__loader__"] = str(rng.choice(LOADERS))
    elif kind == 6:
        node["__loader__"] = str(rng.choice(LOADERS))
    elif kind == 7:
        node["__id__"] = other.get("__id__", 1)
    else:
        files = [n for n in nodes if "file" in n]
        if files:
            files[rng.integers(len(files))]["file"] = files[rng.integers(len(files))]["file"]
    return json.dumps(schema).encode()


#: How a file is changed, and how often in the long trials.
WAYS = {
    "flip": 0.12,
    "flip-raw": 0.08,
    "cut": 0.05,
    "swap": 0.05,
    "drop": 0.03,
    "flip-sealed": 0.17,
    "array-sealed": 0.25,
    "schema-sealed": 0.25,
}


def mutated(data, rng, way):
    """Return a file that was changed in one way."""
    members = members_of(data)
    names = [name for name in members if name != DIGEST]
    if way == "flip-raw":
        return flipped(data, rng, int(rng.integers(1, 4)))
    if way == "cut":
        return data[: rng.integers(len(data))]
    if way == "swap":
        one, two = rng.choice(names, 2, replace=False)
        members[one], members[two] = members[two], members[one]
    elif way == "drop":
        del members[str(rng.choice(names))]
    elif way == "array-sealed":
        name = str(rng.choice(arrays(members)))
        members[name] = crafted_array(members[name], rng)
    elif way == "schema-sealed":
        members["schema.json"] = crafted_schema(members["schema.json"], rng)
    else:
        name = str(rng.choice(names)) if rng.integers(3) else "schema.json"
        members[name] = flipped(members[name], rng)
    return archive_of(members, way.endswith("sealed"))


def outcome(path, way, expected, points):
    """Read one file and say what came of it."""
    from steadyset.tables import load_model

    try:
        model = load_model(path)
    except ValueError as error:
        text = str(error)
        return "refused" if "\n" not in text and text.endswith(".") else f"WRONG words {text!r}"
    except Exception as error:
        return f"WRONG error {error!r}"
    try:
        proba = model.classifier.predict_proba(points)
        model.classifier.predict_set(points)
        if hasattr(model.classifier, "oob_label_proba_"):
            model.classifier.predict_covering_set(points)
    except (ValueError, ArithmeticError) as error:
        return "no prediction" if way.endswith("sealed") else f"WRONG prediction {error!r}"
    except Exception as error:
        return f"WRONG prediction {error!r}"
    if np.array_equal(proba, expected):
        return "equal"
    return "another model" if way.endswith("sealed") else "WRONG numbers"


FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.mkdir",
    "os.remove",
    "subprocess.Popen",
    "socket.",
)


def work(folder, seed, n):
    """Read n mutated files of all models in a folder; without n, each model's file once in every way."""
    import warnings

    from helpers import model_zoo
    from steadyset.tables import load_model

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    files = sorted(Path(folder).glob("*.skops"))
    originals = []
    for file in files:
        model = load_model(str(file))
        points = model_zoo.points(model.columns)
        originals.append((file.stem, file.read_bytes(), model.classifier.predict_proba(points), points))
    calls = []
    sys.addaudithook(lambda event, _: calls.append(event) if event.startswith(FORBIDDEN) else None)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as scratch:
        path = str(Path(scratch) / "model.skops")
        calls.clear()
        for i in range(n or len(originals) * len(WAYS)):
            name, data, expected, points = originals[i % len(originals)]
            way = str(rng.choice(list(WAYS), p=list(WAYS.values()))) if n else list(WAYS)[i // len(originals)]
            Path(path).write_bytes(mutated(data, rng, way))
            print(f"{i} {name} {way}", flush=True)
            signal.setitimer(signal.ITIMER_PROF, 60)  # of its own time: on a busy machine the clock says nothing
            came = outcome(path, way, expected, points)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if calls:
                came = f"WRONG code ran {calls}"
                calls.clear()
            print(f"={came}", flush=True)


def trial(folder, seed, n=0):
    """Run the work in a process and return how often each outcome came, by way; raise for one that is wrong."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, str(folder), str(seed), str(n)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"},
    )
    lines = done.stdout.splitlines()
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode} at {lines[-1:]}, seed {seed}: {done.stderr[-2000:]}")
    counts = Counter()
    for tried, came in zip(lines[::2], lines[1::2], strict=True):
        if came.startswith("=WRONG"):
            raise AssertionError(f"{tried}, seed {seed}: {came[1:]}")
        counts[tried.split()[2], came[1:]] += 1
    return counts


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
