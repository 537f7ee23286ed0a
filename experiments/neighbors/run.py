"""Stable neighbours at full size: `python experiments/neighbors/run.py` writes results.json and results.md.

Each table is searched and audited at 10,000 points: digits at its own test rows, drawn again and again with noise added
(there are only 450), LetterRecognition and Fashion-MNIST at rows that are not among the training ones. Bags of half of
the rows, and bags so small that the promise is 0 for every row. LetterRecognition comes with the R package mlbench
(Debian: r-cran-mlbench), Fashion-MNIST as in `steadyset reproduce fashion-mnist`. `--only NAME` runs one table and
keeps the records of the others.
"""

import argparse
import csv
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import steadyset as ss
from steadyset import _native
from steadyset._base.whole_files import replacing

HERE = Path(__file__).parent
POINTS, NEIGHBORS, EPSILON, ROUNDS, SEED = 10_000, 5, 0.05, 3, 0
R_PROGRAM = 'library(mlbench); data(LetterRecognition); write.csv(LetterRecognition, "{}", row.names=FALSE)'


def digits():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(X))
    train, test = order[:1347], rng.choice(order[1347:], POINTS)
    return X[train], y[train], X[test] + rng.normal(size=(POINTS, X.shape[1])), y[test]


def letters():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        subprocess.run(["Rscript", "-e", R_PROGRAM.format(path)], check=True, capture_output=True)
        with path.open(newline="") as file:
            _, *rows = csv.reader(file)
    X, y = np.array([row[1:] for row in rows], float), np.array([row[0] for row in rows])
    order = np.random.default_rng(SEED).permutation(len(X))
    train, test = order[:POINTS], order[POINTS:]
    return X[train], y[train], X[test], y[test]


def fashion_mnist():
    from steadyset.paper.fashion_mnist import load_images

    data = load_images()
    X, points = (np.ascontiguousarray(x.reshape(len(x), -1), np.float32) for x in (data.X_train, data.X_test))
    return X, data.y_train, points, data.y_test


TABLES = {"digits": digits, "LetterRecognition": letters, "Fashion-MNIST": fashion_mnist}


def timed(call):
    """Return the seconds and the CPU seconds of a call, and what it returned."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    return time.perf_counter() - wall, time.process_time() - cpu, found


def best(calls, rounds):
    """Return the least seconds and the least CPU seconds of each call, made in turn, and what each returned last."""
    least, last = {}, {}
    for _ in range(rounds):
        for name, call in calls.items():
            wall, cpu, last[name] = timed(call)
            before = least.get(name, (np.inf, np.inf))
            least[name] = (min(before[0], wall), min(before[1], cpu))
    return least, last


def measured(name):
    X, y, points, truth = TABLES[name]()
    rounds = 1 if len(X) > 20_000 else ROUNDS
    found = {"n_rows": len(X), "n_columns": X.shape[1], "n_classes": len(np.unique(y)), "n_points": len(points)}
    rival = KNeighborsClassifier(NEIGHBORS, algorithm="brute")
    wall, cpu, proba = timed(lambda: rival.fit(X, y).predict_proba(points))
    found["scikit-learn"] = {"seconds": wall, "cpu_seconds": cpu, "accuracy": accuracy(rival, proba, truth)}
    for variant, options in (("half", {}), ("zero", {"delta": 0})):
        model = ss.StableNeighborsClassifier(NEIGHBORS, epsilon=EPSILON, **options)
        found[variant] = variant_of(model, (X, y, points, truth), rounds)
        print(name, variant, found[variant], flush=True)
    return found


def variant_of(model, data, rounds):
    X, y, points, truth = data
    fit = timed(lambda: model.fit(X, y))
    calls = {"search": lambda: model.predict_proba(points), "audit": lambda: model.audit(points)}
    least, last = best(calls, rounds)
    proba, audit, promise = last["search"], last["audit"], model.guarantee()
    assert audit.max_instability <= promise.delta
    return {
        "bag_size": model.bag_size_,
        "depth": len(model.weights_),
        "guarantee": promise.delta,
        "max_instability": audit.max_instability,
        "mean_instability": float(audit.instability.mean()),
        "conflicts": int(audit.n_conflicts.sum()),
        "argmax_max_instability": float(audit.at(0.0).max()),
        "accuracy": accuracy(model, proba, truth),
        "set_size": float(model.rule_(proba).sum(axis=1).mean()),
        "fit_seconds": fit[0],
        "fit_cpu_seconds": fit[1],
        "search_seconds": least["search"][0],
        "search_cpu_seconds": least["search"][1],
        "audit_seconds": least["audit"][0],
        "audit_cpu_seconds": least["audit"][1],
    }


def accuracy(model, proba, truth):
    return float(np.mean(model.classes_[proba.argmax(axis=1)] == truth))


def page(kept):
    lines = [
        "# Stable neighbours at full size",
        "",
        f"`python experiments/neighbors/run.py` made this ({kept['isa']}, {kept['threads']} threads): {NEIGHBORS} "
        f"neighbours, epsilon {EPSILON:g}, {POINTS:,} points,",
        "every training row left out at every point. *Observed* is the largest share of rows that contradict a point,",
        "*argmax* the same for the single label. Seconds of the CPU; the audit holds its own search.",
        "",
        "| data | rows, columns, labels | bags | promise | observed | argmax | accuracy | k-NN | set size | search | "
        "audit | audit / search |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in kept["data"].items():
        for variant in ("half", "zero"):
            v = found[variant]
            lines.append(
                f"| {name} | {found['n_rows']:,}, {found['n_columns']}, {found['n_classes']} | "
                f"{v['bag_size']:,} rows | "
                f"{v['guarantee']:.3g} | {v['max_instability']:.2g} | {v['argmax_max_instability']:.2g} | "
                f"{v['accuracy']:.4f} | {found['scikit-learn']['accuracy']:.4f} | {v['set_size']:.3f} | "
                f"{v['search_cpu_seconds']:.2f} | {v['audit_cpu_seconds']:.2f} | "
                f"{v['audit_cpu_seconds'] / v['search_cpu_seconds']:.2f} |"
            )
    lines += ["", "Fit and prediction beside scikit-learn's brute force (`KNeighborsClassifier`), CPU seconds:", ""]
    lines += ["| data | scikit-learn | stable, bags of half | ratio |", "|---|---|---|---|"]
    for name, found in kept["data"].items():
        own, rival = found["half"]["fit_cpu_seconds"] + found["half"]["search_cpu_seconds"], found["scikit-learn"]
        lines.append(f"| {name} | {rival['cpu_seconds']:.2f} | {own:.2f} | {own / rival['cpu_seconds']:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=list(TABLES))
    given = parser.parse_args()
    record = HERE / "results.json"
    results = json.loads(record.read_text())["data"] if record.exists() and given.only else {}
    for name in [given.only] if given.only else TABLES:
        results[name] = measured(name)
        ordered = {known: results[known] for known in TABLES if known in results}
        kept = {"isa": _native.isa(), "threads": _threads(), "data": ordered}
        for path, text in ((record, json.dumps(kept, indent=1) + "\n"), (HERE / "results.md", page(kept))):
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8")


def _threads():
    from steadyset._base import cpu

    return cpu.threads(None)


if __name__ == "__main__":
    main()
