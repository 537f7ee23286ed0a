"""`StableClassifier(delta=...)`: the promise is kept, nothing is silently different, and what a refusal names works."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss

RNG = np.random.default_rng(3)


def table(n):
    X = RNG.normal(size=(n, 3))
    return X, np.where(X[:, 0] + RNG.normal(size=n) > 0, "yes", "no")


def model(*given, **more):
    return ss.StableClassifier(GaussianNB(), *given, random_state=0, **more)


def test_the_promise_is_kept_with_the_largest_bags():
    X, y = table(400)
    fitted = model(60, epsilon=0.3, delta=0.05).fit(X, y)
    assert fitted.bags_.n_bags == 60
    assert fitted.guarantee().delta <= 0.05
    assert fitted.bag_size_ == fitted.bags_.bag_size < 200
    setting = {"n_samples": 400, "n_bags": 60, "epsilon": 0.3, "n_classes": 2}
    assert ss.selection_stability(**setting, bag_size=fitted.bag_size_ + 10).delta > 0.05


def test_it_is_the_fit_with_that_bag_size_to_the_bit():
    X, y = table(400)
    promised = model(40, epsilon=0.3, delta=0.1).fit(X, y)
    plain = model(40, epsilon=0.3, max_samples=promised.bag_size_).fit(X, y)
    assert promised.bags_ == plain.bags_
    assert np.array_equal(promised.predict_proba(X), plain.predict_proba(X))
    assert promised.guarantee().delta == plain.guarantee().delta


def test_bags_that_keep_it_already_stay():
    X, y = table(400)
    fitted = model(60, max_samples=20, epsilon=0.5, delta=0.2).fit(X, y)
    assert fitted.bag_size_ == 20


def test_auto_takes_as_many_bags_as_the_bags_need():
    X, y = table(400)
    fitted = model("auto", max_samples=40, epsilon=0.3, delta=0.05).fit(X, y)
    needed = ss.solve_stability("n_bags", delta=0.05, n_samples=400, bag_size=40, epsilon=0.3, n_classes=2)
    assert fitted.bag_size_ == 40
    assert needed <= fitted.bags_.n_bags <= needed * 17 / 16 + 1
    assert fitted.guarantee().delta <= 0.05


def test_auto_that_stops_at_its_cap_says_so(monkeypatch):
    X, y = table(200)
    monkeypatch.setattr("steadyset.guarantees._promise.MOST_BAGS", 30)
    with pytest.warns(UserWarning, match=r'n_estimators="auto" stops at .* too few for bags of 100 rows to keep'):
        fitted = model("auto", epsilon=0.3, delta=0.05).fit(X, y)
    assert fitted.bags_.n_bags == 30
    assert fitted.guarantee().delta <= 0.05


WAY = re.compile(r"epsilon=([\d.]+)(?= or| would)|([\d,]+) bags(?= or| would)|([\d,]+) rows(?= or| would)")


@pytest.mark.parametrize(("n", "n_bags", "epsilon", "delta"), [(150, 20, 0.05, 0.01), (60, 30, 0.02, 0.05)])
def test_every_way_that_a_refusal_names_works(n, n_bags, epsilon, delta):
    X, y = table(n)
    wanted = model(n_bags, epsilon=epsilon, delta=delta)
    with pytest.raises(ValueError, match=r"^delta must be a promise .* would do\.$") as refusal:
        wanted.fit(X, y)
    ways = WAY.findall(str(refusal.value).split(": ")[1])
    assert ways
    for eps, bags, rows in ways:
        changed, data = clone(wanted), (X, y)
        if eps:
            changed.set_params(epsilon=float(eps))
        elif bags:
            changed.set_params(n_estimators=int(bags.replace(",", "")))
        else:
            data = table(int(rows.replace(",", "")))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="delta=.* fewer than the")
            assert changed.fit(*data).guarantee().delta <= delta


def test_bags_of_fewer_rows_than_labels_are_told():
    X = RNG.normal(size=(60, 2))
    y = np.arange(60) % 12
    with pytest.warns(UserWarning, match=r"^delta=0.05 takes bags of \d+ rows?, fewer than the 12 labels: "):
        model(200, epsilon=0.1, delta=0.05).fit(X, y)


def test_the_guarantee_says_what_a_refit_has_to_pass():
    found = {}
    for n in range(60, 74):
        X, y = table(n)
        fitted = model(40, epsilon=0.4, delta=0.1).fit(X, y)
        fewer = model(40, epsilon=0.4, delta=0.1).fit(X[1:], y[1:])
        told = [words for words in fitted.guarantee().assumptions if "pass max_samples=" in words]
        same = fewer.bag_size_ == fitted.bag_size_
        assert bool(told) is not same
        found.setdefault(same, n)
        if told:
            assert f"pass max_samples={fitted.bag_size_}, n_estimators=40 and delta=None" in told[0]
            again = model(40, epsilon=0.4, max_samples=fitted.bag_size_).fit(X[1:], y[1:])
            held = fitted.bags_.holds(0)
            assert all(np.array_equal(fitted.bags_[b], again.bags_[b] + 1) for b in np.flatnonzero(~held))
    assert set(found) == {True, False}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_estimators": "auto"}, "n_estimators must be .* \"auto\"; got 'auto' with delta=None"),
        ({"n_estimators": "many", "delta": 0.1}, "n_estimators must be .* \"auto\"; got 'many'"),
        ({"delta": 1.5}, "delta must be a number that is at least 0 and below 1; got 1.5"),
        ({"delta": -0.1}, "delta must be a number that is at least 0 and below 1; got -0.1"),
        ({"delta": 0.1, "rule": ss.Argmax()}, r"delta must be None for a rule .* 2 labels; got 0.1 with Argmax\(\)"),
        ({"delta": 0.1, "rule": lambda p: p > 0}, "delta must be None for a rule"),
    ],
)
def test_what_cannot_be_promised(given, words):
    with pytest.raises(ValueError, match=words):
        ss.StableClassifier(GaussianNB(), **{"n_estimators": 10, **given}).fit(*table(40))


def test_certificates_cannot_choose_the_bags_of_a_promise():
    X, y = table(60)
    with pytest.raises(ValueError, match=r"the model's delta must be None for fit_until; got 0\.1"):
        model(10, delta=0.1).fit_until(X, y, X)


def test_without_models_and_with_a_checkpoint(tmp_path):
    X, y = table(200)
    wanted = ss.StableClassifier(DecisionTreeClassifier(), 20, epsilon=0.5, delta=0.1, random_state=0)
    fitted = clone(wanted).fit(X, y)
    assert clone(wanted).fit_predict_bags(X, y, X[:5]) == fitted.bag_predictions(X[:5])
    saved = clone(wanted).set_params(checkpoint=tmp_path / "bags")
    assert np.array_equal(saved.fit(X, y).predict_proba(X), fitted.predict_proba(X))
    with pytest.warns(UserWarning, match="does not fit new bags"):
        assert clone(wanted).set_params(warm_start=True).fit(X, y).fit(X, y).bags_ == fitted.bags_


def test_positions_and_bootstrap_promise_by_their_own_theorems():
    X, y = table(300)
    for given in ({"bootstrap": True}, {}):
        fitted = model(100, epsilon=0.6, delta=0.2, **given).fit(X, y, sample_ids="position")
        assert fitted.bags_.coupling == "any"
        assert fitted.guarantee().delta <= 0.2
