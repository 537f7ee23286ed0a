"""TreeClassifier as a scikit-learn estimator."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, export_text
from sklearn.utils.estimator_checks import parametrize_with_checks

import steadyset as ss
from steadyset import trees
from steadyset.trees import TreeClassifier

# Weights never enter the draw of bags.
DRAW = "weights go to the learner, never into the draw of bags"
LEAVES = {"check_class_weight_classifiers": "it rests on min_weight_fraction_leaf, which is no parameter here"}


def expected(estimator):
    if isinstance(estimator, TreeClassifier):
        return LEAVES
    return {f"check_sample_weight_equivalence_on_{kind}_data": DRAW for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        TreeClassifier(),
        TreeClassifier(criterion="entropy", max_features="sqrt", max_leaf_nodes=9),
        TreeClassifier(splitter="random"),
        ss.StableClassifier(TreeClassifier(), n_estimators=10, random_state=0),
    ],
    expected_failed_checks=expected,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_parameters_have_scikit_learns_names_and_defaults():
    theirs = DecisionTreeClassifier().get_params()
    ours = TreeClassifier().get_params()
    assert ours == {name: theirs[name] for name in ours}


def test_every_public_name_is_documented_with_an_example():
    for name in trees.__all__:
        assert ">>>" in getattr(trees, name).__doc__, name
    for owner in (trees.TreeClassifier, trees.TreeGroup):
        for name, method in vars(owner).items():
            if not name.startswith("_") and callable(getattr(method, "__func__", method)):
                assert getattr(owner, name).__doc__, name


def test_copies_and_pickles_predict_the_same():
    X, y = load_wine(return_X_y=True)
    tree = TreeClassifier(max_depth=3, random_state=0).fit(X, y)
    for other in (copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        np.testing.assert_array_equal(other.predict_proba(X), tree.predict_proba(X))
        assert other.get_params() == tree.get_params()
    group = next(TreeClassifier().fit_bags(X, y, [np.arange(0, 178, 2)] * 3, [1, 2, 3]))
    same = pickle.loads(pickle.dumps(group))
    np.testing.assert_array_equal(same.predict_proba(X), group.predict_proba(X))
    assert repr(same) == repr(group)
    assert not hasattr(clone(tree), "classes_")


def test_searches_and_importances_work():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(TreeClassifier(random_state=0), {"max_depth": [1, 3], "criterion": ["gini", "entropy"]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.9
    tree = search.best_estimator_
    found = permutation_importance(tree, X, y, n_repeats=3, random_state=0).importances_mean
    assert np.argmax(found) == np.argmax(tree.feature_importances_)
    assert tree.feature_importances_.sum() == pytest.approx(1)
    assert "petal" in export_text(tree.to_sklearn(), feature_names=load_iris().feature_names)


def test_a_fit_forgets_the_names_of_the_last():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    tree = TreeClassifier().fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert tree.feature_names_in_.tolist() == list("abcd")
    assert not hasattr(tree.fit(X, y), "feature_names_in_")


def test_one_class_and_one_row():
    tree = TreeClassifier().fit([[1.0], [2.0]], ["a", "a"])
    assert tree.predict([[5.0]]).tolist() == ["a"]
    assert tree.predict_proba([[5.0]]).tolist() == [[1.0]]
    assert TreeClassifier().fit([[1.0]], [3]).apply([[0.0]]).tolist() == [0]
    assert tree.feature_importances_.tolist() == [0.0]


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_many_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70_000, 1)), np.arange(70_000) % 65_535
    tree = TreeClassifier(max_depth=2, random_state=0).fit(X[:200], y[:200])
    assert tree.predict_proba(X[:2]).shape == (2, 200)
    full = TreeClassifier(max_depth=1, max_features=1, random_state=0).fit(X, y)
    assert len(full.classes_) == 65_535
    with pytest.raises(ValueError, match=r"^classes must be at most 65,535; got 65,536\.$"):
        TreeClassifier().fit(X[:65_536], np.arange(65_536))
