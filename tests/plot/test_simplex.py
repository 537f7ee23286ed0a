"""The regions of the simplex: exact boundaries, and the picture of them."""

import math

import numpy as np
import pytest
from matplotlib.patches import Polygon
from matplotlib.path import Path
from matplotlib.text import Text

import steadyset as ss
from helpers.figures import check_readable
from steadyset import plot

POINTS = np.random.default_rng(7).dirichlet(np.ones(3), 100_000)
EPSILONS = [0.01, 0.05, 0.3, 0.5, 0.75, 0.96, 0.98, 1.2, 1.41, 1.5]
RULES = [rule(epsilon) for rule in (ss.InflatedArgmax, ss.FixedMargin) for epsilon in EPSILONS] + [ss.Argmax()]
SETS = ["{1}", "{2}", "{3}", "{1, 2}", "{1, 3}", "{2, 3}", "{1, 2, 3}"]


def plane(w):
    """Corners at distance sqrt(2), as in the simplex: 1 left, 2 on top, 3 right."""
    corners = np.array([[-math.sqrt(0.5), 0], [0, math.sqrt(1.5)], [math.sqrt(0.5), 0]])
    return w @ (corners - corners.mean(axis=0))


def names(mask):
    return ["{" + ", ".join(str(j + 1) for j in np.flatnonzero(row)) + "}" for row in mask]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_point_lies_in_the_region_that_the_rule_gives(rule):
    assert np.array_equal(plot.compute_simplex_regions(rule).locate(POINTS), rule(POINTS))


@pytest.mark.parametrize(
    "rule", [ss.InflatedArgmax(0.3), ss.FixedMargin(0.3), ss.InflatedArgmax(1.1), ss.Argmax()], ids=str
)
def test_every_point_lies_in_the_polygon_that_is_drawn(rule):
    """Arcs are drawn in steps of a sixth of a degree, less than 1e-6 inside the true arc."""
    ax = plot.simplex_regions(rule)
    points, expected = plane(POINTS), np.array(names(rule(POINTS)))
    drawn = np.full(len(points), "", dtype=expected.dtype)
    for patch in ax.patches:
        if patch.get_fill():
            drawn[Path(patch.get_xy()).contains_points(points)] = patch.get_label()
    assert np.array_equal(drawn, expected)


def support(region, directions):
    """How far the region reaches in each direction, from the ends and the arcs of its boundary."""
    reach = np.max([plane(edge.start) @ directions for edge in region.edges], axis=0)
    for edge in region.edges:
        centre, start, stop = plane(edge.centre), plane(edge.start), plane(edge.stop)
        middle = (start + stop) / 2 - centre
        half = math.acos(np.linalg.norm(middle) / edge.radius)
        on_arc = middle @ directions >= np.linalg.norm(middle) * math.cos(half)
        reach = np.where(on_arc, np.maximum(reach, centre @ directions + edge.radius), reach)
    return reach


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.9])
def test_the_centre_region_has_constant_width_epsilon(epsilon):
    centre = plot.compute_simplex_regions(ss.InflatedArgmax(epsilon)).regions[-1]
    assert centre.labels == (0, 1, 2)
    angles = np.linspace(0, 2 * math.pi, 3601)
    directions = np.array([np.cos(angles), np.sin(angles)])
    width = support(centre, directions) + support(centre, -directions)
    assert np.abs(width - epsilon).max() < 1e-9
    drawn = centre.outline() @ directions
    assert np.abs(np.ptp(drawn, axis=0) - epsilon).max() < 2e-6 * epsilon
    hexagon = plot.compute_simplex_regions(ss.FixedMargin(epsilon)).regions[-1].outline() @ directions
    assert np.ptp(np.ptp(hexagon, axis=0)) > 0.1 * epsilon


def test_boundaries_close_up():
    for rule in RULES:
        for region in plot.compute_simplex_regions(rule).regions:
            for edge, following in zip(region.edges, (*region.edges[1:], region.edges[0]), strict=True):
                assert edge.stop == pytest.approx(following.start, abs=1e-15)
                assert edge.start.sum() == pytest.approx(1, abs=1e-15)
                if edge.centre is not None:
                    assert np.linalg.norm(edge.stop - edge.centre) == pytest.approx(edge.radius, rel=1e-12)


def test_labels_and_corners_as_in_the_paper():
    ax = plot.simplex_regions(ss.InflatedArgmax(0.4))
    assert [text.get_text() for text in ax.texts] == SETS
    place = {text.get_text(): text.get_position() for text in ax.texts}
    assert place["{1}"][0] < -0.3 < 0.3 < place["{3}"][0]
    assert place["{2}"][1] > place["{1, 2, 3}"][1] > place["{1, 3}"][1]
    border = next(patch for patch in ax.patches if not patch.get_fill())
    assert isinstance(border, Polygon)
    assert border.get_xy()[:3] == pytest.approx(plane(np.eye(3)))
    assert ax.get_aspect() == 1


@pytest.mark.parametrize("rule", [rule for rule in RULES if getattr(rule, "epsilon", 0) < 0.98], ids=str)
def test_labels_lie_inside_their_region_or_beside_the_triangle(rule):
    ax = plot.simplex_regions(rule)
    check_readable(ax)
    regions = dict(zip(SETS, plot.compute_simplex_regions(rule).regions, strict=False))
    assert [text.get_text() for text in ax.texts] == SETS[: len(ax.texts)]
    for text in ax.texts:
        box = Text.get_window_extent(text).transformed(ax.transData.inverted())
        corners = np.array([(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)])
        corners = np.concatenate([corners, np.ones((4, 1))], axis=1) @ np.linalg.inv(
            np.concatenate([plane(np.eye(3)), np.ones((3, 1))], axis=1)
        )
        if hasattr(text, "arrow_patch"):
            assert (corners.min(axis=0) < 0).any()
            tip = np.array([*text.xy, 1]) @ np.linalg.inv(np.concatenate([plane(np.eye(3)), np.ones((3, 1))], axis=1))
            assert names(rule(tip[None])) == [text.get_text()]
        else:
            assert regions[text.get_text()].contains(corners).all()


def test_colours_differ():
    ax = plot.simplex_regions(ss.InflatedArgmax(0.3))
    colours = [patch.get_facecolor() for patch in ax.patches if patch.get_fill()]
    assert len(set(colours)) == 7


def test_own_labels_and_axes():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2)
    ax = plot.simplex_regions(ss.Argmax(), classes=["a", "b", "c"], ax=axes[1])
    assert ax is axes[1]
    assert [text.get_text() for text in ax.texts] == ["{a}", "{b}", "{c}"]


def test_bad_input():
    with pytest.raises(TypeError, match=r"^rule must be InflatedArgmax, FixedMargin or Argmax; got TopK\(k=2\)\.$"):
        plot.simplex_regions(ss.TopK(2))
    with pytest.raises(ValueError, match=r"^classes must name each of the 3 columns; got 2 labels\.$"):
        plot.simplex_regions(ss.Argmax(), classes=["a", "b"])
