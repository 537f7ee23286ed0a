"""Coverage where the truth is known: `python experiments/coverage/simulate.py` writes simulated.json.

2,000 data sets for each line, about three minutes in all. Each line is written as soon as it is measured: `--missing`
runs those that are not recorded yet, `--only TEXT` those whose name holds the text. Other lines keep their records.
"""

import argparse
import json
import math
import warnings
from pathlib import Path

import numpy as np

import steadyset as ss
from steadyset._base.whole_files import replacing
from steadyset.audit import CoveringRun
from steadyset.trees import TreeClassifier

HERE = Path(__file__).parent
DATA_SETS, POINTS, COVERAGE = 2_000, 50, 0.9
ROWS, BAG, MOST_BAGS, SPLIT_BAGS = 100, 50, 60, 30


def features(rng, y, good):
    """Three features for each label, of which the first tells labels apart, unless the learner is to be bad."""
    x = rng.normal(size=(len(y), 3))
    if good:
        x[:, 0] += 2 * y
    return x


def drawn(rng, n, n_labels, good):
    y = rng.integers(0, n_labels, n)
    return features(rng, y, good), y


def trained(rng, trial, n_labels, good, n_bags):
    x, y = drawn(rng, ROWS + POINTS, n_labels, good)
    learner = TreeClassifier(max_depth=None if good else 1)
    model = ss.StableClassifier(
        learner, n_bags, max_samples=BAG, oob_score=True, classes=range(n_labels), random_state=trial
    )
    return model.fit(x[:ROWS], y[:ROWS]), x[ROWS:], y[ROWS:]


def split(n_labels, good, score, seed=None):
    """Calibrate trees on rows that trained nothing.

    A model serves for ten data sets, which share nothing else: the promise holds for every model by itself.
    """
    rng, covered, sizes = np.random.default_rng([n_labels, good]), [], []
    for trial in range(DATA_SETS):
        if trial % 10 == 0:
            model, _, _ = trained(rng, trial, n_labels, good, SPLIT_BAGS)
        x, y = drawn(rng, ROWS + POINTS, n_labels, good)
        proba = model.predict_proba(x)
        given = None if seed is None else seed + trial
        rule = ss.conformal_rule(y[:ROWS], proba[:ROWS], COVERAGE, score, random_state=given)
        sets = rule(proba[ROWS:])
        covered.append(sets[np.arange(POINTS), y[ROWS:]].mean())
        sizes.append(sets.sum(axis=1).mean())
    return covered, sizes


def by_class(n_labels, good):
    """The class that is covered least often; the points are spread evenly over the classes."""
    rng = np.random.default_rng([n_labels, good, 1])
    n, truth = 15 * n_labels + ROWS, np.arange(POINTS) % n_labels
    covered, sizes = np.empty((DATA_SETS, n_labels)), []
    for trial in range(DATA_SETS):
        if trial % 10 == 0:
            model, _, _ = trained(rng, trial, n_labels, good, SPLIT_BAGS)
        x, y = drawn(rng, n, n_labels, good)
        rule = ss.conformal_rule(y, model.predict_proba(x), COVERAGE, "lac", by_class=True)
        sets = rule(model.predict_proba(features(rng, truth, good)))
        held = sets[np.arange(POINTS), truth]
        covered[trial] = [held[truth == label].mean() for label in range(n_labels)]
        sizes.append(sets.sum(axis=1).mean())
    return covered[:, np.argmin(covered.mean(axis=0))], sizes


def without_a_split(n_labels, good, random_number):
    """Covering sets alone, not united: what the theorem is about. The number of bags is drawn as it asks, or fixed."""
    rng, covered, sizes = np.random.default_rng([n_labels, good, 2]), [], []
    for trial in range(DATA_SETS):
        free = 1 - BAG / (ROWS + 1)
        n_bags = max(int(rng.binomial(MOST_BAGS, free)), 2) if random_number else round(MOST_BAGS * free)
        model, x, y = trained(rng, trial, n_labels, good, n_bags)
        run = CoveringRun(model.bags_, model.oob_label_proba_, COVERAGE, 1)
        sets = run.sets(model.bag_predictions(x))
        covered.append(sets[np.arange(POINTS), y].mean())
        sizes.append(sets.sum(axis=1).mean())
    return covered, sizes


def lines():
    """Yield each line's name, what is promised, and how it is measured."""
    for n_labels in (2, 10):
        for good in (True, False):
            which = f"{n_labels} labels, {'good' if good else 'bad'} learner"
            for score in ("lac", "aps"):
                yield f"split {score}, {which}", COVERAGE, lambda s=score, k=n_labels, g=good: split(k, g, s)
            yield f"split aps randomised, {which}", COVERAGE, lambda k=n_labels, g=good: split(k, g, "aps", 1)
            yield f"split by class, worst class, {which}", COVERAGE, lambda k=n_labels, g=good: by_class(k, g)
            for drawn_number in (True, False):
                bags = "bags drawn in number" if drawn_number else "fixed number of bags"
                yield (
                    f"without a split, {bags}, {which}",
                    2 * COVERAGE - 1,
                    lambda k=n_labels, g=good, r=drawn_number: without_a_split(k, g, r),
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--missing", action="store_true")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
    path = HERE / "simulated.json"
    for name, promised, measure in lines():
        record = json.loads(path.read_text()) if path.exists() else {}
        if asked.only not in name or (asked.missing and name in record):
            continue
        covered, sizes = measure()
        error = float(np.std(covered) / math.sqrt(len(covered)))
        mean = float(np.mean(covered))
        found = {
            "promised": promised,
            "coverage": mean,
            "standard_error": error,
            "size": float(np.mean(sizes)),
            "data_sets": len(covered),
            "holds": mean >= promised - 3 * error,
        }
        record[name] = found
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n")
        print(name, found, flush=True)


if __name__ == "__main__":
    main()
