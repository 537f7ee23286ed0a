"""What a promise of at most 5 in 100 costs: `python experiments/promise/run.py` writes results.json and results.md.

Every data set is fitted three times: one learner on all rows, 500 bags of half of them, and 500 bags with delta=0.05.
Satellite and LetterRecognition come with the R package mlbench (Debian: r-cran-mlbench), Fashion-MNIST as in
`steadyset reproduce fashion-mnist`. `--only NAME` runs one data set and keeps the others' records, `--variant` one of
its two ensembles; `--learner sklearn` takes scikit-learn's tree for the tables in place of this library's.
"""

import argparse
import csv
import json
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset import _native, lanes, metrics, trees
from steadyset._base.whole_files import replacing

HERE = Path(__file__).parent
BAGS, EPSILON, DELTA, POINTS, SEED = 500, 0.1, 0.05, 1000, 0
VARIANTS = {"half": None, "promised": DELTA}  # the delta of each
R_PROGRAM = 'library(mlbench); data({0}); write.csv({0}, "{1}", row.names=FALSE)'


def mlbench(name, target):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        subprocess.run(["Rscript", "-e", R_PROGRAM.format(name, path)], check=True, capture_output=True)
        with path.open(newline="") as file:
            head, *rows = csv.reader(file)
    place = head.index(target)
    X = np.array([[float(value) for j, value in enumerate(row) if j != place] for row in rows])
    return X, np.array([row[place] for row in rows])


def tables():
    return {
        "Satellite": lambda: split(*mlbench("Satellite", "classes")),
        "LetterRecognition": lambda: split(*mlbench("LetterRecognition", "lettr")),
        "digits": lambda: split(*load_digits(return_X_y=True)),
        "breast cancer": lambda: split(*load_breast_cancer(return_X_y=True)),
        "Fashion-MNIST": fashion_mnist,
    }


def split(X, y):
    return train_test_split(X, y, test_size=0.25, random_state=SEED, stratify=y)


def fashion_mnist():
    from steadyset.paper.fashion_mnist import load_images

    images = load_images()
    small = [
        x.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4), dtype=np.float32) / 255 for x in (images.X_train, images.X_test)
    ]
    X, X_test = (np.ascontiguousarray(x.reshape(len(x), -1)) for x in small)
    return X, X_test, images.y_train, images.y_test


def learner_of(name, kind):
    if name == "Fashion-MNIST":
        return lanes.NetClassifier(
            [lanes.Linear(32), lanes.ReLU(), lanes.Linear()],
            epochs=2,
            batch_size=16,
            learning_rate=0.01,
            random_state=0,
        )
    return trees.TreeClassifier(random_state=0) if kind == "tree" else DecisionTreeClassifier(random_state=0)


def measured(name, kind, n_jobs, variants, before):
    X, X_test, y, y_test = tables()[name]()
    learner = learner_of(name, kind)
    started = time.process_time()
    alone = clone(learner).fit(X, y)
    found = {
        **before,
        "n_rows": len(X),
        "n_classes": len(np.unique(y)),
        "n_test": len(X_test),
        "learner": " ".join(repr(learner).split()),
        "one": {
            "accuracy": float(np.mean(alone.predict(X_test) == y_test)),
            "cpu_seconds": time.process_time() - started,
        },
    }
    for variant in variants:
        found[variant] = ensemble(learner, VARIANTS[variant], (X, X_test, y, y_test), n_jobs)
        print(name, variant, found[variant], flush=True)
    return found


