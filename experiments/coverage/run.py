"""Coverage and stability beside MAPIE and crepes: `python experiments/coverage/run.py` writes compared.json.

The probabilities are the same for all: those of 300 trees in bags of a tenth of the rows. `--only NAME` runs one data
set and keeps the others' records. LetterRecognition comes with the R package mlbench (Debian: r-cran-mlbench),
Fashion-MNIST as in `steadyset reproduce fashion-mnist`. Needs `pip install mapie crepes`.
"""

import argparse
import csv
import importlib.metadata
import json
import math
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from crepes import ConformalClassifier
from mapie.classification import CrossConformalClassifier, SplitConformalClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import steadyset as ss
from steadyset._base.whole_files import replacing
from steadyset.trees import TreeClassifier

HERE = Path(__file__).parent
BAGS, SHARE, COVERAGE, EPSILON, SEED = 300, 0.1, 0.9, 0.1, 0
DROPPED, TREES, CROSS_POINTS, FOLDS = 100, 30, 100, 5
R_PROGRAM = 'library(mlbench); data(LetterRecognition); write.csv(LetterRecognition, "{0}", row.names=FALSE)'


def letters():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        subprocess.run(["Rscript", "-e", R_PROGRAM.format(path)], check=True, capture_output=True)
        with path.open(newline="") as file:
            _, *rows = csv.reader(file)
    return np.array([row[1:] for row in rows], float), np.array([row[0] for row in rows])


def fashion_mnist():
    from steadyset.paper.fashion_mnist import load_images

    images = load_images()
    X = images.X_train.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))  # four pixels to one
    return X.reshape(len(X), -1), images.y_train


#: How many rows train, calibrate and test.
DATA = {
    "digits": (lambda: load_digits(return_X_y=True), 900, 400, 497),
    "LetterRecognition": (letters, 6_000, 1_000, 1_000),
    "Fashion-MNIST": (fashion_mnist, 6_000, 1_000, 1_000),
}


class Known(ClassifierMixin, BaseEstimator):
    """A model whose probabilities are known: row i of X is the number of a row of them."""

    def __init__(self, proba, classes):
        self.proba, self.classes = proba, classes
        self.classes_ = classes

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return self.proba[np.asarray(X)[:, 0].astype(int)]

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def of_mapie(y_cal, cal, test, classes, score, **how):
    """MAPIE's sets at the same probabilities."""
    model = Known(np.concatenate([cal, test]), classes)
    rows = np.arange(len(cal) + len(test))[:, None]
    made = SplitConformalClassifier(model, COVERAGE, score, prefit=True, random_state=SEED)
    made.conformalize(rows[: len(cal)], y_cal)
    return made.predict_set(rows[len(cal) :], conformity_score_params=how or None)[1][:, :, 0]


def at_the_threshold_of_mapie(y_cal, cal, test, classes):
    """Our APS sets at MAPIE's threshold, and with the most probable of the labels that they leave out.

    MAPIE takes a random share of the true label's mass off its score when it calibrates, whatever it does at a point.
    Of labels that are equally probable it takes the last one first; ours are in or out together.
    """
    true = np.searchsorted(classes, y_cal)
    own, order = cal[np.arange(len(cal)), true], np.argsort(cal, axis=1)[:, ::-1]
    mass = np.cumsum(np.take_along_axis(cal, order, axis=1), axis=1)[order == true[:, None]]
    scores = np.sort(mass - np.random.RandomState(SEED).uniform(size=len(cal)) * own)
    threshold = float(scores[math.ceil(COVERAGE * (len(cal) + 1)) - 1])
    sets = ss.ConformalRule("aps", COVERAGE, (threshold,), (len(cal),))(test)
    one_more = sets.copy()
    one_more[np.arange(len(test)), np.where(sets, -1, test).argmax(axis=1)] = True
    return sets, one_more


def of_crepes(y_cal, cal, test, classes):
    """The sets of crepes at the same probabilities, by the hinge score, without smoothing."""
    own = cal[np.arange(len(cal)), np.searchsorted(classes, y_cal)]
    made = ConformalClassifier().fit(1 - own)
    return made.predict_set(1 - test, confidence=COVERAGE, smoothing=False).astype(bool)


def told(y, sets, classes):
    sizes = sets.sum(axis=1)
    covered = ss.metrics.coverage_score(y, sets, classes=classes)
    return {
        "coverage": float(covered),
        "standard_error": float(covered.standard_error),
        "size": float(sizes.mean()),
        "empty": int((sizes == 0).sum()),
    }


