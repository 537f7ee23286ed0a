"""Every rule on the probabilities of one classifier: run with `python examples/selection.py`."""

from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steadyset as ss

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X[:, :3], y, random_state=0)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
proba = model.predict_proba(X_test)

for rule in (
    ss.Argmax(),
    ss.InflatedArgmax(0.1),
    ss.FixedMargin(0.1),
    ss.TopK(2),
    ss.MassThreshold(0.8),
    ss.NDC(),
    ss.SVBOP("u65"),
):
    sets = rule(proba)
    print(f"{rule!r:40} mean size {sets.sum(axis=1).mean():.2f}, compatible epsilon {rule.compatible_epsilon(3)}")

# One pass gives the set at every epsilon.
entries = ss.entry_epsilons(proba)
for epsilon in (0.01, 0.05, 0.1, 0.2, 0.5):
    print(f"epsilon {epsilon:4}: mean set size {(entries < epsilon).sum(axis=1).mean():.2f}")
