"""
How many clusters?
==================

The elbow of the sum of squares says how many clusters there are, and says something else when a row is missing. Bags
vote for the number. The larger epsilon, the more numbers belong to the set, and the fewer rows contradict it. Here are
three measurements of wines that leave the number open.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import ward
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import steadyset as ss

X = scale(load_wine(return_X_y=True)[0])[::2, [2, 7, 12]]


def elbow(rows):
    gains = ward(rows)[::-1, 2][:8] ** 2
    return int(np.argmax(gains[:-1] - gains[1:])) + 2


# %%
# The scaler above saw all rows: what is learned outside the bags is outside the guarantee. The votes:

search = ss.StableSearch(elbow, n_estimators=500, epsilon=0.1, random_state=0).fit(X)
print(search.summary())
ss.plot.choice_shares(search.choice_)
plt.show()

# %%
# One clustering against the sets, at several epsilons:

alone = [elbow(np.delete(X, row, axis=0)) != elbow(X) for row in range(len(X))]
print(f"one clustering: another number without {np.mean(alone):.1%} of the rows")
votes = [outcome.value for outcome in np.array(search.choice_.outcomes, object)[search.choice_.codes]]
for epsilon in (0.0, 0.1, 0.3, 0.5):
    choice = ss.stable_choice(votes, epsilon, search.bags_)
    print(f"epsilon {epsilon:g}: {choice.candidates}, contradicted by {choice.audit().max_instability:.1%} of the rows")
