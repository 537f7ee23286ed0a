"""StableClassifier against a bare joblib loop and scikit-learn's BaggingClassifier, two jobs each."""

import joblib
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from benchmarks import levels
from benchmarks.harness import Line, interleaved_best, report, run_python

JOBS = 2


def fit_rows(estimator, X, y, rows):
    return clone(estimator).fit(X[rows], y[rows])


def bare_fit(estimator, X, y, bags):
    return joblib.Parallel(n_jobs=JOBS)(joblib.delayed(fit_rows)(estimator, X, y, rows) for rows in bags)


def predict_one(member, X):
    return member.predict_proba(X)


def bare_predict(members, X):
    return sum(joblib.Parallel(n_jobs=JOBS)(joblib.delayed(predict_one)(m, X) for m in members)) / len(members)


def data_sets():
    X, y = load_digits(return_X_y=True)
    yield "digits", X, y, 100, 5
    X, y = make_classification(100_000, 50, n_informative=10, n_classes=3, random_state=0)
    yield "100,000 x 50", X, y, 6, 3


def bases():
    yield "trees", DecisionTreeClassifier()
    yield "logistic regression", make_pipeline(StandardScaler(), LogisticRegression())


def peak_memory(n_estimators: int, base: str) -> tuple[float, float]:
    """Peak memory of the process tree over that before the fit, less two bags' copies; and X's size, both in MB.

    Memory is PSS: a page that several processes map is shared out between them, so that the sum counts it once, files
    that are mapped and /dev/shm included. What the learner itself needs beyond its rows (a tree's float32 copy) counts.
    """
    program = f"""
import os, re, threading, time, joblib, numpy as np, steadyset as ss
from pathlib import Path
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
X, y = make_classification(100_000, 50, n_informative=10, n_classes=3, random_state=0)
def pids(root):
    found = [root]
    for task in Path(f"/proc/{{root}}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:  # a thread that has just ended
            continue
        for child in children:
            found += pids(int(child))
    return found
def pss():
    total = 0
    for pid in pids(os.getpid()):
        try:
            rollup = Path(f"/proc/{{pid}}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\\s+(\\d+)", rollup, re.M)[1]) * 1024
        except (OSError, TypeError):
            pass
    return total
base = {base}
keep = ss.StableClassifier(base, 4, random_state=0, n_jobs={JOBS}).fit(X[:500], y[:500])  # the workers are up
before, peak, stop = pss(), 0, threading.Event()
def watch():
    global peak
    while not stop.is_set():
        peak = max(peak, pss()); time.sleep(0.005)
watcher = threading.Thread(target=watch); watcher.start()
model = ss.StableClassifier(base, {n_estimators}, random_state=0, n_jobs={JOBS}).fit(X, y)
stop.set(); watcher.join()
bag = X.nbytes // 2 + y.nbytes // 2
print((peak - before - {JOBS} * bag) / 2**20, X.nbytes / 2**20)
"""
    extra, size = run_python(program).split()
    return float(extra), float(size)


def memory() -> list[Line]:
    """Peak memory by learner, and that it grows with the number of bags by the members alone."""
    tree, linear = "DecisionTreeClassifier(max_depth=4)", "LogisticRegression()"
    few, size = peak_memory(8, tree)
    many, _ = peak_memory(40, tree)
    mark = size / 4 + 50
    what = f"memory beyond two bags' copies, X of {size:.0f} MB"
    return [
        Line(f"{what}, trees", few, mark, unit="MB"),
        Line(f"{what}, logistic regression", peak_memory(8, linear)[0], mark, unit="MB"),
        # The scaler makes up to two further copies of its rows; they are the learner's own.
        Line(
            f"{what}, StandardScaler before it",
            peak_memory(8, f"make_pipeline(StandardScaler(), {linear})")[0],
            unit="MB",
        ),
        Line("growth of memory from 8 to 40 small trees", many - few, 10, unit="MB"),
    ]


def main() -> bool:
    lines = []
    for name, X, y, n_bags, rounds in data_sets():
        for kind, base in bases():
            model = ss.StableClassifier(base, n_bags, random_state=0, n_jobs=JOBS)
            rival = BaggingClassifier(base, n_bags, bootstrap=False, max_samples=0.5, n_jobs=JOBS, random_state=0)
            bags = list(ss.draw_bags(len(X), n_bags, 0.5))
            points = X[: min(len(X), 20_000)]
            members = bare_fit(base, X, y, bags)
            model.fit(X, y)
            best = interleaved_best(
                {
                    "fit": lambda m=model, X=X, y=y: m.fit(X, y),
                    "bare fit": lambda b=base, X=X, y=y, r=bags: bare_fit(b, X, y, r),
                    "sklearn fit": lambda r=rival, X=X, y=y: r.fit(X, y),
                    "predict": lambda m=model, p=points: m.predict_proba(p),
                    "bare predict": lambda m=members, p=points: bare_predict(m, p),
                    "sklearn predict": lambda r=rival, p=points: r.predict_proba(p),
                },
                rounds=rounds,
            )
            what = f"{kind}, {name}, {n_bags} bags"
            lines.append(Line(f"fit / bare joblib loop, {what}", best["fit"] / best["bare fit"], 1.05))
            mark = 1.1 if kind == "trees" else None
            lines.append(Line(f"fit / BaggingClassifier, {what}", best["fit"] / best["sklearn fit"], mark))
            lines.append(
                Line(f"predict_proba / bare joblib loop, {what}", best["predict"] / best["bare predict"], 1.05)
            )
            lines.append(
                Line(f"predict_proba / BaggingClassifier, {what}", best["predict"] / best["sklearn predict"], mark)
            )
    if levels.at_best():
        lines += memory()
    return report("ensemble", lines)
