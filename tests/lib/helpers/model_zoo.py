"""Small fitted models of every kind of estimator that a model file may hold without asking."""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import steadyset as ss
from steadyset.lanes import NetClassifier
from steadyset.neighbors import StableNeighborsClassifier
from steadyset.tables import Column, TableModel, Target, current_versions, with_encoders
from steadyset.trees import TreeClassifier

# Bags of these rows are too small for the other solver; older releases have no choice, and take them.
QDA = (
    {"solver": "eigen", "shrinkage": 0.5} if hasattr(QuadraticDiscriminantAnalysis(), "solver") else {"reg_param": 0.5}
)

ESTIMATORS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "stump": DecisionTreeClassifier(max_depth=1),
    "tree-by-leaves": DecisionTreeClassifier(max_leaf_nodes=5),
    "extra-tree": ExtraTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(3, random_state=0),
    "extra-trees": ExtraTreesClassifier(3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3, max_depth=2),
    "boosting-from-zero": GradientBoostingClassifier(n_estimators=2, max_depth=2, init="zero"),
    "hist-boosting": HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5, min_samples_leaf=3),
    "logistic": LogisticRegression(max_iter=1000),
    "sgd": SGDClassifier(loss="log_loss", max_iter=50, tol=None, random_state=0),
    "sgd-hinge": SGDClassifier(max_iter=50, tol=None, random_state=0),
    "perceptron": Perceptron(max_iter=20, tol=None),
    "ridge": RidgeClassifier(),
    "svm": SVC(),
    "svm-poly": SVC(kernel="poly", degree=2),
    "nu-svm": NuSVC(nu=0.1),
    "linear-svm": LinearSVC(),
    "knn-brute": KNeighborsClassifier(3, algorithm="brute"),
    "radius-brute": RadiusNeighborsClassifier(50.0, algorithm="brute"),
    "centroid": NearestCentroid(),
    "mlp": MLPClassifier((5,), max_iter=10, random_state=0),
    "naive-bayes": GaussianNB(),
    "multinomial-nb": make_pipeline(MinMaxScaler(), MultinomialNB()),
    "complement-nb": make_pipeline(MinMaxScaler(), ComplementNB()),
    "bernoulli-nb": BernoulliNB(),
    "lda": LinearDiscriminantAnalysis(),
    "qda": QuadraticDiscriminantAnalysis(**QDA),
    "dummy": DummyClassifier(),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, max_features=0.7),
    "bins": make_pipeline(KBinsDiscretizer(3, strategy="uniform"), LogisticRegression()),
    "net": NetClassifier(epochs=2),
    "own-tree": make_pipeline(TreeClassifier()),
    "own-trees": TreeClassifier(),  # in a group, without encoders
    "own-neighbors": StableNeighborsClassifier(3),
}

#: What the ensembles of some are given besides.
SETTINGS = {
    "union": {
        "rule": ss.Union(ss.ConformalRule("aps", 0.9, (0.9, 0.8, 0.95), (20, 20, 20), by_class=True), ss.TopK(1))
    },
    "top-k": {"rule": ss.InflatedTopK(2, 0.05)},
    "covering": {"oob_score": True},
}
ESTIMATORS |= dict.fromkeys(SETTINGS, make_pipeline(TreeClassifier()))
ESTIMATORS |= {"given-ids": make_pipeline(TreeClassifier())}  # rows with ids, which are not their digests
ESTIMATORS |= {"neighbors": StableNeighborsClassifier(3)}  # which is an ensemble by itself

COLUMNS = (Column("a", "number"), Column("b", "number"), Column("c", "category", ("v", "w", "x", "y", "z")))


def rows(n=60, seed=0):
    """Return a frame of numbers with gaps and a category, and three labels."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2))
    labels = np.array(["red", "green", "blue"])[(numbers[:, 0] > 0.3).astype(int) + (numbers[:, 1] > 0)]
    kinds = pd.Categorical(rng.choice(list("vwxyz"), n, p=[0.4, 0.3, 0.2, 0.06, 0.04]), categories=list("vwxyz"))
    frame = pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": kinds})
    frame.loc[::9, "b"] = np.nan
    return frame, labels


def model(name, n_bags=3):
    """Return a fitted model of a table."""
    frame, labels = rows()
    estimator, columns = ESTIMATORS[name], COLUMNS
    if name in ("net", "neighbors"):
        columns, frame = COLUMNS[:2], frame[["a", "b"]].fillna(0.0)
    else:
        estimator = with_encoders(estimator, columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = {"max_samples": 0.6, "random_state": 0, **SETTINGS.get(name, {})}
        ensemble = clone(estimator) if name == "neighbors" else ss.StableClassifier(estimator, n_bags, **more)
        fitted = ensemble.fit(frame, labels, **({"sample_ids": range(len(frame))} if name == "given-ids" else {}))
    return TableModel(fitted, columns, Target("label", "text"), None, current_versions(), {"n_rows": len(frame)})


def points(columns):
    """Return rows to predict at."""
    frame, _ = rows(40, seed=1)
    return frame if len(columns) == 3 else frame[["a", "b"]].fillna(0.0)
