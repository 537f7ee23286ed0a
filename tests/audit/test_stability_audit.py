"""The result of an audit: intervals, influence, saving, words."""

import dataclasses
import itertools
import sys
import types

import numpy as np
import pytest
from scipy import stats

import steadyset as ss
from helpers.audit_problems import predictions
from helpers.saved_files import array_file, change_array, edit, flip, put_array
from steadyset.audit import _tally


def audited(rule=None, seed=0, **options):
    made = predictions(np.random.default_rng(seed), n=40, n_bags=80, n_points=12)
    return ss.audit_bags(made, rule or ss.InflatedArgmax(0.02), **options)


def test_sampled_rows_and_their_intervals_by_enumeration():
    n, sample, alpha = 30, 9, 0.1
    for found in range(sample + 1):
        # K marked rows stay in the interval while the sample's number is not in a tail of probability alpha/2.
        inside = [
            k
            for k in range(found, n - sample + found + 1)
            if stats.hypergeom.cdf(found, n, k, sample) > alpha / 2
            and stats.hypergeom.sf(found - 1, n, k, sample) > alpha / 2
        ]
        result = fake(found, sample, n)
        low, high = result.interval(1 - alpha)
        assert (low[0], high[0]) == (min(inside) / n, max(inside) / n)


def fake(found, sample, n, unanswered=0, sampled=True):
    audit = audited()
    return dataclasses.replace(
        audit,
        n_samples=n,
        sampled=sampled,
        left_out=np.arange(sample - unanswered),
        unanswered=np.arange(unanswered),
        instability=np.array([found / (sample - unanswered)]),
    )


def test_interval_keeps_its_confidence():
    """Of 20,000 samples of 20 of 100 rows, 13 of them in conflict, at most 5% may miss; 3 SE of slack."""
    rng = np.random.default_rng(0)
    found = rng.hypergeometric(13, 87, 20, size=20_000)
    bounds = {k: fake(int(k), 20, 100).interval(0.95) for k in np.unique(found)}
    missed = np.mean([not bounds[k][0][0] <= 0.13 <= bounds[k][1][0] for k in found])
    assert missed <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 20_000)


def test_none_of_500_still_allows_six_in_a_thousand():
    low, high = fake(0, 500, 60_000).interval(0.95, side="upper")
    assert low[0] == 0
    assert 0.0055 < high[0] < 0.0065
    assert fake(0, 500, 60_000).interval(0.95, side="upper", simultaneous=True)[1][0] == high[0]  # one point


def test_intervals_without_sampling_are_certain_and_count_unanswered_rows():
    audit = audited()
    low, high = audit.interval()
    assert np.allclose(low, audit.instability, rtol=1e-12)
    assert np.array_equal(low, high)
    low, high = fake(2, 10, 10, unanswered=4, sampled=False).interval()
    assert (low[0], high[0]) == (0.2, 0.6)
    with pytest.raises(ValueError, match="confidence must be a number above 0 and below 1; got 1"):
        audit.interval(1)


def test_left_out_rows_are_the_given_or_sampled_ones():
    made = predictions(np.random.default_rng(0), n=40, n_bags=80, n_points=12)
    whole = ss.audit_bags(made, ss.Argmax())
    some = ss.audit_bags(made, ss.Argmax(), left_out=[7, 3, 30])
    assert some.left_out.tolist() == [7, 3, 30]
    assert np.array_equal(some.row_influence, whole.row_influence[[7, 3, 30]])
    drawn = ss.audit_bags(made, ss.Argmax(), left_out=10, random_state=1)
    assert drawn.sampled
    assert len(np.unique(drawn.left_out)) == 10
    assert np.array_equal(drawn.row_influence, whole.row_influence[drawn.left_out])
    assert np.array_equal(drawn.left_out, ss.audit_bags(made, ss.Argmax(), left_out=10, random_state=1).left_out)
    assert not ss.audit_bags(made, ss.Argmax(), left_out=40).sampled


def test_rows_in_every_bag_are_reported_not_guessed():
    rng = np.random.default_rng(1)
    bags = ss.Bags.from_rows([[0, *rng.choice(np.arange(1, 9), 3, replace=False)] for _ in range(40)], 9)
    made = ss.BagPredictions(rng.dirichlet([1, 1], (40, 5)), bags, "ab")
    audit = ss.audit_bags(made, ss.Argmax())
    assert audit.unanswered.tolist() == [0]
    assert audit.left_out.tolist() == list(range(1, 9))
    assert "No answer for 1 row that every bag holds: 0." in audit.summary()


