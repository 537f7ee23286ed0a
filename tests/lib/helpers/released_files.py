"""Small files of every saved form, kept for each release, and what was read from them then.

`python tests/lib/helpers/released_files.py` writes those of this version into tests/data/released/, once per release.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import steadyset as ss
from steadyset.lanes import LaneGroup, Linear, NetClassifier, ReLU
from steadyset.tables import Column, TableModel, Target, load_model, save_model
from steadyset.trees import TreeClassifier, TreeGroup

FOLDER = Path(__file__).parents[2] / "data" / "released"
X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
POINTS = X[::5]


def _bags():
    return ss.draw_bags(len(X), 12, 20, seed=3, sample_ids=[f"iris {row}" for row in range(len(X))])


def _predictions():
    return ss.BagPredictions(np.random.default_rng(4).dirichlet(np.ones(3), (12, 4)), _bags(), ["a", "b", "c"])


class Form:
    """`write(path)`, `read(path)`, and `numbers(read)`: lists of numbers that stay the same for ever."""

    def __init__(self, write, read, numbers):
        self.write, self.read, self.numbers = write, read, numbers


def _write_model(path):
    fitted = ss.StableClassifier(n_estimators=5, epsilon=0.2, random_state=0).fit(X, NAMES)
    columns = tuple(Column(f"x{j}", "number", ()) for j in range(4))
    save_model(TableModel(fitted, columns, Target("y", "text")), str(path))


def _group(learner, X):
    (group,) = learner.fit_bags(X, NAMES, [np.arange(0, 50, 2), np.arange(1, 50, 2)], [1, 2])
    return group


FORMS = {
    "bags": Form(
        lambda path: _bags().save(path),
        ss.Bags.load,
        lambda bags: [[rows.tolist() for rows in bags], bags.sample_ids.tolist(), bags.bag_size],
    ),
    "predictions": Form(
        lambda path: _predictions().save(path),
        ss.BagPredictions.load,
        lambda found: [found.proba.tolist(), found.mean().tolist(), found.classes.tolist()],
    ),
    "audit": Form(
        lambda path: ss.audit_bags(_predictions(), ss.InflatedArgmax(0.05)).save(path),
        ss.StabilityAudit.load,
        lambda audit: [audit.instability.tolist(), audit.row_influence.tolist(), audit.rule],
    ),
    "tree": Form(
        lambda path: TreeClassifier(random_state=0).fit(X, NAMES).save(path),
        TreeClassifier.load,
        lambda tree: [tree.predict_proba(POINTS).tolist(), tree.classes_.tolist(), tree.apply(POINTS).tolist()],
    ),
    "trees": Form(
        lambda path: _group(TreeClassifier(max_features=2), X).save(path),
        TreeGroup.load,
        lambda group: [group.predict_proba(POINTS).tolist(), list(group.numbers), list(group.seeds)],
    ),
    "networks": Form(
        lambda path: _group(NetClassifier([Linear(4), ReLU(), Linear()], epochs=2), X.astype(np.float32)).save(path),
        LaneGroup.load,
        lambda group: [np.round(group.predict_proba(POINTS.astype(np.float32)).astype(float), 4).tolist()],
    ),
    "neighbors": Form(
        lambda path: ss.StableNeighborsClassifier(3, max_samples=0.2).fit(X, NAMES).save(path),
        ss.StableNeighborsClassifier.load,
        lambda model: [model.predict_proba(POINTS).tolist(), model.predict_set(POINTS).tolist()],
    ),
    "model.skops": Form(
        _write_model,
        lambda path: load_model(str(path)),
        lambda model: [
            model.classifier.predict_proba(POINTS).tolist(),
            model.classifier.predict_set(POINTS).tolist(),
            model.classifier.guarantee().delta,
        ],
    ),
}


def main() -> None:
    """Write the files of this version, and what is read from them."""
    folder = FOLDER / ss.__version__
    if folder.exists():
        sys.exit(f"{folder} is there already: files of a release never change.")
    folder.mkdir(parents=True)
    read = {}
    for name, form in FORMS.items():
        form.write(folder / name)
        read[name] = form.numbers(form.read(folder / name))
    (folder / "read.json").write_text(json.dumps(read, indent=1) + "\n")


if __name__ == "__main__":
    main()
