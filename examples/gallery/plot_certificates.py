"""
What is proved of each prediction
=================================

A guarantee speaks of all data sets; a certificate speaks of the bags that were drawn. With small bags hardly any
prediction can be contradicted by one row, deleted or altered, and an attacker has to change several.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import steadyset as ss

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=400, random_state=0, stratify=y)

certificates = {}
for size in (20, 60, 200):
    model = ss.StableClassifier(
        GaussianNB(var_smoothing=1e-2), n_estimators=600, max_samples=size, epsilon=0.05, random_state=0
    )
    certificates[size] = ss.certify(model.fit_predict_bags(X_train, y_train, X_test), ss.InflatedArgmax(0.05))

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for (size, found), style in zip(certificates.items(), ("o-", "s--", "^-."), strict=True):
    changed = np.arange(min(found.poisoning_radius.max(), 30) + 2)  # a set of all labels allows every row
    left.plot(changed, [np.mean(found.poisoning_radius >= k) for k in changed], style, label=f"bags of {size} rows")
    bound = np.sort(found.bound)
    shares = np.arange(1, len(bound) + 1) / len(bound)
    right.step([0, *bound], [0, *shares], style[1:], where="post", label=f"bags of {size} rows")
left.set(
    xlabel="rows an attacker may change", ylabel="share of test points that cannot be contradicted", ylim=(0, 1.02)
)
left.set_title("Poisoning, certain")
right.set(
    xlabel="bound on the share of rows that contradict",
    ylabel="share of test points",
    xlim=(-0.02, 1.02),
    ylim=(0, 1.02),
)
right.set_title("Theorem 4, confidence 95%")
left.legend(frameon=False)
right.legend(frameon=False, loc="lower right")
plt.show()

# %%
# On the right a point whose bound is 1 is one of which the theorem says nothing. Theorem 4 likes bags that agree
# with each other, which larger bags do; poisoning and Theorem 6 like bags that hold few rows. In words, for the
# smallest bags:

print(certificates[20].summary())