def planted(n=60, n_bags=400, n_points=20, seed=0, effect=1.0):
    """At point 4 the label is 1 in bags that hold row 17 and 0 in the others; elsewhere bags differ by noise alone."""
    rng = np.random.default_rng(seed)
    bags = ss.draw_bags(n, n_bags, 0.5, seed=seed)
    proba = rng.dirichlet([2.0, 2.0, 1.0], (n_bags, n_points))
    held = bags.holds(17)
    if effect:
        proba[held, 4] = [0.1, 0.8, 0.1]
        proba[~held, 4] = [0.8, 0.1, 0.1]
    return ss.BagPredictions(proba, bags, "abc")


def test_a_planted_row_comes_first_several_standard_errors_above_noise():
    audit = ss.audit_bags(planted(), ss.Argmax())
    order = np.argsort(-audit.row_score)
    assert audit.left_out[order[0]] == 17
    assert audit.row_score[order[0]] > audit.score_limit()[order[0]] > audit.row_score[order[1]]
    assert audit.row_score[order[0]] > 2 * audit.row_score[order[1]]
    assert audit.row_point[order[0]] == 4
    assert audit.influential().tolist() == [17]
    assert "Influential row (" in audit.summary()
    assert "17 (" in audit.summary()


def test_where_no_row_stands_out_the_audit_says_so():
    for seed in range(20):  # a false alarm has probability at most 0.05 in each, and the bound is far from attained
        audit = ss.audit_bags(planted(effect=0, seed=seed), ss.Argmax())
        assert len(audit.influential()) == 0
        assert "No row stands clear of Monte Carlo noise" in audit.summary()


@pytest.mark.parametrize("bag_size", [0.1, 0.5, 0.8])
def test_scores_of_noise_have_mean_square_one(bag_size):
    """With one point, a row's score is its shift in standard errors: mean square 1, over 400 rows within 5 SE."""
    rng = np.random.default_rng(2)
    bags = ss.draw_bags(400, 600, bag_size)
    made = ss.BagPredictions(rng.dirichlet([1, 1, 1, 1], (600, 1)), bags, "abcd")
    audit = ss.audit_bags(made, ss.Argmax(), prune=False)
    square = audit.row_score**2
    assert abs(square.mean() - 1) < 5 * square.std() / 20
    assert audit.row_score.max() < audit.score_limit().min()


def test_survival_and_quantiles():
    audit = audited(ss.Argmax())
    at, share = audit.survival()
    assert at[0] == 0
    assert share[0] == np.mean(audit.instability > 0)
    assert share[-1] == 0
    assert np.allclose(audit.survival([0.1, 0.3])[1], [np.mean(audit.instability > t) for t in (0.1, 0.3)], rtol=1e-12)
    seen = ~audit.settled
    assert np.all(np.diff(audit.shift_quantiles[seen], axis=1) >= 0)
    assert np.array_equal(audit.max_shift[seen], audit.shift_quantiles[seen, -1])


def test_too_many_pairs_are_dropped_from_below_and_it_is_said(monkeypatch):
    whole = audited(ss.Argmax())
    monkeypatch.setattr(_tally, "PAIR_LIMIT", 40)
    cut = audited(ss.Argmax())
    assert np.array_equal(cut.instability, whole.instability)
    assert 0 < len(cut.pair_units) < len(whole.pair_units)
    assert np.array_equal(cut.at(cut.epsilon_floor * 1.01), whole.at(cut.epsilon_floor * 1.01))
    with pytest.raises(ValueError, match="below which there were too many conflicts to keep"):
        cut.at(cut.epsilon_floor * 0.5)
    top = audited(ss.TopK(1))
    assert np.array_equal(top.instability, whole.instability)
    with pytest.raises(ValueError, match="too many to keep"):
        top.conflicts()


def test_at_warns_within_rounding_of_a_threshold():
    audit = audited(ss.Argmax())
    with pytest.warns(UserWarning, match="within rounding"):
        audit.at(float(audit.pair_epsilons[0]))
    with pytest.raises(ValueError, match="for the inflated argmax and the argmax; got an audit of TopK"):
        audited(ss.TopK(2)).at(0.1)


