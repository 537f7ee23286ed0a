"""solve_stability: the answers are exact, and an impossible question is answered with the reason."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from steadyset import selection_stability, solve_stability

PAPER = {"n_samples": 60_000, "bag_size": 0.5, "epsilon": 0.05, "n_classes": 10}
STEP = {"n_samples": -1, "n_bags": -1, "bag_size": 1}  # towards what must fail


def delta_at(unknown, value, **setting):
    return selection_stability(**setting, **{unknown: value}).delta


def assert_sharp(unknown, answer, delta, **setting):
    assert delta_at(unknown, answer, **setting) <= delta
    if answer == 2.0**-500:  # every epsilon
        return
    if unknown == "bag_size" and setting.get("resampling") == "bootstrap" and answer == setting["n_samples"]:
        return  # the limit of the search, which the docstring names
    beside = math.nextafter(answer, 0) if unknown == "epsilon" else answer + STEP[unknown]
    try:
        assert delta_at(unknown, beside, **setting) > delta
    except ValueError:  # the neighbour is no setting at all
        assert unknown != "epsilon"


def test_the_number_of_bags_for_the_setting_of_the_paper():
    """Against exact arithmetic: 60 digits for the paper's e^2, fractions for the others."""
    spread, K, delta, eps = Fraction(9, 10), Fraction(1, 59_999), Fraction(5, 100), Fraction(5, 100)
    left = delta * eps**2 / spread - K
    with mpmath.workdps(60):
        paper = int(mpmath.ceil(16 * mpmath.e**2 * left.denominator / left.numerator))
    assert solve_stability("n_bags", delta=0.05, **PAPER, theorem="paper") == paper == 967_297
    for coupling, c, bags in [
        ("any", 4, 32_728),
        ("independent", 2, 16_364),
        ("hash", Fraction(30_001, 30_000), 8_183),
    ]:
        asked = {**PAPER, "coupling": coupling, "theorem": "second-moment"}
        answer = solve_stability("n_bags", delta=0.05, **asked)
        assert answer == math.ceil(c / left) == bags
        assert_sharp("n_bags", answer, 0.05, **asked)
    assert solve_stability("n_bags", delta=0.05, **PAPER, sigma2=0.1, theorem="second-moment") == 811


@pytest.mark.parametrize(
    ("setting", "bags"),
    [
        ({"delta": 0.05}, 3_544),
        ({"delta": 0.01}, 10_984),
        ({"delta": 0.05, "theorem": "exact-second-moment"}, 7_201),
        ({"delta": 0.01, "theorem": "exact-second-moment"}, 36_002),
        ({"delta": 0.007}, 51_431),
        ({"delta": 0.05, "coupling": "independent"}, 6_319),
        ({"delta": 0.05, "coupling": "any"}, 12_637),
        ({"delta": 0.05, "sigma2": 0.1}, 690),
    ],
)
def test_how_many_bags_the_sharper_theorems_ask_for(setting, bags):
    assert solve_stability("n_bags", **PAPER, **setting) == bags
    delta = setting.pop("delta")
    assert_sharp("n_bags", bags, delta, **PAPER, **setting)


SETTINGS = st.fixed_dictionaries(
    {
        "n_samples": st.integers(2, 5000),
        "epsilon": st.floats(0.02, 1.3),
        "n_bags": st.none() | st.integers(1, 3000),
        "n_classes": st.sampled_from([None, 2, 10]),
        "coupling": st.sampled_from([None, "independent", "any"]),
        "theorem": st.sampled_from(["best", "second-moment", "paper"]),
    }
)


@given(
    setting=SETTINGS,
    share=st.floats(0.001, 0.99),
    delta=st.floats(1e-4, 0.9),
    unknown=st.sampled_from(["epsilon", "bag_size", "n_samples", "n_bags"]),
    resampling=st.sampled_from(["subbagging", "bootstrap"]),
    as_share=st.booleans(),
)
def test_the_answer_reaches_delta_and_its_neighbour_does_not(setting, share, delta, unknown, resampling, as_share):
    m = share if as_share else max(1, int(share * setting["n_samples"]))
    setting = {**setting, "bag_size": min(m, setting["n_samples"] - 1), "resampling": resampling}
    del setting[unknown]
    try:
        answer = solve_stability(unknown, delta=delta, **setting)
    except ValueError as error:
        assert f"no {unknown} reaches delta" in str(error)  # noqa: PT017
        most = {"n_bags": 2**53, "n_samples": 2**53, "bag_size": 1}
        if unknown in most:  # nor does the most that can be asked for
            assert delta_at(unknown, most[unknown], **setting) > delta
        return
    assert isinstance(answer, float if unknown == "epsilon" else int)
    assert_sharp(unknown, answer, delta, **setting)
    if unknown != "bag_size":  # more never hurts
        for factor in (1.001, 1.1, 2, 3.7):
            more = answer * factor if unknown == "epsilon" else math.ceil(answer * factor)
            assert delta_at(unknown, more, **setting) <= delta


@pytest.mark.parametrize("bag_size", [1, 30, 100, 300, 340, 353, 354, 400])
@pytest.mark.parametrize("delta", [0.3, 0.05, 0.002])
def test_every_larger_number_of_small_bags_reaches_delta(bag_size, delta):
    """The tail P(Bin(B, p) >= hB) is a saw in B: compare with the definition, looked up one by one."""
    setting = {"n_samples": 10_000, "bag_size": bag_size, "epsilon": 0.05, "n_classes": 10}
    try:
        answer = solve_stability("n_bags", delta=delta, **setting)
    except ValueError:
        assert bag_size / 10_000 >= 0.05 / math.sqrt(2) or delta_at("n_bags", 10**6, **setting) > delta
        return
    assert_sharp("n_bags", answer, delta, **setting)
    assert all(delta_at("n_bags", B, **setting) <= delta for B in range(answer, answer + 400))


