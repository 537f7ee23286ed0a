"""
Which labels are hard to tell apart
===================================

A confusion matrix counts mistakes. Sets say more: which two labels the model cannot settle between, and which of
the two turned out to be right.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=900, random_state=0, stratify=y)
model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=200, epsilon=0.25, random_state=0)
sets = model.fit(X_train, y_train).predict_set(X_test)

ss.plot.ambiguity_matrix(sets, y_test)
plt.show()

# %%
# The pairs that share most sets:

print("\n".join(str(ss.metrics.by_pair(y_test, sets)).splitlines()[:6]))
