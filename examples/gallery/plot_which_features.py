"""
Which ten features of a table?
==============================

Thirty measurements of breast tumours, and a tree that needs a few of them. Which are the ten most important? One tree
has one answer, and another without a row. 300 trees on bags give importances that hardly move, and the inflated top
ten of their mean: ten features or more, of which ten stay.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=0)

# %%
# One tree, refitted without each of 60 rows: how many of its ten features stay.


def ten_best(rows, labels):
    return set(np.argsort(-tree.fit(rows, labels).feature_importances_, kind="stable")[:10])


values, first = X.to_numpy(), ten_best(X.to_numpy(), y)
stay = [len(first & ten_best(np.delete(values, row, axis=0), np.delete(y.to_numpy(), row))) for row in range(60)]
print(f"one tree: between {min(stay)} and {max(stay)} of its ten features stay")

# %%
# The selector. Features on the edge say from which epsilon on they would be in.

selector = ss.StableFeatureSelector(tree, k=10, n_estimators=300, epsilon=0.005, random_state=0).fit(X, y)
print(selector.summary())
print(f"fewer than ten in common without {selector.audit().row_influence.sum()} of {len(X)} rows")
ss.plot.feature_ranks(selector)
plt.show()

# %%
# The table behind the picture, around the edge:

print(selector.to_frame().iloc[7:14].to_string(index=False))