def split_sets(y_cal, y_test, cal, test, classes):
    """Ours, MAPIE's and those of crepes, and how often they are the same."""
    ours = {score: ss.conformal_rule(y_cal, cal, COVERAGE, score, classes=classes) for score in ("lac", "aps")}
    ours["aps, randomised"] = ss.conformal_rule(y_cal, cal, COVERAGE, classes=classes, random_state=SEED)
    ours["lac, by class"] = ss.conformal_rule(y_cal, cal, COVERAGE, "lac", classes=classes, by_class=True)
    made = {f"steadyset {name}": rule(test) for name, rule in ours.items()}
    made["MAPIE lac"] = of_mapie(y_cal, cal, test, classes, "lac")
    made["MAPIE aps"] = of_mapie(y_cal, cal, test, classes, "aps", include_last_label=True)
    made["MAPIE aps, randomised"] = of_mapie(y_cal, cal, test, classes, "aps", include_last_label="randomized")
    made["MAPIE aps, last label left out"] = of_mapie(y_cal, cal, test, classes, "aps", include_last_label=False)
    made["crepes hinge"] = of_crepes(y_cal, cal, test, classes)
    for score in ("lac", "aps"):
        made[f"steadyset {score} + stable"] = ss.unite(made[f"steadyset {score}"], test, EPSILON)
    made["stable alone"] = ss.inflated_argmax(test, EPSILON)
    pairs = [
        ("steadyset lac", "MAPIE lac"),
        ("steadyset lac", "crepes hinge"),
        ("steadyset aps", "MAPIE aps"),
        ("steadyset aps, randomised", "MAPIE aps, randomised"),
    ]
    alike = {f"{a} = {b}": float((made[a] == made[b]).all(axis=1).mean()) for a, b in pairs}
    sets, one_more = at_the_threshold_of_mapie(y_cal, cal, test, classes)
    ordered = np.sort(test, axis=1)
    tied = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] > 0)).any(axis=1)
    for name, mine, where in (
        ("MAPIE aps, last label left out", sets, sets.any(axis=1)),  # MAPIE leaves no such set empty
        ("MAPIE aps", one_more, np.ones(len(test), bool)),
    ):
        same = (mine == made[name]).all(axis=1)
        own = "aps at MAPIE's threshold" + (" and the next label" if mine is one_more else ", where not empty")
        alike[f"{own} = {name}"] = float(same[where].mean())
        alike[f"{own} = {name}, points without ties"] = float(same[where & ~tied].mean())
    alike["points with ties"] = float(tied.mean())
    return {"sets": {name: told(y_test, sets, classes) for name, sets in made.items()}, "same_sets": alike}


def dropped_rows(y_cal, predictions, n_test, classes):
    """Conflicts when a row is dropped: calibrated anew without each of some rows, and all rows at a fixed threshold."""
    tested = predictions.at_points(range(n_test))
    calibrating = predictions.at_points(range(n_test, predictions.n_points))
    rows = np.random.default_rng(SEED).choice(predictions.bags.n_samples, DROPPED, replace=False)
    free = np.array([~predictions.bags.holds(int(row)) for row in rows]).astype(float)
    free /= free.sum(axis=1, keepdims=True)
    models = (free @ predictions.proba.reshape(predictions.n_bags, -1)).reshape(DROPPED, predictions.n_points, -1)
    models /= models.sum(axis=2, keepdims=True)
    found = {}
    for score in ("lac", "aps"):
        rule = ss.conformal_rule(y_cal, calibrating.mean(), COVERAGE, score, classes=classes)
        own = rule(tested.mean())
        conflicts, united, gone = [], [], []
        for p in models:
            without = ss.conformal_rule(y_cal, p[n_test:], COVERAGE, score, classes=classes)(p[:n_test])
            conflicts.append(~(own & without).any(axis=1))
            both = ss.unite(own, tested.mean(), EPSILON) & ss.unite(without, p[:n_test], EPSILON)
            united.append(~both.any(axis=1))
            gone.append(~without.any(axis=1))
        measured = {
            "n_dropped": DROPPED,
            "conformal": float(np.mean(conflicts)),
            "conformal, sets not empty": float(np.mean(conflicts & own.any(axis=1) & ~np.array(gone))),
            "conformal, worst point": float(np.mean(conflicts, axis=0).max()),
            "united": float(np.mean(united)),
            "united, worst point": float(np.mean(united, axis=0).max()),
        }
        for name, audited in {"conformal": rule, "united": ss.Union(rule, ss.InflatedArgmax(EPSILON))}.items():
            audit = ss.audit_bags(tested, audited)
            measured[f"all rows, fixed threshold: {name}"] = float(np.mean(audit.instability))
            measured[f"all rows, fixed threshold: {name}, worst point"] = float(audit.max_instability)
        found[score] = measured
    return found


