"""Learners that take their time and note in which process they were trained, and what it was sent."""

import os
import time
from pathlib import Path

import joblib
from sklearn.linear_model import LogisticRegression

from helpers import tcp_bytes
from steadyset.lanes import Linear, NetClassifier
from steadyset.trees import TreeClassifier


def _note():
    """Write down how many bytes this process has received; its name says that it trains."""
    if "FAR_LEARNER_NOTES" in os.environ:
        Path(os.environ["FAR_LEARNER_NOTES"], str(os.getpid())).write_text(str(tcp_bytes.received()))


class _Noted:
    def fit_bags(self, *args, **kwargs):
        _note()
        time.sleep(0.1)
        for group in super().fit_bags(*args, **kwargs):
            group.trained_in = os.getpid()
            yield group


class FarTrees(_Noted, TreeClassifier):
    pass


class FarNets(_Noted, NetClassifier):
    pass


class FarLogistic(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        _note()
        self.helped_by = joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(3))
        time.sleep(0.02)
        self.trained_in = os.getpid()
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        if "FAR_LEARNER_NOTES" in os.environ:
            Path(os.environ["FAR_LEARNER_NOTES"], f"predicted-{os.getpid()}").touch()
        return super().predict_proba(X)


LEARNERS = {
    "trees": FarTrees(max_depth=4),
    "lanes": FarNets([Linear()], epochs=1),
    "logistic": FarLogistic(),
}
