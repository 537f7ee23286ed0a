"""Every number in a sentence of an audit or a certificate is that of its field, and one of a thing is one thing.

The fields have values that tell all candidates apart. A sentence has to hold the numbers in their order; its words may
change.
"""

import dataclasses
import math
import re

import numpy as np
import pytest

import steadyset as ss

N, POINTS = 1200, 16
BOUND_ROWS = [0, 0, 0, 0, 0, 12, 24, 36, 48, 60, 72, 84, 96, 108, N, N]  # of the rows, point by point
AT_ONCE_ROWS = [0, 0, 0, 31, 32, 33, 34, 35, 37, *[N] * 7]
UNSAFE = [0, 0, 0, 0, N, 1, 1199, *range(300, 309)]
POISONING = [1, 5, 2345, 1, *[0] * 3, 17, 18, 30, 40, 50, 60, 70, 80, 9]


def certificates(**changed):
    values = {
        "rule": "InflatedArgmax(epsilon=0.37)",
        "alpha": 0.013,
        "n_samples": N,
        "n_bags": 3456,
        "bag_size": 789,
        "resampling": "subbagging",
        "coupling": "hash",
        "ids": "given",
        "radius": np.full(POINTS, 0.91),
        "influence": 0.0077,
        "spread_bound": np.full(POINTS, 0.81),
        "distance_bound": np.full(POINTS, 0.71),
        "bound": np.array(BOUND_ROWS) / N,
        "simultaneous_bound": np.array(AT_ONCE_ROWS) / N,
        "unsafe_rows": np.array(UNSAFE),
        "poisoning_radius": np.array(POISONING),
    }
    return ss.Certificates(**{**values, **changed})


