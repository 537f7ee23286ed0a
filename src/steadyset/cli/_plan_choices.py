"""The ways to keep a promise side by side, as `steadyset plan` shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from steadyset.cli._plan_table import parse
from steadyset.ensemble import Plan, plan


def beside(axes: Mapping[str, Sequence[Any]], common: Mapping[str, Any], delta: float) -> Plan | None:
    """Return the plan of what was asked for; None where it is about other bags than a fit draws."""
    usual = {"sigma2": None, "coupling": None, "n_dropped": 1, "n_added": 0, "resampling": "subbagging"}
    fits = all(common.get(name, value) == value for name, value in usual.items()) and common["theorem"] == "best"
    if not fits or len(axes["n_samples"]) != 1 or not common.get("n_classes"):
        return None
    given = _given(axes["epsilon"], axes["n_bags"])
    return plan(axes["n_samples"][0], common["n_classes"], delta=delta, **given)


def tried(
    data: str, target: str, estimator: str, delta: str, epsilon: Sequence[str] | None, n_bags: Sequence[str] | None
) -> Plan:
    """Return the plan for the rows of a table, with a trial of each bag size."""
    from steadyset.cli import _session
    from steadyset.cli.fit import data_to_try
    from steadyset.tables import make_estimator

    with _session.told_once(quiet=True):
        tried = data_to_try(data, target, make_estimator(estimator, {}))
        given = _given(parse(epsilon or [], "epsilon"), parse(n_bags or [], "n_bags"))
        return plan(delta=parse([delta], "delta")[0], X=tried.X, y=tried.labels, estimator=tried.learner, **given)


def _given(epsilons: Sequence[Any], bags: Sequence[Any]) -> dict[str, Any]:
    given = {"epsilon": list(epsilons), "n_bags": [number for number in bags if number is not None]}
    return {name: values for name, values in given.items() if values}


def as_json(found: Plan) -> dict[str, Any]:
    """Return a plan for JSON."""
    choices = []
    for choice in found.choices:
        promise = None if choice.guarantee is None else choice.guarantee.delta
        sizes = {"bag_size": choice.bag_size, "row_fits": choice.row_fits}
        choices.append({**asdict(choice), **sizes, "guarantee": promise})
    head = {"delta": found.delta, "n_samples": found.n_samples, "n_classes": found.n_classes}
    return {**head, "trial_bags": found.trial_bags, "choices": choices}
