"""The formulas of guarantees/ as a user meets them: numbers, sentences and refusals."""

import dataclasses
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from steadyset import Guarantee, reseed_stability, selection_stability, solve_stability
from steadyset._base.validation import resolve_bag_size
from steadyset.guarantees import VACUOUS
from steadyset.guarantees._formulas import least_held

PAPER = {"n_samples": 60_000, "bag_size": 30_000, "epsilon": 0.05, "n_classes": 10}


def exact_delta(n, m, eps, L, B, c):
    """eps^-2 (1 - 1/L)(K + c/B) without rounding; eps is taken as the decimal that was typed."""
    K = Fraction(m, (n - 1) * (n - m))
    spread = 1 - Fraction(1, L) if L else Fraction(1)
    return spread * (K + (c / B if B else 0)) / Fraction(repr(eps)) ** 2


def test_the_numbers_of_the_paper():
    assert selection_stability(**PAPER, theorem="paper").delta == pytest.approx(0.0060001, rel=1e-5)
    finite = selection_stability(**PAPER, theorem="paper", n_bags=1000)
    assert finite.delta == pytest.approx(42.5669632298, rel=1e-10)
    assert finite.vacuous
    assert selection_stability(**{**PAPER, "bag_size": 0.5}) == selection_stability(**PAPER)


def test_without_a_number_of_classes_the_spread_is_one():
    known, unknown = (selection_stability(**{**PAPER, "n_classes": L}).delta for L in (10, None))
    assert known == pytest.approx(0.9 * unknown, rel=1e-15)
    assert selection_stability(**{**PAPER, "n_classes": 1}).delta == 0


@given(
    n=st.integers(2, 10**6),
    share=st.floats(0.001, 0.999),
    eps=st.sampled_from([0.01, 0.05, 0.3, 1.0]),
    L=st.sampled_from([None, 2, 10]),
    B=st.sampled_from([None, 1, 1000, 10**6]),
    coupling=st.sampled_from(["hash", "independent", "any"]),
)
def test_second_moment_agrees_with_exact_fractions(n, share, eps, L, B, coupling):
    m = resolve_bag_size(share, n, "subbagging")
    c = {"any": Fraction(4), "independent": Fraction(2), "hash": Fraction(2 * m * (n - m + 1), n * (n - m))}[coupling]
    guarantee = selection_stability(
        n_samples=n, bag_size=m, epsilon=eps, n_classes=L, n_bags=B, coupling=coupling, theorem="second-moment"
    )
    assert guarantee.delta == pytest.approx(float(exact_delta(n, m, eps, L, B, c)), rel=1e-14)


@given(n=st.integers(2, 60), data=st.data())
def test_dropping_several_rows_agrees_with_exact_fractions(n, data):
    m = data.draw(st.integers(1, n - 1))
    k = data.draw(st.integers(1, n - m))
    hit = 1 - Fraction(math.comb(n - k, m), math.comb(n, m))
    exact = Fraction(k * m, (n - k) * (n - m)) + 2 * (hit + Fraction(k * m, n * (n - m))) / 7
    guarantee = selection_stability(n_samples=n, bag_size=m, epsilon=1, n_bags=7, n_dropped=k, theorem="second-moment")
    assert guarantee.delta == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 7), (100, 100), (1000, 30), (50, 2000)])
def test_bootstrap_agrees_with_sixty_digits(n, m):
    with mpmath.workdps(60):
        out, both_out = (1 - mpmath.mpf(1) / n) ** m, (1 - mpmath.mpf(2) / n) ** m
        paper = (1 - out) / out / (n - 1)
        ours = ((1 - out) / out + (out**2 - both_out) / out**2) / n
    setting = {"n_samples": n, "bag_size": m, "epsilon": 1, "resampling": "bootstrap"}
    assert selection_stability(**setting, theorem="paper").delta == pytest.approx(float(paper), rel=1e-13)
    assert selection_stability(**setting, theorem="second-moment").delta == pytest.approx(float(ours), rel=1e-13)