def numbers(text):
    """All numbers as they stand, with their thousands commas and percent signs."""
    return re.findall(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?%?", text)


def in_order(expected, text):
    """Whether the numbers occur in the text in this order, others between them."""
    found = iter(numbers(text))
    return all(one in found for one in expected)


def line(text, key):
    (found,) = [each for each in text.splitlines() if key in each]
    return found


def test_overview_of_certificates():
    assert dataclasses.asdict(certificates().overview) == {
        "no_row": 5 / 16,
        "vacuous": 2 / 16,
        "median": (36 + 48) / 2 / N,
        "no_row_at_once": 3 / 16,
        "vacuous_at_once": 7 / 16,
        "cleared_points": 4 / 16,
        "cleared_rows": 1 - sum(UNSAFE) / 16 / N,
        "median_poisoning": 17,  # of 17 and 18: half a row is none
        "most_poisoning": 2345,
    }
    assert certificates().n_points == 16


def test_summary_of_certificates():
    text = certificates().summary()
    assert in_order(["16", "3,456", "789", "1,200"], text.splitlines()[0])
    assert "InflatedArgmax(epsilon=0.37)" in text.splitlines()[0]
    assert "subbagging" in text.splitlines()[0]
    assert in_order(["0.987", "31.2%", "12.5%", "0.035", "18.8%", "43.8%"], line(text, "Theorem 4"))
    assert in_order(["25.0%", f"{1 - sum(UNSAFE) / 16 / N:.1%}"], line(text, "Theorem 6"))
    assert 0.7 < 1 - sum(UNSAFE) / 16 / N < 0.8
    assert in_order(["17", "2,345"], line(text, "Poisoning"))
    assert repr(certificates()) == "Certificates(rule=InflatedArgmax(epsilon=0.37), n_points=16, alpha=0.013)"


@pytest.mark.parametrize("point", range(POINTS))
def test_status_of_a_point(point):
    found = certificates()
    text = found.status(point)
    unsafe, radius, rows = UNSAFE[point], POISONING[point], BOUND_ROWS[point]
    expected = [] if unsafe in (0, N) else [f"{N - unsafe:,}", "1,200", f"{unsafe:,}"]
    expected += [f"{radius:,}"] if radius > 1 else []
    expected += [] if rows == N else [str(rows), "1,200", "0.987"]
    assert in_order(expected, text)
    assert ("vacuous" in text) == (rows == N)
    assert ("poisoning" in text) == (radius > 1)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_one_row_has_and_two_rows_have(rows):
    found = certificates(bound=np.full(POINTS, rows / N))
    verb = "has" if rows == 1 else "have"
    assert re.search(rf"\b{rows} of the 1,200 rows {verb} ", found.status(0))


def test_one_point_and_one_row_of_certificates():
    one = {
        field.name: getattr(certificates(), field.name)[:1]
        for field in dataclasses.fields(ss.Certificates)
        if isinstance(getattr(certificates(), field.name), np.ndarray)
    }
    text = certificates(**one).summary()
    assert re.search(r"\b1 point\b", text)
    assert not re.search(r"\b1 points\b", text)
    assert re.search(r"up to 1 row\b", text)
    assert re.search(r"up to 0 rows\b", certificates(**{**one, "poisoning_radius": np.array([0])}).summary())


def test_levels_and_certified_points():
    found = certificates()
    assert found.certified().sum() == 5
    assert found.certified(24 / N).sum() == 7
    assert found.certified(33 / N, simultaneous=True).sum() == 6
    assert found.certified(simultaneous=True).sum() == 3


def audit(**changed):
    """Nineteen points, seven rows of 1,200: three named by their score, one of them by its own tail alone."""
    instability = np.zeros(19)
    instability[[3, 11, 12, 18]] = [1 / 7, 3 / 7, 2 / 7, 1 / 7]
    settled = np.zeros(19, bool)
    settled[[0, 1, 2, 5, 8]] = True
    values = {
        "algorithm": "Models.",
        "rule": "Argmax()",
        "unit": "row",
        "epsilon": 0.0,
        "n_samples": N,
        "n_bags": 77,
        "sampled": True,
        "left_out": np.array([101, 202, 303, 404, 505, 606, 707]),
        "unanswered": np.array([], int),
        "instability": instability,
        "jaccard": np.linspace(0.61, 0.93, 19),
        "max_shift": np.full(19, 0.5),
        "shift_error": 1e-6,
        "shift_quantiles": np.full((19, 4), 0.5),
        "spread": np.full(19, 0.2),
        "settled": settled,
        "row_influence": np.array([1, 2, 13, 4, 1414, 6, 7]),
        "row_score": np.array([3.0, 7.1, 25.9, 2.0, 31.4, 1.0, 8.8]),
        "row_point": np.array([10, 15, 14, 9, 13, 17, 16]),
        "row_noise": np.full(7, 0.01),
        "row_tail": np.array([2.0, 1.5, 4.1, 2.5, 5.2, 6.0, 2.2]),
        "pair_starts": np.zeros(20, np.int64),
        "pair_units": np.empty(0, np.int32),
        "pair_epsilons": np.empty(0),
        "pair_shifts": np.empty(0, np.float32),
        "epsilon_floor": 0.0,
    }
    return ss.StabilityAudit(**{**values, **changed})


#: The score that noise reaches anywhere with probability 0.05, without the rows' tails: 7 rows at 14 points.
LIMIT = math.sqrt(2 * math.log(2 * 7 * 14 / 0.05))


def test_score_limits_by_hand():
    assert np.allclose(audit().score_limit(), LIMIT * audit().row_tail, rtol=1e-12)
    assert np.allclose(audit().score_limit(0.2), math.sqrt(2 * math.log(980)) * audit().row_tail, rtol=1e-12)
    # 31.4 > 5.2 * 4.07, 25.9 > 4.1 * 4.07 and 7.1 > 1.5 * 4.07, but 8.8 < 2.2 * 4.07
    assert audit().influential().tolist() == [4, 2, 1]
    assert audit().influential(1e-12).tolist() == []


def test_summary_of_an_audit():
    text = audit().summary()
    assert text.startswith("Models.\nRule: Argmax(). ")
    assert in_order(["19", "7", "1,200"], line(text, "left out"))
    assert in_order(["0.4286", "11", "0.05263", "4", "0.77"], line(text, "Instability"))
    assert numbers(line(text, "settled")) == ["5"]
    assert "no row can change" in line(text, "settled")
    named = line(text, "Influential rows")
    expected = [f"{LIMIT * 5.2:.1f}", "0.05", "505", "31.4", "13", "1,414", "303", "25.9", "14", "13"]
    assert numbers(named) == [*expected, "202", "7.1", "15", "2"]
    assert repr(audit()) == "StabilityAudit(rule=Argmax(), n_points=19, n_units=7, max_instability=0.4286)"
    assert audit().n_conflicts.tolist() == [0, 0, 0, 1, *[0] * 7, 3, 2, *[0] * 5, 1]
    assert (audit().n_points, audit().n_units) == (19, 7)
    assert numbers(line(audit(sampled=False).summary(), "left out")) == ["19", "7"]


def test_where_none_is_named_the_smallest_limit_is():
    text = audit(row_score=np.zeros(7)).summary()
    assert in_order([f"{LIMIT * 1.5:.1f}", "0.05"], line(text, "No row stands clear"))
    refits = audit(row_tail=np.full(7, np.inf)).summary()
    assert numbers(line(refits, "No row flips")) == ["1,414"]
    assert "No row flips more than 1 point;" in audit(row_tail=np.full(7, np.inf), row_influence=np.eye(7)[0]).summary()


def test_more_than_five_are_counted():
    many = audit(row_score=np.array([90.0, 80, 70, 60, 50, 40.5, 30.5]), unanswered=np.arange(11, 18)).summary()
    named = line(many, "Influential rows")
    assert numbers(named)[-1] == "2"
    assert named.endswith(" and 2 more.")
    assert "505" in numbers(named)
    assert "606" not in numbers(named)
    assert numbers(line(many, "No answer")) == ["7", "11", "12", "13", "14", "15"]
    assert line(many, "No answer").endswith("15, ....")
    few = audit(unanswered=np.arange(11, 16)).summary()
    assert numbers(line(few, "No answer")) == ["5", "11", "12", "13", "14", "15"]
    assert line(few, "No answer").endswith("15.")


@pytest.mark.parametrize("unit", ["row", "group"])
def test_one_thing_is_one_thing(unit):
    """An audit of one point that is settled, or ever in conflict, by one unit; and of none."""
    one = {"unit": unit, "left_out": np.array([101]), "unanswered": np.array([102]), "pair_starts": np.zeros(2, int)}
    names = [f.name for f in dataclasses.fields(ss.StabilityAudit) if f.name not in one]
    plain = audit()
    for name in names:
        value = getattr(plain, name)
        if isinstance(value, np.ndarray) and len(value) in (7, 19):
            one[name] = value[:1]
    settled = audit(**one, sampled=False).summary()
    assert re.search(rf"1 point, 1 {unit} left out", settled)
    assert "1 point is settled: " in settled
    assert "can change its set." in settled
    assert "0 points are ever in conflict" in settled
    assert re.search(rf"No answer for 1 {unit} that every bag holds", settled)
    torn = audit(**{**one, "settled": np.array([False]), "instability": np.ones(1), "row_score": np.array([99.0])})
    text = torn.summary()
    assert "1 point is ever in conflict" in text
    assert "0 points are settled: " in text
    assert "can change their sets." in text
    assert f"Influential {unit} (" in text
    for plural in (f"{unit}s", "points"):
        assert not re.search(rf"\b1 {plural}\b", settled + text)


@pytest.mark.parametrize(("count", "words"), [(1, "1 pair of .* conflicts"), (3, "3 pairs of .* conflict;")])
def test_pairs_within_rounding_are_counted(count, words):
    pairs = {
        "pair_starts": np.concatenate([[0], np.full(19, 5)]),
        "pair_units": np.arange(5, dtype=np.int32),
        "pair_epsilons": np.concatenate([np.full(count, 0.25), np.linspace(0.3, 0.4, 5 - count)]),
        "pair_shifts": np.zeros(5, np.float32),
    }
    with pytest.warns(UserWarning, match=words) as caught:
        share = audit(**pairs).at(0.25)
    assert numbers(str(caught[0].message)) == ["0.25", str(count)]
    assert share[0] == 5 / 7


def test_the_algorithm_says_how_many_bags():
    rng = np.random.default_rng(0)
    bags = ss.draw_bags(30, 1234, 20, seed=2)
    made = ss.BagPredictions(rng.dirichlet([1, 1], (1234, 2)), bags, "ab")
    assert numbers(ss.audit_bags(made, ss.Argmax()).algorithm) == ["1,234"]
    equal = ss.audit_bags(made, ss.Argmax(), averaging="equal", random_state=0).algorithm
    assert numbers(equal) == [f"{1234 - bags.counts.max():,}"]
    groups = ss.audit_groups(made, ss.Argmax(), np.arange(30)).algorithm
    assert numbers(groups) == ["1,234"]
    tight = ss.Bags.from_rows([[0, 1], [0, 2], [1, 2]], 3)
    one = ss.BagPredictions(np.full((3, 1, 2), 0.5), tight, "ab")
    assert "the mean of 1 bag drawn" in ss.audit_bags(one, ss.Argmax(), averaging="equal", random_state=0).algorithm


ERRORS = {
    "kept": (lambda: audit(epsilon_floor=0.31).at(0.17), ["0.31", "0.17"]),
    "every bag": (lambda: ss.tail_stability(held_by_all(), 0.1), ["2", "5"]),
    "no bag": (lambda: ss.audit_bags(held_by_all(), ss.Argmax(), left_out=[2]), ["5"]),
    "groups": (lambda: ss.audit_groups(held_by_all(), ss.Argmax(), [1, 2]), ["4", "1", "2"]),
    "few bags": (lambda: ss.certify(few_bags(), ss.Argmax()), ["4", "3"]),
    "points": (lambda: certificates().status(23), ["0", "15", "23"]),
    "twice": (lambda: ss.audit_bags(held_by_all(), ss.Argmax(), left_out=[1, 3, 0, 3]), ["3"]),
    "number": (lambda: ss.audit_bags(held_by_all(), ss.Argmax(), left_out=9), ["1", "4", "9"]),
}


def held_by_all():
    bags = ss.Bags.from_rows([[2, b % 2] for b in range(5)], 4)
    return ss.BagPredictions(np.full((5, 1, 2), 0.5), bags, "ab")


def few_bags():
    return ss.BagPredictions(np.full((3, 1, 2), 0.5), ss.draw_bags(4, 3, 2), "ab")


@pytest.mark.parametrize("case", ERRORS)
def test_numbers_of_errors(case):
    call, expected = ERRORS[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert numbers(str(caught.value)) == expected
