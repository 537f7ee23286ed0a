"""Small files of every saved form, kept for each release, and what was read from them then.

`python tests/lib/helpers/released_files.py` writes the forms of this version that tests/data/released/ has not yet.
"""

import csv
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import steadyset as ss
from steadyset.lanes import LaneGroup, Linear, NetClassifier, ReLU
from steadyset.tables import Column, TableModel, Target, collect, load_model, save_model, write_bags
from steadyset.trees import TreeClassifier, TreeGroup

FOLDER = Path(__file__).parents[2] / "data" / "released"
X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
POINTS = X[::5]
#: The same flowers as a table of what tables may hold: numbers, one of them missing, texts and dates.
TABLE = {
    "length": [*X[:-1, 2].tolist(), None],
    "width": X[:, 3].tolist(),
    "size": np.where(X[:, 0] > 5.8, "large", "small").tolist(),
    "seen": [f"2026-01-{1 + row % 28:02}" for row in range(len(X))],
}


def _bags(**how):
    return ss.draw_bags(len(X), 12, 20, seed=3, sample_ids=[f"iris {row}" for row in range(len(X))], **how)


def _proba():
    return np.random.default_rng(4).dirichlet(np.ones(3), (12, 4))


def _predictions():
    return ss.BagPredictions(_proba(), _bags(), ["a", "b", "c"])


def _float32(X):
    return X.astype(np.float32)


@dataclass(frozen=True)
class Form:
    """A saved form: how to write and read it, and the numbers that stay the same for ever, within `atol`.

    `needs` are the packages that reading takes; `foreign` forms hold estimators of scikit-learn's, which are promised
    to be read by that release of it and later ones.
    """

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    numbers: Callable[[Any], list[Any]]
    needs: tuple[str, ...] = ()
    atol: float = 0.0
    foreign: bool = False


def _write_model(path):
    fitted = ss.StableClassifier(n_estimators=5, epsilon=0.2, random_state=0).fit(X, NAMES)
    columns = tuple(Column(f"x{j}", "number", ()) for j in range(4))
    save_model(TableModel(fitted, columns, Target("y", "text")), str(path))


def _group(learner, X):
    (group,) = learner.fit_bags(X, NAMES, [np.arange(0, 50, 2), np.arange(1, 50, 2)], [1, 2])
    return group


def _rows(bags):
    return [[rows.tolist() for rows in bags], bags.sample_ids if bags.ids.values is None else bags.sample_ids.tolist()]


def _bags_form(make, **how):
    return Form(lambda path: make().save(path, **how), ss.Bags.load, lambda bags: [*_rows(bags), bags.bag_size])


def _audit_form(make):
    def numbers(audit):
        return [audit.instability.tolist(), audit.row_influence.tolist(), audit.rule, audit.unit]

    return Form(lambda path: make().save(path), ss.StabilityAudit.load, numbers)


def _refit_audit():
    rule = ss.Union(ss.TopK(1), ss.InflatedArgmax(0.3))
    return ss.audit_refit(TreeClassifier(max_depth=2), X, NAMES, POINTS, rule, left_out=8, random_state=0)


