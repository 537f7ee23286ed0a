"""A learner that takes its time."""

import time

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier


class SlowTree(ClassifierMixin, BaseEstimator):
    """A tree that takes its time, so that a worker can be killed while it works."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        time.sleep(0.2)
        self.tree_ = DecisionTreeClassifier(random_state=self.random_state).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict_proba(self, X):
        return self.tree_.predict_proba(X)
