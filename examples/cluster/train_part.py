"""Train the bags of one task and write what they predict. It needs NumPy, pandas and scikit-learn, nothing else.

python train_part.py train.csv test.csv bags/bags.npz parts/part-3.npz --task 3 --of 8
"""

import argparse
import hashlib
import os

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("train", "test", "bags", "output"):
        parser.add_argument(name)
    parser.add_argument("--task", type=int, required=True)
    parser.add_argument("--of", type=int, required=True)
    parser.add_argument("--target", default="species")
    asked = parser.parse_args()
    table, points = pd.read_csv(asked.train), pd.read_csv(asked.test)
    X, y = table.drop(columns=asked.target).to_numpy(), table[asked.target].to_numpy()
    X_test = points.drop(columns=asked.target, errors="ignore").to_numpy()
    bags, classes = np.load(asked.bags), np.unique(y)
    mine = np.array_split(np.arange(len(bags["bag"])), asked.of)[asked.task]
    proba = np.zeros((len(mine), len(X_test), len(classes)))
    for k, place in enumerate(mine):
        rows = bags["rows"][bags["ends"][place - 1] if place else 0 : bags["ends"][place]]
        learner = DecisionTreeClassifier(max_features="sqrt", random_state=int(bags["random_state"][place]))
        learner.fit(X[rows], y[rows])
        proba[k][:, np.searchsorted(classes, learner.classes_)] = learner.predict_proba(X_test)
    write(asked.output, bag=bags["bag"][mine], digest=bags["digest"][mine], proba=proba, classes=classes.astype(str))


def write(path: str, **arrays: np.ndarray) -> None:
    """Write a part that is whole or not there, and its digest beside it, as sha256sum does."""
    with open(f"{path}.tmp", "wb") as file:
        np.savez(file, **arrays)
    with open(f"{path}.tmp", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with open(f"{path}.sha256", "w") as file:
        file.write(f"{digest}  {os.path.basename(path)}\n")
    os.replace(f"{path}.tmp", path)


if __name__ == "__main__":
    main()
