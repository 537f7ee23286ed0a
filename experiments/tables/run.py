"""How many features should a tree of the default learner look at? Measured on real tables, written to this folder.

    python experiments/tables/run.py [--only TABLE]

Five tables are from the R package mlbench (Debian: r-cran-mlbench), three come with scikit-learn. For each table, each
choice of max_features and each of 5 splits: half of the rows train (at most 6,000), at most 2,000 others test, and
500 bags are fitted. Written are the means over the splits of
- accuracy, of the most probable label, with half bags and with bags of a tenth of the rows;
- set size, of the inflated argmax at epsilon 0.05;
- instability: the share of training rows that turn the set of a point into a disjoint one when left out, at the worst
  of 200 test points, by reuse of the bags;
- CPU seconds of the fit.

Beside that, trees of ours against scikit-learn's on the same bags: the mean difference of their accuracy over 20 splits
of 10 bags each, and its standard error.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset import _native
from steadyset._base.whole_files import replacing
from steadyset.trees import TreeClassifier

HERE = Path(__file__).parent
MLBENCH = {
    "LetterRecognition": "lettr",
    "Satellite": "classes",
    "Vehicle": "Class",
    "DNA": "Class",
    "Soybean": "Class",
}
OWN = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer}
CHOICES = {"None": None, "1/2": 0.5, "1/3": 1 / 3, "sqrt": "sqrt", "log2": "log2"}
SPLITS, BAGS, EPSILON = 5, 500, 0.05
R_PROGRAM = (
    'library(mlbench); data({0}); write.csv({0}, "{1}", row.names=FALSE); '
    "cat(names({0})[sapply({0}, is.factor)], sep='\\n')"
)


def table(name):
    """Return X and y; factors of R are categories."""
    if name in OWN:
        return pd.DataFrame(OWN[name]().data).add_prefix("x"), OWN[name]().target
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        said = subprocess.run(
            ["Rscript", "-e", R_PROGRAM.format(name, path)], check=True, capture_output=True, text=True
        )
        factors = said.stdout.split("\n")
        head = pd.read_csv(path, nrows=0).columns
        frame = pd.read_csv(path, dtype={column: "str" for column in head if column in factors}, na_values=["NA"])
    target = MLBENCH[name]
    frame = frame.dropna(subset=[target]).reset_index(drop=True)
    X = frame.drop(columns=target)
    for column in X.columns.intersection(factors):
        X[column] = X[column].astype("category")
    return X, frame[target].astype(str).to_numpy()


def split(X, y, seed):
    return train_test_split(X, y, train_size=min(6000, len(X) // 2), random_state=seed)


def measured(X, y, max_features, seed):
    """Return the figures of one split."""
    X_train, X_test, y_train, y_test = split(X, y, seed)
    points, labels = X_test[:2000], y_test[:2000]
    model = ss.StableClassifier(TreeClassifier(max_features=max_features), BAGS, epsilon=EPSILON, random_state=seed)
    start = time.process_time()
    model.fit(X_train, y_train)
    seconds = time.process_time() - start
    proba = model.predict_proba(points)
    instability = model.audit(X_test[:200]).instability
    small = ss.StableClassifier(TreeClassifier(max_features=max_features), BAGS, max_samples=0.1, random_state=seed)
    return {
        "accuracy": float(np.mean(model.classes_[proba.argmax(axis=1)] == labels)),
        "accuracy_small_bags": float(small.fit(X_train, y_train).score(points, labels)),
        "set_size": float(model.rule_(proba).sum(axis=1).mean()),
        "worst_instability": float(instability.max()),
        "cpu_seconds": seconds,
    }


def against_scikit_learn(X, y, splits=20, bags=10):
    """Return the mean difference in accuracy of trees from scikit-learn's, and its standard error."""
    X = X.to_numpy(np.float32)
    differences = []
    for seed in range(splits):
        X_train, X_test, y_train, y_test = split(X, y, seed)
        rng = np.random.default_rng(seed)
        rows = [rng.permutation(len(X_train))[: len(X_train) // 2] for _ in range(bags)]
        (group,) = TreeClassifier().fit_bags(X_train, y_train, rows, range(bags))
        for bag, member in enumerate(group.members()):
            theirs = DecisionTreeClassifier(random_state=bag).fit(X_train[rows[bag]], y_train[rows[bag]])
            differences.append(member.score(X_test, y_test) - theirs.score(X_test, y_test))
    means = np.mean(np.reshape(differences, (splits, bags)), axis=1)
    return {"mean": float(np.mean(means)), "error": float(np.std(means, ddof=1) / np.sqrt(splits))}


def of_table(name):
    """Return what is measured on one table."""
    X, y = table(name)
    numbers = all(isinstance(kind, np.dtype) and kind.kind in "iuf" for kind in X.dtypes)
    found = {"rows": len(X), "features": X.shape[1], "labels": len(set(y)), "max_features": {}}
    for label, choice in CHOICES.items():
        splits = [measured(X, y, choice, seed) for seed in range(SPLITS)]
        found["max_features"][label] = {key: float(np.mean([each[key] for each in splits])) for key in splits[0]}
        print(name, label, {k: round(v, 4) for k, v in found["max_features"][label].items()}, flush=True)
    found["against_scikit_learn"] = against_scikit_learn(X, y) if numbers else None
    print(name, "less scikit-learn's:", found["against_scikit_learn"], flush=True)
    return found


def page(results):
    """Return the results as a page."""
    lines = [
        "# max_features of the default tree",
        "",
        f"`python experiments/tables/run.py` made this: {BAGS} bags, epsilon {EPSILON:g}, means over {SPLITS} splits.",
        "*Small bags* hold a tenth of the training rows, the others half. *Instability* is the share of training rows",
        "that contradict the set of a point when left out, at the worst of 200 test points.",
        "",
        "| table | rows, features, labels | max_features | accuracy | small bags | set size | instability | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in results.items():
        about = f"{found['rows']:,}, {found['features']}, {found['labels']}"
        for label, row in found["max_features"].items():
            lines.append(
                f"| {name} | {about} | {label} | {row['accuracy']:.4f} | {row['accuracy_small_bags']:.4f} | "
                f"{row['set_size']:.3f} | {row['worst_instability']:.4f} | {row['cpu_seconds']:.2f} |"
            )
    lines += [
        "",
        *_over_tables(results),
        "",
        "Trees against scikit-learn's on the same bags, difference in accuracy:",
        "",
    ]
    for name, found in results.items():
        if (both := found["against_scikit_learn"]) is not None:
            lines.append(f"- {name}: {both['mean']:+.4f}, standard error {both['error']:.4f}")
    return "\n".join(lines) + "\n"


def _over_tables(results):
    keys = ("accuracy", "accuracy_small_bags", "set_size", "worst_instability", "cpu_seconds")
    lines = [
        "| mean over the tables | accuracy | small bags | set size | instability | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for label in CHOICES:
        a, s, size, worst, cpu = (np.mean([f["max_features"][label][key] for f in results.values()]) for key in keys)
        lines.append(f"| {label} | {a:.4f} | {s:.4f} | {size:.3f} | {worst:.4f} | {cpu:.2f} |")
    return lines


def main():
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", choices=[*MLBENCH, *OWN], help="measure one table; keep the others' records")
    only = arguments.parse_args().only
    path = HERE / "results.json"
    results = json.loads(path.read_text())["tables"] if path.exists() else {}
    for name in [*MLBENCH, *OWN] if only is None else [only]:
        results[name] = of_table(name)
        ordered = {each: results[each] for each in [*MLBENCH, *OWN] if each in results}
        about = {"splits": SPLITS, "bags": BAGS, "epsilon": EPSILON, "level": _native.isa(), "tables": ordered}
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(about, indent=1) + "\n")
        with replacing(HERE / "results.md") as temporary:
            temporary.write_text(page(ordered))


if __name__ == "__main__":
    main()
