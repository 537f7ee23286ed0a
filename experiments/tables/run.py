"""How many features should a tree of the default learner look at? Measured on real tables, written to this folder.

Tables of R's mlbench (Debian's r-cran-mlbench) are read with PyPI's rdata:

    python experiments/tables/run.py --mlbench FOLDER [--seeds 5] [--bags 200]

where FOLDER holds LetterRecognition.rda and the others. For each table, each choice of max_features and each seed: half
of the rows train (at most 6,000), the others test. Printed and written are the means over the seeds of
- accuracy, of the most probable label;
- set size, of the inflated argmax at epsilon 0.05;
- stability: the share of training rows that turn a point's set into a disjoint one when left out, at the worst of 200
  test points, by reuse of the bags;
- seconds of the fit on one core.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset.trees import TreeClassifier

MLBENCH = {
    "LetterRecognition": "lettr",
    "Satellite": "classes",
    "Vehicle": "Class",
    "DNA": "Class",
    "Soybean": "Class",
    "Vowel": "Class",
    "Glass": "Type",
    "Ionosphere": "Class",
}
CHOICES = (None, "sqrt", "log2", 1 / 3)


def tables(folder):
    """Yield (name, X, y); factors are categories."""
    for name, load in (("digits", load_digits), ("wine", load_wine), ("breast cancer", load_breast_cancer)):
        yield name, pd.DataFrame(load().data).add_prefix("x"), load().target
    if folder is None:
        return
    import rdata

    for name, target in MLBENCH.items():
        frame = rdata.read_rda(Path(folder) / f"{name}.rda")[name]
        frame = frame.dropna(subset=[target]).reset_index(drop=True)
        yield name, frame.drop(columns=target).rename(columns=str), frame[target].astype(str).to_numpy()


def measured(X, y, max_features, seed, n_bags):
    """Return the four figures of one fit."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=min(6000, len(X) // 2), random_state=seed)
    model = ss.StableClassifier(TreeClassifier(max_features=max_features), n_bags, random_state=seed)
    start = time.process_time()
    model.fit(X_train, y_train, sample_ids="position")
    seconds = time.process_time() - start
    points = X_test[:2000]
    return {
        "accuracy": model.score(points, y_test[:2000]),
        "set size": model.predict_set(points).sum(axis=1).mean(),
        "stability": float(model.audit(X_test[:200]).instability.max()),
        "seconds": seconds,
    }


def against_scikit_learn(X, y, seeds):
    """Return the mean difference in accuracy of single trees from scikit-learn's, and its standard error."""
    if not all(kind.kind in "biuf" for kind in X.dtypes.map(np.dtype)) or X.isna().any(axis=None):
        return None
    differences = []
    for seed in range(seeds):
        X_train, X_test, y_train, y_test = train_test_split(
            X.to_numpy(np.float32), y, train_size=min(6000, len(X) // 2), random_state=seed
        )
        ours = TreeClassifier(random_state=seed).fit(X_train, y_train).score(X_test, y_test)
        differences.append(ours - DecisionTreeClassifier(random_state=seed).fit(X_train, y_train).score(X_test, y_test))
    return {"mean": float(np.mean(differences)), "error": float(np.std(differences, ddof=1) / np.sqrt(seeds))}


def main():
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mlbench", help="the folder of mlbench's .rda files")
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--bags", type=int, default=200)
    given = arguments.parse_args()
    results = {}
    for name, X, y in tables(given.mlbench):
        rows = {}
        for choice in CHOICES:
            found = [measured(X, y, choice, seed, given.bags) for seed in range(given.seeds)]
            label = f"{choice:.2f}" if isinstance(choice, float) else str(choice)
            rows[label] = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
            print(name, label, {key: round(value, 4) for key, value in rows[label].items()}, flush=True)
        trees = against_scikit_learn(X, y, 20)
        print(name, "single trees less scikit-learn's:", trees, flush=True)
        results[name] = {"rows": len(X), "features": X.shape[1], "max_features": rows, "single trees": trees}
    folder = Path(__file__).parent
    about = {"seeds": given.seeds, "bags": given.bags, "epsilon": 0.05, "tables": results}
    (folder / "results.json").write_text(json.dumps(about, indent=1) + "\n")
    (folder / "results.md").write_text(page(about))


def page(about):
    """Return the results as a page."""
    lines = [
        "# max_features of the default tree",
        "",
        f"Means over {about['seeds']} splits of each table, {about['bags']} half bags; "
        "made by `experiments/tables/run.py`.",
        "",
        "| table | max_features | accuracy | set size | worst instability | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name, table in about["tables"].items():
        for label, row in table["max_features"].items():
            figures = f"{row['accuracy']:.4f} | {row['set size']:.3f} | {row['stability']:.4f} | {row['seconds']:.2f}"
            lines.append(f"| {name} | {label} | {figures} |")
    lines += ["", "Accuracy of single trees less that of scikit-learn's, 20 splits:", ""]
    for name, table in about["tables"].items():
        if table["single trees"] is not None:
            both = table["single trees"]
            lines.append(f"- {name}: {both['mean']:+.4f}, standard error {both['error']:.4f}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