@pytest.mark.parametrize(("coupling", "c"), [("any", 2), ("independent", 1)])
@pytest.mark.parametrize(("n", "m", "sigma2"), [(100, 100, 0.05), (100, 250, 0.3), (50, 10, 0.6)])
def test_finitely_many_bootstrap_bags_with_a_known_spread(coupling, c, n, m, sigma2):
    """Theorem 2: eps^-2 (K sigma^2 + c (sigma^2 + tau^2)/B) with tau^2 = min(sigma^2/(1-p), 1 - 1/L)."""
    eps, L, B = 0.31, 5, 1009
    out, both_out = Fraction(n - 1, n) ** m, Fraction(n - 2, n) ** m
    K = ((1 - out) / out + (out**2 - both_out) / out**2) / n
    tau2 = min(Fraction(sigma2) / out, Fraction(L - 1, L))
    exact = (K * Fraction(sigma2) + c * (Fraction(sigma2) + tau2) / B) / Fraction(eps) ** 2
    setting = {"n_samples": n, "bag_size": m, "epsilon": eps, "n_classes": L, "n_bags": B, "sigma2": sigma2}
    found = selection_stability(**setting, resampling="bootstrap", coupling=coupling, theorem="second-moment")
    assert found.delta == pytest.approx(float(exact), rel=1e-12)


def binomial_tail(B, p, held):
    with mpmath.workdps(50):
        p, term, total = mpmath.mpf(p), None, mpmath.mpf(0)
        term = mpmath.binomial(B, held) * p**held * (1 - p) ** (B - held)
        for j in range(held, B + 1):
            total += term
            term *= mpmath.mpf(B - j) / (j + 1) * p / (1 - p)
            if term < total * mpmath.mpf(10) ** -20:
                break
        return total


@pytest.mark.parametrize(("B", "m"), [(1, 5), (28, 600), (29, 600), (1000, 1800), (10**5, 2000), (10**6, 2100)])
def test_small_bag_tail_agrees_with_fifty_digits(B, m):
    guarantee = selection_stability(n_samples=60_000, bag_size=m, epsilon=0.05, n_bags=B, theorem="small-bags")
    held = math.ceil(0.05 / math.sqrt(2) * B)
    assert guarantee.delta == pytest.approx(float(binomial_tail(B, m / 60_000, held)), rel=1e-11)


def test_small_bag_tail_that_underflows_is_not_called_zero():
    guarantee = selection_stability(n_samples=60_000, bag_size=6, epsilon=0.05, n_bags=10**6)
    assert 0 < guarantee.delta < 1e-300


@given(st.floats(1e-6, 3), st.integers(1, 10**9))
def test_least_held_is_exact(eps, B):
    held, square = least_held(eps, B), Fraction(eps) ** 2 * B**2 / 2
    assert held**2 >= square > (held - 1) ** 2


def test_small_bags_allow_more_for_the_inflated_argmax_than_for_any_rule():
    for m, any_rule, delta in [(2121, True, 0), (2122, True, None), (2956, False, 0), (2957, False, None)]:
        guarantee = selection_stability(n_samples=60_000, bag_size=m, epsilon=0.05, any_rule=any_rule)
        assert (guarantee.delta == 0) == (delta == 0)
        assert guarantee.every_row == (delta == 0)


def test_no_two_probability_vectors_are_more_than_the_square_root_of_two_apart():
    setting = {"n_samples": 10, "bag_size": 9, "n_bags": 3, "coupling": "any"}
    assert selection_stability(**setting, epsilon=1.4142135623730951).delta == 0  # this float is above sqrt(2)
    assert selection_stability(**setting, epsilon=1.414213562373095).delta > 0
    assert solve_stability("epsilon", delta=0.01, **setting) == 1.4142135623730951
    assert solve_stability("n_bags", delta=0.0, n_samples=10, bag_size=9, epsilon=1.5, coupling="any") == 1


def test_the_best_is_the_smallest_of_all():
    for bag_size in (100, 1500, 2000, 30_000):
        for n_bags in (None, 1, 100, 10_000):
            setting = {**PAPER, "bag_size": bag_size, "n_bags": n_bags}
            names = every_theorem({**setting, "coupling": "hash", "resampling": "subbagging"})
            each = [selection_stability(**setting, theorem=name) for name in names]
            best = selection_stability(**setting)
            assert best.delta == min(1.0, *(g.delta for g in each))
            if best.delta < 1:
                assert best.theorem in {g.theorem for g in each if g.delta == best.delta}


SETTINGS = st.fixed_dictionaries(
    {
        "n_samples": st.integers(2, 5000),
        "bag_size": st.floats(0.001, 0.99),
        "epsilon": st.floats(1e-3, 1.6),
        "n_classes": st.sampled_from([None, 1, 2, 10]),
        "n_bags": st.none() | st.integers(1, 3000),
        "resampling": st.sampled_from(["subbagging", "bootstrap"]),
    }
)


def couplings(setting):
    return [None, "independent", "any", *(["hash"] if setting["resampling"] == "subbagging" else [])]


