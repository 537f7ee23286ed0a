"""
Another seed, the same answer
=============================

Two runs on the same data with different seeds should not contradict each other either. How often they do falls
with the number of bags; the chance of it is bounded in advance. The digits are cut to their centre here, so that
some are hard.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

digits = load_digits()
X, y = digits.images[:, 2:6, 2:6].reshape(-1, 16), digits.target
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, random_state=0, stratify=y)

most, epsilon = 320, 0.2
proba = []
for seed in (1, 2):
    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=most, random_state=seed)
    proba.append(model.fit_predict_bags(X_train, y_train, X_test).proba)

counts = np.array([1, 2, 5, 10, 20, 40, 80, 160, 320])
rules = {"argmax": ss.Argmax(), f"inflated argmax, epsilon = {epsilon}": ss.InflatedArgmax(epsilon)}
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (name, rule), style in zip(rules.items(), ("o--", "s-"), strict=True):
    rates = [ss.metrics.conflict_rate(*(rule(bags[:n].mean(axis=0)) for bags in proba)) for n in counts]
    ax.errorbar(counts, rates, [rate.standard_error for rate in rates], fmt=style, capsize=3, label=name)
bounds = np.array([ss.reseed_stability(n_bags=int(n), epsilon=epsilon, n_classes=10).delta for n in counts])
ax.plot(counts[bounds < 1], bounds[bounds < 1], ":", color="black", label=f"guaranteed at epsilon = {epsilon}")
ax.set(xscale="log", xlabel="number of bags", ylabel="test points that two seeds contradict", ylim=(-0.02, 0.7))
ax.legend(frameon=False)
plt.show()

# %%
# The bound is a promise for every learner and every data set; with few bags it says nothing. What happens here is
# much better. The argmax has no such bound at any number of bags.
