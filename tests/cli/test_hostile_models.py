"""Model files that were damaged, or made by somebody hostile: refused in one sentence, or as good as they were."""

import functools
import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

import steadyset as ss
from helpers import hostile_models, model_zoo
from steadyset.tables import TableModel, Target, current_versions, load_model, save_model


class Zoo:
    """Models of every kind of estimator, one bag each, and their files: made when they are first asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.model = functools.cache(lambda name: model_zoo.model(name, 1))

    def file(self, name):
        path = self.folder / f"{name}.skops"
        if not path.exists():
            assert save_model(self.model(name), str(path)) == []
        return path


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    return Zoo(tmp_path_factory.mktemp("zoo"))


@pytest.mark.parametrize("name", model_zoo.ESTIMATORS)
def test_every_kind_of_estimator_loads_without_asking(name, zoo):
    model = zoo.model(name)
    read = load_model(str(zoo.file(name)))
    points = model_zoo.points(model.columns)
    assert np.array_equal(read.classifier.predict_proba(points), model.classifier.predict_proba(points))


@pytest.mark.parametrize("name", ["forest", "net"])
def test_several_bags_load_without_asking(name, tmp_path):
    model = model_zoo.model(name, 3)
    assert save_model(model, str(tmp_path / "m.skops")) == []
    read = load_model(str(tmp_path / "m.skops"))
    points = model_zoo.points(model.columns)
    assert np.array_equal(read.classifier.predict_proba(points), model.classifier.predict_proba(points))


@pytest.mark.trial
def test_mutated_files_are_refused_or_equal(zoo, full_trials):
    """Each kind of estimator in each way; at full size 12,000 files."""
    kinds = [zoo.file(name) for name in model_zoo.ESTIMATORS]
    counts = hostile_models.trial(zoo.folder, seed=0)
    assert sum(counts.values()) == len(kinds) * len(hostile_models.WAYS)
    for seed in range(1, 11) if full_trials else ():
        counts += hostile_models.trial(zoo.folder, seed, 1_200)
    assert {came for (way, came) in counts if not way.endswith("sealed")} <= {"refused", "equal"}
    print(sum(counts.values()), sorted(counts.items()))


def rewritten(path, change):
    """Change members of a file, with right checksums and a right digest."""
    members = hostile_models.members_of(path.read_bytes())
    change(members)
    path.write_bytes(hostile_models.archive_of(members, sealed=True))


def refused(path):
    with pytest.raises(ValueError, match=r"^[^\n]*\.$") as caught:
        load_model(str(path))
    return str(caught.value)


def set_array(members, chosen, change):
    """Change each array that is chosen."""
    found = 0
    for name in hostile_models.arrays(members):
        array = np.load(io.BytesIO(members[name]))
        if chosen(array):
            out = io.BytesIO()
            np.save(out, change(array.copy()))
            members[name] = out.getvalue()
            found += 1
    assert found


def with_fields(*names):
    return lambda array: array.dtype.names is not None and set(names) <= set(array.dtype.names)


def field(name, value, place=0):
    def change(array):
        array[name][place] = value
        return array

    return change


TREE, HISTOGRAM = with_fields("left_child"), with_fields("bitset_idx")
CRAFTED = {
    "left child": ("tree", TREE, field("left_child", -(10**8))),
    "right child": ("forest", TREE, field("right_child", 10**8)),
    "one leaf side": ("extra-trees", TREE, field("left_child", -1)),
    "leaf of -2": ("tree", TREE, field("left_child", -2, -1)),
    "cycle": ("boosting", TREE, field("left_child", 0)),
    "feature": ("bagging", TREE, field("feature", 2**30 - 1)),
    "negative feature": ("adaboost", TREE, field("feature", -5)),
    "fewer nodes": ("forest", TREE, lambda nodes: nodes[:-1]),
    "histogram feature": ("hist-boosting", HISTOGRAM, field("feature_idx", -(10**9))),
    "histogram width": ("hist-boosting", HISTOGRAM, field("feature_idx", 10**6)),
    "histogram child": ("hist-boosting", HISTOGRAM, field("left", 2**31)),
    "histogram set": (
        "hist-boosting",
        HISTOGRAM,
        lambda nodes: field("bitset_idx", 2**30)(field("is_categorical", 1)(nodes)),
    ),
    "histogram category": ("hist-boosting", HISTOGRAM, lambda nodes: field("feature_idx", 2)(nodes)),
    "no support vectors": ("svm", lambda a: a.ndim == 2 and a.dtype == np.float64, lambda a: a[:0]),
    "counts of a million": ("svm", lambda a: a.dtype == np.int32 and a.shape == (3,), lambda a: a + 10**6),
    "labels of neighbours": ("knn-brute", lambda a: a.dtype == np.int64 and a.ndim == 1, lambda a: a + 10**6),
    "feature of own trees": (
        "own-trees",
        lambda a: a.dtype == np.int8 and a.min() == -1,
        lambda a: a * np.int32(10**6),
    ),
    "class of own trees": ("own-trees", lambda a: a.dtype == np.int8 and a.min() == 0, lambda a: a + np.int32(10**6)),
    "nodes of own trees": ("own-trees", lambda a: a.dtype == np.int8 and a.shape == (1,), lambda a: a + 2),
    "membership": ("tree", lambda a: a.dtype == np.uint8 and a.ndim == 2, lambda a: a[:, :-1]),
    "weights": ("net", lambda a: a.dtype == np.float32 and a.ndim == 2, lambda a: a[:, :2]),
    "rows without a distance": ("own-neighbors", lambda a: a.dtype == np.float64 and a.ndim == 2, lambda a: a * np.nan),
    "words of neighbours": ("neighbors", lambda a: a.dtype == np.uint64, lambda a: a[::-1]),
    "rows of neighbours": ("neighbors", lambda a: a.dtype == np.float64 and a.ndim == 2, lambda a: a + 1.0),
    "center": ("own-neighbors", lambda a: a.dtype == np.float64 and a.ndim == 1, lambda a: a[:1]),
    "kinds of columns": ("own-tree", lambda a: a.dtype == np.uint8 and a.ndim == 1, lambda a: a[:1]),
    "digests of rows": ("given-ids", lambda a: a.dtype == np.uint64 and a.ndim == 1, lambda a: a[:-1]),
    "first scores": ("boosting", lambda a: a.dtype == np.float64 and a.shape == (3,), lambda a: a[:1]),
    "nodes of trees": ("own-trees", lambda a: a.dtype == np.int8 and a.ndim == 1, lambda a: a + np.int32(10**6)),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_crafted_arrays_with_right_digests(case, zoo, tmp_path):
    name, chosen, change = CRAFTED[case]
    path = tmp_path / "m.skops"
    path.write_bytes(zoo.file(name).read_bytes())
    if case == "histogram category":  # a split by categories on a column of numbers
        change = field("is_categorical", 1, slice(None))
    rewritten(path, lambda members: set_array(members, chosen, change))
    assert any(words in refused(path) for words in ("it holds", "could not be read", "is not a model file"))


def states(schema, kind):
    """The attributes of every object of a type in a schema."""
    nodes = hostile_models.nodes_of(schema)
    return [node["content"]["content"] for node in nodes if node["__class__"] == kind and node.get("content")]


def plain(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def edit(kind, name, value=None, beside=None):
    """Set an attribute of every object of a type that has it, or the one beside it; without a value delete it."""

    def change(members):
        schema = json.loads(members["schema.json"])
        found = [state for state in states(schema, kind) if (beside or name) in state]
        assert found
        for state in found:
            if value is None:
                del state[name]
            else:
                state[name] = plain(value)
        members["schema.json"] = json.dumps(schema).encode()

    return change


def retype(members, kind, other):
    """Make every object of a type one of another."""
    schema = json.loads(members["schema.json"])
    found = [node for node in hostile_models.nodes_of(schema) if node["__class__"] == kind]
    assert found
    for node in found:
        node["__class__"] = other
    members["schema.json"] = json.dumps(schema).encode()


EDITED = {
    "no number of features": ("tree", edit("DecisionTreeClassifier", "n_features_in_")),
    "other number of features": ("tree", edit("DecisionTreeClassifier", "n_features_in_", 2)),
    "forest without features": ("forest", edit("RandomForestClassifier", "n_features_in_")),
    "node count": ("tree", edit("Tree", "node_count", 10**6)),
    "depth": ("tree", edit("Tree", "max_depth", 0)),
    "columns of boosting": ("boosting", edit("GradientBoostingClassifier", "n_trees_per_iteration_", 1)),
    "bins instead of rows": (
        "hist-boosting",
        edit("HistGradientBoostingClassifier", "_in_fit", True, beside="_predictors"),
    ),
    "loss of boosting": ("boosting", lambda members: retype(members, "HalfMultinomialLoss", "HalfBinomialLoss")),
    "neighbours beyond the rows": ("knn-brute", edit("KNeighborsClassifier", "n_neighbors", 10**6)),
    "bags": ("tree", edit("Bags", "n_bags", 10**6)),
    "rows of bags": ("tree", edit("Bags", "n_samples", 10**6)),
    "classes of a member": ("tree", edit("Member", "n_classes", 2**30 - 1)),
    "place of random numbers": ("mlp", edit("dict", "pos", 10**9)),
    "inputs of networks": ("net", edit("NetClassifier", "n_features_in_")),
    "columns of trees": ("own-trees", edit("TreeClassifier", "n_features_in_", 7)),
    "votes of neighbours": ("own-neighbors", edit("StableNeighborsClassifier", "bag_size_", 10**12)),
    "bag size of neighbours": ("neighbors", edit("StableNeighborsClassifier", "bag_size_", 7)),
    "share of neighbours": ("neighbors", edit("StableNeighborsClassifier", "max_samples", 0.1)),
    "scale of neighbours": ("own-neighbors", edit("StableNeighborsClassifier", "scale_", 0.3)),
}
RULES = {
    "epsilon": ("top-k", edit("InflatedTopK", "epsilon", -0.5)),
    "k": ("top-k", edit("InflatedTopK", "k", -(10**9))),
    "k of a part": ("union", edit("TopK", "k", 0)),
    "parts": ("union", edit("Union", "rules", [1, 2])),
    "coverage": ("union", edit("ConformalRule", "coverage", 5)),
    "score": ("union", edit("ConformalRule", "score", "x")),
    "one threshold": ("union", edit("ConformalRule", "thresholds", 0.5)),
    "counts": ("union", edit("ConformalRule", "n_calibration", [20, 20, -3])),
    "seed": ("union", edit("ConformalRule", "random_state", -1)),
}


@pytest.mark.parametrize("case", EDITED)
def test_crafted_attributes_with_right_digests(case, zoo, tmp_path):
    name, change = EDITED[case]
    path = tmp_path / "m.skops"
    path.write_bytes(zoo.file(name).read_bytes())
    if case == "place of random numbers":

        def change(members):
            schema = json.loads(members["schema.json"])
            places = [node["content"] for node in hostile_models.nodes_of(schema) if "pos" in str(node)[:4000]]
            found = [place for place in places if isinstance(place, dict) and "pos" in place]
            assert found
            for place in found:
                place["pos"] = plain(10**9)
            members["schema.json"] = json.dumps(schema).encode()

    rewritten(path, change)
    refused(path)


@pytest.mark.parametrize("case", RULES)
def test_rules_that_cannot_be_made_are_refused(case, zoo, tmp_path):
    """Read from a file, a rule's fields are set without its constructor."""
    name, change = RULES[case]
    path = tmp_path / "m.skops"
    path.write_bytes(zoo.file(name).read_bytes())
    rewritten(path, change)
    assert "it holds a rule with settings that it cannot have" in refused(path)


