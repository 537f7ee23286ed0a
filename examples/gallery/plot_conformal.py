"""
Coverage, stability, or both
============================

Conformal prediction promises that a set holds the truth with a chosen probability. The inflated argmax promises
that a set is not contradicted when a training row is dropped. Neither promise implies the other, and the union of
the two sets keeps both. All three are measured here, on digits that are hard to tell apart because only the centre of
each image is shown.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import steadyset as ss
from steadyset import lanes

digits = load_digits()
X, y = digits.images[:, 2:6, 2:6].reshape(-1, 16), digits.target
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=600, random_state=0, stratify=y)
X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, train_size=400, random_state=0, stratify=y_rest)
net = lanes.NetClassifier([lanes.Linear(32), lanes.ReLU(), lanes.Linear()], epochs=20, batch_size=8, learning_rate=0.05)


def conformal(model, level):
    """Split conformal prediction on one network; an empty set says nothing, so that the argmax stands for it."""
    rule = ss.conformal_rule(y_cal, model.predict_proba(X_cal), level, "lac")
    return ss.Union(rule, ss.Argmax())(model.predict_proba(X_test))


# %%
# One network with conformal sets at several levels, against 300 bagged networks with the inflated argmax at
# several epsilons. Each is trained on all rows and again, with the same seed, without each of 60 rows. A test
# point is contradicted by a row where its sets with and without the row share no label.

rows = np.random.default_rng(0).choice(len(y_train), 60, replace=False)
every = np.arange(len(y_train))
bags = [every, *(np.delete(every, row) for row in rows)]
full, *without = [member for group in net.fit_bags(X_train, y_train, bags, [0] * 61) for member in group.members()]

points = np.concatenate([X_test, X_cal])
predictions = ss.StableClassifier(net, n_estimators=300, random_state=0).fit_predict_bags(X_train, y_train, points)
tested, calibrating = predictions.at_points(range(len(X_test))), predictions.at_points(range(len(X_test), len(points)))
audit = ss.audit_bags(tested, ss.Argmax(), left_out=rows)

measured = {"one network, conformal": [], "300 networks, inflated argmax": [], "300 networks, both": []}
for level in (0.9, 0.94, 0.95, 0.96, 0.97, 0.98):
    sets = conformal(full, level)
    contradicted = np.mean([~(sets & conformal(other, level)).any(axis=1) for other in without], axis=0)
    covered = ss.metrics.coverage_score(y_test, sets)
    measured["one network, conformal"].append((sets.sum(axis=1).mean(), covered, contradicted.max()))
for epsilon in (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5):
    sets = ss.inflated_argmax(tested.mean(), epsilon)
    covered = ss.metrics.coverage_score(y_test, sets)
    measured["300 networks, inflated argmax"].append((sets.sum(axis=1).mean(), covered, audit.at(epsilon).max()))
for level in (0.9, 0.94, 0.95, 0.96, 0.97, 0.98):
    both = ss.Union(ss.conformal_rule(y_cal, calibrating.mean(), level, "lac"), ss.InflatedArgmax(0.05))
    sets, worst = both(tested.mean()), ss.audit_bags(tested, both, left_out=rows).max_instability
    measured["300 networks, both"].append((sets.sum(axis=1).mean(), ss.metrics.coverage_score(y_test, sets), worst))

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for (name, points), style in zip(measured.items(), ("o--", "s-", "^:"), strict=True):
    size, covered, worst = np.array(points).T
    left.plot(size, covered, style, label=name)
    right.plot(size, worst, style, label=name)
left.set(xlabel="mean size of the sets", ylabel="share of sets that hold the truth")
left.set_title("What conformal prediction promises: coverage")
right.set(xlabel="mean size of the sets", ylabel="worst test point: share of rows that contradict it")
right.set_title("What the inflated argmax promises: stability")
left.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Conformal sets reach the level that was asked for, and are contradicted all the same. The bagged networks cover
# more at the same size because they are the better model; no theorem says so. The union of a conformal set of the
# bagged networks and their inflated argmax at 0.05 covers as often as was asked for, and has the promise of the
# inflated argmax. See the guide for when to use which.

# %%
# The same for the bagged networks alone, over a path of coverages and epsilons: the further a step is to the right, the
# larger the sets; the darker it is, the less steady. Small conformal sets, of which some are empty, are contradicted
# by every row at some point. A union is never smaller than the stable set, and follows the conformal one beyond.

found = ss.plot.compute_coverage_tradeoff(
    tested, y_test, y_cal, calibrating.mean(), coverages=(0.85, 0.9, 0.95, 0.98), epsilons=(0.05, 0.5), left_out=rows
)
ss.plot.coverage_tradeoff(found)
plt.show()

# %%
# Coverage is promised on average over the classes. With `by_class=True` every class has a threshold of its own and the
# promise holds for each, on average over calibrations: 40 rows of a class still leave its share uncertain. Bars are
# standard errors of the test points alone.

sets = {
    name: ss.conformal_rule(y_cal, calibrating.mean(), 0.9, "lac", by_class=by_class)(tested.mean())
    for name, by_class in (("one threshold", False), ("a threshold per class", True))
}
ss.plot.coverage_by(ss.plot.compute_coverage_by(y_test, sets), asked=0.9)
plt.show()