def every_theorem(setting):
    limit, hashed = setting["n_bags"] is None, setting["coupling"] == "hash"
    two = limit and setting["n_classes"] == 2 and setting["resampling"] == "subbagging"
    applies = {"exact-second-moment": limit or hashed, "exponential": not limit, "two-labels": two}
    return ["paper", "second-moment", "small-bags", *(name for name, applied in applies.items() if applied)]


@given(setting=SETTINGS, data=st.data())
def test_the_best_is_a_probability_and_no_theorem_is_better(setting, data):
    setting = {**setting, "coupling": data.draw(st.sampled_from(couplings(setting)))}
    best = selection_stability(**setting)
    assert 0 <= best.delta <= 1
    for theorem in every_theorem(setting):
        named = selection_stability(**setting, theorem=theorem)
        assert best.delta <= named.delta
        assert named.theorem == theorem
    larger = setting["epsilon"] * data.draw(st.floats(1, 3))
    assert selection_stability(**{**setting, "epsilon": larger}).delta <= max(best.delta * (1 + 1e-11), 1e-250)


def small_bag_envelope(n, m, eps, B):
    """E(t) of Theorem G7 at t = ceil(hB), for p <= h; 1 elsewhere."""
    h, p = eps / math.sqrt(2), m / n
    t = least_held(eps, B)
    return float(mpmath.betainc(t, t / h - t + 1, 0, p, regularized=True)) if p <= h < 1 else 1.0


@given(setting=SETTINGS, n_bags=st.integers(1, 2000), more=st.integers(1, 3000), data=st.data())
def test_what_more_bags_are_worth(setting, n_bags, more, data):
    """All but the small-bag tail fall with the number of bags; that one stays below an envelope that falls."""
    coupling = data.draw(st.sampled_from(couplings(setting)))
    setting = {**setting, "coupling": coupling}

    def delta(n_bags, theorem="best"):
        return selection_stability(**{**setting, "n_bags": n_bags, "theorem": theorem}).delta

    falling = ["paper", "second-moment", "exponential"]
    hashed = coupling in (None, "hash") and setting["resampling"] == "subbagging"
    falling += ["exact-second-moment"] if hashed else ["small-bags"]
    for theorem in falling:
        assert delta(n_bags + more, theorem) <= max(delta(n_bags, theorem) * (1 + 1e-11), 1e-250)
    if coupling not in (None, "hash") or setting["resampling"] == "bootstrap":
        assert delta(n_bags + more) <= max(delta(n_bags) * (1 + 1e-11), 1e-250)
        return
    m = resolve_bag_size(setting["bag_size"], setting["n_samples"], "subbagging")
    envelope = small_bag_envelope(setting["n_samples"], m, setting["epsilon"], n_bags)
    least = min(1.0, *(delta(n_bags, theorem) for theorem in falling), envelope)
    assert delta(n_bags + more) <= max(least * (1 + 1e-9), 1e-250)


def test_few_bags_may_be_worth_more_than_many_and_no_number_is_above_one():
    """Half of the rows are in no bag of one; of 60 bags every row is in some."""
    setting = {"n_samples": 343, "bag_size": 171, "epsilon": 0.05, "n_classes": 3}
    deltas = {B: selection_stability(**setting, n_bags=B) for B in (1, 60, 100, 2000, 10_000)}
    assert deltas[1].delta == pytest.approx(171 / 343)
    assert deltas[60].delta == pytest.approx(1, abs=1e-12)
    assert deltas[100].delta == 1
    assert [g.theorem for g in deltas.values()] == ["small-bags"] * 3 + ["exact-second-moment"] * 2
    assert [g.vacuous for g in deltas.values()] == [False, True, True, False, False]
    assert deltas[2000].delta > deltas[10_000].delta
    raw = selection_stability(**setting, n_bags=100, theorem="second-moment")
    assert raw.delta == pytest.approx(3.45, abs=0.005)  # a named theorem gives what its formula gives
    unknown = selection_stability(**setting, n_bags=100, coupling="any")
    assert (unknown.delta, unknown.theorem, unknown.vacuous) == (1, "second-moment", True)


def test_vacuous_is_what_says_nothing_to_a_person():
    for delta, vacuous in [(0.9949, False), (VACUOUS, True), (0.9999999999999981, True), (1, True), (42, True)]:
        guarantee = Guarantee(delta, "paper", 0.05, assumptions=("it rains",))
        assert guarantee.vacuous is vacuous
        assert str(guarantee).startswith("Vacuous, since the bound ") is vacuous
    assert VACUOUS == 0.995
    assert "0.995" in Guarantee.__doc__
    assert "0.995" in selection_stability.__doc__


