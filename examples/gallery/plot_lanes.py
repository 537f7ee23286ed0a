"""
Networks or trees
=================

Bagging networks is slow when they are trained one at a time. ``steadyset.lanes`` trains many small networks side
by side in the vectors of the CPU. Here are 64 convolutional networks on 64 bags of digits, beside 64 trees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset import lanes

X, y = load_digits(return_X_y=True)
images = (X.reshape(-1, 8, 8) / 16).astype(np.float32)
train, test, y_train, y_test = train_test_split(images, y, test_size=600, random_state=0, stratify=y)

layers = [
    lanes.Conv2d(8, 3),
    lanes.ReLU(),
    lanes.MaxPool2d(2),
    lanes.Flatten(),
    lanes.Linear(32),
    lanes.ReLU(),
    lanes.Linear(),
]
net = lanes.NetClassifier(layers, epochs=8, batch_size=16, learning_rate=0.02, scale="minus_one_one")
bagged = {
    "64 networks": ss.StableClassifier(net, n_estimators=64, random_state=0).fit(train, y_train).predict_proba(test),
    "64 trees": ss.StableClassifier(DecisionTreeClassifier(), n_estimators=64, random_state=0)
    .fit(train.reshape(len(train), -1), y_train)
    .predict_proba(test.reshape(len(test), -1)),
}

# %%
# Probabilities that stand clear of each other need no second label. One call of ``entry_epsilons`` gives the sets
# at every epsilon.

epsilons = np.geomspace(0.01, 1, 80)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for (name, proba), style in zip(bagged.items(), ("-", "--"), strict=True):
    entries = ss.entry_epsilons(proba)
    sizes = [(entries < epsilon).sum(axis=1).mean() for epsilon in epsilons]
    single = [ss.metrics.correct_single_score(y_test, entries < epsilon) for epsilon in epsilons]
    left.plot(epsilons, sizes, style, label=name)
    right.plot(epsilons, single, style, label=name)
left.set(xscale="log", xlabel="epsilon", ylabel="mean size of the sets")
right.set(xscale="log", xlabel="epsilon", ylabel="share of sets that are the true label alone")
left.legend(frameon=False)
plt.show()

# %%

for name, proba in bagged.items():
    print(f"{name}: accuracy {(proba.argmax(axis=1) == y_test).mean():.3f}")