def with_attribute(kind, name, node, beside):
    """Give every object of a type that has one attribute another one."""

    def change(members):
        schema = json.loads(members["schema.json"])
        found = [n["content"] for n in hostile_models.nodes_of(schema) if n["__class__"] == kind and n.get("content")]
        found = [state for state in found if beside in state["content"]]
        assert found
        for state in found:
            if name not in state["content"]:
                state["key_types"]["content"].append(state["key_types"]["content"][0])
            state["content"][name] = node
        members["schema.json"] = json.dumps(schema).encode()

    return change


FLOAT32 = {"__class__": "float32", "__module__": "numpy", "__loader__": "TypeNode"}
SHADOWED = {
    "rows of trees": ("tree", with_attribute("DecisionTreeClassifier", "_validate_X_predict", FLOAT32, "tree_")),
    "rows of forests": (
        "forest",
        with_attribute("RandomForestClassifier", "_validate_X_predict", FLOAT32, "estimators_"),
    ),
    "rows of machines": ("svm", with_attribute("SVC", "_validate_for_predict", FLOAT32, "support_")),
    "kind of machine": ("svm", with_attribute("SVC", "_impl", plain("one_class"), "support_")),
    "rows of histograms": (
        "hist-boosting",
        with_attribute("HistGradientBoostingClassifier", "_preprocess_X", FLOAT32, "_predictors"),
    ),
    "prepared words of bags": ("tree", with_attribute("Bags", "_words", plain(None), "n_bags")),
    "prepared counts of bags": ("tree", with_attribute("Bags", "counts", plain(None), "n_bags")),
    "prediction": ("logistic", with_attribute("StableClassifier", "predict_proba", FLOAT32, "groups_")),
}


