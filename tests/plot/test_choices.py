"""Pictures of choices show the numbers of what they are drawn from."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

pytest.importorskip("matplotlib")


def test_choice_shares_are_those_of_the_vote():
    choice = ss.stable_choice("a" * 50 + "b" * 45 + "cdefg", 0.2)
    found = ss.plot.compute_choice_shares(choice, n_outcomes=3)
    assert (found.outcomes, found.chosen, found.n_others) == (("a", "b", "c"), (True, True, False), 4)
    ax = ss.plot.choice_shares(found)
    widths = sorted((bar.get_width() for bar in ax.patches), reverse=True)
    assert widths == pytest.approx([0.5, 0.45, 0.01])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    with pytest.raises(TypeError, match=r"^choice must be a StableChoice; got 5"):
        ss.plot.compute_choice_shares(5)


def test_feature_ranks_are_those_of_the_selector():
    selector = ss.StableFeatureSelector(DecisionTreeClassifier(), 1, 20, random_state=0)
    with pytest.raises(TypeError, match=r"^selector must be a fitted StableFeatureSelector"):
        ss.plot.compute_feature_ranks(selector)
    selector.fit(*load_iris(return_X_y=True))
    found = ss.plot.compute_feature_ranks(selector, n_features=2)
    order = np.argsort(-selector.importances_, kind="stable")[: len(found.features)]
    assert found.features == tuple(map(str, order))
    assert found.importances == tuple(selector.importances_[order])
    assert found.n_others == 4 - len(found.features)
    ax = ss.plot.feature_ranks(found)
    assert len(ax.patches) == len(found.features)
    assert len(ax.texts) == sum(not selected for selected in found.selected)


def test_a_tradeoff_has_a_line_for_each_rule():
    ax = ss.plot.choice_tradeoff({"top k": [(3, 0.1), (2, 0.2)], "argmax": [(1, 0.5)]})
    lines = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert lines == {"top k": [[2, 0.2], [3, 0.1]], "argmax": [[1, 0.5]]}
