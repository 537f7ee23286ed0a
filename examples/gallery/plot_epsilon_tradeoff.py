"""
What epsilon buys and costs
===========================

A larger epsilon makes larger sets and steadier ones. One fit answers for every epsilon: the sets, the measured
instability and the guaranteed bound all come from the same 400 bags.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=400, random_state=0, stratify=y)
model = ss.StableClassifier(DecisionTreeClassifier(max_depth=8), n_estimators=400, random_state=0)
predictions = model.fit_predict_bags(X_train, y_train, X_test)
audit = ss.audit_bags(predictions, ss.Argmax())


def guarantee(epsilon):
    return ss.selection_stability(n_samples=len(y_train), bag_size=0.5, n_bags=400, epsilon=epsilon, n_classes=10)


ss.plot.epsilon_tradeoff(predictions.mean(), y_test, audit=audit, guarantee=guarantee)
plt.show()

# %%
# The bound falls as 1/epsilon², so that a tenth of the epsilon needs a hundred times the bags. Below the epsilon
# at which the bound reaches 1 it promises nothing, and is not drawn; the audit still measures.

for epsilon in (0.05, 0.1, 0.2, 0.4):
    sets = ss.inflated_argmax(predictions.mean(), epsilon)
    bound = guarantee(epsilon)
    promised = "nothing (vacuous)" if bound.vacuous else f"at most {bound.delta:.3f}"
    print(
        f"epsilon {epsilon:4}: mean size {sets.sum(axis=1).mean():.2f}, "
        f"worst instability {audit.at(epsilon).max():.3f}, promised {promised}"
    )
