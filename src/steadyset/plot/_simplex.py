"""The regions of the simplex for three labels, in closed form.

Write c for the centre, h = epsilon/sqrt(2) and a_j = c + h (e_j - c), the apex of R_j. The three apexes lie epsilon
apart. A point is closer than epsilon to R_j unless it is behind the line w_k - w_j = h of some other label, or, between
these lines, at least epsilon away from a_j. So the centre region of the inflated argmax is the Reuleaux triangle on
the apexes: the arc opposite a_j has a_j as its centre and epsilon as its radius. The fixed margin has the hexagon
max - min < h instead. In both rules {j} is R_j, and the pairs have what is left.
"""

import math
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import set_validation, validation
from steadyset.plot import _style
from steadyset.selection import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CORNERS = np.eye(3)
_CENTRE = np.full(3, 1 / 3)
_ARC_POINTS = 361
_GRID = 90
# Room about a point as a multiple of a label's size: with the first the label fits, the others only aim its line.
_ROOM = (1.2, 0.7, 0.4, 0.2, 0.1)


def flat(points: Any) -> NDArray[np.float64]:
    """Map vectors of three numbers to the plane without changing distances within the simplex: 2 is on top."""
    w = np.asarray(points, np.float64)
    return np.stack(
        [(w[..., 2] - w[..., 0]) / math.sqrt(2), (2 * w[..., 1] - w[..., 0] - w[..., 2]) / math.sqrt(6)], axis=-1
    )


