"""A report on a rule that the native audit does not know: a union."""

import numpy as np
from sklearn.naive_bayes import GaussianNB

import steadyset as ss


def test_blocks_of_points_do_not_change_the_report_on_a_union(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    rule = ss.Union(ss.TopK(1), ss.InflatedArgmax(0.01))
    model = ss.StableClassifier(GaussianNB(), 30, rule=rule, random_state=0).fit(X, y)
    whole = ss.report(model, X, y).numbers["audit"]
    assert whole["conflicts"] > 0
    monkeypatch.setattr("steadyset.ensemble._prediction._BLOCK_BYTES", 1 << 13)
    assert ss.report(model, X, y).numbers["audit"] == whole
