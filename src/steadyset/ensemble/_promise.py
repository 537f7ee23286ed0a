"""How many bags a fit draws and how large they are: as given, or as the promise `delta` needs."""

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

from steadyset._base import validation
from steadyset._base.words import counted
from steadyset.guarantees import MOST_BAGS, OutOfReachError, Promise, kept
from steadyset.selection import rule_name

_BAGS_ALLOWED = 'a whole number that is at least 1 or, with delta, "auto"'


@dataclass(frozen=True)
class Units:
    """What bags are drawn from: rows or groups of rows, how many, how they are drawn and tied together."""

    n: int
    n_classes: int
    resampling: str
    coupling: str
    name: str = "row"


@dataclass(frozen=True)
class BagPlan:
    """Units per bag, and the number of bags."""

    bag_size: int
    n_bags: int


def check_parameters(model: Any) -> None:
    """Refuse what can be known to be wrong without data."""
    if isinstance(model.n_estimators, str):
        if model.n_estimators != "auto" or model.delta is None:
            given = f"{validation.shown(model.n_estimators)} with delta={model.delta}"
            raise ValueError(f"n_estimators must be {_BAGS_ALLOWED}; got {given}.")
    else:
        validation.count(model.n_estimators, "n_estimators")
    if model.delta is not None:
        validation.delta(model.delta)


def planned(model: Any, units: Units) -> BagPlan:
    """Return the bags that a model's parameters ask for; a warning says where they are not what somebody expects."""
    largest = validation.resolve_bag_size(model.max_samples, units.n, units.resampling, "max_samples")
    if model.delta is None:
        return BagPlan(largest, model.n_estimators)
    found = _promised(model, units, largest)
    if model.n_estimators == "auto" and found.bag_size < largest:
        warnings.warn(
            f'n_estimators="auto" stops at {MOST_BAGS:,} bags, too few for bags of {largest:,} {units.name}s to keep '
            f"delta={model.delta:g}: bags of {found.bag_size:,} {units.name}s are taken.",
            stacklevel=5,
        )
    if found.bag_size < min(units.n_classes, largest):
        warnings.warn(
            f"delta={model.delta:g} takes bags of {counted(found.bag_size, units.name)}, fewer than the "
            f"{units.n_classes:,} labels: a larger epsilon, more bags or more {units.name}s would allow larger ones.",
            stacklevel=5,
        )
    return found


def size_assumption(model: Any) -> tuple[str, ...]:
    """Return what a guarantee has to assume of the bags, where one unit less would be given others.

    A model without `delta` chooses something else than labels and makes no promise that sizes its bags.
    """
    bags, delta = model.bags_, getattr(model, "delta", None)
    size, n, unit = bags.bag_size, bags.n_samples, bags.ids.unit
    if size is None or n < 3 or (delta is None and isinstance(model.max_samples, numbers.Integral)):
        return ()
    resampling = bags.resampling or "subbagging"
    largest = validation.resolve_bag_size(model.max_samples, n - 1, resampling, "max_samples")
    if delta is None:
        if largest == size:
            return ()
        pass_on, less = f"max_samples={size}", f"{model.max_samples:g} of {n - 1:,} {unit}s are {largest:,}"
    else:
        fewer = Units(n - 1, len(model.classes_), resampling, bags.coupling or "any", unit)
        try:
            found = _promised(model, fewer, largest)
        except OutOfReachError:
            found = BagPlan(0, 0)
        if found == BagPlan(size, bags.n_bags):
            return ()
        pass_on = f"max_samples={size}, n_estimators={bags.n_bags} and delta=None"
        less = f"{n - 1:,} {unit}s would have others"
    return (f"the fit without the {unit} has bags of {size:,} {unit}s too: pass {pass_on} ({less})",)


def kept_or_planned(model: Any, units: Units, had: BagPlan) -> BagPlan:
    """Return the bags of a fitted model for another table: those that it has, unless they break its promise there."""
    if units.resampling == "subbagging" and had.bag_size >= units.n:
        raise ValueError(
            f"X must have more {units.name}s than a bag of the fit, {had.bag_size:,}; got {units.n:,}: smaller bags "
            "take a new fit."
        )
    if model.delta is None or _promise_of(model, units, had.bag_size).of(had.bag_size, had.n_bags).delta <= model.delta:
        return had
    found = planned(model, units)
    warnings.warn(
        f"{had.n_bags:,} bags of {counted(had.bag_size, units.name)} do not keep delta={model.delta:g} with "
        f"{units.n:,} {units.name}s: {found.n_bags:,} bags of {counted(found.bag_size, units.name)} are taken.",
        stacklevel=5,
    )
    return found


def _promised(model: Any, units: Units, largest: int) -> BagPlan:
    found = kept(_promise_of(model, units, largest))
    return BagPlan(found.bag_size or 0, found.n_bags or 0)


def _promise_of(model: Any, units: Units, largest: int) -> Promise:
    rule = model._rule()
    if not hasattr(rule, "compatible_epsilon") or not rule.compatible_epsilon(units.n_classes):
        raise ValueError(
            f"delta must be None for a rule that no theorem makes compatible for {units.n_classes} labels; got "
            f"{model.delta:g} with {rule_name(rule)}."
        )
    return Promise(
        model.delta,
        units.n,
        largest,
        None if model.n_estimators == "auto" else model.n_estimators,
        rule,
        units.n_classes,
        units.resampling,
        units.coupling,
        units.name,
    )
