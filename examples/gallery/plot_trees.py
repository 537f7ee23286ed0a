"""
Which features the sets rest on
===============================

A thousand trees of a table take seconds when they are grown together, from ranks that all bags share. Their
importances, averaged over the bags, hold steady too: beside each mean is the spread over single trees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import steadyset as ss
from steadyset.trees import TreeClassifier

wine = load_wine()
model = ss.StableClassifier(TreeClassifier(max_features="sqrt"), n_estimators=1000, epsilon=0.2, random_state=0)
model.fit(wine.data, wine.target)

# %%
# A single tree picks one of several features that tell the classes apart, and a dropped row makes it pick another. The
# mean over bags moves by little.
single = np.array([tree.feature_importances_ for tree in model.estimators_[:200]])
order = np.argsort(model.feature_importances_)
low, high = np.quantile(single[:, order], [0.1, 0.9], axis=0)

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
axes.barh(range(len(order)), high - low, left=low, color="#c6dbef", label="single trees, 10% to 90%")
axes.plot(model.feature_importances_[order], range(len(order)), "o", color="#08519c", label="mean over 1,000 bags")
axes.set_yticks(range(len(order)), np.array(wine.feature_names)[order])
axes.set_xlabel("share of the decrease of impurity")
axes.legend(loc="lower right")
sizes = model.predict_set(wine.data).sum(axis=1)
axes.set_title(f"{(sizes == 1).mean():.0%} of the wines have a set of one label")
plt.show()
