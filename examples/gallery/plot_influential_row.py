"""
Finding the row that does the harm
==================================

The audit counts for each training row how many predictions its removal contradicts, and says which rows stand
clear of the noise of a finite number of bags. Here one row is planted: a wine with the wrong label whose
measurements were typed with the decimal point in the wrong place.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steadyset as ss

X, y = load_wine(return_X_y=True)
X = X[:, [0, 6, 9]]
planted = 100
X[planted], y[planted] = 10 * X[planted], 2

# %%
# The scaler is inside the bag, as everything that learns from data has to be: the planted row shifts it, too.

learner = make_pipeline(StandardScaler(), LogisticRegression())
model = ss.StableClassifier(learner, n_estimators=500, random_state=0).fit(X, y)
audit = model.audit(X, rule=ss.Argmax(), prune=False)
ss.plot.influence(audit, n_rows=8)
plt.show()

# %%
# A row's score is its largest shift of the probabilities, in Monte Carlo standard errors. The limit is what noise
# alone passes anywhere, at any row and any point, with probability 0.05.

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.hist(np.delete(audit.row_score, planted), bins=40, color="#56B4E9", label="the other rows")
ax.axvline(audit.row_score[planted], color="#D55E00", linewidth=2, label=f"row {planted}, which was planted")
ax.axvline(audit.score_limit()[planted], color="black", linestyle="--", label="limit")
ax.set(xlabel="largest shift in standard errors", ylabel="training rows")
ax.legend(frameon=False)
plt.show()

# %%
# The most influential rows by name, and what the sets of the inflated argmax make of the same row:

print(audit.summary().splitlines()[-1])
print(f"points that row {planted} contradicts: argmax {audit.row_influence[planted]}, ", end="")
print(f"sets at epsilon = 0.1: {model.audit(X, rule=ss.InflatedArgmax(0.1)).row_influence[planted]}")
