"""What a report can be made of, and what it refuses, each with a sentence."""

import errno
import json
import re
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from helpers import report_cases as cases
from steadyset._base.words import out_of_a_hundred
from steadyset.guarantees import TITLES
from steadyset.reporting import StabilityReport, _formats

FOUND, TRUTH = cases.predictions()


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = ss.StableClassifier(n_estimators=40, epsilon=0.1, random_state=0).fit(X, names)
    return model, X, names


def body(html):
    """Return the page without its scripts and styles."""
    _head, rest = html.split("<body>")
    return rest.split('<script type="application/json"')[0]


def text(html):
    """Return what the page says, before its script runs."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", body(html))).split())


def test_numbers_are_plain_and_are_the_librarys(iris):
    model, X, y = iris
    made = ss.report(model, X, y)
    numbers = json.loads(json.dumps(made.numbers, allow_nan=False))
    audit, guarantee = model.audit(X), model.guarantee()
    assert numbers["audit"]["max_instability"] == audit.max_instability
    assert numbers["audit"]["conflicts"] == audit.row_influence.sum()
    assert numbers["guarantee"]["delta"] == guarantee.delta
    assert numbers["guarantee"]["sentence"] == str(guarantee)
    assert numbers["certificates"]["no_row"] == (model.certify(X).bound == 0).mean()
    rules = {line["rule"]: line for line in numbers["rules"]}
    own = ss.metrics.set_report(y, {"own": model.predict_set(X)}, model.predict_proba(X), classes=model.classes_)
    assert rules["inflated argmax"]["coverage"]["value"] == own["coverage"][0]
    assert rules["inflated argmax"]["coverage"]["standard_error"] == own["coverage"][0].standard_error
    assert rules["argmax"]["max_instability"] == audit.at(0).max()
    assert rules["top 2"]["max_instability"] == model.audit(X, ss.TopK(2)).max_instability
    assert "150 points" in repr(made)
    assert len(made.html.encode()) < 6_000_000


def test_the_same_input_gives_the_same_file(iris, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    model, X, y = iris
    made = ss.report(model, X, y)
    assert made.html == ss.report(model, X, y, n_jobs=1).html
    assert "2023-11-14 22:13 UTC" in made.html


def test_without_labels_the_page_says_so():
    made = ss.report(FOUND)
    assert "No true labels were given" in made.html
    assert "Coverage ↑" not in made.html
    assert "correct_single" not in made.numbers["rules"][0]


EVENT = "probability of a contradiction at a point (label sets that share no label) is"
NOTHING = f"Nothing: the bound on the {EVENT} {{}} (vacuous), on average over the rows"
AT_MOST = f"The {EVENT} at most {{}}, {{}}, {{}} over the draw of bags."


@pytest.mark.parametrize("rule", [None, ss.FixedMargin(0.01)])  # the slider moves the first
@pytest.mark.parametrize("resampling", ["bootstrap", "subbagging"])  # the bound is 1; it is above 0.995 and below 1
def test_a_vacuous_guarantee_is_called_so(rule, resampling):
    found, _ = cases.predictions(resampling=resampling, n_bags=18)
    made = ss.report(found, epsilon=0.01 if rule is None else None, rule=rule)
    delta = made.numbers["guarantee"]["delta"]
    assert (delta == 1) == (resampling == "bootstrap")
    assert 0.995 < delta <= 1
    words = text(made.html)
    assert NOTHING.format("1.00" if delta == 1 else "just below 1") in words
    assert "by every theorem, whatever the data" in words
    assert "that is a limit, not a statement about these bags" in words
    claimed, bought = words.split("Promised.")[1].split("whatever the data")[0].split("Bought with")
    assert "at most" not in claimed
    assert "would promise at most 5 in 100" in bought


@pytest.mark.parametrize("rule", [None, ss.FixedMargin(0.37)])
@pytest.mark.parametrize(
    ("bag_size", "scope"), [(30, "on average over the rows and"), (3, "for every row, on average")]
)
def test_a_guarantee_that_says_something_is_a_sentence_too(rule, bag_size, scope):
    found, _ = cases.predictions(bag_size=bag_size, n_bags=61)
    made = ss.report(found, epsilon=0.37 if rule is None else None, rule=rule)
    setting = {"n_samples": 80, "bag_size": bag_size, "n_classes": 4, "epsilon": 0.37}
    best, limit = ss.selection_stability(**setting, n_bags=61), ss.selection_stability(**setting, rule=rule)
    words = text(made.html)
    assert AT_MOST.format(_formats.bound(best.delta), out_of_a_hundred(best.delta), scope) in words
    at = "" if rule is None else "at ε = 0.37, "
    name = f"the {TITLES[best.theorem]}"
    assert f"For B = 61 bags, hash coupling, {at}by {name}, whatever the data." in words
    assert f"(B = ∞) the bound would be {_formats.bound(limit.delta)}; that is a limit" in words


def test_bootstrap_bags_have_no_theorem_6():
    found, truth = cases.predictions(resampling="bootstrap", bag_size=80)
    made = ss.report(found, y=truth)
    assert made.numbers["certificates"]["cleared_points"] is None
    assert "bootstrap bags have no such coupling" in body(made.html)
    assert "any coupling" in body(made.html)


def test_adopted_bags_are_audited_and_never_certified():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    made = ss.report(ss.StableClassifier.from_fitted(forest), X, y)
    assert made.numbers["guarantee"].startswith("No guarantee: bags must be drawn by steadyset.draw_bags")
    assert made.numbers["certificates"].startswith("No certificates: bag_predictions must have bags drawn by")
    assert "never certified" in body(made.html)


@pytest.mark.parametrize("rule", [ss.Argmax(), ss.TopK(2), ss.FixedMargin(0.1), ss.MassThreshold(0.8), ss.argmax_set])
def test_other_rules_are_reported_as_they_are(rule):
    made = ss.report(FOUND, y=TRUTH, rule=rule)
    audit = ss.audit_bags(FOUND, rule)
    assert made.numbers["audit"]["max_instability"] == audit.max_instability
    assert "The rule in use has no slider" in body(made.html)
    assert sum(line["in_use"] for line in made.numbers["rules"]) == 1
    if rule is ss.argmax_set:
        assert made.numbers["certificates"].endswith("rule objects; got argmax_set.")
    else:
        assert made.numbers["certificates"]["median"] == np.median(ss.certify(FOUND, rule).bound)


def test_frames_with_missing_values_and_images_of_any_layout():
    pandas = pytest.importorskip("pandas")
    X, _y = load_iris(return_X_y=True, as_frame=True)
    X = X.assign(colour=pandas.Categorical(["red", None] * 75))
    X.iloc[::2, 0] = np.nan
    made = ss.report(ss.BagPredictions(FOUND.proba, FOUND.bags, FOUND.classes), X.iloc[:30], TRUTH, epsilon=0.2)
    assert "missing" in body(made.html)
    assert "petal width (cm)" in body(made.html)
    assert made.numbers["examples"][0]["features"][0][0] == "sepal length (cm)"
    rng = np.random.default_rng(0)
    for shape in ((30, 5, 6), (30, 1, 5, 6), (30, 5, 6, 3), (30, 3, 300, 200)):
        html = ss.report(FOUND, rng.random(shape), epsilon=0.2).html
        assert "data:image/png;base64,iVBOR" in html
        assert len(html.encode()) < 6_000_000
    assert "data:image/png" not in body(ss.report(FOUND, rng.random((30, 8)), epsilon=0.2).html)
    assert "data:image/png" in body(ss.report(FOUND, rng.random((30, 8)), images=(2, 4), epsilon=0.2).html)


def test_polars_and_sparse_rows():
    polars = pytest.importorskip("polars")
    from scipy.sparse import csr_array

    frame = polars.DataFrame({"age": [None, 2.5] * 15, "name": ["x"] * 30})
    html = body(ss.report(FOUND, frame, epsilon=0.2).html)
    assert "age" in html
    assert "missing" in html
    assert "column 0" in body(ss.report(FOUND, csr_array(np.eye(30)[:, :4]), epsilon=0.2).html)


def test_many_points_are_sampled_and_the_page_says_so():
    found, truth = cases.predictions(n_points=40)
    made = ss.report(found, y=truth, max_points=15)
    assert (made.numbers["n_points"], made.numbers["n_points_given"]) == (15, 40)
    assert "15 points drawn at random from 40" in " ".join(body(made.html).split())


def test_one_point_two_classes_forty_classes():
    assert ss.report(*_of(n_points=1)).numbers["n_points"] == 1
    assert ss.report(*_of(n_classes=2)).numbers["n_classes"] == 2
    assert ss.report(*_of(n_classes=40)).numbers["n_classes"] == 40


def _of(**more):
    found, truth = cases.predictions(**more)
    return found, None, truth


def test_a_pipeline_and_another_epsilon():
    X, y = load_iris(return_X_y=True)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = ss.StableClassifier(inner, n_estimators=20, random_state=0).fit(X, y)
    made = ss.report(model, X[:20], y[:20], epsilon=0.3)
    assert made.numbers["epsilon"] == 0.3
    assert "StandardScaler" in made.numbers["configuration"]["Learner"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            lambda: (RandomForestClassifier(), None),
            "model must be a fitted StableClassifier or StableNeighborsClassifier, or a BagPredictions; got",
        ),
        (lambda: (ss.StableClassifier(), np.zeros((2, 2))), "not fitted"),
        (lambda: (FOUND, np.zeros((3, 2))), "X must have a row for each of the 30 points of the predictions; got 3."),
        (lambda: (FOUND, None, TRUTH[:4]), "y must have one label for each of the 30 rows of X; got 4 labels."),
        (lambda: (FOUND, None, ["x"] * 30), "y must hold labels that the model knows; got 'x' in row 0."),
        (lambda: (FOUND, None, [None] * 30), "y must hold labels that the model knows; got None in row 0."),
        (lambda: (FOUND, None, 3), "y must be a sequence of labels; got 3."),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        ss.report(*arguments())
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": -1}, "epsilon must be a number that is at least 0; got -1."),
        ({"epsilon": np.inf}, "epsilon must be finite for a report"),
        ({"epsilon": 0.1, "rule": ss.Argmax()}, "epsilon and rule must not both be given"),
        ({"rule": "argmax"}, "rule must be a rule object or a callable; got 'argmax'."),
        ({"alpha": 1}, "alpha must be a number above 0 and below 1; got 1."),
        ({"images": (8, 8)}, "images needs X, the points to show; got X=None."),
        ({"images": 8, "X": np.zeros((30, 8))}, "images must be (height, width)"),
        ({"images": (3, 3), "X": np.zeros((30, 8))}, "images must fit the 8 values of a row of X; got (3, 3)."),
        ({"max_points": 0}, "max_points must be a whole number"),
        ({"title": 3}, "title must be a string; got 3."),
        ({"output": 3}, "output must be a path; got 3."),
        ({"output": "/no/such/folder/x.html"}, "'/no/such/folder/x.html': No such file or directory."),
        ({"output": "/"}, "output must be a file; got the folder '/'."),
    ],
)
def test_bad_options_are_refused_with_a_sentence(options, words):
    with pytest.raises((TypeError, ValueError, OSError)) as caught:
        ss.report(FOUND, **options)
    assert words in str(caught.value)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")
    made = StabilityReport("new", {})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match=r"report\.html' could not be written: No space left on device\.$"):
        made.save(target)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text() == "old"
    monkeypatch.undo()
    assert made.save(target) == target
    assert target.read_text() == "new"


@pytest.mark.parametrize("missing", ["jinja2", "plotly"])
def test_without_the_extra_a_sentence_says_what_to_install(missing):
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import steadyset as ss\n"
        "try:\n    ss.report(None)\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == f"{missing} is needed here; install it with `pip install steadyset[report]`.\n", done.stderr


class Leaky(DecisionTreeClassifier):
    """A learner that loses a part of the probability of one row."""

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        proba[X[:, 0] == 6.25] = [0.3, 0.25, 0.15]
        return proba


def test_a_row_off_the_simplex_is_named_with_its_sum():
    X, y = load_iris(return_X_y=True)
    model = ss.StableClassifier(Leaky(), n_estimators=5, random_state=0).fit(X, y)
    points = X[:20].copy()
    points[13, 0] = 6.25
    with pytest.raises(ValueError, match=r"got \[0\.3, 0\.25, 0\.15\] with a sum of 0\.7 at point 13\.$"):
        ss.report(model, points)
    proba = FOUND.proba.copy()
    proba[2, 9] = [0.3, 0.25, 0.05, 0.05]
    with pytest.raises(ValueError, match=r"got \[0\.3, .*\] with a sum of 0\.65 from bag 2 at point 9\.$"):
        ss.BagPredictions(proba, FOUND.bags, FOUND.classes)


def test_a_report_says_which_bag_size_a_refit_needs():
    X, y = load_iris(return_X_y=True)
    for n, said in ((149, False), (150, False), (151, True)):
        rows = np.arange(n) % 150
        model = ss.StableClassifier(n_estimators=20, random_state=0).fit(X[rows], y[rows])
        html = body(ss.report(model, X, y).html)
        assert ("pass max_samples=76 (0.5 of 150 rows are 74)" in html) == said
        assert "the same row ids, bag size, label space, seed and learner" in html


def test_ids_on_the_page_are_names_only():
    """Digests of rows name nobody."""
    X, y = load_iris(return_X_y=True)
    pages = {}
    for kind, ids in (("content", None), ("given", [f"flower-{i}" for i in range(150)])):
        model = ss.StableClassifier(n_estimators=300, random_state=0).fit(X, y, sample_ids=ids)
        made = ss.report(model, X, y)
        pages[kind] = made.html
        assert made.numbers["rows"]
        assert all((row["id"] is None) == (kind == "content") for row in made.numbers["rows"])
    assert "may be changed or deleted without harm" in pages["given"]
    assert "may be deleted without harm" in pages["content"]
