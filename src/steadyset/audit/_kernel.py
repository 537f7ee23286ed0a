"""The way to the native audit: points in chunks, every pair of a point and a left-out unit compared."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import validation
from steadyset.audit._taken_bags import TakenBags
from steadyset.selection import NDC, SVBOP, Argmax, FixedMargin, InflatedArgmax, MassThreshold, TopK, entry_epsilons
from steadyset.selection._kernels import RuleId

_CHUNK_BYTES = 64 << 20  # of each of the arrays that a chunk needs
_SHIFTS_ONLY = -1


@dataclass(frozen=True)
class Decision:
    """A rule as the audit applies it.

    `native` are the arguments of a rule of this library; None for any other callable, which is called on all points of
    one model at a time. `margin` is the lead at which a label is alone in its set whatever the others are, None where
    the rule has no such margin. `path` says whether conflicts at every epsilon of the inflated argmax are asked for.
    """

    apply: Callable[[NDArray[np.float64]], NDArray[np.bool_]]
    native: tuple[int, float, float, int, float, float] | None
    margin: float | None
    path: bool


def decision(rule: Any, seed: int) -> Decision:
    """Return how the audit applies a rule; a callable that takes `random_state` always gets the same seed."""
    slack, ties = validation.sum_slack(np.float64), validation.tie_slack(np.float64)
    match rule:
        case Argmax() if type(rule) is Argmax:
            return Decision(rule, (RuleId.ARGMAX, 0.0, 0.0, 0, slack, ties), 0.0, True)
        case InflatedArgmax() if type(rule) is InflatedArgmax:
            native = (RuleId.INFLATED_ARGMAX, float(rule.epsilon), 0.0, 0, slack, ties)
            return Decision(rule, native, float(rule.epsilon) * np.sqrt(0.5), True)
        case FixedMargin() if type(rule) is FixedMargin:
            native = (RuleId.FIXED_MARGIN, float(rule.epsilon), 0.0, 0, slack, ties)
            return Decision(rule, native, float(rule.epsilon) * np.sqrt(0.5), False)
        case TopK() if type(rule) is TopK:
            return Decision(rule, (RuleId.TOP_K, 0.0, 0.0, int(rule.k), slack, ties), None, False)
        case MassThreshold() if type(rule) is MassThreshold:
            return Decision(rule, (RuleId.MASS_THRESHOLD, float(rule.tau), 0.0, 0, slack, ties), None, False)
        case NDC() if type(rule) is NDC:
            return Decision(rule, (RuleId.NDC, float(rule.beta), 0.0, 0, slack, ties), None, False)
        case SVBOP() if type(rule) is SVBOP:
            alpha, discount = validation.utility(rule.utility)
            return Decision(rule, (RuleId.SVBOP, alpha, discount, 0, slack, ties), None, False)
    if not callable(rule):
        raise TypeError(f"rule must be a selection rule or a callable; got {validation.shown(rule)}.")
    return Decision(_seeded(rule, seed), None, None, False)


def _seeded(rule: Callable[..., Any], seed: int) -> Callable[[NDArray[np.float64]], NDArray[np.bool_]]:
    try:
        takes_seed = "random_state" in inspect.signature(rule).parameters
    except (TypeError, ValueError):  # a callable without a signature
        takes_seed = False

    def apply(proba: NDArray[np.float64]) -> NDArray[np.bool_]:
        sets = np.asarray(rule(proba.copy(), random_state=seed) if takes_seed else rule(proba.copy()))
        if sets.dtype != np.bool_ or sets.shape != proba.shape:
            raise ValueError(
                f"rule must return a bool array of the shape of its probabilities, {proba.shape}; "
                f"got dtype {sets.dtype} and shape {sets.shape}."
            )
        if not sets.any(axis=-1).all():
            point = int(np.argmin(sets.any(axis=-1)))
            raise ValueError(f"rule must select at least one label for every point; got an empty set at point {point}.")
        return sets

    return apply


def survey(
    proba: NDArray[Any], mean: NDArray[np.float64], least: int, bound: float, threads: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the spread of the bags at each point, and where no mean of at least `least` bags can change the leader.

    At a settled point the leading label j stays ahead of every other label l by more than `bound`: the mean of the
    `least` smallest values over the bags of V_j - V_l exceeds it.
    """
    n_bags, n_points, n_classes = proba.shape
    squares, settled = np.empty(n_points), np.empty(n_points, np.bool_)
    for start, stop in _chunks(n_points, proba.dtype.itemsize * n_bags * n_classes):
        block = np.ascontiguousarray(proba[:, start:stop])
        _native.survey_points(
            block, mean[start:stop], least, bound, squares[start:stop], settled[start:stop].view(np.uint8), threads
        )
    return squares / max(n_bags - 1, 1), settled & (bound < np.inf)


