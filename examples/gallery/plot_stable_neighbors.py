"""
Infinitely many bags
====================

For nearest neighbours the mean over all bags is a weighted vote, whose weights depend on the rank of a neighbour
alone. The smaller the bags, the farther the vote reaches, and the less one row can do.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import steadyset as ss

X, y = load_digits(return_X_y=True)
train, test = slice(0, 1200), slice(1200, None)
shares = (0.02, 0.05, 0.1, 0.2, 0.5, 0.9)
models = {s: ss.StableNeighborsClassifier(5, max_samples=s, epsilon=0.1).fit(X[train], y[train]) for s in shares}

# %%
# What is promised of every data set, and what is so here: every training row left out at every point, exactly.

promised = [model.guarantee().delta for model in models.values()]
observed = [model.audit(X[test]).max_instability for model in models.values()]
accuracy = [model.score(X[test], y[test]) for model in models.values()]
for share, delta, found, right in zip(shares, promised, observed, accuracy, strict=True):
    print(f"bags of {share:>4.0%}: promised {delta:.4f}, observed at the worst point {found:.4f}, accuracy {right:.3f}")

# %%
# The nearest row of a point in a bag of half of the rows is the nearest of all in every second bag. Ranks in the
# hundreds still count where bags are small.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for share in (0.05, 0.2, 0.5):
    weights = models[share].weights_
    left.plot(np.arange(1, len(weights) + 1), weights, label=f"bags of {share:.0%}")
left.set(xscale="log", xlabel="rank of the neighbour", ylabel="weight", title="Weights over all bags")
left.legend()
right.plot(shares, promised, "o-", label="promised, on average over rows")
right.plot(shares, observed, "s--", label="observed at the worst point")
right.set(xlabel="rows in a bag, as a share", ylabel="rows in conflict, as a share", title="Dropping one row")
right.legend()
plt.show()
