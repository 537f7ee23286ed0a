"""A fuzzer of every reader of files: what the library writes, with bits flipped, bytes cut, parts swapped, or crafted.

usage: python tools/sanitize/fuzz_files.py SEED SECONDS

A reader either gives something back or raises one of the errors that users are promised. Crafted files have odd values
under right digests; what is made of them is used.
"""

import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from helpers import crafted_files, hostile_models
from steadyset import lanes, trees
from steadyset.tables import (
    Column,
    CsvFormat,
    TableModel,
    Target,
    load_model,
    open_probabilities,
    read_table,
    save_model,
)

EXPECTED = (ValueError, OSError, ArithmeticError)


def originals(folder):
    """Write one of everything; return each path with the function that reads it."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 3)), np.arange(60) % 3
    drawn = ss.draw_bags(60, 8, 0.5, seed=0, sample_ids=np.arange(60))
    values = rng.dirichlet(np.ones(3), (8, 20))
    predictions = ss.BagPredictions(values, drawn, range(3))
    predictions.save(folder / "predictions")
    ss.audit_bags(predictions, ss.InflatedArgmax(0.05)).save(folder / "audit")
    next(trees.TreeClassifier().fit_bags(X, y, [np.arange(60)] * 3, [1, 2, 3])).save(folder / "trees")
    for name, rows in (("neighbors", X), ("sparse", csr_matrix(X > 0.5, dtype=float))):
        ss.StableNeighborsClassifier(3).fit(rows, y).save(folder / name)
    table = pd.DataFrame(X, columns=list("abc"))
    fitted = ss.StableClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0).fit(table, y)
    columns = tuple(Column(name, "number") for name in "abc")
    save_model(TableModel(fitted, columns, Target("y", "integer")), str(folder / "model.skops"))
    group = next(lanes.NetClassifier(epochs=1).fit_bags(X, y, [np.arange(60)], [1]))
    group.save(folder / "group")
    frame = pd.DataFrame({"a": values[0, :, 0], "b": values[0, :, 1], "c": values[0, :, 2]})
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    np.save(folder / "t.npy", frame.to_numpy())
    np.savez(folder / "t.npz", X=frame.to_numpy(), y=np.arange(len(frame)))

    def blocks(path):
        return [block for block, _ in open_probabilities(str(path), CsvFormat()).blocks]

    def neighbors(path):
        model = ss.StableNeighborsClassifier.load(path)
        return model.predict_set(X), model.certify(X[:3])

    def predict(path):
        return load_model(str(path)).classifier.predict_proba(table)

    readers = {
        "predictions": lambda path: ss.audit_bags(ss.BagPredictions.load(path), ss.InflatedArgmax(0.05)),
        "audit": lambda path: ss.StabilityAudit.load(path).summary(),
        "trees": lambda path: trees.TreeGroup.load(path).predict_proba(X),
        "neighbors": neighbors,
        "sparse": neighbors,
        "model.skops": predict,
        "group": lambda path: lanes.LaneGroup.load(path).predict_proba(X),
        "t.csv": lambda path: (read_table(str(path)), blocks(path)),
        "t.parquet": lambda path: (read_table(str(path)), blocks(path)),
        "t.npy": blocks,
        "t.npz": lambda path: read_table(str(path)),
    }
    return {folder / name: read for name, read in readers.items()}


def damage(rng, path):
    """Change one file, or one file of a folder."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    file = files[rng.integers(len(files))]
    data = bytearray(file.read_bytes())
    way = rng.integers(5)
    if way == 0:
        data = data[: rng.integers(len(data) + 1)]
    elif way == 1 and len(files) > 1:
        data = bytearray(files[rng.integers(len(files))].read_bytes())
    elif way == 2:
        start = int(rng.integers(len(data) + 1))
        data[start : start + 8] = rng.bytes(8)
    else:
        for _ in range(rng.integers(1, 5)):
            if data:
                data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    file.write_bytes(bytes(data))


def craft(rng, path):
    """Change what a file says, under right digests; return whether it has any."""
    if path.suffix == ".skops":
        path.write_bytes(hostile_models.mutated(path.read_bytes(), rng, str(rng.choice(SEALED))))
    elif path.is_dir():
        change = crafted_files.craft_folder if (path / "steadyset.json").exists() else crafted_files.craft_tensors
        change(path, random.Random(int(rng.integers(2**32))))
    else:
        return False
    return True


SEALED = [way for way in hostile_models.WAYS if way.endswith("sealed")]


def main(seed, seconds):
    """Damage and read until the time is over."""
    rng, counts = np.random.default_rng(seed), Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        kept, work = Path(scratch) / "kept", Path(scratch) / "work"
        kept.mkdir()
        readers = list(originals(kept).items())
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            path, read = readers[rng.integers(len(readers))]
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            copy = work / path.name
            shutil.copytree(path, copy) if path.is_dir() else shutil.copy(path, copy)
            state = rng.bit_generator.state
            way = "crafted" if rng.integers(2) and craft(rng, copy) else "damaged"
            if way == "damaged":
                damage(rng, copy)
            try:
                read(copy)
                counts[path.name, f"{way} read"] += 1
            except EXPECTED:
                counts[path.name, f"{way} refused"] += 1
            except BaseException:
                print(f"seed {seed}, {path.name}, state {state}", flush=True)
                raise
    print(
        "fuzz_files:",
        sum(counts.values()),
        "files",
        {f"{name} {came}": n for (name, came), n in sorted(counts.items())},
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
