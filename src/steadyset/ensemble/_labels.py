"""How labels reach learners: as the user wrote them, or as codes 0, 1, ... where a learner takes nothing else."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, StackingClassifier, VotingClassifier
from sklearn.tree import DecisionTreeClassifier

from steadyset._base.validation import shown

#: Parameters that are dicts with labels as keys.
_KEYED_BY_LABEL = ("class_weight", "class_weights", "sampling_strategy")

#: How learners refuse labels: by a check, or by computing with what is no code.
_REFUSALS = (ValueError, TypeError, LookupError, RuntimeError)


@dataclass(frozen=True)
class Naming:
    """What a fitted learner calls labels: `names` are those of its bag; what it tells is among `known`.

    `columns` are those of `known` in the label space.
    """

    names: NDArray[Any]
    known: NDArray[Any]
    columns: NDArray[np.intp]

    def columns_of(self, told: Any, bag: int) -> NDArray[np.intp]:
        """Return the columns of the classes that the learner tells."""
        classes = np.asarray(told)
        places = places_of(classes, self.known)
        if places is None:
            allowed, came = shown(self.known.tolist()), shown(classes.tolist())
            raise ValueError(f"classes_ of bag {bag} must be labels of its rows, among {allowed}; got {came}.")
        return self.columns[places]


def fit_by_label(
    fit: Callable[[NDArray[Any]], Any], space: NDArray[Any], held: NDArray[np.intp], may_be_coded: bool
) -> tuple[Any, Naming]:
    """Fit on the user's own labels; where the learner refuses them, on the codes of those that the bag holds.

    `held` are the columns of the bag's labels in `space`, and `fit` takes the name of each. XGBoost takes no labels but
    0, 1, ..., and a network's loss no strings. Where the learner refuses the codes too, its first refusal counts.
    """
    own, codes = _wide(space[held]), np.arange(len(held))
    try:
        return fit(own), Naming(own, space, np.arange(len(space)))
    except _REFUSALS:
        if may_be_coded and not _same(own, codes):
            with contextlib.suppress(Exception):
                return fit(codes), Naming(codes, codes, held)
        raise


def name_keys(estimator: Any, space: NDArray[Any], held: NDArray[np.intp], names: NDArray[Any]) -> None:
    """Let the parameters that are dicts by label name the bag's labels, and no others, as the learner knows them.

    The bag has no rows of other labels, and many learners refuse to hear of them. Keys that are no labels at all stay,
    for the learner to judge; among codes they could be mistaken for one.
    """
    own, codes = _wide(space[held]), np.arange(len(held))
    if is_plain(estimator) or (len(held) == len(space) and _same(own, codes)):
        return
    params = estimator.get_params(deep=True)
    absent = set(np.delete(space, held).tolist())
    for parameter, value in params.items():
        path = parameter.split("__")
        if not _same(names, own) and _searches_weights(value):
            raise ValueError(f"{parameter} must not search weights by label for codes; got {shown(value)}.")
        if not isinstance(value, dict) or path[-1] not in _KEYED_BY_LABEL:
            continue
        parts = [estimator, *(params.get("__".join(path[:depth])) for depth in range(1, len(path)))]
        kinds: list[Any] = [type(part) for part in parts]
        known = codes if any(map(_numbers_labels, kinds)) else names
        called = dict(zip(own.tolist(), known.tolist(), strict=True))
        kept = {key: weight for key, weight in value.items() if key not in absent}
        if not _same(known, own) and not kept.keys() <= called.keys():
            raise ValueError(f"{parameter} must have labels of y as keys; got {shown(value)}.")
        estimator.set_params(**{parameter: {called.get(key, key): weight for key, weight in kept.items()}})


def _searches_weights(value: Any) -> bool:
    """Return whether a parameter is a grid, or a list of grids, with weights by label in it."""
    grids = [grid for grid in (value if isinstance(value, list) else [value]) if isinstance(grid, dict)]
    return any(isinstance(key, str) and key.split("__")[-1] in _KEYED_BY_LABEL for grid in grids for key in grid)


def is_plain(estimator: Any) -> bool:
    """Return whether no parameter is a part or holds some, so that there is no need to list the parameters."""
    return not any(hasattr(v, "get_params") or isinstance(v, list | tuple | dict) for v in vars(estimator).values())


@cache
def _numbers_labels(kind: Any) -> bool:
    """Return whether a class of scikit-learn gives labels numbers before its weights, or its parts, see them.

    Then keys of `class_weight` have to be those numbers. Whether this version does so, a small fit tells.
    """
    weighted = {"class_weight": {"a": 1.0, "b": 1.0}}
    tree = DecisionTreeClassifier(**weighted)
    trials = (
        HistGradientBoostingClassifier(max_iter=1, **weighted),
        BaggingClassifier(tree, 1, bootstrap=False),
        VotingClassifier([("tree", tree)]),
        StackingClassifier([("tree", tree)], tree, cv=2),
    )
    for trial in trials:
        if issubclass(kind, type(trial)):
            try:
                trial.fit(np.arange(8.0)[:, None], list("abababab"))
            except ValueError:
                return True
    return False


def _wide(labels: NDArray[Any]) -> NDArray[Any]:
    """Return integers as wide as codes are, which some learners insist on, and other labels as they are."""
    return labels.astype(np.intp) if labels.dtype.kind in "iu" and np.can_cast(labels.dtype, np.intp) else labels


def _same(names: NDArray[Any], others: NDArray[Any]) -> bool:
    return names.dtype == others.dtype and np.array_equal(names, others)


def places_of(wanted: NDArray[Any], known: NDArray[Any]) -> NDArray[np.intp] | None:
    """Return the place of each wanted label among the known ones; None where one is not known."""
    order = np.argsort(known)
    try:
        places = order[np.searchsorted(known, wanted, sorter=order).clip(max=len(known) - 1)]
        found = wanted.ndim == 1 and np.all(known[places] == wanted)
    except TypeError:  # labels that do not compare, such as strings and numbers
        return None
    return places if found else None
