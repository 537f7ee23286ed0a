"""
How many predictions are how unstable
=====================================

An audit gives each point an instability: the share of training rows whose removal contradicts the prediction. The
survival curve shows, for every level, how many points exceed it. Here for a small network on digits, for 300 of
them bagged, and for the label sets of the bagged ones.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import steadyset as ss
from steadyset import lanes

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=600, random_state=0, stratify=y)
net = lanes.NetClassifier([lanes.Linear(32), lanes.ReLU(), lanes.Linear()], epochs=20, batch_size=8, learning_rate=0.05)

one = ss.audit_refit(net, X_train, y_train, X_test, ss.Argmax(), left_out=100, random_state=0)
predictions = ss.StableClassifier(net, n_estimators=300, random_state=0).fit_predict_bags(X_train, y_train, X_test)
argmax = ss.audit_bags(predictions, ss.Argmax())
inflated = ss.audit_bags(predictions, ss.InflatedArgmax(0.1))

ss.plot.survival_curve({"one network": one, "bagged, argmax": argmax, "bagged, inflated argmax": inflated})
plt.show()

# %%
# The audit in words:

print(inflated.summary())

# %%
# The price, in labels:

print(ss.metrics.set_report(y_test, [ss.Argmax(), ss.InflatedArgmax(0.1)], predictions.mean()))
