"""
Digits that deserve two labels
==============================

Which test images get more than one label? Those that people argue about, too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=600, random_state=0, stratify=y)
model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=200, epsilon=0.25, random_state=0)
model.fit(X_train, y_train)
sets = model.predict_set(X_test)

sizes = sets.sum(axis=1)
hardest = np.argsort(-sizes, kind="stable")[:15]
ss.plot.plot_sets(X_test[hardest].reshape(-1, 8, 8), sets[hardest], y_true=y_test[hardest])
plt.show()

# %%
# Most images get a single label. How often sets of each size hold the truth:

print(ss.metrics.by_size(y_test, sets))
