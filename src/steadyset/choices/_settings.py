"""Settings of a search: drawn once for all bags, and compared in one form."""

import copy
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterSampler

from steadyset._base import validation
from steadyset.ensemble import one_thread_each, seeded


def settled(search: Any, seed: int) -> Any:
    """Return the search that every bag has a clone of: no refit, and candidates that are drawn once for all bags.

    Bags that drew their own random candidates could never agree.
    """
    if not hasattr(search, "get_params"):
        return copy.deepcopy(search)
    params = search.get_params(deep=False)
    changes: dict[str, Any] = {}
    if params.get("refit"):
        changes = _without_refit(params)
    if "param_distributions" not in params:
        return one_thread_each(clone(search).set_params(**changes))
    drawn = _drawn(params, seed)
    if "n_iter" in params:
        own = ("param_distributions", "n_iter", "random_state")
        shared = {name: value for name, value in params.items() if name not in own}
        return one_thread_each(clone(GridSearchCV(**{**shared, **changes, "param_grid": drawn})))
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    shared = {name: value for name, value in params.items() if name not in ("param_distributions", "n_candidates")}
    return one_thread_each(clone(HalvingGridSearchCV(**{**shared, **changes, "param_grid": drawn})))


def _without_refit(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what saves the last fit of a search; with several scores, the one that decides is kept."""
    refit, scoring = params["refit"], params.get("scoring")
    if callable(refit):  # it decides itself
        return {}
    if isinstance(refit, str):
        return {"refit": False, "scoring": scoring[refit] if isinstance(scoring, Mapping) else refit}
    return {"refit": False}


def _drawn(params: Mapping[str, Any], seed: int) -> list[dict[str, list[Any]]]:
    number = params.get("n_iter", params.get("n_candidates"))
    if isinstance(number, str):
        raise ValueError(f"n_candidates must be a number, the same for every bag; got {validation.shown(number)}.")
    state = params.get("random_state")
    sampler = ParameterSampler(params["param_distributions"], number, random_state=seed if state is None else state)
    return [{name: [value] for name, value in setting.items()} for setting in sampler]


def searched(search: Any, seed: int) -> Any:
    """Return a clone for one bag, its random states set, those of its splitter included."""
    if not hasattr(search, "get_params"):
        return copy.deepcopy(search)
    one = seeded(search, seed)
    splitter: Any = getattr(one, "cv", None)
    if hasattr(splitter, "random_state") and getattr(splitter, "shuffle", True) and splitter.random_state is None:
        one.cv = copy.copy(splitter)
        one.cv.random_state = seed
    return one


def canonical(value: Any) -> Hashable:
    """Return a form of a setting that is equal for equal settings: order, containers and NumPy's types do not count.

    Whole numbers, fractions and truth values stay apart: max_features=1 is not max_features=1.0.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return ("mapping", *sorted((str(name), canonical(inner)) for name, inner in value.items()))
    if isinstance(value, list | tuple | np.ndarray):
        return ("sequence", *(canonical(inner) for inner in value))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(canonical(inner) for inner in value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return (type(value).__qualname__, canonical(value.get_params(deep=False)))
    if isinstance(value, float) and value != value:
        return ("float", "nan")
    if isinstance(value, bool | int | float | complex):
        return (type(value).__name__, value)
    hash(value)
    return value  # type: ignore[no-any-return]