def _group_audit():
    return ss.audit_groups(_predictions(), ss.MassThreshold(0.6), np.arange(len(X)) // 2)


def _write_cluster(path):
    """Write the bags of a table as `steadyset bags` does, and the part that a program would hand back."""
    path.mkdir()
    write_bags(_bags(), np.unique(NAMES), str(path / "bags"), "npz", overwrite=False)
    with np.load(path / "bags" / "bags.npz") as told:
        np.savez(path / "part.npz", bag=told["bag"], digest=told["digest"], proba=_proba(), classes=np.unique(NAMES))


def _read_cluster(path):
    return collect([str(path / "bags")], [str(path / "part.npz")])


def _predictions_numbers(found):
    return [found.proba.tolist(), found.mean().tolist(), found.classes.tolist()]


def _fit_at_the_command_line(*options):
    """Return what writes a model file as `steadyset fit` does."""

    def write(path):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "table.csv"
            with open(table, "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([*TABLE, "y"])
                writer.writerows(zip(*TABLE.values(), NAMES, strict=True))
            command = [sys.executable, "-m", "steadyset", "fit", str(table), "--output", str(path), "--epsilon", "0.2"]
            subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)

    return write


def _table_numbers(model):
    import pyarrow as pa

    found, frame = model.classifier, model.frame(pa.table(TABLE).take(list(range(4, 50, 5))))
    return [
        found.predict_proba(frame).tolist(),
        found.predict_set(frame).tolist(),
        found.guarantee().delta,
        [column.name for column in model.columns],
        model.facts["n_rows"],
    ]


def _table_form(*options, **more):
    write = _fit_at_the_command_line("--n-bags", "2", *options)
    return Form(write, lambda path: load_model(str(path)), _table_numbers, ("skops", "pandas", "pyarrow"), **more)


def _neighbors_table_form():
    write = _fit_at_the_command_line("--estimator", "neighbors", "--drop", "length", "--drop", "size", "--drop", "seen")
    return Form(write, lambda path: load_model(str(path)), _table_numbers, ("skops", "pandas", "pyarrow"))


def _skops_form(make, numbers, **more):
    """Return the form of an estimator that skops writes by itself."""

    def write(path):
        import skops.io

        skops.io.dump(make(), path, compression=zipfile.ZIP_DEFLATED)

    def read(path):
        import skops.io

        return skops.io.load(path, trusted=ss.TRUSTED_TYPES)

    return Form(write, read, numbers, ("skops",), **more)


def _covering_rule():
    proba = np.random.default_rng(5).dirichlet(np.ones(3), 40)
    return ss.Union(ss.conformal_rule(np.arange(40) % 3, proba, 0.8), ss.InflatedArgmax(0.2))


def _classifier():
    model = ss.StableClassifier(n_estimators=5, rule=_covering_rule(), oob_score=True, random_state=0)
    return model.fit(X, NAMES, groups=[f"garden {row // 2}" for row in range(len(X))])


def _classifier_numbers(model):
    return [
        model.predict_proba(POINTS).tolist(),
        model.predict_set(POINTS).tolist(),
        model.guarantee().delta,
        model.audit(POINTS, rule=ss.InflatedArgmax(0.2)).instability.tolist(),
        [rows.tolist() for rows in model.bags_],
    ]


def _covering():
    return ss.StableClassifier(n_estimators=20, epsilon=0.2, oob_score=True, random_state=0).fit(X, NAMES)


def _covering_numbers(model):
    return [model.predict_covering_set(POINTS, 0.8).tolist(), model.certify(POINTS).radius.tolist()]


def _lanes():
    net = NetClassifier([Linear(4), ReLU(), Linear()], epochs=2)
    return ss.StableClassifier(net, 3, epsilon=0.2, random_state=0).fit(_float32(X), NAMES)


def _search():
    grid = GridSearchCV(TreeClassifier(random_state=0), {"max_depth": [1, 3]}, cv=2)
    return ss.StableSearch(grid, 5, random_state=0).fit(X, NAMES)


def _search_numbers(search):
    choice = search.choice_
    return [[str(one) for one in choice.candidates], choice.entry_epsilons.tolist(), search.guarantee().delta]


def _selector():
    return ss.StableFeatureSelector(LogisticRegression(), 2, 5, random_state=0).fit(X, NAMES)


def _selector_numbers(selector):
    return [selector.transform(POINTS).tolist(), selector.get_support().tolist()]


FORMS = {
    "bags": _bags_form(_bags),
    "bags-bootstrap": _bags_form(lambda: _bags(resampling="bootstrap")),
    "bags-adopted": _bags_form(lambda: ss.Bags.from_rows([[0, 3, 3], [1, 2]], 5)),
    "bags-without-ids": _bags_form(_bags, ids=False),
    "predictions": Form(lambda path: _predictions().save(path), ss.BagPredictions.load, _predictions_numbers),
    "cluster": Form(_write_cluster, _read_cluster, _predictions_numbers),
    "audit": _audit_form(lambda: ss.audit_bags(_predictions(), ss.InflatedArgmax(0.05))),
    "audit-refit": _audit_form(_refit_audit),
    "audit-groups": _audit_form(_group_audit),
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
    "network": Form(
        lambda path: NetClassifier([Linear(4), ReLU(), Linear()], epochs=2).fit(_float32(X), NAMES).save(path),
        NetClassifier.load,
        lambda net: [net.predict_proba(_float32(POINTS)).tolist(), net.classes_.tolist()],
        ("safetensors",),
        atol=2e-4,
    ),
    "networks": Form(
        lambda path: _group(NetClassifier([Linear(4), ReLU(), Linear()], epochs=2), _float32(X)).save(path),
        LaneGroup.load,
        lambda group: [np.round(group.predict_proba(_float32(POINTS)).astype(float), 4).tolist()],
        ("safetensors",),
        atol=2e-4,  # rounded as the CPU does
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
        ("skops", "pandas"),
    ),
    "table-forest.skops": _table_form(),
    "table-logistic.skops": _table_form("--estimator", "logistic", atol=1e-9, foreign=True),
    "table-net.skops": _table_form("--estimator", "net", "--param", "epochs=2", atol=2e-4, foreign=True),
    "table-neighbors.skops": _neighbors_table_form(),
    "classifier.skops": _skops_form(_classifier, _classifier_numbers),
    "covering.skops": _skops_form(_covering, _covering_numbers),
    "lanes.skops": _skops_form(_lanes, lambda model: [model.predict_proba(_float32(POINTS)).tolist()], atol=2e-4),
    "neighbors.skops": _skops_form(
        lambda: ss.StableNeighborsClassifier(3, max_samples=0.2, epsilon=0.1).fit(X, NAMES),
        lambda model: [model.predict_proba(POINTS).tolist(), model.predict_set(POINTS).tolist()],
    ),
    "search.skops": _skops_form(_search, _search_numbers, foreign=True),
    "features.skops": _skops_form(_selector, _selector_numbers, foreign=True),
}


def main() -> None:
    """Write the forms that are missing of this version, and what is read from them; files never change."""
    folder = FOLDER / ss.__version__
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "read.json"
    read = json.loads(kept.read_text()) if kept.exists() else {}
    for name, form in FORMS.items():
        if name not in read:
            form.write(folder / name)
            read[name] = form.numbers(form.read(folder / name))
            print(f"released_files: {name}")
    kept.write_text(json.dumps(read, indent=1) + "\n")
    made_with = {"scikit-learn": [int(part) for part in sklearn.__version__.split(".")[:2]]}
    (folder / "made-with.json").write_text(json.dumps(made_with) + "\n")


if __name__ == "__main__":
    main()
