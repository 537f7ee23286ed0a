"""Another table for a fitted ensemble: which of its bags hold the same rows as before, and what changed.

A bag is a function of its rows, in their order, and of its seed. So one that holds the same rows as before is kept, and
the ensemble is the same, to the bit, as one that is fitted to the new table from scratch.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.outside_rows import OutsideRows
from steadyset._base.words import counted
from steadyset.bags import Bags, Redraw
from steadyset.ensemble import _fit_record
from steadyset.ensemble._fit_inputs import FitInputs
from steadyset.ensemble._fit_record import FitRecord

_ROWS_AT_A_TIME = 1 << 21
_HARDLY_ANY = 0.1  # of the smaller table, the share of rows below which a mistake is likely


@dataclass(frozen=True)
class TableChanges:
    """What a refit found: how the table changed, and how many bags had to be trained again.

    Attributes
    ----------
    n_kept, n_added, n_dropped : int
        Rows, or groups, that both tables have, that only the new one has, and that only the old one had.
    n_changed : int
        Those that kept the id that the user gave them and hold something else now. Without such ids a changed row is
        one that was dropped and one that was added.
    n_trained, n_bags : int
        Bags that were trained, and bags there are.
    unit : {"row", "group"}
    note : str
        What else is to be known, such as a share of the rows that would be another bag size now.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import steadyset as ss
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ss.StableClassifier(n_estimators=100, max_samples=10, random_state=0).fit(X, y)
    >>> print(model.refit(X[1:], y[1:]).changes_)
    10 of 100 bags were trained again: 1 row dropped, 149 rows kept.
    """

    n_kept: int
    n_added: int
    n_dropped: int
    n_changed: int
    n_trained: int
    n_bags: int
    unit: str = "row"
    note: str = ""

    def summary(self) -> str:
        """Return it in a sentence or two."""
        counts = {"added": self.n_added, "dropped": self.n_dropped, "changed": self.n_changed, "kept": self.n_kept}
        told = [f"{counted(n, self.unit)} {what}" for what, n in counts.items() if n or what == "kept"]
        trained = f"{self.n_trained:,} of {counted(self.n_bags, 'bag')} {'was' if self.n_trained == 1 else 'were'}"
        return f"{trained} trained again: {', '.join(told)}.{' ' if self.note else ''}{self.note}"

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True)
class Work:
    """The groups of an old fit that stay, those of which some bags are trained again, and bags that are trained anew.

    `again` are bags of the groups in `mended`; those in `anew` get groups of their own.
    """

    kept: list[Any]
    mended: list[Any]
    again: list[int]
    anew: list[int]

    @property
    def n_bags(self) -> int:
        return len(self.again) + len(self.anew)

    def done(self, train: Callable[[Sequence[int]], list[Any]]) -> list[Any]:
        """Return all groups, in the order of their bags; `train` makes groups of these bags."""
        found = {
            number: (group, place) for group in _of(train, self.again) for place, number in enumerate(group.numbers)
        }
        mended = [_mended(group, found) for group in self.mended]
        return sorted([*self.kept, *mended, *_of(train, self.anew)], key=lambda group: int(group.numbers[0]))


def _mended(group: Any, found: dict[int, tuple[Any, int]]) -> Any:
    """Return the group with the bags that were found elsewhere, each in a group and at its place there."""
    runs: list[tuple[Any, int, int]] = []
    end = 0
    for place, number in enumerate(group.numbers):
        if number not in found:
            continue
        if end < place:
            runs.append((group, end, place))
        other, there = found[number]
        runs.append((other, there, there + 1))
        end = place + 1
    if end < len(group.numbers):
        runs.append((group, end, len(group.numbers)))
    return group.gathered(runs)


def _of(train: Callable[[Sequence[int]], list[Any]], numbers: list[int]) -> list[Any]:
    return train(numbers) if numbers else []


def all_anew(n_bags: int) -> Work:
    """Return the work of a fit from scratch."""
    return Work([], [], [], list(range(n_bags)))


def work_left(model: Any, now: FitRecord, data: FitInputs, drawn: Redraw) -> Work:
    """Return what is left to do for these bags of another table, or more bags of the same one."""
    bags = drawn.bags
    same = _same_bags(model, now, data, drawn)
    stays = set(np.flatnonzero(same).tolist())
    if not stays:
        return all_anew(bags.n_bags)
    kept, mended = [], []
    anew = set(range(bags.n_bags))
    for group in model.groups_:
        if stays.issuperset(group.numbers):
            kept.append(group)
        elif hasattr(group, "gathered") and max(group.numbers) < bags.n_bags and not stays.isdisjoint(group.numbers):
            mended.append(group)
        else:  # nothing of it is left, or it cannot be taken apart
            continue
        anew.difference_update(group.numbers)
    again = [int(number) for group in mended for number in group.numbers if number not in stays]
    return Work(kept, mended, again, sorted(anew))


def _same_bags(model: Any, now: FitRecord, data: FitInputs, drawn: Redraw) -> NDArray[np.bool_]:
    """Return for each bag that the model has whether training it on the new table would give what it has."""
    old, bags = model.bags_, drawn.bags
    n_bags = min(old.n_bags, bags.n_bags)
    nothing = np.zeros(n_bags, bool)
    before = _fit_record.remembered(model)
    if not np.array_equal(model.classes_, data.classes) or before.training != now.training:
        return nothing
    if before.units is None or now.units is None:
        return nothing
    reads = getattr(model.groups_[0], "reads", None)
    if reads is not None and not reads(data.X[:1] if isinstance(data.X, OutsideRows) else data.X):
        return nothing
    if drawn.changed is not None:
        return ~(drawn.changed | _hold_changed_rows(drawn, before.units, now.units))
    same_draw = (old.bag_size, old.resampling) == (bags.bag_size, bags.resampling) and old.ids == bags.ids
    if same_draw and np.array_equal(before.units, now.units):
        return ~nothing
    if old.bag_size is None or old.bag_size != bags.bag_size:
        return nothing
    step = max(1, _ROWS_AT_A_TIME // max(old.n_samples, bags.n_samples))
    ranges = [(first, min(first + step, n_bags)) for first in range(0, n_bags, step)]
    held = ((old.words_in_bags(before.units, *some), bags.words_in_bags(now.units, *some)) for some in ranges)
    return np.concatenate([(had == has).all(axis=1) for had, has in held])


def _hold_changed_rows(drawn: Redraw, before: NDArray[np.uint64], now: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which bags hold a row that has the same id in both tables and holds something else now."""
    changed = np.zeros(len(now), bool)
    if drawn.kept is not None:
        old, new = drawn.kept
        changed[new] = before[old] != now[new]
    if not changed.any():
        return np.zeros(drawn.bags.n_bags, bool)
    return np.asarray(drawn.bags.words_in_bags(changed, 0, drawn.bags.n_bags).any(axis=1))


