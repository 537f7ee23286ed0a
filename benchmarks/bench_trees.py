"""Trees of many bags against scikit-learn's trees and forest, and against forests of others where they are installed.

One core each, in turn, on the same bags; the forests of others are those of `tree_rivals` that are installed.
"""

import io
import shutil
import subprocess
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from benchmarks import levels, tree_rivals
from benchmarks.harness import Line, interleaved_best, report
from steadyset.trees import TreeClassifier


def letters(n=20_000):
    """16 features of 16 values and 26 classes, as hard as LetterRecognition."""
    rng = np.random.default_rng(0)
    centers, y = rng.normal(size=(26, 16)), rng.integers(0, 26, n)
    return np.clip(np.round(centers[y] * 2.2 + rng.normal(size=(n, 16)) * 1.6 + 7), 0, 15), y


def continuous(n=50_000):
    return make_classification(n, 30, n_informative=10, n_classes=3, random_state=0)


def half_bags(n, count):
    rng = np.random.default_rng(1)
    return [np.sort(rng.choice(n, n // 2, replace=False)) for _ in range(count)]


def grow(X, y, bags, n_jobs=1, **settings):
    return list(TreeClassifier(**settings).fit_bags(X, y, bags, range(len(bags)), n_jobs=n_jobs))


def loop(X, y, bags, **settings):
    return [DecisionTreeClassifier(random_state=b, **settings).fit(X[rows], y[rows]) for b, rows in enumerate(bags)]


def fit_rivals() -> list[Line]:
    lines = []
    tables = [("half of 50,000 x 30", *continuous(), 10, 10), ("half of 20,000 x 16, 16 values", *letters(), 40, 6)]
    for name, X, y, trees, mark in tables:
        half = half_bags(len(X), trees)
        for features, wanted in ((None, mark), ("sqrt", 4.5)):
            rows = half[0]  # a forest without bootstrap on half of the rows sees as many distinct rows per tree
            few = half[:2]
            calls = {
                "ours": lambda X=X, y=y, b=half, f=features: grow(X, y, b, max_features=f),
                "sklearn": lambda X=X, y=y, b=few, f=features: loop(X, y, b, max_features=f),
            }
            rivals = {
                rival: lambda X=X, y=y, r=rows, fit=fit, f=features, t=trees: fit(X, y, r, t, f)
                for rival, fit in tree_rivals.installed()
            }
            marked = {rival: fit for rival, fit in rivals.items() if "intelex" in rival}
            best = interleaved_best(rivals, rounds=1) | interleaved_best(calls | marked, rounds=3)
            what = f"{name}, max_features={features}"
            ratio = best["sklearn"] / len(few) / (best["ours"] / trees)
            lines.append(Line(f"faster than DecisionTreeClassifier, {what}", ratio, wanted, at_least=True))
            for rival in rivals:
                bound = 1.3 if "intelex" in rival else None
                lines.append(Line(f"time / {rival}, {what}", best["ours"] / best[rival], bound))
    return lines


def small_bags() -> list[Line]:
    X, y = continuous()
    rng = np.random.default_rng(2)
    bags = [np.sort(rng.choice(len(X), 500, replace=False)) for _ in range(2000)]
    best = interleaved_best({"ours": lambda: grow(X, y, bags), "sklearn": lambda: loop(X, y, bags[:100])}, rounds=3)
    ratio = 20 * best["sklearn"] / best["ours"]
    what = "faster than DecisionTreeClassifier, 2,000 bags of 500 of 50,000 x 30"
    return [Line(what, ratio, 15, at_least=True)]


def prediction() -> list[Line]:
    """500 trees at 20,000 points, one core; the bags of scikit-learn's forest hold as many rows, drawn with repeats."""
    lines = []
    for name, (X, y) in (("16 values, 26 classes", letters(40_000)), ("30 features, 3 classes", continuous(45_000))):
        train, points = slice(0, len(X) - 20_000), X[-20_000:]
        model = ss.StableClassifier(n_estimators=500, random_state=0).fit(X[train], y[train])
        forest = RandomForestClassifier(500, max_samples=0.5, random_state=0, n_jobs=1).fit(X[train], y[train])
        few = points[:4000]
        best = interleaved_best(
            {
                "ours": lambda m=model, p=points: m.predict_proba(p),
                "forest": lambda f=forest, p=points: f.predict_proba(p),
                "bags": lambda m=model, p=few: m.bag_predictions(p),
                "loop": lambda f=forest, p=few: np.stack([tree.predict_proba(p) for tree in f.estimators_]),
            },
            rounds=5,
            warm=True,
        )
        ratio, of_bags = best["forest"] / best["ours"], best["loop"] / best["bags"]
        lines.append(Line(f"predict_proba: faster than RandomForestClassifier, {name}", ratio, 4, True))
        lines.append(Line(f"bag_predictions: faster than a loop over trees, {name}", of_bags, 4, True))
        theirs = io.BytesIO()
        joblib.dump(forest, theirs)
        with tempfile.TemporaryDirectory() as folder:
            for number, group in enumerate(model.groups_):
                group.save(Path(folder) / str(number))
            ours = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        share = ours / theirs.getbuffer().nbytes
        lines.append(Line(f"500 trees on disk / joblib's file of scikit-learn's, {name}", share, 0.25))
    return lines


def two_cores() -> list[Line]:
    """Bags enough that the last one, for which a core waits, is a small part of all."""
    lines = []
    tables = [
        ("32 half bags of 50,000 x 30", *continuous(), 32, None),
        ("500 half bags of 20,000 x 16, 16 values, max_features=sqrt", *letters(), 500, "sqrt"),
    ]
    for name, X, y, count, features in tables:
        bags = half_bags(len(X), count)
        calls = {
            str(jobs): lambda X=X, y=y, b=bags, f=features, n=jobs: grow(X, y, b, n_jobs=n, max_features=f)
            for jobs in (1, 2)
        }
        best = interleaved_best(calls, rounds=9)
        lines.append(Line(f"two cores over one, {name}", best["1"] / best["2"], 1.8, at_least=True))
    return lines


def letter_recognition() -> tuple[np.ndarray, np.ndarray]:
    """The real table, from the R package mlbench (Debian: r-cran-mlbench)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "letters.csv"
        program = f'library(mlbench); data(LetterRecognition); write.csv(LetterRecognition, "{path}", row.names=FALSE)'
        subprocess.run(["Rscript", "-e", program], check=True, capture_output=True)
        table = pd.read_csv(path)
    return table.drop(columns="lettr").to_numpy(), table["lettr"].to_numpy()


def whole_fit() -> list[Line]:
    if shutil.which("Rscript") is None:
        print("trees: without LetterRecognition, which needs R and its package mlbench (Debian: r-cran-mlbench)")
        return []
    X, y = letter_recognition()
    train, test = train_test_split(np.arange(len(X)), test_size=0.25, random_state=0)
    ours = ss.StableClassifier(random_state=0, n_jobs=2)
    forest = RandomForestClassifier(500, n_jobs=2, random_state=0)
    best = interleaved_best(
        {"ours": lambda: ours.fit(X[train], y[train]), "forest": lambda: forest.fit(X[train], y[train])}, rounds=2
    )
    gap = forest.score(X[test], y[test]) - ours.score(X[test], y[test])
    return [
        Line(
            "LetterRecognition: StableClassifier, 500 half bags / RandomForestClassifier(500), two cores",
            best["ours"] / best["forest"],
            1,
        ),
        Line("LetterRecognition: accuracy of the forest less ours", gap, 0.01, unit=""),
    ]


def main() -> bool:
    lines = fit_rivals() + small_bags() + prediction()
    if levels.at_best():
        lines += two_cores() + whole_fit()
    return report("trees", lines)