def test_known_spread_and_what_rests_on_it():
    moment = {**PAPER, "n_bags": 1000, "theorem": "second-moment"}
    spread = selection_stability(**moment, sigma2=0.09)
    assert spread.delta == pytest.approx(0.1 * selection_stability(**moment).delta)
    assert "at most 0.09 (an estimate, unless it was certified)" in str(spread)
    capped = selection_stability(**PAPER, n_bags=1000, sigma2=1)  # no spread is above 1 - 1/L
    assert capped.delta == selection_stability(**PAPER, n_bags=1000).delta
    small = selection_stability(n_samples=60_000, bag_size=60, epsilon=0.05, n_bags=500, sigma2=0.5)
    assert small.theorem == "small-bags"
    assert small.sigma2 is None
    assert "spread" not in str(small)


def test_a_guarantee_reads_as_a_sentence():
    finite = str(selection_stability(**PAPER, n_bags=1000, theorem="second-moment"))
    for part in ("0.366", "0.05", "one of 60,000", "1,000 bags", "second-moment", "hash", "inside the bag"):
        assert part in finite
    assert "on average over the rows dropped and over the draw of bags" in finite
    limit = str(selection_stability(**PAPER))
    assert "in the limit of infinitely many bags of 30,000 rows (subbagging)" in limit
    assert "the theorem of the paper" in limit
    vacuous = str(selection_stability(**PAPER, n_bags=1000, theorem="paper"))
    assert vacuous.startswith("Vacuous, since the bound 42.6 is not below 0.995:")
    small = str(selection_stability(n_samples=60_000, bag_size=2_400, epsilon=0.05))
    assert "dropping any one of 60,000" in small.lower()
    assert "inflated argmax or the fixed margin" in small
    assert "dropping 5 of" in str(selection_stability(**PAPER, n_dropped=5)).lower()
    for n_dropped, n_samples, words in [
        (1, None, "dropping one training row gives"),
        (4, None, "dropping 4 training rows gives"),
        (1, 60_000, "dropping one of 60,000 training rows gives"),
        (4, 60_000, "dropping 4 of 60,000 training rows gives"),
    ]:
        guarantee = Guarantee(0.1, "paper", 0.05, n_samples=n_samples, n_dropped=n_dropped, assumptions=("it rains",))
        assert words in str(guarantee).lower()
    for sentence in (finite, limit, vacuous, small):
        assert sentence.endswith(".")
        assert "\n" not in sentence


def test_a_guarantee_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        selection_stability(**PAPER).delta = 0  # type: ignore[misc]


def test_another_seed():
    guarantee = reseed_stability(n_bags=1000, epsilon=0.1, n_classes=2, theorem="another-seed")
    assert guarantee.delta == pytest.approx(0.1)
    assert reseed_stability(n_bags=1000, epsilon=0.1, sigma2=0.05, theorem="another-seed").delta == pytest.approx(0.01)
    few = reseed_stability(n_bags=3, epsilon=0.1)
    assert (few.delta, few.vacuous) == (1, True)
    assert reseed_stability(n_bags=3, epsilon=1.5).delta == 0
    assert "two runs on the same data" in str(guarantee).lower()


def test_from_tail_stability():
    rule = ss.InflatedArgmax(epsilon=0.05)
    guarantee = Guarantee.from_tail_stability(0.05, 0.01, rule)
    assert (guarantee.delta, guarantee.vacuous) == (0.01, False)
    assert "tail stable at (0.05, 0.01)" in str(guarantee)
    assert Guarantee.from_tail_stability(0.01, 0.2, rule).delta == 0.2  # compatible with more is enough
    mass = ss.MassThreshold(tau=0.8)
    assert Guarantee.from_tail_stability(0.3, 0.2, mass, n_classes=10).delta == 0.2
    with pytest.raises(ValueError, match=r"epsilon=0.4, but .* allows epsilon up to 0.379"):
        Guarantee.from_tail_stability(0.4, 0.2, mass, n_classes=10)
    with pytest.raises(ValueError, match="allows no epsilon"):
        Guarantee.from_tail_stability(0.05, 0.01, ss.Argmax())


