"""Wide tables of which a node sees few features: rows are put in order at the node, and the trees are the same."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from steadyset.trees import TreeClassifier

ROWS, FEATURES = 2500, 200  # enough rows for large nodes, which look at a feature less than twice


def table(missing=0.0, decimals=None):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    y = (X[:, :20].sum(axis=1) + rng.normal(size=ROWS) > 0).astype(int) + (X[:, 20] > 1)
    if decimals is not None:
        X = X.round(decimals)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, rng.random(ROWS)


def arrays(tree, X, y, weights):
    found = tree.fit(X, y, sample_weight=weights)._forest.arrays()
    found.pop("importances")  # their sums are in the order of growing
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(("missing", "decimals"), [(0, None), (0, 1), (0.1, None), (0.1, 1)])
def test_order_at_the_node_gives_the_tree_of_the_bags_order(missing, decimals, criterion, weighted):
    # Best-first growth to the last leaf looks at a feature often, and keeps the order of the whole bag.
    X, y, weights = table(missing, decimals)
    given = weights if weighted else None
    settings = {"max_features": "sqrt", "criterion": criterion, "random_state": 3}
    at_nodes = arrays(TreeClassifier(**settings), X, y, given)
    of_the_bag = arrays(TreeClassifier(**settings, max_leaf_nodes=ROWS), X, y, given)
    assert len(at_nodes["feature"]) > 100
    for name, values in of_the_bag.items():
        np.testing.assert_array_equal(at_nodes[name], values, err_msg=name)


MEMORY = """
import numpy as np
from steadyset.trees import TreeClassifier

def megabytes(line):
    with open("/proc/self/status") as status:
        return next(int(row.split()[1]) for row in status if row.startswith(line)) / 1024

rng = np.random.default_rng(0)
rows, features = 12_000, 1000
X = rng.normal(size=(rows, features)).astype(np.float32)
tree = TreeClassifier(max_features="sqrt")
y = (X[:, 0] + rng.normal(size=rows) > 0).astype(int)
groups = tree.fit_bags(X, y, [np.arange(rows)], [0])
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # the peak counts from here on
before = megabytes("VmRSS")
next(groups)
print(megabytes("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from Linux")
def test_memory_is_that_of_few_features():
    # Orders of the bag for all features would take 12 bytes for each entry of X: 137 MB.
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 30
