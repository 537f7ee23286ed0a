"""
A LASSO whose support flips
===========================

Which measurements does a LASSO keep? On the diabetes data the answer depends on single patients: leave one of them
out, and another set of features may come back. Bags vote for supports instead, and the set of supports that hold
steady shares one with nearly every refit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso

import steadyset as ss

data = load_diabetes(as_frame=True)
X, y = data.data.to_numpy()[:120], data.target.to_numpy()[:120]
names = np.array(data.feature_names)


def support(rows, target):
    kept = Lasso(alpha=0.7, tol=1e-8, max_iter=100_000).fit(rows, target).coef_ != 0
    return " ".join(names[kept])


# %%
# One LASSO, and the same without each row:

one = support(X, y)
others = [support(np.delete(X, row, axis=0), np.delete(y, row)) for row in range(len(X))]
print(f"all rows: {one}")
print(f"another support without {sum(other != one for other in others)} of {len(X)} rows")

# %%
# 400 bags vote. The audit leaves out every row by reuse of the bags.

search = ss.StableSearch(support, n_estimators=400, epsilon=0.2, random_state=0).fit(X, y)
print(search.summary())
print(f"no support in common without {search.audit().row_influence.sum()} of {len(X)} rows")
ss.plot.choice_shares(search.choice_)
plt.show()
