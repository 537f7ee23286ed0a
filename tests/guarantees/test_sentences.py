"""Every number in a sentence is the field it stands for: fields that no other field could be taken for."""

import math
import re
from collections import Counter

import pytest

import steadyset as ss
from steadyset import Guarantee, reseed_stability, selection_stability, solve_stability

NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?"


def numbers(sentence):
    return Counter(re.findall(NUMBER, sentence))


SETTING = {"n_samples": 7919, "bag_size": 313, "epsilon": 0.0571, "n_classes": 11, "n_bags": 200_003}
FEW = {"n_bags": 31, "coupling": "any"}


@pytest.mark.parametrize("n_dropped", [1, 4])
@pytest.mark.parametrize("coupling", ["hash", "independent", "any"])
def test_the_numbers_of_a_guarantee(n_dropped, coupling):
    found = selection_stability(
        **SETTING, n_dropped=n_dropped, coupling=coupling, sigma2=0.0137, theorem="second-moment"
    )
    sentence, delta = str(found), f"{found.delta:.3g}"
    rows = "one" if n_dropped == 1 else "4"
    for words in (
        f"Dropping {rows} of 7,919 training rows",
        f"probability at most {delta} ",
        "epsilon = 0.0571,",
        "with 200,003 bags of 313 rows (subbagging)",
        "spread of the bags at the point is at most 0.0137 (",
    ):
        assert words in sentence
    expected = Counter(["7,919", delta, "0.0571", "200,003", "313", "0.0137"] + ["4"] * (n_dropped > 1))
    assert numbers(sentence) == expected
    fields = {
        "epsilon": 0.0571,
        "n_samples": 7919,
        "bag_size": 313,
        "n_bags": 200_003,
        "n_classes": 11,
        "resampling": "subbagging",
        "coupling": coupling,
        "n_dropped": n_dropped,
        "every_row": False,
        "sigma2": 0.0137,
        "theorem": "second-moment",
    }
    assert {name: getattr(found, name) for name in fields} == fields
    for name, value in fields.items():
        assert f"{name}={value!r}" in repr(found)
    assert f"delta={found.delta!r}" in repr(found)
    assert len(found.assumptions) == 6
    assert all(f"that {words}" in sentence for words in found.assumptions)


COUPLED = {"hash": "hash bags", "independent": "drawn independently;", "any": "however the two sets are coupled"}


@pytest.mark.parametrize("coupling", COUPLED)
def test_the_assumption_on_the_coupling_is_the_one_asked_for(coupling):
    sentence = str(selection_stability(**SETTING, coupling=coupling, theorem="second-moment"))
    assert [name for name, words in COUPLED.items() if words in sentence] == [coupling]
    paper = str(selection_stability(**SETTING, coupling=coupling, theorem="paper"))
    assert [name for name, words in COUPLED.items() if words in paper] == ["any"]
    assert "chosen before looking at the predictions" in sentence
    limit = str(selection_stability(**{**SETTING, "n_bags": None}, coupling=coupling, theorem="second-moment"))
    assert not any(words in limit for words in COUPLED.values())
    assert "chosen before" not in limit
    assert selection_stability(**{**SETTING, "n_bags": None}, coupling=coupling).coupling is None


@pytest.mark.parametrize(
    ("change", "average", "rule"),
    [
        (
            {"theorem": "second-moment"},
            "on average over the rows dropped and over the draw of bags, with 200,003",
            "any",
        ),
        ({"theorem": "second-moment", "n_bags": None}, "on average over the rows dropped, in the limit", "any"),
        ({"theorem": "small-bags"}, "epsilon = 0.0571, on average over the draw of bags, with 200,003", "any"),
        ({"theorem": "small-bags", "n_bags": None}, "epsilon = 0.0571, in the limit of infinitely many", "own"),
        ({"theorem": "small-bags", "n_bags": None, "any_rule": True}, "0.0571, in the limit of infinitely many", "any"),
    ],
)
def test_over_what_a_guarantee_averages(change, average, rule):
    found = selection_stability(**{**SETTING, **change})
    assert average in str(found)
    assert ("that the rule is epsilon-compatible" in str(found)) == (rule == "any")
    assert ("that the rule is the inflated argmax or the fixed margin" in str(found)) == (rule == "own")
    assert found.every_row == (change["theorem"] == "small-bags")
    assert ("Dropping any one of 7,919" in str(found)) == found.every_row


def test_one_bag_and_one_row_are_singular():
    sentence = str(selection_stability(n_samples=2, bag_size=1, epsilon=1.3, n_bags=1))
    assert "with 1 bag of 1 row (subbagging)" in sentence
    assert "(bootstrap)" in str(selection_stability(n_samples=90, bag_size=7, epsilon=1.3, resampling="bootstrap"))


