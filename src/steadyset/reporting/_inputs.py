"""What a report is made from, checked: a model or its predictions, the rule, the labels, and rows to show."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from steadyset._base import set_validation, validation
from steadyset._base.rows import as_rows
from steadyset._base.sklearn_doors import num_samples, take
from steadyset.bags import BagPredictions
from steadyset.ensemble import StableClassifier, rows_seen_in_training
from steadyset.neighbors import StableNeighborsClassifier
from steadyset.reporting._sources import AllBags, DrawnBags
from steadyset.selection import InflatedArgmax, Rule, with_epsilon

_SAMPLE_SEED = 0


@dataclass(frozen=True)
class Inputs:
    """Checked input.

    `positions` are those of the points in the caller's X, `columns` the true labels as columns, `n_seen` how many of
    the points the model was trained on (None where it does not know, or there are no labels to measure with), `rows`
    what is shown of the points, `shape` that of their images.
    """

    source: DrawnBags | AllBags
    classes: NDArray[Any]
    rule: Any
    epsilon: float
    columns: NDArray[np.intp] | None
    n_seen: int | None
    positions: NDArray[np.intp]
    n_given: int
    rows: Any
    feature_names: list[str] | None
    shape: tuple[int, ...] | None

    @property
    def n_points(self) -> int:
        """Number of points that are reported on."""
        return len(self.positions)

    @property
    def bags(self) -> Any:
        """What was drawn."""
        return self.source.bags

    @property
    def made_by(self) -> Any:
        """The model, or the predictions."""
        return self.source.made_by

    def blocks(self) -> Iterator[Any]:
        """Yield what audits and proofs take, some points at a time."""
        return self.source.blocks(self.rows, self.positions, self.rule, self.n_given)

    @property
    def moves(self) -> bool:
        """Whether the slider moves the rule itself: it is the inflated argmax, whose epsilon the slider sets."""
        return isinstance(self.rule, Rule) and self.rule.has_epsilon and self.rule.path_epsilon is not None


def gather(model: Any, X: Any, y: Any, rule: Any, epsilon: Any, images: Any, max_points: Any) -> Inputs:
    """Check everything, and draw a sample of the points where there are many."""
    most = validation.count(max_points, "max_points")
    if rule is not None and epsilon is not None:
        raise ValueError(f"epsilon and rule must not both be given; got epsilon={epsilon!r} and rule={rule!r}.")
    if epsilon is not None:
        epsilon = validation.epsilon(epsilon)
    if rule is not None:
        validation.rule(rule)
    if isinstance(model, BagPredictions):
        n, rows = model.n_points, None if X is None else as_rows(X)
        if rows is not None and (have := num_samples(rows)) != n:
            raise ValueError(f"X must have a row for each of the {n} points of the predictions; got {have}.")
    elif isinstance(model, StableClassifier | StableNeighborsClassifier):
        check_is_fitted(model)
        if X is None:
            raise ValueError(f"X must be given with a {type(model).__name__}; got None.")
        rows = as_rows(X)
        n = num_samples(rows)
    else:
        raise TypeError(
            "model must be a fitted StableClassifier or StableNeighborsClassifier, or a BagPredictions; got "
            f"{validation.shown(model)}."
        )
    if n < 1:
        raise ValueError("X must have at least 1 row to report on; got 0.")
    classes = model.classes if isinstance(model, BagPredictions) else model.classes_
    known = "labels that the model knows"
    columns = None if y is None else set_validation.columns_of(y, classes.tolist(), n, "y", "X", known)
    shape = _image_shape(images, rows)
    positions = np.arange(n)
    if n > most:
        positions = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(n, most, False))
        rows = None if rows is None else take(rows, positions)
        columns = None if columns is None else columns[positions]
    chosen = rule
    if rule is None:
        chosen = InflatedArgmax(0.05) if isinstance(model, BagPredictions) else model.rule_
        chosen = chosen if epsilon is None else with_epsilon(chosen, epsilon)
    if getattr(chosen, "epsilon", 0.0) == math.inf:
        raise ValueError(f"epsilon must be finite for a report; got {chosen!r}.")
    if len(classes) < 2:
        raise ValueError("model must know at least 2 labels to report on; got 1.")
    return Inputs(
        _source(model),
        classes,
        chosen,
        _slider_start(chosen),
        columns,
        None if columns is None or rows is None else _n_seen(model, rows, classes[columns]),
        positions,
        n,
        rows,
        _feature_names(model, rows),
        shape,
    )


def _source(model: Any) -> DrawnBags | AllBags:
    if isinstance(model, StableNeighborsClassifier):
        return AllBags(model)
    return DrawnBags(model.bags if isinstance(model, BagPredictions) else model.bags_, model)


def _n_seen(model: Any, rows: Any, labels: NDArray[Any]) -> int | None:
    seen = rows_seen_in_training(model, rows, labels)
    return None if seen is None else int(seen.sum())


def _slider_start(rule: Any) -> float:
    own = getattr(rule, "epsilon", None)
    return float(own) if isinstance(own, float | int) and 0 <= own < math.inf else 0.05


def _image_shape(images: Any, rows: Any) -> tuple[int, ...] | None:
    """Return the shape of one image, given or seen from X; None where points are no images."""
    allowed = "(height, width), (height, width, channels) or (channels, height, width) with 1, 3 or 4 channels"
    sizes = None if rows is None or hasattr(rows, "columns") else tuple(int(s) for s in rows.shape[1:])
    if images is None:
        return sizes if sizes is not None and len(sizes) > 1 and _is_image(sizes) else None
    if rows is None:
        raise ValueError("images needs X, the points to show; got X=None.")
    if not isinstance(images, tuple | list):
        raise TypeError(f"images must be {allowed}; got {validation.shown(images)}.")
    shape = tuple(validation.count(side, "images") for side in images)
    if not _is_image(shape):
        raise ValueError(f"images must be {allowed}; got {validation.shown(images)}.")
    have = math.prod(sizes) if sizes is not None else len(rows.columns)
    if issparse(rows) or have != math.prod(shape):
        raise ValueError(f"images must fit the {have} values of a row of X; got {validation.shown(images)}.")
    return shape


def _is_image(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and (shape[2] in (1, 3, 4) or shape[0] in (1, 3, 4)))


def _feature_names(model: Any, rows: Any) -> list[str] | None:
    if hasattr(rows, "columns"):
        return [str(name) for name in rows.columns]
    if rows is None or len(rows.shape) != 2:
        return None
    own = getattr(model, "feature_names_in_", None)
    if own is not None and len(own) == rows.shape[1]:
        return [str(name) for name in own]
    return [f"column {number}" for number in range(rows.shape[1])]
