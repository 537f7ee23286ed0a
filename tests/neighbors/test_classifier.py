"""Stable neighbours against all bags, real bags and real refits."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import steadyset as ss
from helpers.neighbor_cases import (
    all_bags,
    hard_rows,
    order_at,
    outside_the_bounds,
    squared_in_lanes,
    times_in,
    votes_in_order,
    votes_of,
)
from helpers.saved_files import change_array, edit


@parametrize_with_checks(
    [ss.StableNeighborsClassifier(), ss.StableNeighborsClassifier(3, metric="manhattan", bootstrap=True)]
)
def test_estimator_checks(estimator, check):
    check(estimator)


def small_rows(seed=0, n=10, ties=True):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 2)).astype(np.float64) if ties else rng.normal(size=(n, 2))
    y = rng.integers(0, 3, size=n)
    y[:3] = [0, 1, 2]
    return X, y


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize(("n", "m", "k"), [(7, 3, 1), (8, 5, 3), (6, 2, 4)])
def test_probabilities_and_spread_are_those_of_all_bags(n, m, k, bootstrap):
    X, y = small_rows(n, n)
    model = ss.StableNeighborsClassifier(k, max_samples=m, bootstrap=bootstrap).fit(X, y)
    points = np.concatenate([X[:3], small_rows(1)[0][:4] + 0.25])
    bags, times = all_bags(n, m, bootstrap)
    chance, votes = times / times.sum(), votes_of(bags, n, k) / min(k, m)
    for point, proba, sigma2 in zip(points, model.predict_proba(points), model.spread(points), strict=True):
        order = order_at(point, X, model.words_, squared_in_lanes)
        each = votes @ np.eye(3)[y[order]]
        mean = chance @ each
        assert np.allclose(proba, mean, rtol=0, atol=1e-14)
        assert abs(sigma2 - chance @ ((each - mean) ** 2).sum(axis=1)) < 1e-13


def check_means(each, exact, points):
    """Compare proba and sigma^2 with those of drawn bags (bags, points, labels)."""
    proba = exact.predict_proba(points)
    found = np.concatenate([each, (each**2).sum(axis=2, keepdims=True)], axis=2)
    of_squares = np.minimum(exact.spread(points) + (proba**2).sum(axis=1), 1.0)
    expected = np.concatenate([proba, of_squares[:, None]], axis=1)
    wrong = outside_the_bounds(found, expected, false_alarm=1e-6)
    assert not wrong.any(), (np.argwhere(wrong), found.mean(axis=0)[wrong], expected[wrong])


def votes_of_each_bag(X, y, points, bags, words):
    """Return the shares of three labels among the nearest five of each bag, by the slow order."""
    times, one_hot = times_in(bags, len(X)), np.eye(3, dtype=np.float32)[y]
    orders = [order_at(point, X, words, squared_in_lanes) for point in points]
    votes = [votes_in_order(times, order, 5) @ one_hot[order] for order in orders]
    return np.stack(votes, axis=1).astype(np.float64) / 5


@pytest.mark.trial
@pytest.mark.parametrize("bootstrap", [False, True])
def test_probabilities_are_the_mean_of_bags_with_ties(bootstrap, full_trials):
    """In whole centimetres many rows of iris are equal, or at the same distance, with other labels."""
    X, y = load_iris(return_X_y=True)
    X, points = np.round(X), np.concatenate([X[::8], np.round(X[50::5])])
    exact = ss.StableNeighborsClassifier(max_samples=40, bootstrap=bootstrap).fit(X, y)
    n_bags, kind = 20_000 if full_trials else 4_000, "bootstrap" if bootstrap else "subbagging"
    bags = ss.draw_bags(len(X), n_bags, 40, kind, seed=1)
    check_means(votes_of_each_bag(X, y, points, bags, exact.words_), exact, points)


@pytest.mark.trial
@pytest.mark.parametrize("bootstrap", [False, True])
def test_probabilities_are_the_mean_of_real_bags(bootstrap, full_trials):
    """Scikit-learn orders ties in its own way, so that these rows have none."""
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).uniform(-0.01, 0.01, X.shape)
    n_bags, points = 20_000 if full_trials else 400, X[::8] + 0.03
    bagged = ss.StableClassifier(
        KNeighborsClassifier(5, algorithm="brute"), n_bags, max_samples=40, bootstrap=bootstrap, random_state=1
    ).fit(X, y)
    found = bagged.bag_predictions(points)
    exact = ss.StableNeighborsClassifier(max_samples=40, bootstrap=bootstrap).fit(X, y)
    each = votes_of_each_bag(X, y, points, found.bags, exact.words_)
    assert np.allclose(found.proba, each, rtol=0, atol=1e-6)
    check_means(each, exact, points)


def without(X, y, row):
    return np.delete(X, row, axis=0), np.delete(y, row)


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize(("ties", "k", "m"), [(True, 3, 20), (False, 3, 20), (True, 9, 4), (True, 1, 38)])
def test_every_model_without_a_row_is_the_refit_to_the_bit(ties, k, m, bootstrap):
    X, y = small_rows(5, 40, ties)
    points = small_rows(6, 15, ties)[0]
    model = ss.StableNeighborsClassifier(k, max_samples=m, bootstrap=bootstrap, classes=[0, 1, 2]).fit(X, y)
    (part,) = model._near_models(model._points(points), 1)
    assert len(part.proba) == 15
    assert len(part.models) < part.number.size  # neighbours in turn with one label share a model
    for row in range(40):
        refit = ss.StableNeighborsClassifier(k, max_samples=m, bootstrap=bootstrap, classes=[0, 1, 2])
        expected = refit.fit(*without(X, y, row)).predict_proba(points)
        for point in range(15):
            (rank,) = np.nonzero(part.rows[point] == row)
            model_without = part.models[part.number[point, rank[0] if len(rank) else -1]]
            assert np.array_equal(model_without, expected[point]), (row, point)


@pytest.mark.parametrize(
    "rule",
    [
        ss.InflatedArgmax(0.05),
        ss.Argmax(),
        ss.FixedMargin(0.02),
        ss.TopK(1),
        ss.InflatedTopK(2, 0.02),
        lambda p: p > 0.3,
    ],
)
def test_the_audit_counts_what_refits_count(rule):
    X, y = small_rows(8, 60, True)
    y = np.random.default_rng(3).integers(0, 3, 60)
    points = np.concatenate([small_rows(9, 25, True)[0], X[:5]])
    if not hasattr(rule, "compatible_epsilon"):
        rule = lambda p: p >= p.max(axis=1, keepdims=True) - 0.01  # noqa: E731
    model = ss.StableNeighborsClassifier(3, max_samples=30, rule=rule, classes=[0, 1, 2]).fit(X, y)
    audit = model.audit(points)
    sets = model.predict_set(points)
    conflict, jaccard, shift = np.zeros((30, 60), bool), np.zeros((30, 60)), np.zeros((30, 60))
    for row in range(60):
        refit = ss.StableNeighborsClassifier(3, max_samples=30, rule=rule, classes=[0, 1, 2]).fit(*without(X, y, row))
        other = refit.predict_set(points)
        conflict[:, row] = (sets & other).sum(axis=1) < getattr(rule, "n_common", 1)
        jaccard[:, row] = (sets & other).sum(axis=1) / (sets | other).sum(axis=1)
        shift[:, row] = np.sqrt(((refit.predict_proba(points) - model.predict_proba(points)) ** 2).sum(axis=1))
    assert np.array_equal(audit.n_conflicts, conflict.sum(axis=1))
    assert np.array_equal(audit.row_influence, conflict.sum(axis=0))
    assert np.allclose(audit.jaccard, jaccard.mean(axis=1), rtol=0, atol=1e-12)
    ranks = [int(np.ceil(level * 60)) - 1 for level in (0.5, 0.9, 0.99, 1.0)]
    assert np.allclose(audit.shift_quantiles, np.sort(shift, axis=1)[:, ranks], rtol=0, atol=1e-6)
    assert np.allclose(audit.spread, model.spread(points))
    found = model.certify(points)
    for point in range(30):
        assert found.rows(point).tolist() == np.flatnonzero(conflict[point]).tolist()
    assert np.all(found.unsafe_rows / 60 <= found.bound)
    some = model.audit(points, left_out=[3, 50, 7])
    assert np.array_equal(some.n_conflicts, conflict[:, [3, 50, 7]].sum(axis=1))
    assert np.array_equal(some.row_influence, conflict[:, [3, 50, 7]].sum(axis=0))


def test_the_audit_knows_every_epsilon():
    X, y = small_rows(8, 60, True)
    y = np.random.default_rng(3).integers(0, 3, 60)
    model = ss.StableNeighborsClassifier(3, max_samples=30, epsilon=0.03).fit(X, y)
    audit = model.audit(X)
    for epsilon in (0.0, 0.001, 0.01, 0.05):
        fresh = model.audit(X, ss.InflatedArgmax(epsilon) if epsilon else ss.Argmax())
        assert np.array_equal(audit.at(epsilon), fresh.instability)


@pytest.mark.parametrize("rule", [ss.InflatedArgmax(0.03), ss.Argmax(), ss.InflatedTopK(2, 0.02)])
def test_audits_of_a_few_points_at_a_time_are_one_audit(monkeypatch, rule):
    X, _ = small_rows(8, 60, True)
    y = np.random.default_rng(3).integers(0, 3, 60)
    model = ss.StableNeighborsClassifier(3, max_samples=30).fit(X, y)
    at_once = model.audit(X, rule)
    monkeypatch.setattr("steadyset.neighbors._classifier._MODEL_NUMBERS", 700)  # models of 4 points
    monkeypatch.setattr("steadyset.neighbors._classifier.points_at_a_time", lambda depth: 13)
    found = model.audit(X, rule)
    for name in ("n_conflicts", "jaccard", "row_influence", "shift_quantiles", "spread", "row_score", "row_point"):
        assert np.array_equal(getattr(found, name), getattr(at_once, name)), name
    assert all(np.array_equal(*pairs) for pairs in zip(found.conflicts(), at_once.conflicts(), strict=True))
    assert at_once.n_conflicts.any()


@pytest.mark.parametrize("bootstrap", [False, True])
def test_rows_that_repeat_and_one_class(bootstrap):
    X = np.repeat(np.arange(4.0), 6)[:, None]
    y = np.repeat([0, 0, 1, 1], 6)
    model = ss.StableNeighborsClassifier(3, bootstrap=bootstrap).fit(X, y)
    assert model.audit(X).max_instability == 0
    one = ss.StableNeighborsClassifier(3, classes=["a", "b"], bootstrap=bootstrap).fit(X, ["a"] * 24)
    assert np.array_equal(one.predict_proba(X), np.tile([1.0, 0.0], (24, 1)))
    assert np.all(one.spread(X) < 1e-13)
    assert one.certify(X).unsafe_rows.sum() == 0
    with pytest.raises(ValueError, match="y must have at least 2 classes, or classes must name the label space"):
        ss.StableNeighborsClassifier().fit(X, ["a"] * 24)


@pytest.mark.parametrize("kind", ["ties", "plain", "far", "equal"])
def test_rows_in_another_order_and_refits_give_the_same_bits(kind):
    X = hard_rows(kind, 200, 6)
    y = np.random.default_rng(1).integers(0, 4, 200)
    points = hard_rows(kind, 30, 6, seed=2)
    model = ss.StableNeighborsClassifier(max_samples=80).fit(X, y)
    proba, sets = model.predict_proba(points), model.predict_set(points)
    order = np.random.default_rng(2).permutation(200)
    moved = ss.StableNeighborsClassifier(max_samples=80).fit(X[order], y[order])
    assert np.array_equal(moved.predict_proba(points), proba)
    assert np.array_equal(moved.predict_set(points), sets)
    changed = np.concatenate([X[5:], hard_rows(kind, 9, 6, seed=3)])
    labels = np.concatenate([y[5:], [0, 1, 2] * 3])
    fresh = ss.StableNeighborsClassifier(max_samples=80).fit(changed, labels)
    assert np.array_equal(model.refit(changed, labels).predict_proba(points), fresh.predict_proba(points))
    with pytest.raises(ValueError, match="X has 5 features"):
        model.refit(changed[:, :5], labels)


def test_kinds_of_input_give_the_same_bits(tmp_path):
    X, y = load_digits(return_X_y=True)
    points = X[:50] + np.random.default_rng(0).random((50, 64))  # no ties: digests of sparse rows are their own
    expected = ss.StableNeighborsClassifier().fit(X, y).predict_proba(points)
    np.save(tmp_path / "X.npy", X)
    for kind in (
        X.astype(np.float32),
        X.astype(int),
        csr_matrix(X),
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        X.tolist(),
    ):
        assert np.array_equal(ss.StableNeighborsClassifier().fit(kind, y).predict_proba(points), expected)
    model = ss.StableNeighborsClassifier(n_jobs=2).fit(X, y)
    assert np.array_equal(model.predict_proba(csr_matrix(points)), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(points), expected)


def test_small_bags_promise_that_no_row_matters():
    X, y = load_digits(return_X_y=True)
    model = ss.StableNeighborsClassifier(3, delta=0, epsilon=0.1).fit(X[:1500], y[:1500])
    promise = model.guarantee()
    assert (promise.delta, promise.theorem, promise.every_row) == (0.0, "small-bags", True)
    assert promise.epsilon == 0.1
    largest = ss.solve_stability("bag_size", delta=0, n_samples=1500, epsilon=0.1, n_classes=10)
    assert 0.9 * largest < model.bag_size_ <= largest
    audit = model.audit(X[1500:])
    assert audit.max_instability == 0
    assert audit.row_influence.sum() == 0


@pytest.mark.parametrize("bootstrap", [False, True])
def test_what_is_observed_is_at_most_what_is_promised(bootstrap):
    X, y = load_digits(return_X_y=True)
    model = ss.StableNeighborsClassifier(bootstrap=bootstrap, epsilon=0.05).fit(X[:1200], y[:1200])
    promise, audit = model.guarantee(), model.audit(X[1200:])
    assert 0 < promise.delta < 1
    assert audit.max_instability <= promise.delta
    kind = "bootstrap" if bootstrap else "subbagging"
    given = ss.selection_stability(n_samples=1200, bag_size=600, epsilon=0.05, n_classes=10, resampling=kind)
    assert given.delta <= promise.delta <= given.delta * (1 + 1e-9)
    certificates = model.certify(X[1200:])
    assert np.all(certificates.unsafe_rows / 1200 <= certificates.bound)
    assert certificates.bound.max() < promise.delta


@pytest.mark.parametrize("delta", [0.3, 0.05, 0.0])
def test_delta_takes_the_largest_bags_on_the_grid_that_keep_it(delta):
    X, y = load_digits(return_X_y=True)
    model = ss.StableNeighborsClassifier(delta=delta, max_samples=0.9, epsilon=0.1).fit(X, y)
    assert model.guarantee().delta <= delta
    fewer = ss.StableNeighborsClassifier(delta=delta, max_samples=0.9, epsilon=0.1).fit(X[1:], y[1:])
    assert fewer.bag_size_ == model.bag_size_ or "pass max_samples" in str(model.guarantee())
    beyond = ss.solve_stability("bag_size", delta=delta, n_samples=1797, epsilon=0.1, n_classes=10)
    assert model.bag_size_ <= min(beyond, 1620)
    assert model.bag_size_ > 0.9 * min(beyond, 1620)


def test_sentences():
    X, y = small_rows(0, 20)
    with pytest.raises(ValueError, match=r"metric must be .* or a callable; got 'minkowski'"):
        ss.StableNeighborsClassifier(metric="minkowski").fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors must be a whole number from 1"):
        ss.StableNeighborsClassifier(0).fit(X, y)
    with pytest.raises(TypeError, match="bootstrap must be True or False; got 'yes'"):
        ss.StableNeighborsClassifier(bootstrap="yes").fit(X, y)
    with pytest.raises(ValueError, match="delta must be a number that is at least 0 and below 1; got 2"):
        ss.StableNeighborsClassifier(delta=2).fit(X, y)
    with pytest.raises(
        ValueError,
        match=r"bags of up to 10 of 20 rows can keep; got 0, .* rows would do\.",
    ):
        ss.StableNeighborsClassifier(delta=0, epsilon=1e-6).fit(X, y)
    with pytest.raises(ValueError, match="rule must be one that a theorem makes compatible for 3 labels; got Argmax"):
        ss.StableNeighborsClassifier(rule=ss.Argmax()).fit(X, y).guarantee()
    with pytest.raises(ValueError, match=r"X must hold numbers of at most 1e\+150 in size; got 1e\+200"):
        ss.StableNeighborsClassifier().fit(X + 1e200, y)
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number that is not 0; got 0"):
        ss.StableNeighborsClassifier(n_jobs=0).fit(X, y).predict_proba(X)
    with pytest.raises(ValueError, match="epsilon and rule must not both be given"):
        ss.StableNeighborsClassifier().fit(X, y).predict_set(X, 0.1, ss.Argmax())


def test_words_of_certificates():
    X, y = small_rows(8, 60, True)
    y = np.random.default_rng(3).integers(0, 3, 60)
    found = ss.StableNeighborsClassifier(3, max_samples=30, rule=ss.Argmax()).fit(X, y).certify(X + 0.3)
    several = int(np.argmax(found.unsafe_rows))
    assert found.unsafe_rows[several] > 1
    assert f"any one of the {found.unsafe_rows[several]} rows" in found.status(several)
    none = int(np.argmin(found.unsafe_rows))
    assert found.status(none).startswith("Dropping any one of the 60 rows leaves a set")
    assert "infinitely many bags of 30 of 60 rows (subbagging), exactly" in found.summary()
    assert repr(found).startswith("NeighborCertificates(rule=Argmax(), n_points=60")


@pytest.mark.parametrize("sparse", [False, True])
def test_saved_and_loaded_it_is_the_same(tmp_path, sparse):
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {label}" for label in y])
    model = ss.StableNeighborsClassifier(3, max_samples=0.2, rule=ss.SVBOP("u80"), metric="cosine")
    model.fit(csr_matrix(X) if sparse else X, names).save(tmp_path / "model")
    loaded = ss.StableNeighborsClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X[:40]), model.predict_proba(X[:40]))
    assert np.array_equal(loaded.predict(X[:40]), model.predict(X[:40]))
    assert loaded.rule == model.rule
    assert loaded.get_params()["metric"] == "cosine"
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", overwrite=True)
    change_array(tmp_path / "model", "codes", lambda codes: codes.__setitem__(0, 99))
    with pytest.raises(ValueError, match="arrays must fit together"):
        ss.StableNeighborsClassifier.load(tmp_path / "model")
    with pytest.raises(TypeError, match="metric must be a name to be saved"):
        ss.StableNeighborsClassifier(metric=lambda a, b: 0.0).fit(X[:20], y[:20]).save(tmp_path / "other")
    with pytest.raises(TypeError, match="rule must be one of steadyset's own to be saved"):
        ss.StableNeighborsClassifier(rule=lambda p: p > 0).fit(X[:20], y[:20]).save(tmp_path / "other")


def put(name, value):
    return lambda folder: change_array(folder, name, lambda array: array.__setitem__(0, value))


def say(name, value, within=None):
    return lambda folder: edit(
        folder, lambda manifest: (manifest[within] if within else manifest).__setitem__(name, value)
    )


CRAFTED = {
    "numbers without a distance": (put("rows", 1e200), "must hold numbers of at most 1e"),
    "another row": (put("rows", 7.0), "arrays must fit together"),
    "another label": (put("codes", 1), "arrays must fit together"),
    "another digest": (put("words", 7), "arrays must fit together"),
    "labels out of order": (say("classes", {"dtype": "<i8", "values": [2, 1, 0]}), "arrays must fit together"),
    "other names": (say("feature_names", ["a"]), "arrays must fit together"),
    "bag size": (say("bag_size", 19), "bag_size must be what max_samples and delta give"),
    "metric": (say("metric", "minkowski", "parameters"), "metric must be"),
    "epsilon": (say("epsilon", float("nan"), "parameters"), "epsilon must be"),
    "rule": (say("rule", {"name": "exec"}), "its parts do not fit"),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_crafted_folders_are_refused(tmp_path, case):
    X, y = load_iris(return_X_y=True)
    change, told = CRAFTED[case]
    ss.StableNeighborsClassifier(3, max_samples=20, metric="cosine", n_jobs=1).fit(X, y).save(tmp_path / "model")
    assert ss.StableNeighborsClassifier.load(tmp_path / "model").n_jobs is None
    change(tmp_path / "model")
    with pytest.raises(ValueError, match=rf"^folder must hold saved Stable.* in good order; got .*{told}[^\n]*\.$"):
        ss.StableNeighborsClassifier.load(tmp_path / "model")


def test_more_votes_than_memory_are_refused(tmp_path):
    X, y = load_iris(return_X_y=True)
    ss.StableNeighborsClassifier(3, max_samples=20, bootstrap=True).fit(X, y).save(tmp_path / "model")
    for name in ("n_neighbors", "max_samples"):
        say(name, 10**12, "parameters")(tmp_path / "model")
    say("bag_size", 10**12)(tmp_path / "model")
    with pytest.raises(ValueError, match="n_neighbors must be fewer than this machine can count"):
        ss.StableNeighborsClassifier.load(tmp_path / "model")


def test_sparse_rows_that_name_a_column_twice_are_saved(tmp_path):
    rows = csr_matrix((np.ones(6), [2, 0, 0, 1, 1, 0], [0, 3, 5, 6]), (3, 3))
    assert not rows.has_canonical_format
    model = ss.StableNeighborsClassifier(1, max_samples=2).fit(rows, [0, 1, 1])
    model.save(tmp_path / "model")
    same = ss.StableNeighborsClassifier.load(tmp_path / "model")
    assert np.array_equal(same.predict_proba(rows), model.predict_proba(rows))