def test_the_numbers_of_a_vacuous_guarantee():
    sentence = str(selection_stability(**{**SETTING, "n_bags": 97}, theorem="paper"))
    delta = f"{selection_stability(**{**SETTING, 'n_bags': 97}, theorem='paper').delta:.3g}"
    assert numbers(sentence) == Counter([delta, delta, "0.995", "7,919", "0.0571", "97", "313"])
    assert sentence.startswith(f"Vacuous, since the bound {delta} is not below 0.995: dropping")
    almost = str(Guarantee(0.99999, "paper", 0.05, assumptions=("it rains",)))
    assert "with probability at most 1 (to three digits) at" in almost


def test_the_numbers_of_another_seed():
    moment = {"theorem": "another-seed"}
    found = reseed_stability(n_bags=4001, epsilon=0.173, n_classes=7, sigma2=0.219, **moment)
    assert found.delta == pytest.approx(2 * 0.219 / 4001 / 0.173**2, rel=1e-14)
    assert (found.n_bags, found.epsilon, found.n_classes, found.sigma2) == (4001, 0.173, 7, 0.219)
    delta = f"{found.delta:.3g}"
    assert numbers(str(found)) == Counter([delta, "0.173", "4,001", "0.219"])
    assert f"at most {delta} at epsilon = 0.173, on average over the draw of bags, with 4,001 bags, by the" in str(
        found
    )
    assert "training row" not in str(found)
    largest = reseed_stability(n_bags=4001, epsilon=0.173, n_classes=7, **moment)
    assert largest.delta == pytest.approx(2 * (6 / 7) / 4001 / 0.173**2, rel=1e-14)
    assert "spread" not in str(largest)


def test_the_numbers_of_tail_stability():
    found = Guarantee.from_tail_stability(0.0231, 0.0417, ss.MassThreshold(0.83), n_classes=13)
    assert (found.epsilon, found.delta, found.n_classes) == (0.0231, 0.0417, 13)
    assert numbers(str(found)) == Counter(["0.0417", "0.0231", "0.0231", "0.0417", "0.83"])
    assert "at most 0.0417 at epsilon = 0.0231, on average over the rows dropped, by the tail stability" in str(found)
    assert "tail stable at (0.0231, 0.0417); that the rule is MassThreshold(tau=0.83)" in str(found)
    claim = ss.MassThreshold(0.83).compatible_epsilon(13)
    with pytest.raises(ValueError, match="rule must be") as error:
        Guarantee.from_tail_stability(0.71, 0.0417, ss.MassThreshold(0.83), n_classes=13)
    assert str(error.value) == (
        f"rule must be compatible with epsilon=0.71, but MassThreshold(tau=0.83) allows epsilon up to {claim:g}."
    )


@pytest.mark.parametrize(
    ("unknown", "extreme", "words", "setting"),
    [
        ("n_bags", {"n_bags": 2**53}, "2**53 bags (what is left is the influence of a row", {"bag_size": 3011}),
        ("n_samples", {"n_samples": 2**53}, "2**53 rows (what is left is the noise of a finite number", FEW),
        ("bag_size", {"bag_size": 1}, "bags of one row.", FEW),
        ("epsilon", {"epsilon": 2.0**500}, "the largest epsilon.", {"theorem": "paper", "delta": 0}),
    ],
)
@pytest.mark.parametrize("theorem", ["best", "second-moment"])
def test_the_bound_in_the_solvers_message_is_that_of_the_extreme(unknown, extreme, words, setting, theorem):
    setting = {"theorem": theorem, "delta": 2e-7, **SETTING, **setting}
    del setting[unknown]
    with pytest.raises(ss.guarantees.NoSolutionError) as error:
        solve_stability(unknown, **setting)
    delta = setting.pop("delta")
    left = selection_stability(**setting, **extreme).delta
    assert left > delta
    message = str(error.value)
    assert message.startswith(f"no {unknown} reaches delta={delta:g}: the bound is {left:.3g} even with {words}")
    assert math.isfinite(left)


def test_the_numbers_of_a_refused_setting():
    with pytest.raises(ValueError, match="n_dropped") as error:
        selection_stability(**SETTING, n_dropped=7607)
    assert str(error.value) == (
        "n_dropped must be at most n_samples - bag_size = 7606; got 7607: a bag needs 313 rows."
    )
    assert selection_stability(**SETTING, n_dropped=7606).n_dropped == 7606
