"""Trees on disk: small, without pickle, and checked when read."""

import io
import random

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from helpers.saved_files import array_file, change_array, edit, flip, put_array
from steadyset import _native
from steadyset.trees import TreeClassifier, TreeGroup, _arrays

ARRAYS = ("tree_nodes", "feature", "key", "missing_left", "leaf_entries", "entry_class", "entry_weight", "importances")


def group_of(X, y, **settings):
    rng = np.random.default_rng(0)
    bags = [rng.choice(len(X), len(X) // 2, replace=False) for _ in range(6)]
    return next(TreeClassifier(**settings).fit_bags(X, y, bags, range(6)))


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.mark.parametrize("settings", [{}, {"max_depth": 4}, {"class_weight": {0: 2.5}}, {"criterion": "entropy"}])
def test_a_saved_group_reads_as_it_was(tmp_path, digits, settings):
    X, y = digits
    X = X.copy()
    X[::9, 20] = np.nan
    group = group_of(X, y, **settings)
    group.save(tmp_path / "trees")
    same = TreeGroup.load(tmp_path / "trees")
    assert (same.numbers, same.seeds) == (group.numbers, group.seeds)
    np.testing.assert_array_equal(same.predict_proba(X), group.predict_proba(X))
    for name, values in group._forest.arrays().items():
        np.testing.assert_array_equal(same._forest.arrays()[name], values)
    assert same.members()[2].get_params().keys() == group.members()[2].get_params().keys()
    with pytest.raises(FileExistsError, match=r"^folder must be new or empty"):
        group.save(tmp_path / "trees")
    group.save(tmp_path / "trees", overwrite=True)


def test_a_tree_with_categories(tmp_path):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"colour": ["red", "blue", None, "red"], "x": [1.0, 2.0, 3.0, 4.0]})
    tree = TreeClassifier(random_state=0).fit(X, ["a", "b", "c", "d"])
    tree.save(tmp_path / "tree")
    same = TreeClassifier.load(tmp_path / "tree")
    assert same.predict(X).tolist() == ["a", "b", "c", "d"]
    assert same.feature_names_in_.tolist() == ["colour", "x"]
    with pytest.raises(ValueError, match="'mauve' in row 0"):
        same.predict(pd.DataFrame({"colour": ["mauve"], "x": [1.0]}))


def test_a_forest_takes_a_quarter_of_scikit_learns_file(tmp_path, digits):
    X, y = digits
    rng = np.random.default_rng(0)
    bags = [rng.choice(len(X), len(X)) for _ in range(60)]
    group = next(TreeClassifier(max_features="sqrt").fit_bags(X, y, bags, range(60)))
    group.save(tmp_path / "trees")
    ours = sum(path.stat().st_size for path in (tmp_path / "trees").iterdir())
    theirs = io.BytesIO()
    joblib.dump(RandomForestClassifier(60, random_state=0).fit(X, y), theirs)
    assert 4 * ours < theirs.getbuffer().nbytes


def test_damage_is_found(tmp_path, digits):
    X, y = digits
    group = group_of(X[:200], y[:200])
    for name in ARRAYS:
        folder = tmp_path / name
        group.save(folder)
        flip(array_file(folder, name))
        with pytest.raises(ValueError, match="damaged"):
            TreeGroup.load(folder)


def changes():
    yield "feature", lambda a: a.__setitem__(0, 64)
    yield "feature", lambda a: a.__setitem__(0, -1)
    yield "feature", lambda a: a.__setitem__(slice(None), -1)
    yield "feature", lambda a: a.__setitem__(np.flatnonzero(a < 0)[0], 3)
    yield "feature", lambda a: a.__setitem__(np.flatnonzero(a < 0)[0], -7)
    yield "tree_nodes", lambda a: a.__setitem__(0, a[0] + 2)
    yield "tree_nodes", lambda a: a.__setitem__(slice(None), a[::-1].copy() + 1)
    yield "leaf_entries", lambda a: a.__setitem__(0, 0)
    yield "leaf_entries", lambda a: a.__setitem__(0, 100)
    yield "leaf_entries", lambda a: a.__setitem__(0, -1)
    yield "entry_class", lambda a: a.__setitem__(0, 10)
    yield "entry_class", lambda a: a.__setitem__(0, -1)
    yield "entry_weight", lambda a: a.__setitem__(0, 0)
    yield "importances", lambda a: a.__setitem__(0, np.nan)


@pytest.mark.parametrize(("name", "change"), list(changes()))
def test_a_signed_file_that_describes_no_trees_is_refused(tmp_path, digits, name, change):
    X, y = digits
    group_of(X[:200], y[:200]).save(tmp_path / "trees")
    change_array(tmp_path / "trees", name, change)
    with pytest.raises(ValueError, match=r"^folder must hold saved trees in good order; got .*\.$"):
        TreeGroup.load(tmp_path / "trees")


