"""Settings of a search: drawn once for all bags, and compared in one form."""

import copy
import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterSampler, RandomizedSearchCV

from steadyset._base import validation
from steadyset.choices import _finished_bags
from steadyset.ensemble import one_thread_each, seeded


def settled(search: Any, seed: int) -> Any:
    """Return the search that every bag has a clone of: no refit, and candidates that are drawn once for all bags.

    Bags that drew their own random candidates could never agree.
    """
    if not hasattr(search, "get_params"):
        return copy.deepcopy(search)
    params = search.get_params(deep=False)
    changes = _without_refit(search, params) if "refit" in params else {}
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


def _without_refit(search: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what saves the last fit of a search; with several scores, the one that decides is kept."""
    refit, scoring = params["refit"], params.get("scoring")
    if callable(refit):  # it decides itself
        return {"refit": False} if decider(search) is not None else {}
    if isinstance(scoring, Mapping | list | tuple | set):
        if not (isinstance(refit, str) and refit in scoring):
            raise no_score_decides(refit, list(scoring))
        return {"refit": False, "scoring": scoring[refit] if isinstance(scoring, Mapping) else refit}
    if isinstance(refit, str) and callable(scoring):
        return {"refit": False, "scoring": _OneScore(scoring, refit)}
    return {"refit": False}


def no_score_decides(refit: Any, scores: list[Any]) -> ValueError:
    """Return the error for a search by several scores of which none decides."""
    return ValueError(
        f"refit of the search must name the one of its scores that decides, {validation.shown(scores)}, or be a "
        f"callable; got {validation.shown(refit)}."
    )


@dataclass(frozen=True)
class _OneScore:
    """The score that decides, of several that one function returns."""

    scoring: Callable[..., Any]
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.scoring(*args, **kwargs)
        if isinstance(found, Mapping) and self.name not in found:
            raise no_score_decides(self.name, list(found))
        return found[self.name] if isinstance(found, Mapping) else found


def decider(search: Any) -> Callable[[Any], Any] | None:
    """Return the function that picks a line of a search's results, where the search leaves it to one."""
    refit = getattr(search, "refit", None)
    return refit if isinstance(search, GridSearchCV | RandomizedSearchCV) and callable(refit) else None


def best(search: Any, decide: Callable[[Any], Any] | None) -> Any:
    """Return the setting that won a search which is done."""
    if decide is not None:
        tried = search.cv_results_["params"]
        allowed, most = f"the place of a setting, from 0 to {len(tried) - 1}", len(tried) - 1
        return tried[validation.whole(decide(search.cv_results_), "what refit returns", allowed, 0, most)]
    if getattr(search, "multimetric_", False) and not hasattr(search, "best_params_"):
        raise no_score_decides(search.refit, [name[10:] for name in search.cv_results_ if name[:10] == "mean_test_"])
    score = getattr(search, "best_score_", None)
    if isinstance(score, float) and score != score:
        raise ValueError("the search must give some setting a score; got NaN for all of them.")
    return search.best_params_


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

    Whole numbers, fractions and truth values stay apart: max_features=1 is not max_features=1.0. What Python compares
    by identity, of which every bag may have a copy, is compared by what it consists of.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return ("mapping", frozenset((canonical(name), canonical(inner)) for name, inner in value.items()))
    if isinstance(value, list | tuple | np.ndarray):
        return ("sequence", *(canonical(inner) for inner in value))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(canonical(inner) for inner in value))
    if isinstance(value, float) and value != value:
        return ("float", "nan")
    if isinstance(value, bool | int | float | complex):
        return (type(value).__name__, value)
    if isinstance(value, type):
        return value
    if isinstance(value, types.FunctionType):
        return ("function", _finished_bags.named(value))
    if isinstance(value, partial):
        return ("partial", *(canonical(part) for part in (value.func, value.args, value.keywords)))
    if hasattr(value, "get_params"):
        return (type(value).__qualname__, canonical(value.get_params(deep=False)))
    if getattr(type(value), "__hash__", None) is object.__hash__ and hasattr(value, "__dict__"):
        return (type(value).__qualname__, canonical(vars(value)))
    hash(value)
    return value  # type: ignore[no-any-return]