def ensemble(learner, delta, data, n_jobs):
    X, X_test, y, y_test = data
    started = time.process_time()
    model = ss.StableClassifier(learner, BAGS, epsilon=EPSILON, delta=delta, random_state=SEED, n_jobs=n_jobs).fit(X, y)
    seconds = time.process_time() - started
    proba, guarantee = model.predict_proba(X_test), model.guarantee()
    sets = model.rule_(proba)
    some = np.sort(np.random.default_rng(SEED).permutation(len(X_test))[:POINTS])
    audit, certificates = model.audit(X_test[some]), model.certify(X_test[some]).overview
    classes = model.classes_
    return {
        "guarantee": guarantee.delta,
        "theorem": guarantee.theorem,
        "bag_size": model.bag_size_,
        "accuracy": float(np.mean(classes[np.argmax(proba, axis=1)] == y_test)),
        "correct_single": float(metrics.correct_single_score(y_test, sets, classes=classes)),
        "set_size": float(metrics.mean_set_size(sets)),
        "points_audited": len(some),
        "max_instability": audit.max_instability,
        "mean_instability": float(audit.instability.mean()),
        "argmax_max_instability": float(audit.at(0.0).max()),
        "certified_no_row": certificates.no_row,
        "cleared_points": certificates.cleared_points,
        "cpu_seconds": seconds,
    }


def page(results):
    lines = [
        "# What a promise costs",
        "",
        f"`python experiments/promise/run.py` made this: {BAGS} bags, epsilon {EPSILON:g}, of half of the rows",
        f"and with `delta={DELTA:g}`; one learner on all rows beside them. Accuracy is that of the most probable label",
        "on the test rows; *observed* is the largest and the mean share of training rows that contradict one of up",
        f"to {POINTS:,} test points when left out, *certified* the share of these points that no row can contradict:",
        "with 95% confidence in the limit (Theorem 4) / for certain, against refits (Theorem 6). The images of",
        "Fashion-MNIST are halved to 14 x 14 pixels.",
        "",
        "| data | rows, labels | bags | promise | rows per bag | accuracy | one learner | set size | "
        "observed, largest | mean | certified | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in results.items():
        for variant, words in (("half", "half of the rows"), ("promised", "delta = 0.05")):
            if (v := found.get(variant)) is None:  # not run yet
                continue
            lines.append(
                f"| {name} | {found['n_rows']:,}, {found['n_classes']} | {words} | {v['guarantee']:.3f} | "
                f"{v['bag_size']:,} | {v['accuracy']:.3f} | {found['one']['accuracy']:.3f} | {v['set_size']:.3f} | "
                f"{v['max_instability']:.5f} | {v['mean_instability']:.6f} | {v['certified_no_row']:.2f} / "
                f"{v['cleared_points']:.2f} | {v['cpu_seconds']:.1f} |"
            )
    both = {name: f for name, f in results.items() if set(VARIANTS) <= f.keys()}
    near = [name for name, f in both.items() if f["half"]["accuracy"] - f["promised"]["accuracy"] <= 0.02]
    vain = [name for name, f in results.items() if "promised" in f and f["promised"]["guarantee"] > DELTA]
    lines += ["", f"Promise above {DELTA:g}: {', '.join(vain) or 'none'}."]
    lines += ["", f"Accuracy within 0.02 of half bags: {', '.join(near)}.", ""]
    learners = {found["learner"]: None for found in results.values()}
    lines += ["Learners: " + "; ".join(f"`{learner}`" for learner in learners) + ".", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=list(tables()))
    parser.add_argument("--learner", choices=["tree", "sklearn"], default="tree")
    parser.add_argument("--variant", choices=list(VARIANTS))
    parser.add_argument("--n-jobs", type=int, default=-1)
    given = parser.parse_args()
    record = HERE / "results.json"
    results = json.loads(record.read_text())["data"] if record.exists() and given.only else {}
    for name in [given.only] if given.only else tables():
        variants = [given.variant] if given.variant else list(VARIANTS)
        results[name] = measured(name, given.learner, given.n_jobs, variants, results.get(name, {}))
        ordered = {known: results[known] for known in tables() if known in results}
        kept = {"machine": platform.machine(), "isa": _native.isa(), "data": results}
        for path, text in ((record, json.dumps(kept, indent=1) + "\n"), (HERE / "results.md", page(ordered))):
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