def one_tree(X, y, X_cal, y_cal, X_test):
    """The same for one tree, trained anew without each of some rows with the same seed: conformal sets without bags."""
    rows = np.random.default_rng(SEED).choice(len(X), TREES, replace=False)
    every = np.arange(len(X))
    bags = [every, *(np.delete(every, row) for row in rows)]
    learner = TreeClassifier(min_samples_leaf=5)
    classes, sets = np.unique(y), []
    for group in learner.fit_bags(X, np.searchsorted(classes, y), bags, [SEED] * len(bags)):
        for cal, test in zip(group.predict_proba(X_cal), group.predict_proba(X_test), strict=True):
            sets.append(ss.conformal_rule(y_cal, cal, COVERAGE, "lac", classes=classes)(test))
    conflicts = np.array([~(sets[0] & other).any(axis=1) for other in sets[1:]])
    return {
        "n_dropped": TREES,
        "conformal": float(conflicts.mean()),
        "worst point": float(conflicts.mean(axis=0).max()),
        "size": float(sets[0].sum(axis=1).mean()),
        "empty": int((~sets[0].any(axis=1)).sum()),
    }


def without_a_split(model, X, y, X_test, y_test):
    """Covering sets from the bags, beside MAPIE's cross-conformal sets of the same ensemble, trained once per fold."""
    classes = model.classes_
    started = time.process_time()
    sets = model.predict_covering_set(X_test, COVERAGE)
    ours = told(y_test, sets, classes) | {"cpu_seconds": time.process_time() - started}
    some = slice(0, CROSS_POINTS)
    few = told(y_test[some], sets[some], classes)
    learner = ss.StableClassifier(model.estimator, BAGS, max_samples=SHARE, random_state=SEED)
    rival = CrossConformalClassifier(learner, COVERAGE, "lac", cv=FOLDS, random_state=SEED)
    started = time.process_time()
    rival.fit_conformalize(X, y)
    trained = time.process_time() - started
    found = {"covering sets": ours, "covering sets, at the rival's points": few}
    for how in ("mean", "crossval"):
        started = time.process_time()
        parts = [rival.predict_set(X_test[i : i + 25], agg_scores=how)[1][:, :, 0] for i in range(0, CROSS_POINTS, 25)]
        spent = {"cpu_seconds": time.process_time() - started, "cpu_seconds_training": trained}
        found[f"MAPIE cross-conformal, {how}"] = told(y_test[some], np.concatenate(parts), classes) | spent
    return found


def measured(name):
    load, n_train, n_cal, n_test = DATA[name]
    X, y = load()
    X, rest, y, y_rest = train_test_split(X, y, train_size=n_train, random_state=SEED, stratify=y)
    X_cal, X_test, y_cal, y_test = train_test_split(
        rest, y_rest, train_size=n_cal, test_size=n_test, random_state=SEED, stratify=y_rest
    )
    started = time.process_time()
    model = ss.StableClassifier(
        TreeClassifier(max_features="sqrt"), BAGS, max_samples=SHARE, epsilon=EPSILON, oob_score=True, random_state=SEED
    ).fit(X, y)
    spent = time.process_time() - started
    classes, predictions = model.classes_, model.bag_predictions(np.concatenate([X_test, X_cal]))
    proba = predictions.mean()
    return {
        "n_train": n_train,
        "n_calibration": n_cal,
        "n_test": n_test,
        "n_classes": len(classes),
        "cpu_seconds_fit": spent,
        "guarantee": model.guarantee().delta,
        "split": split_sets(y_cal, y_test, proba[n_test:], proba[:n_test], classes),
        "dropped": dropped_rows(y_cal, predictions, n_test, classes),
        "one_tree": one_tree(X, y, X_cal, y_cal, X_test),
        "without_a_split": without_a_split(model, X, y, X_test, y_test),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=DATA)
    asked = parser.parse_args()
    path = HERE / "compared.json"
    record = json.loads(path.read_text()) if path.exists() else {"data": {}}
    versions = {name: importlib.metadata.version(name) for name in ("mapie", "crepes", "scikit-learn", "numpy")}
    setting = {"bags": BAGS, "share": SHARE, "coverage": COVERAGE, "epsilon": EPSILON, "seed": SEED}
    record |= {"setting": setting, "versions": versions}
    for name in [asked.only] if asked.only else DATA:
        record["data"][name] = measured(name)
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n")
        print(name, json.dumps(record["data"][name], indent=1), flush=True)


if __name__ == "__main__":
    main()
