"""
Small bags or large ones
========================

Small bags are cheap and steady: a row is in few of them. Large bags teach each learner more. Here are the
guaranteed bound, the training cost and the accuracy that was measured, for 200 bags of digits.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=600, random_state=0, stratify=y)

accuracy, instability = {}, {}
for share in (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8):
    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=200, max_samples=share, random_state=0)
    predictions = model.fit_predict_bags(X_train, y_train, X_test)
    accuracy[share] = float((predictions.mean().argmax(axis=1) == y_test).mean())
    instability[share] = ss.audit_bags(predictions, ss.InflatedArgmax(0.2)).max_instability

ss.plot.bag_size_tradeoff(len(y_train), 0.2, n_classes=10, n_bags=200, accuracy=accuracy)
plt.show()

# %%
# Measured on the same bags: the worst test point's instability at epsilon = 0.2. With bags of 80% of the rows only
# 40 of the 200 bags are left without a given row, and their mean is noisy: the audit sees that noise too.

for share, worst in instability.items():
    print(f"bags of {share:4.0%}: accuracy {accuracy[share]:.3f}, worst instability {worst:.4f}")