@pytest.mark.parametrize("case", SHADOWED)
def test_a_value_in_place_of_a_method_is_refused(case, zoo, tmp_path):
    """Python would call it instead: a tree that does not look at its rows reads beyond them."""
    name, change = SHADOWED[case]
    path = tmp_path / "m.skops"
    path.write_bytes(zoo.file(name).read_bytes())
    rewritten(path, change)
    assert "a value in place of" in refused(path)


def test_what_can_be_worked_out_again_is_not_saved(zoo, tmp_path):
    model = zoo.model("tree")
    assert len(model.classifier.estimators_) == 1
    assert model.classifier.bags_.counts.sum() > 0
    save_model(model, str(tmp_path / "m.skops"))
    read = load_model(str(tmp_path / "m.skops")).classifier
    assert "estimators_" not in vars(read)
    assert np.array_equal(read.bags_.counts, model.classifier.bags_.counts)


def test_a_changed_member_is_refused_by_the_digest(zoo, tmp_path):
    """A threshold that is just another number contradicts nothing; only the digest can tell."""
    path = tmp_path / "m.skops"
    members = hostile_models.members_of(zoo.file("tree").read_bytes())
    set_array(members, TREE, field("threshold", 123.0))
    path.write_bytes(hostile_models.archive_of(members, sealed=False))
    assert "its digest is not that of its content" in refused(path)
    path.write_bytes(hostile_models.archive_of(members, sealed=True))
    assert load_model(str(path)).classifier.n_estimators == 1


