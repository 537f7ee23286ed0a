"""Coverage, set size and stability over a path, and coverage by group: the numbers, and that the picture shows them."""

import math

import numpy as np
import pytest

import steadyset as ss
from helpers.figures import check_readable
from steadyset import metrics, plot

CLASSES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 160)
    centres = rng.dirichlet(np.ones(3), 160)
    centres[np.arange(160), truth] += 0.3
    votes = rng.gamma(3 * centres, size=(60, 160, 3)) + 1e-9
    votes /= votes.sum(axis=2, keepdims=True)
    made = ss.BagPredictions(votes, ss.draw_bags(40, 60, 0.5, sample_ids=range(40)), CLASSES)
    labels = np.array(CLASSES)[truth]
    calibrating = made.at_points(range(100, 160))
    return made.at_points(range(100)), labels[:100], labels[100:], calibrating.mean()


@pytest.fixture(scope="module")
def tradeoff(sample):
    return plot.compute_coverage_tradeoff(*sample, coverages=[0.95, 0.6, 0.8], epsilons=[0.3, 0.05])


def test_every_step_is_its_rule_measured_and_audited(sample, tradeoff):
    made, y, y_cal, proba_cal = sample
    proba = made.mean()
    assert tradeoff.coverages.tolist() == [0.6, 0.8, 0.95]
    assert tradeoff.epsilons.tolist() == [0.05, 0.3]
    covering = [ss.conformal_rule(y_cal, proba_cal, c, "lac", classes=CLASSES) for c in tradeoff.coverages.tolist()]
    steady = [ss.InflatedArgmax(e) for e in tradeoff.epsilons.tolist()]
    paths = [(tradeoff.conformal, covering), (tradeoff.stable, steady)]
    paths += [(p, [ss.Union(c, s) for c in covering]) for p, s in zip(tradeoff.both, steady, strict=True)]
    for path, rules in paths:
        for step, rule in enumerate(rules):
            sets = rule(proba)
            assert path.coverage[step] == metrics.coverage_score(y, sets, classes=CLASSES)
            assert path.set_size[step] == metrics.mean_set_size(sets)
            assert path.empty[step] == (~sets.any(axis=1)).mean()
            assert path.instability[step] == ss.audit_bags(made, rule).max_instability
    assert tradeoff.conformal.empty[0] > 0
    assert tradeoff.conformal.instability.max() > tradeoff.both[1].instability.max()


def test_the_tradeoff_picture_shows_the_steps(tradeoff):
    ax = plot.coverage_tradeoff(tradeoff)
    check_readable(ax)
    names = ["conformal alone", "stable alone", "both, epsilon 0.05", "both, epsilon 0.3"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    paths = (tradeoff.conformal, tradeoff.stable, *tradeoff.both)
    for line, steps, path in zip(ax.lines, ax.collections, paths, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([path.set_size, path.coverage]))
        np.testing.assert_array_equal(steps.get_offsets(), line.get_xydata())
        np.testing.assert_array_equal(steps.get_array(), path.instability)
    assert len({steps.get_clim() for steps in ax.collections}) == 1
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 4


@pytest.mark.parametrize("by", ["class", "size"])
def test_coverage_by_group_is_the_metrics_view(sample, by):
    made, y, y_cal, proba_cal = sample
    rule = ss.conformal_rule(y_cal, proba_cal, 0.7, "lac", classes=CLASSES)
    sets = {"covering": rule(made.mean()), "both": ss.Union(rule, ss.InflatedArgmax(0.3))(made.mean())}
    found = plot.compute_coverage_by(y, sets, by=by, classes=CLASSES)
    assert found.groups == (tuple(CLASSES) if by == "class" else (0, 1, 2, 3))
    for name, mask in sets.items():
        view = {"class": metrics.by_class, "size": metrics.by_size}[by](y, mask, classes=CLASSES)
        expected = dict(zip(view[by], view["coverage"], strict=True))
        for group, value in zip(found.groups, found.coverage[name], strict=True):
            assert value == pytest.approx(expected.get(group, math.nan), nan_ok=True)
    ax = plot.coverage_by(found, asked=0.8)
    check_readable(ax)
    assert sorted(text.get_text() for text in ax.get_legend().get_texts()) == ["asked for: 0.8", "both", "covering"]
    for container, values in zip(ax.containers, found.coverage.values(), strict=True):
        np.testing.assert_array_equal(container.lines[0].get_ydata(), np.array(values, float))
    assert math.isnan(found.coverage["both"][0]) == (by == "size")  # a union with the inflated argmax is never empty


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: plot.compute_coverage_tradeoff(s[0].mean(), *s[1:]), "predictions must be BagPredictions; got"),
        (lambda s: plot.compute_coverage_tradeoff(*s, coverages=[]), "coverages must hold at least one number; got"),
        (lambda s: plot.compute_coverage_tradeoff(*s, coverages=[1.5]), "coverages must be .*; got 1.5"),
        (lambda s: plot.coverage_tradeoff(s[0]), "found must be what compute_coverage_tradeoff returns; got"),
        (lambda s: plot.compute_coverage_by(s[1], s[0].mean() > 0), "sets must be a mapping from names to masks; got"),
        (lambda s: plot.compute_coverage_by(s[1], {}, by="row"), "by must be .*got 'row'"),
        (lambda s: plot.coverage_by({}), "found must be what compute_coverage_by returns; got"),
    ],
)
def test_bad_input(sample, call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(sample)
