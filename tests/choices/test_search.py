"""StableSearch: settings that hold steady, for grids, random and halving searches, and anything that chooses."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge, RidgeClassifierCV
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingRandomSearchCV,
    KFold,
    PredefinedSplit,
    RandomizedSearchCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import steadyset as ss
from steadyset.ensemble import seeded

X, Y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)


def grid(**more):
    return GridSearchCV(TREE, {"max_depth": [1, 2, 4]}, cv=3, **more)


def test_every_bag_searches_on_its_own_rows():
    found = ss.StableSearch(grid(), 12, random_state=3).fit(X, Y)
    for bag, rows in enumerate(found.bags_):
        inner = seeded(grid(refit=False), ss.bag_seed(found.seed_, bag)).fit(X[rows], Y[rows])
        setting = found.choice_.outcomes[found.choice_.codes[bag]].value
        assert setting == inner.best_params_
    assert found.candidates_[0]["max_depth"] in (2, 4)
    assert found.guarantee().n_classes is None
    assert found.audit().n_units == 150


def test_results_are_the_same_for_any_number_of_jobs():
    search = RandomizedSearchCV(TREE, {"max_depth": range(1, 30), "min_samples_leaf": [1, 5]}, n_iter=4, cv=3)
    one, two = (ss.StableSearch(search, 10, random_state=1, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert one.choice_.outcomes == two.choice_.outcomes
    assert np.array_equal(one.choice_.codes, two.choice_.codes)


def test_random_candidates_are_drawn_once():
    search = RandomizedSearchCV(TREE, {"min_impurity_decrease": np.linspace(0, 1, 10_001)}, n_iter=3, cv=3)
    found = ss.StableSearch(search, 15, random_state=0).fit(X, Y)
    assert len(found.choice_.outcomes) <= 3
    halving = HalvingRandomSearchCV(TREE, {"min_impurity_decrease": np.linspace(0, 1, 10_001)}, n_candidates=4, cv=3)
    assert len(ss.StableSearch(halving, 6, random_state=0).fit(X, Y).choice_.outcomes) <= 4
    with pytest.raises(ValueError, match=r"^n_candidates must be a number, the same for every bag; got 'exhaust'"):
        ss.StableSearch(HalvingRandomSearchCV(TREE, {"max_depth": [1, 2]}), 5).fit(X, Y)


def test_a_dropped_row_leaves_the_other_bags_as_they_were():
    model = ss.StableSearch(grid(), 20, max_samples=30, random_state=0)
    before = model.fit(X, Y)
    row = 17
    kept = np.delete(np.arange(150), row)
    other = ss.StableSearch(grid(), 20, max_samples=30, random_state=0).fit(X[kept], Y[kept])
    untouched = ~before.bags_.holds(row)
    mine = [before.choice_.outcomes[code] for code in before.choice_.codes[untouched]]
    theirs = [other.choice_.outcomes[code] for code in other.choice_.codes[untouched]]
    assert mine == theirs
    assert 5 < untouched.sum() < 20


def test_regression_clusters_and_callables():
    ridge = GridSearchCV(Ridge(), {"alpha": [0.01, 1.0, 100.0]}, cv=KFold(3, shuffle=True))
    found = ss.StableSearch(ridge, 10, random_state=0, refit=True).fit(X[:, :3], X[:, 3])
    assert [model.alpha for model in found.estimators_] == [setting["alpha"] for setting in found.candidates_]
    again = ss.StableSearch(ridge, 10, random_state=0).fit(X[:, :3], X[:, 3])
    assert np.array_equal(found.choice_.codes, again.choice_.codes)

    def clusters(rows, random_state):
        inertia = [KMeans(k, n_init=1, random_state=random_state).fit(rows).inertia_ for k in (1, 2, 3, 4, 5)]
        return int(np.argmax(np.diff(inertia, 2))) + 2

    counted = ss.StableSearch(clusters, 10, random_state=0).fit(X)
    assert {outcome.value for outcome in counted.choice_.outcomes} <= {2, 3, 4}
    assert counted.candidates_


class Chooser:
    """Something with fit and best_params_, and no more."""

    def fit(self, rows, labels):
        self.best_params_ = {"b": np.int64(len(np.unique(labels))), "a": [1, 2.0]}
        return self


def test_any_object_with_best_params():
    found = ss.StableSearch(Chooser(), 4, random_state=0).fit(X, Y)
    assert found.candidates_ == [{"b": 3, "a": [1, 2.0]}]


def test_settings_are_compared_in_one_form():
    from steadyset.choices._settings import canonical

    assert canonical({"a": 1, "b": [1, 2]}) == canonical({"b": (np.int32(1), 2), "a": np.int64(1)})
    assert canonical({"max_features": 1}) != canonical({"max_features": 1.0})
    assert canonical({"x": True}) != canonical({"x": 1})
    shallow = [canonical({"e": DecisionTreeClassifier(max_depth=2)}) for _ in range(2)]
    assert shallow[0] == shallow[1]
    assert shallow[0] != canonical({"e": DecisionTreeClassifier()})
    assert canonical(float("nan")) == canonical(np.float32("nan"))
    assert canonical({1: 2}) != canonical({"1": 2})
    assert canonical(KFold(3)) == canonical(KFold(3)) != canonical(KFold(4))
    powers = [lambda rows, power=power: rows**power for power in (2, 2, 3)]
    assert canonical(powers[0]) == canonical(powers[1]) != canonical(powers[2])


def test_several_scores_are_decided_by_the_one_that_refits():
    search = grid(scoring=["accuracy", "f1_macro"], refit="f1_macro")
    found = ss.StableSearch(search, 5, random_state=0).fit(X, Y)
    rows = found.bags_[0]
    inner = seeded(grid(scoring="f1_macro"), ss.bag_seed(found.seed_, 0)).fit(X[rows], Y[rows])
    assert found.choice_.outcomes[found.choice_.codes[0]].value == inner.best_params_


def two_scores(fitted, rows, labels):
    return {"accuracy": fitted.score(rows, labels), "small": -fitted.get_depth()}


def test_a_score_among_several_of_one_function_decides():
    def depths(**more):
        found = ss.StableSearch(grid(**more), 5, random_state=0).fit(X, Y)
        return [found.choice_.outcomes[code].value["max_depth"] for code in found.choice_.codes]

    assert depths(scoring=two_scores, refit="small") == [1] * 5
    assert depths(scoring=two_scores, refit="accuracy") == depths()
    assert depths(scoring="accuracy", refit="f1") == depths()  # with one score any name says no more than True


def test_a_callable_refit_decides_without_a_last_fit():
    fits = []

    class Tree(DecisionTreeClassifier):
        def fit(self, rows, *more):
            fits.append(len(rows))
            return super().fit(rows, *more)

    def second(results):
        return np.argsort(results["mean_test_f1_macro"])[-2]

    search = GridSearchCV(
        Tree(), {"max_depth": [1, 2, 4]}, cv=3, scoring=["accuracy", "f1_macro"], refit=second, error_score="raise"
    )
    found = ss.StableSearch(search, 4, random_state=0).fit(X, Y)
    assert len(fits) == 4 * 3 * 3
    rows = found.bags_[0]
    inner = seeded(search, ss.bag_seed(found.seed_, 0)).fit(X[rows], Y[rows])
    assert found.choice_.outcomes[found.choice_.codes[0]].value == inner.best_params_


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"scoring": ["accuracy", "f1"], "refit": False}, ValueError, "^refit of the search must name .*; got False"),
        ({"scoring": ["accuracy", "f1"]}, ValueError, r"^refit of the search .*\['accuracy', 'f1'\].*; got True"),
        ({"scoring": {"a": "accuracy"}, "refit": "b"}, ValueError, "^refit of the search must name .*; got 'b'"),
        ({"scoring": two_scores, "refit": False}, ValueError, r"^bag 0 .*\['accuracy', 'small'\].*; got False"),
        ({"refit": lambda results: 7}, ValueError, "^bag 0 .* what refit returns must be the place .* to 2; got 7"),
        ({"refit": lambda results: 1.0}, TypeError, "^bag 0 .* what refit returns must be the place .*; got 1.0"),
    ],
)
def test_searches_in_which_nothing_decides_are_refused(more, error, message):
    with pytest.raises(error, match=message):
        ss.StableSearch(grid(**more), 3, random_state=0).fit(X, Y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_scores_that_are_nan_win_nothing():
    def nan_at(depths, fitted, rows, labels):
        return np.nan if fitted.max_depth in depths else fitted.score(rows, labels)

    some = ss.StableSearch(grid(scoring=partial(nan_at, (2, 4))), 4, random_state=0).fit(X, Y)
    assert some.candidates_ == [{"max_depth": 1}]
    with pytest.raises(ValueError, match=r"^bag 0 .* failed: the search must give some setting a score; got NaN for"):
        ss.StableSearch(grid(scoring=partial(nan_at, (1, 2, 4))), 4, random_state=0).fit(X, Y)


def test_settings_of_which_every_bag_has_a_copy_are_the_same():
    pipe = make_pipeline(FunctionTransformer(), RidgeClassifierCV())
    settings = {
        "functiontransformer__func": [lambda rows: -rows, partial(np.multiply, 3.0)],
        "ridgeclassifiercv__cv": [KFold(3), KFold(4)],
    }
    search = GridSearchCV(pipe, settings, cv=2)
    one, two = (ss.StableSearch(search, 12, random_state=1, n_jobs=jobs).fit(X, Y).choice_ for jobs in (1, 2))
    assert len(one.outcomes) <= 4 < one.n_bags
    assert one.codes.tolist() == two.codes.tolist()


def test_refits_leave_groups_to_the_splitter_and_are_the_same_each_time():
    search = GridSearchCV(ExtraTreeClassifier(), {"max_depth": [3, 6]}, cv=GroupKFold(3))

    def fitted():
        model = ss.StableSearch(search, 4, random_state=0, refit=True).fit(X, Y, groups=np.arange(150) // 5)
        return model.estimators_[0]

    assert np.array_equal(fitted().tree_.threshold, fitted().tree_.threshold)
    search.estimator = ExtraTreeClassifier(random_state=5)
    assert fitted().random_state == 5


def test_failures_name_their_bag():
    def fails(rows, labels, random_state):
        if 3 in rows[:, 0].round(1):
            return "fine"
        raise RuntimeError("no such luck")

    numbers = np.arange(40.0)[:, None]
    with pytest.raises(RuntimeError, match=r"^bag \d+ \(learner seed \d+\) failed: no such luck"):
        ss.StableSearch(fails, 20, random_state=0).fit(numbers, numbers[:, 0])
    with pytest.raises(TypeError, match=r"^bag 0 \(learner seed \d+\) failed: the choice must be hashable; got \[1\]"):
        ss.StableSearch(lambda rows, labels: [1], 5, random_state=0).fit(X, Y)
    endless = SimpleNamespace(get_params=lambda deep: {"own": endless})
    grid = SimpleNamespace(best_params_={"estimator": endless}, fit=lambda rows, labels: None)
    with pytest.raises(TypeError, match=r"^bag 0 \(learner seed \d+\) failed: the choice must be hashable; got"):
        ss.StableSearch(grid, 5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"^bag 0 .* failed: the choice must equal itself, .*; got \(1, nan\)"):
        ss.StableSearch(lambda rows, labels: (1, np.nan), 5, random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    ("search", "message"),
    [(5, "^search must be an object with fit and best_params_"), (GridSearchCV, "^search must be an object")],
)
def test_what_is_no_search_is_refused(search, message):
    with pytest.raises(TypeError, match=message):
        ss.StableSearch(search).fit(X, Y)
    with pytest.raises(ValueError, match=r"^refit must be False for a search without an estimator"):
        ss.StableSearch(lambda rows: 1, refit=True).fit(X)


@pytest.mark.trial
def test_digits_against_searches_without_each_row(full_trials):
    """A 12-point grid, a tree, 100 bags; the plain search refitted without each of 100 rows, and so the sets."""
    digits, labels = load_digits(return_X_y=True)
    rows = slice(None) if full_trials else slice(200)
    digits, labels = digits[rows], labels[rows]
    depths, leaves = ([3, 5, 7, 9, 12, 15], [1, 4]) if full_trials else ([3, 9], [1, 4])
    plain = GridSearchCV(TREE, {"max_depth": depths, "min_samples_leaf": leaves}, cv=3, refit=False)
    n_bags, n_left = (100, 100) if full_trials else (15, 3)
    stable = ss.StableSearch(plain, n_bags, random_state=0, epsilon=0.3, max_samples=0.5, n_jobs=2).fit(digits, labels)
    first, flips, apart = plain.fit(digits, labels).best_params_, 0, 0
    for row in np.random.default_rng(0).choice(len(digits), n_left, replace=False):
        kept = np.delete(np.arange(len(digits)), row)
        flips += plain.fit(digits[kept], labels[kept]).best_params_ != first
        left = stable.choice_.codes[~stable.bags_.holds(row)]
        without = ss.stable_choice([stable.choice_.outcomes[code] for code in left], 0.3)
        apart += not set(without.candidates) & set(stable.choice_.candidates)
    audit = stable.audit()
    print(f"{stable.summary()} guarantee {stable.guarantee().delta:.3f}, audit {audit.max_instability:.4f}")
    print(f"plain search flips in {flips} of {n_left}, sets are disjoint in {apart}")
    assert apart <= flips
    assert audit.max_instability <= max(stable.guarantee().delta, 0.05)


def test_an_interrupted_search_goes_on_from_its_checkpoint(tmp_path):
    """Bags that are finished are never asked again, whatever interrupts, and the votes are those of a straight run."""

    def chooses(rows, labels, random_state):
        name = f"{random_state}-{rows.sum():.6f}"
        (tmp_path / "calls" / name).touch(exist_ok=False)
        if len(list((tmp_path / "calls").iterdir())) == int((tmp_path / "stop").read_text()):
            (tmp_path / "calls" / name).unlink()
            raise KeyboardInterrupt
        return int(random_state % 3)

    (tmp_path / "calls").mkdir()
    (tmp_path / "stop").write_text("6")
    model = ss.StableSearch(chooses, 12, checkpoint=tmp_path / "kept")  # without a seed: the checkpoint keeps it
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(list((tmp_path / "kept").glob("*/bag-*.joblib"))) == 5
    (tmp_path / "stop").write_text("10")
    with pytest.raises(KeyboardInterrupt):
        ss.StableSearch(chooses, 12, checkpoint=tmp_path / "kept").fit(X, Y)
    (tmp_path / "stop").write_text("0")
    found = ss.StableSearch(chooses, 12, checkpoint=tmp_path / "kept").fit(X, Y)
    assert len(list((tmp_path / "calls").iterdir())) == 12
    votes = [found.choice_.outcomes[code].value for code in found.choice_.codes]
    assert votes == [ss.bag_seed(found.seed_, bag) % 3 for bag in range(12)]


def test_a_checkpoint_is_of_one_search_on_one_table(tmp_path):
    folder = tmp_path / "kept"
    first = ss.StableSearch(grid(), 6, random_state=0, checkpoint=folder).fit(X, Y)
    files = sorted(folder.glob("*/bag-*.joblib"))
    assert len(files) == 6
    files[2].write_bytes(files[3].read_bytes())  # another bag's, and a damaged one: both are searched again
    files[4].write_bytes(files[4].read_bytes()[:-9])
    again = ss.StableSearch(grid(), 9, random_state=0, checkpoint=folder, n_jobs=2).fit(X, Y)
    straight = ss.StableSearch(grid(), 9, random_state=0).fit(X, Y)
    assert np.array_equal(again.choice_.codes, straight.choice_.codes)
    assert np.array_equal(again.choice_.codes[:6], first.choice_.codes)
    for other in (
        ss.StableSearch(GridSearchCV(TREE, {"max_depth": [1, 2]}, cv=3), 2, random_state=0, checkpoint=folder),
        ss.StableSearch(grid(), 2, random_state=1, checkpoint=folder),
        ss.StableSearch(grid(), 2, random_state=0, max_samples=0.4, checkpoint=folder),
        ss.StableSearch(lambda rows, labels: 1, 2, random_state=0, checkpoint=folder),
        ss.StableSearch(lambda rows, labels: 2, 2, random_state=0, checkpoint=folder),
    ):
        before = len(list(folder.glob("*/bag-*.joblib")))
        other.fit(X, Y)
        assert len(list(folder.glob("*/bag-*.joblib"))) == before + 2
    with pytest.raises(TypeError, match=r"^checkpoint must be a folder or None; got 5"):
        ss.StableSearch(grid(), 2, checkpoint=5).fit(X, Y)
    with pytest.raises(ValueError, match=r"^checkpoint must be None where a fit cannot be told from others"):
        ss.StableSearch(grid(scoring=lambda *_: 0.5), 2, checkpoint=folder).fit(X, Y)


@pytest.mark.parametrize(
    "splits", [[(np.arange(10), np.arange(10, 20))], PredefinedSplit(np.arange(150) % 2)], ids=["list", "predefined"]
)
def test_splits_that_name_rows_of_one_table_are_refused(splits):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(TREE, {"max_depth": [1, 2]}, cv=splits)  # on a bag they would name other rows
    with pytest.raises(ValueError, match=r"^cv of the search must be a number of folds or a splitter, .*; got "):
        ss.StableSearch(search, 3, random_state=0).fit(X, y)


def test_an_estimator_that_does_not_search_is_a_sentence():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match=r"^bag 0 \(.*\) failed: search must be an object with fit and best_params_"):
        ss.StableSearch(TREE, 3, random_state=0).fit(X, y)