def test_saved_and_loaded_to_the_bit(tmp_path):
    for number, rule in enumerate((ss.InflatedArgmax(0.02), ss.TopK(2))):
        audit = audited(rule)
        audit.save(tmp_path / str(number))
        again = ss.StabilityAudit.load(tmp_path / str(number))
        for field in dataclasses.fields(audit):
            one, other = getattr(audit, field.name), getattr(again, field.name)
            same = one.tobytes() == other.tobytes() if isinstance(one, np.ndarray) else one == other
            assert same, field.name
        assert again.summary() == audit.summary()
    made = predictions(np.random.default_rng(0), n=20, n_bags=90, bag_size=0.1)
    ss.audit_groups(made, ss.Argmax(), [f"g{i % 4}" for i in range(20)]).save(tmp_path / "groups")
    assert ss.StabilityAudit.load(tmp_path / "groups").left_out.tolist() == ["g0", "g1", "g2", "g3"]


CONTRADICTIONS = {
    "no rule": (lambda f: edit(f, lambda m: m["audit"].pop("rule")), "must hold rule"),
    "a digest of before": (lambda f: flip(f / "steadyset.json", at=200), "steadyset.json must"),
    "a flipped bit": (lambda f: flip(array_file(f, "spread")), "spread.npy must have the digest"),
    "other lengths": (lambda f: put_array(f, "jaccard", np.ones(3)), "arrays do not"),
    "another type": (lambda f: put_array(f, "settled", np.zeros(8)), "arrays do not"),
    "no rows": (lambda f: edit(f, lambda m: m["audit"].update(n_samples=0)), "arrays do not"),
    "another unit": (lambda f: edit(f, lambda m: m["audit"].update(unit="house")), "arrays do not"),
    "a share above 1": (lambda f: change_array(f, "instability", lambda a: a.__setitem__(0, 2.0)), "arrays do not"),
    "another share": (lambda f: change_array(f, "instability", lambda a: a.__setitem__(0, 1 - a[0])), "arrays do not"),
    "a row twice": (lambda f: change_array(f, "left_out", lambda a: a.__setitem__(1, a[0])), "arrays do not"),
    "a row outside": (lambda f: change_array(f, "left_out", lambda a: a.__setitem__(1, -1)), "arrays do not"),
    "a point outside": (lambda f: change_array(f, "row_point", lambda a: a.__setitem__(0, 10**9)), "arrays do not"),
    "starts that fall": (lambda f: change_array(f, "pair_starts", lambda a: a.__setitem__(1, 10**9)), "arrays do not"),
    "a pair outside": (lambda f: change_array(f, "pair_units", lambda a: a.__setitem__(0, -5)), "arrays do not"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_damaged_folder_is_refused(tmp_path, case):
    spoil, sentence = CONTRADICTIONS[case]
    audited().save(tmp_path / "saved")
    spoil(tmp_path / "saved")
    with pytest.raises(ValueError, match=sentence):
        ss.StabilityAudit.load(tmp_path / "saved")


def test_frames(monkeypatch):
    audit = audited()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pandas is needed here; install it with `pip install steadyset\[data\]`"):
        audit.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=dict))
    points, rows = audit.to_frame(), audit.to_frame(by="rows")
    assert {len(column) for column in points.values()} == {audit.n_points}
    assert {len(column) for column in rows.values()} == {audit.n_units}
    assert np.array_equal(points["instability"], audit.instability)
    assert np.array_equal(rows["left_out"], audit.left_out)


@pytest.mark.parametrize("rule", [ss.InflatedArgmax(0.005), lambda p: ss.inflated_argmax(p, 0.005)])
def test_each_conflict_has_its_shift_and_standard_error(rule, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=dict))
    made = predictions(np.random.default_rng(0), n=40, n_bags=80, n_points=12)
    frame = ss.audit_bags(made, rule).to_frame(by="conflicts")
    assert len(frame["point"]) > 20
    spread = ((made.proba - made.mean()) ** 2).sum(axis=(0, 2)) / 79
    for k, (point, row) in enumerate(zip(frame["point"], frame["left_out"], strict=True)):
        moved = made.leave_one_out(int(row))[point] - made.mean()[point]
        free = 80 - made.bags.counts[row]
        assert np.isclose(frame["shift"][k], np.linalg.norm(moved), atol=1e-6)
        assert np.isclose(frame["standard_error"][k], np.sqrt(spread[point] * (1 / free - 1 / 80)), rtol=1e-9)