def _unflat(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the vectors that sum to 1 which `flat` maps to these points."""
    x, y = points[..., 0], points[..., 1]
    second = 1 / 3 + y * math.sqrt(2 / 3)
    return np.stack([(1 - second - x * math.sqrt(2)) / 2, second, (1 - second + x * math.sqrt(2)) / 2], axis=-1)


@dataclass(frozen=True)
class Edge:
    """A piece of a region's boundary: straight, or an arc about `centre` of less than half a circle.

    Parameters
    ----------
    start, stop : arrays of shape (3,)
        Its ends, as vectors that sum to 1.
    centre : array of shape (3,) or None, default=None
        The centre of the arc.

    Examples
    --------
    >>> import steadyset as ss
    >>> region = ss.plot.compute_simplex_regions(ss.InflatedArgmax(0.3)).regions[-1]
    >>> [round(edge.radius, 6) for edge in region.edges]
    [0.3, 0.3, 0.3]
    """

    start: NDArray[np.float64]
    stop: NDArray[np.float64]
    centre: NDArray[np.float64] | None = None

    @property
    def radius(self) -> float:
        """The radius of the arc, infinite where the edge is straight."""
        return math.inf if self.centre is None else float(np.linalg.norm(self.start - self.centre))

    def points(self) -> NDArray[np.float64]:
        """Return points along the edge in the plane, without its end."""
        if self.centre is None:
            return flat(self.start)[None]
        centre = flat(self.centre)
        first, last = (math.atan2(*(flat(end) - centre)[::-1]) for end in (self.start, self.stop))
        turn = (last - first + math.pi) % (2 * math.pi) - math.pi
        angles = first + turn * np.linspace(0, 1, _ARC_POINTS)[:-1]
        return np.stack([centre[0] + self.radius * np.cos(angles), centre[1] + self.radius * np.sin(angles)], axis=-1)


@dataclass(frozen=True)
class Region:
    """The part of the simplex where a rule returns one set of labels.

    Parameters
    ----------
    labels : tuple of int
        The columns in the set.
    edges : tuple of Edge
        The closed boundary. It may leave the simplex, which the region does not.

    Examples
    --------
    >>> import steadyset as ss
    >>> regions = ss.plot.compute_simplex_regions(ss.FixedMargin(0.3)).regions
    >>> [region.labels for region in regions]
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    >>> regions[0].contains([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])
    array([ True, False])
    """

    labels: tuple[int, ...]
    edges: tuple[Edge, ...]

    def contains(self, points: Any) -> NDArray[np.bool_]:
        """Return which points of the simplex lie inside the boundary, by the even-odd rule."""
        p = flat(points)
        inside = np.zeros(len(p), np.bool_)
        for edge in self.edges:
            (x0, y0), (x1, y1) = flat(edge.start), flat(edge.stop)
            side = (x1 - x0) * (p[:, 1] - y0) - (y1 - y0) * (p[:, 0] - x0)
            inside ^= ((y0 <= p[:, 1]) != (y1 <= p[:, 1])) & ((side > 0) == (y1 > y0))
            if edge.centre is not None:  # the piece between the chord and its arc
                cx, cy = flat(edge.centre)
                far = ((x1 - x0) * (cy - y0) - (y1 - y0) * (cx - x0)) * side < 0
                inside ^= far & (np.hypot(p[:, 0] - cx, p[:, 1] - cy) < edge.radius)
        return inside

    def outline(self) -> NDArray[np.float64]:
        """Return the boundary as it is drawn: a polygon in the plane, arcs in steps of a sixth of a degree."""
        return np.concatenate([edge.points() for edge in self.edges])


@dataclass(frozen=True)
class SimplexRegions:
    """The regions into which a rule divides the simplex of three labels.

    Parameters
    ----------
    rule : Rule
        The rule.
    regions : tuple of Region
        Single labels first, then pairs, then all three; only those that take up room.

    Examples
    --------
    >>> import steadyset as ss
    >>> found = ss.plot.compute_simplex_regions(ss.InflatedArgmax(0.3))
    >>> found.locate([[0.8, 0.1, 0.1], [0.45, 0.45, 0.1]])
    array([[ True, False, False],
           [ True,  True, False]])
    """

    rule: Rule
    regions: tuple[Region, ...]

    def locate(self, points: Any) -> NDArray[np.bool_]:
        """Return the set of the region that holds each point of the simplex, as a mask of shape (n_points, 3)."""
        w = np.asarray(points, np.float64)
        mask = np.zeros(w.shape, np.bool_)
        for region in self.regions:
            mask[np.ix_(region.contains(w), np.array(region.labels))] = True
        return mask


def compute_simplex_regions(rule: Rule) -> SimplexRegions:
    """Work out where on the simplex of three labels a rule returns which set.

    Parameters
    ----------
    rule : InflatedArgmax, FixedMargin or Argmax
        The rule.

    Returns
    -------
    SimplexRegions
        The regions, with boundaries in closed form.

    Examples
    --------
    >>> import steadyset as ss
    >>> len(ss.plot.compute_simplex_regions(ss.Argmax()).regions)
    3
    """
    h = rule.lone_margin if isinstance(rule, Rule) else None
    if h is None:
        raise TypeError(f"rule must be InflatedArgmax, FixedMargin or Argmax; got {validation.shown(rule)}.")
    if h >= 1:  # no label can lead by h
        return SimplexRegions(rule, (Region((0, 1, 2), _straight(*_CORNERS)),))
    apexes = _CENTRE + h * (_CORNERS - _CENTRE)
    singles = [Region((j,), _kite(j, h, apexes[j])) for j in range(3)]
    if h == 0:
        return SimplexRegions(rule, tuple(singles))
    inner = [_inner_edge(rule, missing, h, apexes) for missing in range(3)]  # opposite each label, anticlockwise
    pairs = [Region((j, k), _strip(j, k, h, apexes, inner[3 - j - k])) for j, k in combinations(range(3), 2)]
    centre = Region((0, 1, 2), tuple(edge for missing in (0, 1, 2) for edge in inner[missing]))
    return SimplexRegions(rule, (*singles, *pairs, centre))


def _straight(*corners: NDArray[np.float64]) -> tuple[Edge, ...]:
    return tuple(Edge(start, stop) for start, stop in zip(corners, (*corners[1:], corners[0]), strict=True))


def _on_side(j: int, k: int, h: float) -> NDArray[np.float64]:
    """Return the point between corners j and k where w_j - w_k = h."""
    return np.asarray((1 + h) / 2 * _CORNERS[j] + (1 - h) / 2 * _CORNERS[k])


def _kite(j: int, h: float, apex: NDArray[np.float64]) -> tuple[Edge, ...]:
    """R_j: from its apex to the two sides that meet in corner j."""
    k, other = (j + 1) % 3, (j + 2) % 3
    return _straight(apex, _on_side(j, k, h), _CORNERS[j], _on_side(j, other, h))


def _inner_edge(rule: Rule, missing: int, h: float, apexes: NDArray[np.float64]) -> tuple[Edge, ...]:
    """The border between {1, 2, 3} and the pair without `missing`, from apex to apex."""
    start, stop = apexes[(missing + 1) % 3], apexes[(missing + 2) % 3]
    if rule.path_epsilon is not None:  # the inflated argmax
        return (Edge(start, stop, centre=apexes[missing]),)
    corner = _CENTRE - h * (_CORNERS[missing] - _CENTRE)  # w_j = w_k = w_missing + h
    return Edge(start, corner), Edge(corner, stop)


def _strip(j: int, k: int, h: float, apexes: NDArray[np.float64], inner: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """The points where j and k lie closer than h and the third label is out."""
    if not np.array_equal(inner[0].start, apexes[j]):
        j, k = k, j
    way = [inner[-1].stop, _on_side(k, j, h), _on_side(j, k, h), inner[0].start]
    return (*inner, *(Edge(start, stop) for start, stop in pairwise(way)))


def simplex_regions(rule: Rule, *, classes: Any = (1, 2, 3), ax: "Axes | None" = None) -> "Axes":
    """Draw which set a rule returns at each point of the simplex of three labels.

    Corner 1 is at the left, 2 on top, 3 at the right, as in the paper.

    Parameters
    ----------
    rule
        As in :func:`compute_simplex_regions`, which returns the regions as numbers.
    classes : sequence of three labels, default=(1, 2, 3)
        What to call the labels.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.simplex_regions(ss.InflatedArgmax(0.3))
    >>> [text.get_text() for text in ax.texts]
    ['{1}', '{2}', '{3}', '{1, 2}', '{1, 3}', '{2, 3}', '{1, 2, 3}']
    """
    names = set_validation.class_labels(classes, 3)
    found = compute_simplex_regions(rule)
    ax = _style.axes(ax, (5.0, 4.5))
    from matplotlib.patches import Polygon

    border = Polygon(flat(_CORNERS), closed=True, fill=False, edgecolor="black", linewidth=1.5, zorder=3)
    ax.add_patch(border)
    ax.set_aspect("equal")
    ax.set(xlim=(-0.9, 0.9), ylim=(-0.6, 0.95))
    ax.set_axis_off()
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # texts can be measured only in their final place
    for region in found.regions:
        name = "{" + ", ".join(str(names[j]) for j in region.labels) + "}"
        colour = _colour(region.labels)
        patch = Polygon(region.outline(), closed=True, facecolor=colour, edgecolor="black", linewidth=1.0, label=name)
        ax.add_patch(patch)
        patch.set_clip_path(border)
        _write(ax, name, region)
    return ax


def _colour(labels: tuple[int, ...]) -> tuple[float, ...]:
    """Blue, orange and green for single labels, paler mixtures for pairs, white for all three."""
    from matplotlib.colors import to_rgb

    if len(labels) == 3:
        return (1.0, 1.0, 1.0)
    hues = np.array([to_rgb(_style.COLOURS[i]) for i in (0, 4, 2)])
    tint = 0.55 if len(labels) == 1 else 0.3
    mixed = 1 - tint * (1 - hues[list(labels)].mean(axis=0))
    return tuple(float(c) for c in mixed)


def _write(ax: "Axes", name: str, region: Region) -> None:
    """Write the label inside the region where it fits, else beside the triangle with a line to the region."""
    inside = _grid_points(region)
    middle = inside.mean(axis=0)
    text = ax.text(middle[0], middle[1], name, ha="center", va="center", fontsize=12, zorder=4)
    box = text.get_window_extent().transformed(ax.transData.inverted())
    for room in _ROOM:
        fits = _box_fits(region, inside, room * box.width, room * box.height)
        if fits.any():
            break
    candidates = inside[fits] if fits.any() else inside
    spot = candidates[np.argmin(np.linalg.norm(candidates - middle, axis=1))]
    if fits.any() and room == _ROOM[0]:
        text.set_position((spot[0], spot[1]))
        return
    text.remove()
    if len(region.labels) == 3:
        beside = np.array([0.55, 0.6])
    else:  # beyond the corner of a label, or the middle of the side of a pair
        edge = flat(_CORNERS[list(region.labels)].mean(axis=0))
        outward = edge / np.hypot(*edge)
        beside = edge + outward * (0.1 + 0.12 * abs(outward[0]))
    line = {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    ax.annotate(name, tuple(spot), tuple(beside), ha="center", va="center", fontsize=12, zorder=4, arrowprops=line)


def _grid_points(region: Region) -> NDArray[np.float64]:
    """Return points of the plane spread over the region; one of its border where it is too thin for them."""
    i, j = np.indices((_GRID + 1, _GRID + 1))
    grid = np.stack([i, j, _GRID - i - j], axis=-1)[i + j <= _GRID] / _GRID
    inside = flat(grid[region.contains(grid)])
    return inside if len(inside) else region.outline()[:1]


def _box_fits(region: Region, middles: NDArray[np.float64], width: float, height: float) -> NDArray[np.bool_]:
    """Return about which of these points a box of this size stays inside the region."""
    ring = np.array([(x * width / 2, y * height / 2) for x in np.linspace(-1, 1, 9) for y in (-1, 1)])
    around = _unflat(middles[:, None] + ring).reshape(-1, 3)
    held = region.contains(around) & (around >= 0).all(axis=1)
    return np.asarray(held.reshape(len(middles), -1).all(axis=1))
