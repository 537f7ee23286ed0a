"""Measure label sets and draw them: run with `python examples/metrics.py [FOLDER]`, where figures are to go."""

import sys
from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

mpl.use("Agg")

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = BaggingClassifier(DecisionTreeClassifier(), 100, max_samples=0.5, bootstrap=False, random_state=0)
proba = model.fit(X_train, y_train).predict_proba(X_test)

rules = [ss.Argmax(), ss.InflatedArgmax(0.1), ss.TopK(2), ss.MassThreshold(0.8), ss.SVBOP("u80")]
print(ss.metrics.set_report(y_test, rules, proba), "\n")

sets = ss.inflated_argmax(proba, epsilon=0.2)
print(ss.metrics.by_size(y_test, sets), "\n")
print("\n".join(str(ss.metrics.by_pair(y_test, sets)).splitlines()[:6]), "\n")

# Has another seed contradicted anything?
other = model.set_params(random_state=1).fit(X_train, y_train).predict_proba(X_test)
for rule in (ss.Argmax(), ss.InflatedArgmax(0.1)):
    rate = ss.metrics.conflict_rate(rule(proba), rule(other))
    print(f"{rule!r}: {rate:.3f} ({rate.standard_error:.3f}) of the sets are contradicted by another seed")

hardest = (-sets.sum(axis=1)).argsort(kind="stable")[:10]


def guarantee(epsilon):
    return ss.selection_stability(n_samples=len(y_train), bag_size=0.5, epsilon=epsilon, n_classes=10)


figures = {
    "epsilon": ss.plot.epsilon_tradeoff(proba, y_test, guarantee=guarantee),
    "sizes": ss.plot.set_size_histogram({repr(rule): rule(proba) for rule in rules}),
    "ambiguity": ss.plot.ambiguity_matrix(sets, y_test),
    "hardest": ss.plot.plot_sets(X_test[hardest].reshape(-1, 8, 8), sets[hardest], y_true=y_test[hardest]),
}
for name, ax in figures.items():
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        ax.figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=150)
    print(f"{name}: {ax.get_xlabel() or 'images'}")