@pytest.mark.parametrize("share", [0.01, 0.37, 0.5, 2 / 3, 0.9, 0.985])
@pytest.mark.parametrize("n_dropped", [1, 3])
def test_every_larger_number_of_rows_reaches_delta_with_bags_that_are_a_share(share, n_dropped):
    setting = {"bag_size": share, "epsilon": 0.3, "n_dropped": n_dropped, "theorem": "second-moment"}
    answer = solve_stability("n_samples", delta=0.04, **setting)
    assert_sharp("n_samples", answer, 0.04, **setting)
    assert all(delta_at("n_samples", n, **setting) <= 0.04 for n in range(answer, answer + 300))


@pytest.mark.parametrize("free", [{"epsilon": 1.5}, {"n_classes": 1}, {"sigma2": 0.0}, {"epsilon": 1.3}])
def test_where_every_bag_size_reaches_delta(free):
    """The largest bag is the answer: all rows but the dropped one, or for bootstrap as many draws as there are rows."""
    setting = {"n_samples": 1000, "epsilon": 0.3, "n_classes": 3, **free}
    assert solve_stability("bag_size", delta=0.05, **setting, resampling="bootstrap") == 1000
    if free != {"epsilon": 1.3}:
        assert solve_stability("bag_size", delta=0.05, **setting) == 999
        assert solve_stability("n_samples", delta=0.05, bag_size=0.5, **{**setting, "n_samples": None}) == 2
        assert solve_stability("n_bags", delta=0.05, bag_size=0.5, **setting) == 1


def test_where_every_epsilon_reaches_delta():
    """One bag of ten rows out of a thousand: 99% of the rows are in no bag."""
    setting = {"n_samples": 1000, "bag_size": 10, "n_bags": 1}
    assert solve_stability("epsilon", delta=0.02, **setting) == 2.0**-500
    assert selection_stability(epsilon=2.0**-500, **setting).delta == pytest.approx(0.01)
    assert solve_stability("epsilon", delta=0.009, **setting) > 1


def test_small_bags_with_no_instability_at_all():
    setting = {"n_samples": 60_000, "epsilon": 0.05}
    for rule, bag_size in [
        ({}, 2956),
        ({"n_classes": 10}, 3108),
        ({"any_rule": True}, 2121),
        ({"rule": ss.FixedMargin(0.05)}, 4097),
        ({"rule": ss.InflatedArgmax(0.05), "n_classes": 10}, 3108),
        ({"n_classes": 2}, 4097),
    ]:
        assert solve_stability("bag_size", delta=0, **setting, **rule) == bag_size
        assert_sharp("bag_size", bag_size, 0, **setting, **rule)
    # Two labels: the limit 2h/(1+h) is 2/3 at h = 1/2, eps = sqrt(1/2), which is no float; the inequality is strict.
    for epsilon, rows in [(math.nextafter(math.sqrt(0.5), 0), 301), (math.sqrt(0.5) * (1 + 1e-14), 300)]:
        assert solve_stability("n_samples", delta=0, bag_size=200, epsilon=epsilon, n_classes=2) == rows
    epsilon = solve_stability("epsilon", delta=0, n_samples=60_000, bag_size=2448)
    assert_sharp("epsilon", epsilon, 0, n_samples=60_000, bag_size=2448)


@pytest.mark.parametrize(
    ("unknown", "setting", "reason"),
    [
        ("n_bags", {"delta": 0.005}, "the bound is 0.006 even with .* bags"),
        ("n_bags", {"delta": 0}, "no n_bags reaches delta=0"),
        ("n_samples", {"n_bags": 100, "delta": 0.05, "coupling": "any"}, "the bound is 1 even with .* rows"),
        (
            "n_samples",
            {"n_bags": 100, "delta": 0.05, "coupling": "any", "theorem": "second-moment"},
            "the bound is 14.4 even with .* rows",
        ),
        (
            "bag_size",
            {"n_bags": 3, "delta": 0.05, "coupling": "any", "theorem": "second-moment"},
            "the bound is 480 even with bags of one row",
        ),
        ("epsilon", {"delta": 0, "theorem": "paper"}, "no epsilon reaches delta=0"),
    ],
)
def test_an_impossible_question_is_answered_with_the_reason(unknown, setting, reason):
    setting = {**PAPER, **setting}
    setting.pop(unknown, None)
    with pytest.raises(ValueError, match=reason):
        solve_stability(unknown, **setting)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"unknown": "seed"}, "unknown .* got 'seed'"),
        ({"delta": 1}, "delta .* got 1"),
        ({"delta": -0.1}, "delta .* got -0.1"),
        ({"delta": math.nan}, "delta .* got nan"),
        ({"n_bags": 10}, "n_bags must be left out when it is the unknown; got 10"),
        ({"epsilon": None}, "epsilon must be given when the unknown is n_bags; got None"),
        ({"bag_size": 0}, "bag_size .* got 0"),
        ({"coupling": "magic"}, "coupling .* got 'magic'"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, message):
    arguments = {"unknown": "n_bags", "delta": 0.05, **PAPER, **arguments}
    with pytest.raises(ValueError, match=message):
        solve_stability(arguments.pop("unknown"), **arguments)