@dataclass(frozen=True)
class Chunk:
    """What was found at some points: arrays over pairs are (points, units)."""

    points: NDArray[np.intp]
    shift: NDArray[np.float32]
    shift_error: NDArray[np.float64]  # by how much the point's shifts may be off
    conflict: NDArray[np.bool_] | None
    last_conflict: NDArray[np.float64] | None  # the largest epsilon of a conflict; -1 where there is none
    jaccard: NDArray[np.float64]  # sum over units


def compared(
    proba: NDArray[Any],
    mean: NDArray[np.float64],
    sets: NDArray[np.bool_],
    points: NDArray[np.intp],
    taken: TakenBags,
    how: Decision,
    threads: int,
) -> Iterator[Chunk]:
    """Compare the given points with every unit left out; for a foreign callable only the shifts are found."""
    n_bags, _, n_classes = proba.shape
    a_point = max(proba.dtype.itemsize * n_bags * n_classes, 8 * taken.n_units)
    for start, stop in _chunks(len(points), a_point):
        some = points[start:stop]
        shape = (len(some), taken.n_units)
        own = np.ascontiguousarray(mean[some])
        shift, conflict = np.empty(shape, np.float32), np.empty(shape, np.bool_)
        error, jaccard = np.empty(len(some)), np.zeros(len(some))
        path = entry_epsilons(own) if how.path else None
        last = np.empty(shape) if how.path else None
        _native.audit_points(
            np.ascontiguousarray(proba[:, some]),
            taken.patterns,
            taken.counts,
            own,
            np.ascontiguousarray(sets[some]).view(np.uint8),
            *(how.native or (_SHIFTS_ONLY, 0.0, 0.0, 0, 0.0, 0.0)),
            path,
            shift,
            error,
            conflict.view(np.uint8),
            last,
            jaccard,
            threads,
        )
        yield Chunk(some, shift, error, None if how.native is None else conflict, last, jaccard)


def models(proba: NDArray[Any], taken: TakenBags, threads: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield (unit, means (n_points, n_classes)) for every unit: the model without it, on all points at once."""
    contiguous = np.ascontiguousarray(proba)
    for start, stop in _chunks(taken.n_units, 8 * int(np.prod(proba.shape[1:]))):
        means = np.empty((stop - start, *proba.shape[1:]))
        _native.leave_out_means(contiguous, taken.patterns, taken.counts, start, stop, means, threads)
        yield from zip(range(start, stop), means, strict=True)


def sums(proba: NDArray[Any], taken: TakenBags, threads: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield (unit, sums (n_points, n_classes)) for every unit, 0 where no bag stands for it."""
    return models(proba, replace(taken, counts=np.ones_like(taken.counts)), threads)


def _chunks(n: int, bytes_each: int) -> Iterator[tuple[int, int]]:
    step = max(1, _CHUNK_BYTES // max(1, bytes_each))
    if step > 64:
        step -= step % 64
    return ((start, min(start + step, n)) for start in range(0, n, step))
