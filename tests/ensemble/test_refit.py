"""Audits that train: against fits from scratch, to the bit."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import steadyset as ss
from steadyset.ensemble._tasks import seeded

X, Y = make_classification(60, 6, n_informative=4, n_classes=3, random_state=3)
POINTS = make_classification(40, 6, n_informative=4, n_classes=3, random_state=4)[0]
LABELS = np.array(["a", "b", "c"])[Y]


class Recording:
    """A rule that keeps the probabilities it is given."""

    def __init__(self):
        self.seen = []

    def __call__(self, proba):
        self.seen.append(np.array(proba))
        return ss.inflated_argmax(proba, 0.05)


@pytest.mark.parametrize("ids", [None, [f"row {(7 * i) % 60:02}" for i in range(60)]])
@pytest.mark.parametrize("base", [DecisionTreeClassifier(), LogisticRegression(max_iter=300)], ids=["tree", "logistic"])
def test_the_coupled_refit_is_a_fit_from_scratch_to_the_bit(ids, base):
    model = ss.StableClassifier(base, 25, random_state=1, classes=["a", "b", "c"]).fit(X, LABELS, sample_ids=ids)
    rows = [0, 17, 59]
    rule = Recording()
    ss.audit_refit(model, X, LABELS, POINTS, rule, left_out=rows, n_jobs=2)
    assert np.array_equal(rule.seen[0], model.predict_proba(POINTS))
    seen = rule.seen[1:]
    assert len(seen) == len(rows)
    for row in rows:
        keep = np.delete(np.arange(60), row)
        scratch = ss.StableClassifier(base, 25, random_state=1, classes=["a", "b", "c"], max_samples=model.bag_size_)
        left = None if ids is None else np.array(ids)[keep]
        expected = scratch.fit(X[keep], LABELS[keep], sample_ids=left).predict_proba(POINTS)
        assert any(np.array_equal(expected, proba) for proba in seen)


def test_the_coupled_audit_counts_what_it_trained():
    model = ss.StableClassifier(n_estimators=9, random_state=0).fit(X, LABELS)
    audit = ss.audit_refit(model, X, LABELS, POINTS, ss.Argmax(), left_out="all")
    full = model.predict_proba(POINTS)
    conflicts, shifts = np.zeros((60, 40), bool), np.zeros((60, 40))
    for row in range(60):
        keep = np.delete(np.arange(60), row)
        less = ss.StableClassifier(n_estimators=9, random_state=0, max_samples=model.bag_size_)
        proba = less.fit(X[keep], LABELS[keep]).predict_proba(POINTS)
        conflicts[row] = ~(ss.argmax_set(full) & ss.argmax_set(proba)).any(axis=1)
        shifts[row] = np.linalg.norm(full - proba, axis=1)
    assert np.array_equal(audit.instability, conflicts.mean(axis=0))
    assert np.array_equal(audit.row_influence, conflicts.sum(axis=1))
    assert audit.max_shift == pytest.approx(shifts.max(axis=0), abs=1e-6)
    points, units = audit.conflicts()
    assert np.array_equal(np.bincount(points, minlength=40) / 60, audit.instability)
    assert np.array_equal(np.bincount(units, minlength=60), audit.row_influence)
    assert not audit.sampled
    assert "deployed ensemble's own" in audit.summary()
    for epsilon in (0.01, 0.1, 0.3):
        fresh = ss.audit_refit(model, X, LABELS, POINTS, ss.InflatedArgmax(epsilon), left_out="all")
        assert np.array_equal(audit.at(epsilon), fresh.instability)


@pytest.mark.parametrize("shared", [True, False])
def test_honest_refits_of_any_classifier(shared):
    tree = DecisionTreeClassifier(max_features=2)
    audit = ss.audit_refit(
        tree, X, LABELS, POINTS, ss.Argmax(), left_out="all", shared_seed=shared, random_state=5, n_jobs=2
    )
    again = ss.audit_refit(tree, X, LABELS, POINTS, ss.Argmax(), left_out="all", shared_seed=shared, random_state=5)
    assert np.array_equal(audit.instability, again.instability)

    def fit(rows, number):
        return seeded(tree, ss.bag_seed(5, number)).fit(X[rows], Y[rows]).predict_proba(POINTS)

    full = ss.argmax_set(fit(np.arange(60), 0))
    less = [fit(np.delete(np.arange(60), row), 0 if shared else row + 1) for row in range(60)]
    conflicts = [~(full & ss.argmax_set(proba)).any(axis=1) for proba in less]
    assert np.array_equal(audit.instability, np.mean(conflicts, axis=0))


def test_seeds_of_their_own_add_the_noise_of_the_seed():
    def instability(shared):
        tree = DecisionTreeClassifier(max_features=2)
        found = ss.audit_refit(tree, X, LABELS, POINTS, ss.Argmax(), left_out="all", shared_seed=shared, random_state=5)
        return found.instability.mean()

    assert instability(False) > instability(True)


def test_sampled_rows_and_interval():
    audit = ss.audit_refit(DecisionTreeClassifier(), X, LABELS, POINTS, ss.Argmax(), left_out=20, random_state=0)
    assert audit.sampled
    assert audit.n_units == 20
    low, high = audit.interval()
    assert np.all(low <= audit.instability)
    assert np.all(high >= audit.instability)
    everything = ss.audit_refit(DecisionTreeClassifier(), X, LABELS, POINTS, ss.Argmax(), random_state=0)
    assert everything.n_units == 60
    assert not everything.sampled


def test_a_checkpoint_is_taken_up(tmp_path):
    def run(base, **more):
        return ss.audit_refit(
            base, X, LABELS, POINTS, ss.Argmax(), left_out=10, random_state=0, checkpoint=tmp_path, **more
        )

    model = ss.StableClassifier(DecisionTreeClassifier(), n_estimators=10, random_state=0).fit(X, LABELS)
    for base in (DecisionTreeClassifier(), model):
        first = run(base)
        files = sorted(tmp_path.glob("*/bags-*"))
        times = [path.stat().st_mtime_ns for path in files]
        files[3].unlink()
        again = run(base, n_jobs=2)
        assert np.array_equal(first.instability, again.instability)
        after = sorted(tmp_path.glob("*/bags-*"))
        assert after == files
        assert sum(path.stat().st_mtime_ns != t for path, t in zip(after, times, strict=True)) == 1
        for path in after:
            path.unlink()


def test_saved_and_loaded(tmp_path):
    audit = ss.audit_refit(DecisionTreeClassifier(), X, LABELS, POINTS, ss.Argmax(), left_out=5, random_state=0)
    audit.save(tmp_path / "audit")
    again = ss.StabilityAudit.load(tmp_path / "audit")
    assert np.array_equal(again.instability, audit.instability)
    assert again.summary() == audit.summary()


def test_the_estimator_audits_and_certifies_itself():
    rows, labels = load_iris(return_X_y=True)
    model = ss.StableClassifier(n_estimators=80, random_state=0, epsilon=0.2).fit(rows, labels)
    direct = ss.audit_bags(model.bag_predictions(rows), ss.InflatedArgmax(0.2))
    assert np.array_equal(model.audit(rows).instability, direct.instability)
    assert np.array_equal(model.audit(rows, ss.Argmax()).instability, direct.at(0))
    certificates = model.certify(rows)
    assert np.array_equal(certificates.bound, ss.certify(model.bag_predictions(rows), ss.InflatedArgmax(0.2)).bound)


def test_fit_until_doubles_the_bags_with_the_anytime_correction():
    rows, labels = load_iris(return_X_y=True)
    model = ss.StableClassifier(n_estimators=50, random_state=0, epsilon=0.5)
    model.fit_until(rows, labels, rows, delta=0.05, alpha=0.05, max_estimators=1600, share=0.9)
    assert model.certified_
    looks = int(np.log2(model.bags_.n_bags / 50)) + 1
    assert model.certificates_.alpha == pytest.approx(0.05 / (looks * (looks + 1)))
    assert model.certificates_.certified(0.05).mean() >= 0.9
    assert (model.n_estimators, model.warm_start) == (50, False)
    straight = ss.StableClassifier(n_estimators=model.bags_.n_bags, random_state=0, epsilon=0.5).fit(rows, labels)
    assert np.array_equal(model.predict_proba(rows), straight.predict_proba(rows))
    hopeless = ss.StableClassifier(n_estimators=4, random_state=0, epsilon=0.01)
    hopeless.fit_until(rows, labels, rows, delta=0.0, max_estimators=10)
    assert hopeless.bags_.n_bags == 10
    assert not hopeless.certified_


class Watched(ss.StableClassifier):
    """Remembers which of its parameters were set, but for the constructor."""

    def __setattr__(self, name, value):
        if name in self.__dict__ and name in self.get_params(deep=False):
            self.__dict__.setdefault("changed_", []).append(name)
        super().__setattr__(name, value)


def test_fit_until_leaves_the_parameters_alone():
    rows, labels = load_iris(return_X_y=True)
    model = Watched(n_estimators=5, random_state=0).fit_until(rows, labels, rows[:5], max_estimators=30)
    assert model.bags_.n_bags == 30
    assert not hasattr(model, "changed_")
    model.set_params(n_estimators=6)
    assert model.changed_ == ["n_estimators"]  # it would have been seen


def test_fit_until_takes_up_a_warm_start():
    rows, labels = load_iris(return_X_y=True)
    model = ss.StableClassifier(n_estimators=8, random_state=0, warm_start=True).fit(rows, labels)
    kept = model.groups_
    model.set_params(n_estimators=12).fit_until(rows, labels, rows[:5], max_estimators=20)
    assert model.bags_.n_bags == 20
    assert model.groups_[: len(kept)] == kept
    with pytest.raises(ValueError, match="n_estimators must be at least the 20 bags"):
        model.fit_until(rows, labels, rows[:5])


FITTED = ss.StableClassifier(n_estimators=5, random_state=0).fit(X, LABELS)
BAD = {
    "unfitted": (lambda: ss.audit_refit(ss.StableClassifier(), X, LABELS, POINTS, ss.Argmax()), "not fitted yet"),
    "bootstrap": (
        lambda: ss.audit_refit(
            ss.StableClassifier(n_estimators=4, bootstrap=True).fit(X, LABELS), X, LABELS, POINTS, ss.Argmax()
        ),
        r"must have hash bags for the coupled refit, subbags of rows with ids",
    ),
    "other rows": (lambda: ss.audit_refit(FITTED, X[:50], LABELS[:50], POINTS, ss.Argmax()), "must be the 60 rows"),
    "rows out of range": (
        lambda: ss.audit_refit(FITTED, X, LABELS, POINTS, ss.Argmax(), left_out=[60]),
        "left_out must be .* from 0 to 59; got 60",
    ),
    "rule": (
        lambda: ss.audit_refit(FITTED, X, LABELS, POINTS, "argmax"),
        "rule must be a rule object or a callable",
    ),
    "share": (lambda: FITTED.fit_until(X, LABELS, POINTS, share=0), "share must be a number above 0 and at most 1"),
    "adopted": (
        lambda: ss.StableClassifier.from_fitted(
            [DecisionTreeClassifier().fit(X, Y)] * 4, rows=[[0, 1]] * 4, n_samples=60
        ).certify(POINTS),
        "got adopted bags",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()