def test_a_file_without_a_digest_is_refused(zoo, tmp_path):
    path = tmp_path / "m.skops"
    rewritten_members = hostile_models.members_of(zoo.file("tree").read_bytes())
    del rewritten_members[hostile_models.DIGEST]
    path.write_bytes(hostile_models.archive_of(rewritten_members, sealed=False))
    assert "it has no digest" in refused(path)


def test_two_members_of_one_name_are_refused(zoo, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(zoo.file("tree").read_bytes())
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("schema.json", "{}")
    assert "two parts of one name" in refused(path)


def test_a_node_is_what_stands_at_its_place(zoo, tmp_path):
    """skops takes a node for an earlier one of the same id: what was checked would not be what is made."""
    path = tmp_path / "m.skops"
    path.write_bytes(zoo.file("tree").read_bytes())
    before = load_model(str(path)).classifier

    def change(members):
        schema = json.loads(members["schema.json"])
        for node in hostile_models.nodes_of(schema):
            node["__id__"] = 7
        members["schema.json"] = json.dumps(schema).encode()

    rewritten(path, change)
    points = model_zoo.points(model_zoo.COLUMNS)
    assert np.array_equal(load_model(str(path)).classifier.predict_proba(points), before.predict_proba(points))


def test_a_file_starts_no_processes(zoo, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(zoo.file("forest").read_bytes())
    rewritten(path, edit("RandomForestClassifier", "n_jobs", 2**30))
    rewritten(path, edit("StableClassifier", "n_jobs", 2**30))
    read = load_model(str(path)).classifier
    assert read.n_jobs is None
    assert read.groups_[0].estimator[-1].n_jobs is None


@pytest.mark.parametrize(
    ("estimator", "asked"),
    [
        (KNeighborsClassifier(algorithm="kd_tree"), "sklearn.neighbors._kd_tree.KDTree"),
        (
            KNeighborsClassifier(algorithm="brute", metric="canberra"),
            "sklearn.neighbors._classification.KNeighborsClassifier",
        ),
        (
            RadiusNeighborsClassifier(9.0, algorithm="brute", metric="manhattan"),
            "sklearn.neighbors._classification.RadiusNeighborsClassifier",
        ),
        (
            RadiusNeighborsClassifier(9.0, algorithm="brute", p=1),
            "sklearn.neighbors._classification.RadiusNeighborsClassifier",
        ),
        (
            GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()),
            "sklearn.ensemble._gb.GradientBoostingClassifier",
        ),
        (GaussianProcessClassifier(), "sklearn.gaussian_process._gpc.GaussianProcessClassifier"),
    ],
)
def test_what_is_not_checked_asks(estimator, asked, tmp_path):
    frame, labels = model_zoo.rows()
    frame = frame[["a"]]
    fitted = ss.StableClassifier(estimator, 2, max_samples=0.6, random_state=0).fit(frame, labels)
    model = TableModel(fitted, model_zoo.COLUMNS[:1], Target("label", "text"), None, current_versions(), {})
    path = tmp_path / "m.skops"
    names = save_model(model, str(path))
    assert asked in names
    assert f"--trust {asked}" in refused(path)
    read = load_model(str(path), trust=names)
    assert np.array_equal(read.classifier.predict_proba(frame), fitted.predict_proba(frame))


@pytest.fixture(scope="module")
def categories(tmp_path_factory):
    """A model of histograms with a categorical column, which they prepare themselves."""
    frame, labels = model_zoo.rows(200)
    learner = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype", min_samples_leaf=3)
    fitted = ss.StableClassifier(learner, 2, max_samples=0.6, random_state=0).fit(frame, labels)
    model = TableModel(fitted, model_zoo.COLUMNS, Target("label", "text"), None, current_versions(), {})
    path = tmp_path_factory.mktemp("categories") / "m.skops"
    asking = save_model(model, str(path))
    return path, asking, frame, fitted


def test_categories_of_histograms_load(categories):
    """The bins of a categorical column, and the function that prepares it, are among what is checked."""
    path, asking, frame, fitted = categories
    read = load_model(str(path), trust=asking)
    assert np.array_equal(read.classifier.predict_proba(frame), fitted.predict_proba(frame))


SCALER = {
    "__class__": "StandardScaler",
    "__module__": "sklearn.preprocessing._data",
    "__loader__": "ObjectNode",
    "content": None,
}


def test_histograms_whose_rows_are_prepared_otherwise_ask(categories, tmp_path):
    """Compiled code gets the prepared rows unchecked, and reads as many columns as the trees say."""
    path = tmp_path / "m.skops"
    path.write_bytes(categories[0].read_bytes())
    rewritten(path, with_attribute("HistGradientBoostingClassifier", "_preprocessor", SCALER, "_predictors"))
    assert "does not trust by itself" in refused(path)


def test_histograms_whose_rows_lose_columns_are_refused(categories, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(categories[0].read_bytes())

    def change(members):
        set_array(members, lambda array: array.dtype == bool and array.tolist() == [True, True, False], lambda a: a & 0)

    rewritten(path, change)
    assert "a tree that contradicts its estimator" in refused(path)
