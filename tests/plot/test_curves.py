"""Survival curves, set sizes and trade-offs: the numbers, and that the picture shows them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steadyset as ss
from helpers.figures import check_readable
from steadyset import metrics, plot


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    proba = rng.dirichlet(np.full(4, 0.5), 300)
    proba[:20, :2] = proba[:20, :2].mean(axis=1, keepdims=True)  # ties
    return proba, np.array([rng.choice(4, p=row) for row in proba])


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@given(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), min_size=1, max_size=20), st.floats(0, 1))
def test_survival_is_the_share_above(values, delta):
    curve = plot.compute_survival_curve({"a": SimpleNamespace(instability=np.array(values))})[0]
    step = np.searchsorted(curve.thresholds, delta, side="right") - 1
    assert curve.shares[step] == np.mean(np.array(values) > delta)


def test_survival_picture():
    rng = np.random.default_rng(0)
    audits = {"argmax": rng.beta(0.3, 1, 500), "bagged": rng.beta(0.1, 5, 500), "inflated": np.zeros(500)}
    ax = plot.survival_curve(audits)
    check_readable(ax)
    assert ax.get_yscale() == "log"
    assert legend(ax) == ["argmax", "bagged", "inflated (0 at every point)"]
    for line, values in zip(ax.lines, audits.values(), strict=True):
        assert line.get_drawstyle() == "steps-post"
        x, y = line.get_data()
        for delta in (0.0, 0.01, 0.2, 0.9):
            assert y[np.searchsorted(x, delta, side="right") - 1] == np.mean(values > delta)
    assert ax.get_ylim()[0] < 1 / 500
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 3
    assert len({line.get_linestyle() for line in ax.lines}) == 3


RATIOS = {25: 0.78, 100: 0.48}


def test_set_size_simulation_gives_the_papers_ratios():
    """Ours has 20,000 draws, the paper's 1,000; 4 standard errors of the difference and its rounding.

    The chance of a false alarm is below 1 in 5,000, and the seed is fixed.
    """
    sizes = plot.compute_set_size_by_classes((25, 100), n_draws=20_000)
    for ratio, (_, printed) in zip(sizes.ratios, RATIOS.items(), strict=True):
        error = ratio.standard_error * np.sqrt(1 + 20)
        assert abs(ratio - printed) < 4 * error + 0.005
        assert error < 0.015


def test_set_size_of_the_default_draws_is_within_monte_carlo_error():
    sizes = plot.compute_set_size_by_classes()
    assert sizes.n_classes == (3, 10, 25, 50, 75, 100)
    assert (sizes.epsilon, sizes.n_draws) == (0.1, 1000)
    for count, printed in RATIOS.items():
        ratio = sizes.ratios[sizes.n_classes.index(count)]
        assert abs(ratio - printed) < 3 * np.sqrt(2) * ratio.standard_error + 0.005
    assert all(small <= large for small, large in zip(sizes.inflated, sizes.margin, strict=True))


def test_set_size_standard_errors():
    """The error of the ratio against independent repetitions: 200 of them know it to 5%."""
    runs = [plot.compute_set_size_by_classes((30,), n_draws=300, seed=seed) for seed in range(200)]
    for name in ("inflated", "margin", "ratios"):
        values = [getattr(run, name)[0] for run in runs]
        assert np.std(values) == pytest.approx(np.mean([v.standard_error for v in values]), rel=0.2)
    assert runs[0] == plot.compute_set_size_by_classes((30,), n_draws=300, seed=0) != runs[1]


def test_set_size_picture_has_a_bar_at_each_number_of_labels():
    sizes = plot.compute_set_size_by_classes(n_draws=200)
    ax = plot.set_size_by_classes(sizes)
    check_readable(ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["3", "10", "25", "50", "75", "100"]
    assert legend(ax) == ["fixed margin", "inflated argmax"]
    for container, estimates in zip(ax.containers, (sizes.margin, sizes.inflated), strict=True):
        line, _, (bars,) = container.lines
        assert line.get_xdata() == pytest.approx([3, 10, 25, 50, 75, 100])
        assert line.get_ydata() == pytest.approx(estimates)
        for (low, high), estimate in zip(bars.get_segments(), estimates, strict=True):
            assert high[1] - low[1] == pytest.approx(2 * estimate.standard_error)
            assert (low[1] + high[1]) / 2 == pytest.approx(estimate)


def test_epsilon_tradeoff_is_the_rule_at_every_epsilon(sample):
    proba, y = sample
    epsilons = [0.001, 0.05, 0.1, 0.3, 0.7, 1.5]
    tradeoff = plot.compute_epsilon_tradeoff(proba, y, epsilons=epsilons[::-1])
    assert tradeoff.epsilons.tolist() == epsilons
    for epsilon, size, single in zip(epsilons, tradeoff.set_size, tradeoff.correct_single, strict=True):
        sets = ss.inflated_argmax(proba, epsilon)
        assert size == pytest.approx(metrics.mean_set_size(sets), rel=1e-12)
        assert single == pytest.approx(metrics.correct_single_score(y, sets), rel=1e-12)


def test_at_its_entry_point_a_label_is_still_out(sample):
    proba, y = sample
    entries = ss.entry_epsilons(proba)
    epsilons = np.unique(entries[:50])[1:]
    tradeoff = plot.compute_epsilon_tradeoff(proba, y, epsilons=epsilons)
    for epsilon, size, single in zip(epsilons, tradeoff.set_size, tradeoff.correct_single, strict=True):
        sets = entries < epsilon
        assert size == pytest.approx(metrics.mean_set_size(sets), rel=1e-12)
        assert single == pytest.approx(metrics.correct_single_score(y, sets), rel=1e-12)


class Audit:
    """The instability of two points falls with epsilon."""

    def at(self, epsilon):
        return np.array([0.0, max(0.0, 0.5 - epsilon)])


def test_epsilon_tradeoff_with_audit_and_guarantee(sample):
    proba, y = sample

    def guarantee(epsilon):
        return ss.selection_stability(n_samples=5000, bag_size=0.5, epsilon=epsilon, n_classes=4)

    options = {"audit": Audit(), "guarantee": guarantee, "classes": list("abcd")}
    labels = [options["classes"][j] for j in y]
    tradeoff = plot.compute_epsilon_tradeoff(proba, labels, epsilons=[0.01, 0.1], **options)
    assert tradeoff.instability == pytest.approx([0.49, 0.4])
    assert tradeoff.delta == pytest.approx([guarantee(0.01).delta, guarantee(0.1).delta])
    numbers = plot.compute_epsilon_tradeoff(proba, y, epsilons=[0.1], guarantee=lambda epsilon: 0.25)
    assert numbers.delta == pytest.approx([0.25])

    ax = plot.epsilon_tradeoff(proba, labels, **options)
    check_readable(ax)
    assert legend(ax) == ["correct and single", "largest instability", "guaranteed delta", "set size (right)"]
    full = plot.compute_epsilon_tradeoff(proba, labels, **options)
    right = next(other for other in ax.get_figure().axes if other is not ax)
    shown = [line.get_ydata() for line in (*ax.lines, *right.lines)]
    for drawn, values in zip(shown, (full.correct_single, full.instability, full.delta, full.set_size), strict=True):
        assert drawn == pytest.approx(values)
    assert right.get_ylabel() == "mean set size"
    assert right.yaxis.label.get_color() == right.lines[0].get_color()
    assert ax.get_ylim()[1] < 1.1, "vacuous guarantees are out of sight"


def test_an_audit_is_not_asked_below_its_floor(sample):
    class Partial(Audit):
        epsilon_floor = 0.05

        def at(self, epsilon):
            assert epsilon >= self.epsilon_floor
            return super().at(epsilon)

    found = plot.compute_epsilon_tradeoff(*sample, audit=Partial(), epsilons=[0.01, 0.05, 0.1])
    assert found.instability == pytest.approx([np.nan, 0.45, 0.4], nan_ok=True)
    assert plot.epsilon_tradeoff(*sample, audit=Partial()).lines


def test_bag_size_tradeoff():
    options = {"n_classes": 10, "n_bags": 5000, "bag_sizes": [0.01, 6000, 0.5]}
    found = plot.compute_bag_size_tradeoff(60_000, 0.05, accuracy={0.5: 0.9, 600: 0.8}, **options)
    assert found.bag_sizes.tolist() == [600, 6000, 30_000]
    assert found.accuracy == {600: 0.8, 30_000: 0.9}
    assert found.cost == pytest.approx([50, 500, 2500])
    for size, delta in zip((600, 6000, 30_000), found.delta, strict=True):
        expected = ss.selection_stability(n_samples=60_000, epsilon=0.05, bag_size=size, n_classes=10, n_bags=5000)
        assert delta == expected.delta
    ax = plot.bag_size_tradeoff(60_000, 0.05, accuracy={0.5: 0.9, 600: 0.8}, **options)
    check_readable(ax)
    assert legend(ax) == ["guaranteed delta", "accuracy", "cost of all bags (right)"]
    assert ax.lines[0].get_ydata() == pytest.approx(found.delta)
    assert ax.lines[1].get_xydata().tolist() == [[600, 0.8], [30_000, 0.9]]
    one = plot.bag_size_tradeoff(1000, 0.1)
    check_readable(one)
    assert legend(one) == ["guaranteed delta", "cost of one bag (right)"]


@pytest.mark.parametrize("n_samples", [2, 3, 10])
def test_few_rows_have_bag_sizes_too(n_samples):
    sizes = plot.compute_bag_size_tradeoff(n_samples, 0.5).bag_sizes
    assert sizes.min() >= 1
    assert sizes.max() < n_samples


BAD = {
    "audits": (
        lambda: plot.survival_curve([0.1]),
        "audits must be a mapping from names to audits or arrays; got [0.1].",
    ),
    "instability above 1": (
        lambda: plot.survival_curve({"a": [0.5, 1.5]}),
        "instability must hold numbers from 0 to 1, one for each point; got [0.5, 1.5].",
    ),
    "no points": (
        lambda: plot.survival_curve({"a": []}),
        "instability must hold numbers from 0 to 1, one for each point; got [].",
    ),
    "instability of text": (
        lambda: plot.survival_curve({"a": "b"}),
        "instability must hold one number for each sample; got 'b'.",
    ),
    "epsilons": (
        lambda: plot.epsilon_tradeoff([[0.5, 0.5]], [0], epsilons=[0.0, 0.1]),
        "epsilons must hold numbers above 0; got [0.0, 0.1].",
    ),
    "one row": (
        lambda: plot.epsilon_tradeoff([0.5, 0.5], [0]),
        "proba must have two axes, samples and labels, and a sample; got shape (2,).",
    ),
    "bound": (
        lambda: plot.epsilon_tradeoff([[0.5, 0.5]], [0], guarantee=lambda epsilon: -1.0),
        "delta must be a finite number that is at least 0; got -1.0.",
    ),
    "draws": (
        lambda: plot.compute_set_size_by_classes(n_draws=1),
        "n_draws must be a whole number from 2 to 2**53; got 1.",
    ),
    "accuracy": (
        lambda: plot.bag_size_tradeoff(100, 0.1, accuracy={0.5: 89}),
        "accuracy must be a number from 0 to 1; got 89.",
    ),
    "resampling": (
        lambda: plot.bag_size_tradeoff(100, 0.1, resampling="jackknife"),
        'resampling must be "subbagging" or "bootstrap"; got \'jackknife\'.',
    ),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_one_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert str(caught.value) == sentence