def test_bag_size_is_resolved_once():
    assert resolve_bag_size(0.5, 60_001, "subbagging") == 30_000
    assert resolve_bag_size(0.29, 100, "subbagging") == 29  # 0.29 * 100 is just below 29 in floats
    assert resolve_bag_size(0.01, 5, "subbagging") == 1
    assert resolve_bag_size(1.0, 7, "bootstrap") == 7
    assert resolve_bag_size(9, 7, "bootstrap") == 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 1}, "n_samples .* from 2 .* got 1"),
        ({"n_samples": 100.0}, "n_samples .* got 100.0"),
        ({"epsilon": 0}, "epsilon .* got 0"),
        ({"epsilon": math.nan}, "epsilon .* got nan"),
        ({"epsilon": math.inf}, "epsilon .* got inf"),
        ({"epsilon": "small"}, "epsilon .* got 'small'"),
        ({"bag_size": 0}, "bag_size .* got 0"),
        ({"bag_size": 60_000}, "bag_size .* 59999.* got 60000"),
        ({"bag_size": 1.0}, "bag_size .* below 1 .* got 1.0"),
        ({"bag_size": True}, "bag_size .* got True"),
        ({"bag_size": 0, "resampling": "bootstrap"}, "bag_size .* at least 1 .* got 0"),
        ({"bag_size": 1.5, "resampling": "bootstrap"}, "bag_size .* at most 1 .* got 1.5"),
        ({"n_classes": 0}, "n_classes .* got 0"),
        ({"n_bags": 0}, "n_bags .* got 0"),
        ({"n_bags": math.inf}, "n_bags .* got inf"),
        ({"resampling": "jackknife"}, "resampling .* \"bootstrap\"; got 'jackknife'"),
        ({"coupling": "magic"}, "coupling .* \"any\"; got 'magic'"),
        ({"coupling": "hash", "resampling": "bootstrap"}, "subbagging only"),
        ({"theorem": "lemma"}, "theorem .* got 'lemma'"),
        ({"sigma2": 1.5}, "sigma2 .* got 1.5"),
        ({"sigma2": 0.1, "theorem": "paper"}, "sigma2 .* got theorem='paper'"),
        ({"n_dropped": 0}, "n_dropped .* got 0"),
        ({"n_dropped": 2, "theorem": "paper"}, 'n_dropped and n_added must be at most 1 for theorem="paper"; got 2'),
        ({"n_added": 2, "theorem": "paper"}, 'n_dropped and n_added must be at most 1 for theorem="paper"; got 2'),
        ({"n_dropped": 2, "resampling": "bootstrap"}, "n_dropped must be at most 1 for bootstrap; got 2"),
        ({"n_added": 2, "resampling": "bootstrap"}, "n_added must be at most 1 for bootstrap; got 2"),
        ({"n_added": -1}, "n_added .* got -1"),
        ({"n_added": 3, "n_dropped": 2}, "n_dropped must be left out when rows are added; got 2"),
        ({"n_added": 3, "sigma2": 0.1}, "sigma2 must be left out when rows are added; got 0.1"),
        ({"theorem": "exponential"}, 'n_bags must be given for theorem="exponential"; got None'),
        ({"theorem": "two-labels"}, "needs n_classes=2, n_bags=None and subbagging; got n_classes=10"),
        ({"theorem": "two-labels", "n_classes": 2, "any_rule": True}, "inflated argmax and the fixed margin only"),
        ({"epsilon": None}, "epsilon .* got None"),
        ({"rule": ss.Argmax()}, r"epsilon=0.05, but Argmax\(\) allows no epsilon"),
        ({"rule": ss.FixedMargin(0.01)}, "epsilon=0.05, but .* allows epsilon up to 0.01"),
        ({"rule": ss.FixedMargin}, "rule must be one of steadyset's rule objects"),
        ({"n_dropped": 30_001}, "n_dropped .* 30000; got 30001"),
        (
            {"theorem": "exact-second-moment", "n_bags": 10, "coupling": "any"},
            "needs coupling=\"hash\"; got coupling='any'",
        ),
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, message):
    with pytest.raises((ValueError, TypeError), match=message) as error:
        selection_stability(**{**PAPER, **change})
    assert "\n" not in str(error.value)


def test_extreme_numbers_give_numbers():
    def deltas(eps):
        return [selection_stability(n_samples=10, bag_size=5, epsilon=eps, n_bags=B).delta for B in (None, 1, 2**53)]

    assert deltas(1e-300) == deltas(1e-9)
    assert deltas(1e-9) == pytest.approx([1, 0.5, 1])  # one bag holds half of the rows, whatever epsilon is
    assert deltas(1e9) == deltas(1e300) == [0, 0, 0]
    setting = {"n_samples": 10, "bag_size": 5, "theorem": "second-moment"}
    assert selection_stability(**setting, epsilon=1e-300).delta == math.inf
    assert selection_stability(**setting, epsilon=1e-9).delta == pytest.approx(1e18 / 9, rel=1e-12)
    setting = {"n_samples": 10, "bag_size": 10**6, "epsilon": 1, "resampling": "bootstrap"}
    assert selection_stability(**setting).delta == 1
    huge = selection_stability(**setting, theorem="paper")
    assert huge.vacuous
    assert huge.delta > 1e300