def require_own_bags(model: Any) -> None:
    """Refuse a model whose bags cannot be drawn for another table."""
    bags: Bags = model.bags_
    if bags.resampling is None or model.seed_ is None:
        raise ValueError("a refit is for bags that steadyset drew; got a model whose members were trained elsewhere.")
    if bags.ids.kind != "position" and bags.ids.values is None:
        raise ValueError("a refit must know the ids of the rows of the fit; got a model whose ids were left out.")


def require_comparable(model: Any, data: FitInputs, n_bags: int) -> None:
    """Refuse ids of another kind than those of the fit, by which no row would be known, and fewer bags."""
    require_own_bags(model)
    had, given = model.bags_.ids, data.ids
    if had.unit != given.unit:
        wanted = "given, as in the fit" if had.unit == "group" else "None, as in the fit"
        raise ValueError(f"groups must be {wanted}; got {'None' if given.unit == 'row' else 'some'}.")
    if had.kind != given.kind:
        raise ValueError(
            f"sample_ids must be of the kind of those of the fit, {_KINDS[had.kind]}; got {_KINDS[given.kind]}."
        )
    if n_bags < model.bags_.n_bags and model.delta is None:
        raise ValueError(
            f"n_estimators must be at least the {model.bags_.n_bags} bags there are when warm_start=True; got {n_bags}."
        )


_KINDS = {"given": "ids that the user gives", "content": "None for ids made of content", "position": '"position"'}


def changes(model: Any, found: FitRecord, data: FitInputs, work: Work, drawn: Redraw) -> TableChanges:
    """Return what changed between the table of a model's fit and a new one, and warn where hardly anything is left."""
    before, now = _fit_record.remembered(model).units, found.units
    n_before, n_now, n_changed = model.bags_.n_samples, data.n_samples, 0
    if before is None or now is None:
        n_kept = 0
    elif data.ids.kind == "given" and data.ids.values is not None:
        if drawn.kept is None:
            _, old, new = np.intersect1d(model.bags_.ids.values, data.ids.values, return_indices=True)
        else:
            old, new = drawn.kept
        n_kept = int(np.count_nonzero(before[old] == now[new]))
        n_changed = len(old) - n_kept
    elif data.ids.kind == "content":  # no two rows of a table have the same word
        n_kept = len(before) + len(now) - _n_distinct(before, now) if drawn.n_kept is None else drawn.n_kept
    else:
        n_kept = min(int(np.isin(*some).sum()) for some in ((now, before), (before, now)))
    unit = data.ids.unit
    if n_kept + n_changed < _HARDLY_ANY * min(n_before, n_now):
        warnings.warn(
            f"hardly any {unit} is known: {n_kept:,} of the {n_now:,} {unit}s of X and y were in the fit, which had "
            f"{n_before:,}; X must hold the same columns, written in the same way.",
            stacklevel=6,
        )
    gone = n_kept + n_changed
    n_bags = len(work.anew) + sum(len(group.numbers) for group in [*work.kept, *work.mended])
    note = _size_note(model, data)
    return TableChanges(n_kept, n_now - gone, n_before - gone, n_changed, work.n_bags, n_bags, unit, note)


def _n_distinct(*words: NDArray[np.uint64]) -> int:
    together = np.sort(np.concatenate(words))
    return 1 + int(np.count_nonzero(together[1:] != together[:-1]))


def _size_note(model: Any, data: FitInputs) -> str:
    """Return the sentence on a bag size that was kept where a share of the new table would be another."""
    if model.delta is not None or not isinstance(model.max_samples, float):
        return ""
    unit, n = data.ids.unit, data.n_samples
    usual = validation.resolve_bag_size(model.max_samples, n, data.resampling, "max_samples")
    if usual == data.bag_size:
        return ""
    return (
        f"Bags keep their {counted(data.bag_size, unit)}; max_samples={model.max_samples:g} of {n:,} {unit}s would be "
        f"{usual:,}, which takes a new fit."
    )