def test_the_result_is_frozen_and_says_what_it_measured():
    audit = audited(left_out=5, random_state=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        audit.rule = "other"
    assert "do not hold the row" in audit.algorithm
    assert "InflatedArgmax(epsilon=0.02)" in repr(audit)
    assert "drawn at random from 40" in audit.summary()


def test_progress_reaches_the_total():
    for rule in (ss.Argmax(), lambda p: p > 0):
        seen = []
        audited(rule, progress=lambda done, total: seen.append((done, total)))  # noqa: B023
        assert seen[-1][0] == seen[-1][1]
        assert all(one[0] < other[0] for one, other in itertools.pairwise(seen))


MADE = predictions(np.random.default_rng(0), n=10, n_bags=20, n_points=4)
BAD = {
    "not predictions": (lambda: ss.audit_bags(np.ones(3), ss.Argmax()), "must be a steadyset.BagPredictions"),
    "no rule": (lambda: ss.audit_bags(MADE, 0.05), "rule must be a rule object or a callable; got 0.05"),
    "shape": (
        lambda: ss.audit_bags(MADE, lambda p: p.argmax(axis=1)),
        r"rule must return a bool mask of shape \(4, 3\); got dtype int64",
    ),
    "columns": (lambda: ss.audit_bags(MADE, lambda p: p[:, :2] > 0), r"got dtype bool and shape \(4, 2\)"),
    "empty": (
        lambda: ss.audit_bags(MADE, lambda p: p > 2),
        "rule must select at least one label; got an empty set at point 0",
    ),
    "k": (lambda: ss.audit_bags(MADE, ss.TopK(9)), "k must be a whole number from 1 to 3"),
    "row": (lambda: ss.audit_bags(MADE, ss.Argmax(), left_out=[3, 10]), "positions from 0 to 9; got 10"),
    "number": (lambda: ss.audit_bags(MADE, ss.Argmax(), left_out=11), "a number from 1 to 10 or row positions; got 11"),
    "word": (lambda: ss.audit_bags(MADE, ss.Argmax(), left_out="some"), "left_out must be .* got 'some'"),
    "twice": (lambda: ss.audit_bags(MADE, ss.Argmax(), left_out=[3, 3]), "each row once; got row 3 more than once"),
    "averaging": (lambda: ss.audit_bags(MADE, ss.Argmax(), averaging="none"), 'averaging must be "all" or "equal"'),
    "jobs": (lambda: ss.audit_bags(MADE, ss.Argmax(), n_jobs=0), "n_jobs must be None or a whole number that is not 0"),
    "seed": (lambda: ss.audit_bags(MADE, ss.Argmax(), random_state=-1), "random_state must be a whole number"),
    "one bag": (lambda: ss.audit_bags(one_bag(), ss.Argmax()), "at least 2 bags to leave a row out; got 1"),
    "all held": (lambda: ss.audit_bags(all_held(), ss.Argmax()), "draw more or smaller bags"),
    "groups": (lambda: ss.audit_groups(MADE, ss.Argmax(), [1, 2]), "for each of the 10 rows; got"),
}


def one_bag():
    return ss.BagPredictions(np.full((1, 2, 2), 0.5), ss.draw_bags(4, 1, 2), "ab")


def all_held():
    return ss.BagPredictions(np.full((3, 2, 2), 0.5), ss.Bags.from_rows([[0, 1]] * 3, 2), "ab")


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError), match=sentence) as raised:
        call()
    assert str(raised.value).endswith(".")
    assert "\n" not in str(raised.value)


def test_a_rule_that_fails_on_a_leave_one_out_model_fails_before_long_work():
    mean = MADE.mean()
    with pytest.raises(ValueError, match="empty set"):
        ss.audit_bags(MADE, lambda p: (p > 0) & np.array_equal(p, mean), progress=lambda *_: pytest.fail("started"))


def test_a_leave_one_out_mean_off_the_simplex_is_refused_with_a_sentence():
    """float32 votes may sum to 1 within 1e-4, and rules on probabilities want their mean within 1e-6."""
    bags = ss.draw_bags(6, 40, 3)
    proba = np.full((40, 2, 2), 0.5, np.float32)
    free = ~bags.holds(0)
    proba[free, :, 0] += np.float32(8e-5)
    proba[~free, :, 0] -= np.float32(8e-5 * free.sum() / (~free).sum())
    made = ss.BagPredictions(proba, bags, "ab")
    assert ss.audit_bags(made, ss.Argmax()).n_units == 6
    with pytest.raises(ValueError, match=r"got a mean that does not sum to 1 within 1e-6\."):
        ss.audit_bags(made, ss.MassThreshold(0.6))