@pytest.mark.parametrize("rows", [-1, 0, 2**32])
def test_leaves_hold_as_many_rows_as_32_bits_count(digits, rows):
    X, y = digits
    forest = group_of(X[:200], y[:200])._forest
    arrays = forest.arrays()
    arrays["leaf_rows"][0] = rows
    with pytest.raises(ValueError, match=r"^a leaf holds (at least one row|fewer than 2\^32 rows)$"):
        _native.TreesForest.make(**arrays, **_arrays.sizes(forest))


@pytest.mark.parametrize("weights", [None, "whole", "shares"])
def test_pickles_hold_few_bytes_and_older_ones_the_arrays_as_they_are(digits, weights):
    X, y = digits
    given = {None: None, "whole": 1.0 + np.arange(200) % 3, "shares": np.linspace(0.1, 1, 200)}[weights]
    bags = [np.random.default_rng(b).integers(200, size=150) for b in range(20)]
    group = next(TreeClassifier().fit_bags(X[:200], y[:200], bags, range(20), sample_weight=given))
    arrays, sizes = group._forest.arrays(), _arrays.sizes(group._forest)
    state = group.__getstate__()
    few, all_of_them = (
        sum(np.asarray(values).nbytes for name, values in each.items() if name != "importances")
        for each in (state["_forest"], arrays)
    )
    assert few < 0.5 * all_of_them
    assert ("leaf_rows" in state["_forest"]) == (weights is not None)
    for forest in (state["_forest"], {**arrays, **sizes}):
        copied = TreeGroup.__new__(TreeGroup)
        copied.__setstate__({**state, "_forest": forest})
        assert all(np.array_equal(values, arrays[name]) for name, values in copied._forest.arrays().items())
        assert np.array_equal(copied.predict_proba(X), group.predict_proba(X))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["tree"].update(kinds=[]),
        lambda m: m["tree"].update(kinds=[9] * 64),
        lambda m: m["tree"].update(kinds=[2] * 63),
        lambda m: m["tree"].update(wide=False),
        lambda m: m["tree"].update(classes={"dtype": "<i8", "values": [0, 0]}),
        lambda m: m["tree"].update(names=["a"]),
        lambda m: m["tree"].update(params={"criterion": "none"}),
        lambda m: m["tree"].update(params={"unknown": 1}),
        lambda m: m["tree"].update(params=7),
        lambda m: m["tree"]["params"].update(max_depth="x"),
        lambda m: m.update(numbers=[0, 0, 1, 2, 3, 4]),
        lambda m: m.update(numbers="abc"),
        lambda m: m.update(seeds=[1]),
        lambda m: m.update(whole="yes"),
        lambda m: m.pop("tree"),
    ],
)
def test_a_signed_header_that_fits_nothing_is_refused(tmp_path, digits, change):
    X, y = digits
    group_of(X[:200], y[:200]).save(tmp_path / "trees")
    edit(tmp_path / "trees", change)
    with pytest.raises(ValueError, match=r"^folder must hold .*\.$"):
        TreeGroup.load(tmp_path / "trees")


def test_arrays_of_other_kinds_are_refused(tmp_path, digits):
    X, y = digits
    group = group_of(X[:200], y[:200])
    for name in ARRAYS:
        for other in (np.zeros((2, 2), np.int8), np.zeros(3, "U1"), np.zeros(0, np.int64), np.full(5, 2.5)):
            folder = tmp_path / "trees"
            group.save(folder, overwrite=True)
            put_array(folder, name, other)
            with pytest.raises(ValueError, match=r"^folder must hold .*\.$"):
                TreeGroup.load(folder)


@pytest.mark.trial
def test_random_signed_arrays_never_crash(tmp_path, digits, full_trials):
    X, y = digits
    rng, refused = random.Random(0), 0
    group = group_of(X[:150], y[:150])
    folder = tmp_path / "trees"
    rounds = 2000 if full_trials else 60
    for _ in range(rounds):
        group.save(folder, overwrite=True)
        name = rng.choice(ARRAYS)

        def change(array):
            for _ in range(rng.choice([1, 3, 30])):
                low, high = (
                    (0, 255) if array.dtype.kind == "f" else (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
                )
                array[rng.randrange(len(array))] = rng.randint(low, high)

        change_array(folder, name, change)
        try:
            TreeGroup.load(folder).predict_proba(X)
        except ValueError:
            refused += 1
    assert 0 < refused <= rounds


@pytest.mark.parametrize("names", [["red", "red"], [["red"], "blue"], "red", [float("nan")], {"red": 1}])
def test_categories_that_cannot_be_told_apart_are_refused(tmp_path, names):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"colour": ["red", "blue", None, "red"]})
    TreeClassifier(random_state=0).fit(X, ["a", "b", "c", "d"]).save(tmp_path / "tree")
    edit(tmp_path / "tree", lambda manifest: manifest["tree"].__setitem__("categories", [names]))
    with pytest.raises(ValueError, match="its categories are not"):
        TreeClassifier.load(tmp_path / "tree")
