"""What the page shows, as plain data, and the same as the texts that the slider moves."""

import math
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from steadyset._base.words import counted, out_of_a_hundred
from steadyset.bags import WEAK, BagPredictions, mend
from steadyset.guarantees import TITLES, Guarantee
from steadyset.metrics import Estimate
from steadyset.reporting import _formats
from steadyset.reporting._evidence import INFLATED, MARGIN, Evidence, conflict_numbers
from steadyset.selection import InflatedArgmax, Rule, rule_name

MOST_ROWS = 12
_MOST_PAIRS = 12
SCORES = ("correct_single", "size", "coverage", "u65", "u80", "superfluous_inflation")


def plain(found: Evidence, examples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return everything as numbers, strings, lists and dicts."""
    inputs, bags = found.inputs, found.inputs.bags
    classes = [str(label) for label in inputs.classes.tolist()]
    return {
        "n_points": found.path.n_points,
        "n_points_given": inputs.n_given,
        "n_points_in_training": inputs.n_seen,
        "unit": bags.ids.unit,
        "n_samples": bags.n_samples,
        "n_bags": bags.n_bags,
        "bag_size": bags.bag_size,
        "n_classes": len(classes),
        "classes": classes,
        "rule": rule_name(inputs.rule),
        "epsilon": inputs.epsilon,
        "slider": {"bottom": found.steps.bottom, "top": found.steps.top, "step": found.steps.step},
        "audit": {
            "words": found.own.algorithm,
            "rows_left_out": found.own.n_units,
            "rows_unanswered": len(found.own.unanswered),
            **conflict_numbers(found.own),
        },
        "inflated_argmax": conflict_numbers(found.path),
        "argmax": conflict_numbers(found.path, 0.0) if found.path.epsilon_floor == 0 else None,
        "guarantee": _guarantee(found.guarantee, found.limit),
        "mend": _mend(found.guarantee, found.inputs.rule),
        "rules": [_rule_line(found, name, row) for name, row in zip(found.rules, found.scores.rows, strict=True)],
        "ambiguous": int((InflatedArgmax(inputs.epsilon)(found.proba).sum(axis=1) > 1).sum()),
        "examples": [{key: value for key, value in card.items() if key != "image"} for card in examples],
        "pairs": [
            {**{key: _number(value) for key, value in pair.items()}, "pair": [classes[j] for j in pair["pair"]]}
            for pair in found.pairs[:_MOST_PAIRS]
        ],
        "n_pairs": len(found.pairs),
        "rows": _rows(found),
        "n_rows_clear": len(found.leading),
        "score_limit": _finite(np.min(found.path.score_limit())),
        "certificates": _certificates(found),
        "coverage": None if found.covering is None else found.covering.numbers(),
        "configuration": _configuration(found),
    }


def _number(value: Any) -> Any:
    if not isinstance(value, Estimate):
        return value
    pair = {"value": float(value), "standard_error": value.standard_error}
    return {name: number if math.isfinite(number) else None for name, number in pair.items()}


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _guarantee(best: Guarantee | str, limit: Guarantee | str) -> dict[str, Any] | str:
    if isinstance(best, str) or isinstance(limit, str):
        return str(best)
    told = ("delta", "vacuous", "theorem", "epsilon", "n_bags", "coupling", "every_row", "unit")
    return {
        **{name: getattr(best, name) for name in told},
        "sentence": str(best),
        "assumptions": list(best.assumptions),
        "limit_delta": limit.delta,
        "limit_vacuous": limit.vacuous,
    }


def _mend(best: Guarantee | str, rule: Any) -> str | None:
    """Return in a sentence what would promise more, where the promise says little; None where nothing would."""
    found = None if isinstance(best, str) or best.delta <= WEAK else mend(best, rule)
    if found is None:
        return None
    changed = {"delta": found.delta, "n_estimators": found.n_bags, "epsilon": found.epsilon}
    asked = ", ".join(f"{name}={value:g}" for name, value in changed.items() if value is not None)
    promised = found.guarantee
    return (
        f"A fit with {asked} would promise at most {out_of_a_hundred(found.delta)}, with "
        f"{'infinitely many' if promised.n_bags is None else f'{promised.n_bags:,}'} bags of "
        f"{counted(promised.bag_size or 0, promised.unit)}."
    )


def _rule_line(found: Evidence, name: str, row: tuple[Any, ...]) -> dict[str, Any]:
    values = dict(zip(found.scores.columns, row, strict=True))
    rule = found.rules[name]
    in_use = name.startswith("in use: ") or (isinstance(rule, Rule) and rule == found.inputs.rule)
    line: dict[str, Any] = {"rule": name, "in_use": in_use}
    line |= {column: _number(values[column]) for column in SCORES if column in values}
    return {**line, "max_instability": found.instability[name]}


def _rows(found: Evidence) -> list[dict[str, Any]]:
    """Return the training rows to look at first; where there is no Monte Carlo noise, they have no limit."""
    audit, bags = found.path, found.inputs.bags
    ids = bags.sample_ids if bags.ids.kind == "given" else None  # digests are no names
    labels = getattr(found.inputs.made_by, "group_labels_", None)
    names = ids if labels is None else labels
    limits = audit.score_limit()
    return [
        {
            "row": int(audit.left_out[unit]) if labels is None else None,
            "id": None if names is None else str(names[audit.left_out[unit]]),
            "score": float(audit.row_score[unit]),
            "limit": _finite(limits[unit]),
            "point": int(found.inputs.positions[audit.row_point[unit]]),
            "conflicts": int((found.last[audit.pair_units == unit] >= found.inputs.epsilon).sum()),
        }
        for unit in found.leading[:MOST_ROWS].tolist()
    ]


def _certificates(found: Evidence) -> dict[str, Any] | str:
    proved = found.certificates
    if isinstance(proved, str):
        return proved
    renamed = {
        "no_row_at_once": "all_at_once_no_row",
        "vacuous_at_once": "all_at_once_vacuous",
        "median_poisoning": "poisoning",
    }
    shares = {renamed.get(name, name): value for name, value in asdict(proved.overview).items()}
    told = {"ids": proved.ids, "compared": proved.compared}
    return {"n_points": proved.n_points, "alpha": proved.alpha, **told, **shares}


def _configuration(found: Evidence) -> dict[str, str]:
    model, bags = found.inputs.made_by, found.inputs.bags
    predictions_only = isinstance(model, BagPredictions)
    kind = {"subbagging": "subbagging (without replacement)", "bootstrap": "bootstrap (with replacement)"}
    unit = bags.ids.unit
    size = "of different sizes" if bags.bag_size is None else f"of {bags.bag_size:,} {unit}s"
    seed = getattr(model, "seed_", bags.seed)
    learner = getattr(model, "estimator_", model)
    return {
        "Learner": "not known: the report was made from predictions" if predictions_only else _short(learner),
        "Bags": f"{_formats.bags(bags.n_bags)} {size}, {kind.get(bags.resampling or '', 'adopted, draw not known')}",
        "Coupling": "none needed: nothing is drawn" if bags.n_bags is None else _coupling(bags.coupling, unit),
        "Seed": ("none" if bags.n_bags is None else "not known") if seed is None else str(seed),
        f"Training {unit}s": f"{bags.n_samples:,}",
        "Points": _points_in_words(found),
        "Labels": f"{found.proba.shape[1]:,}",
        "Rule in use": rule_name(found.inputs.rule),
        "Written": _written(),
        "Versions": _versions(),
    }


def _coupling(coupling: str | None, unit: str) -> str:
    known = {"hash": f"hash: a dropped {unit} changes only the bags that held it", None: "not known"}
    return known.get(coupling, f"any: bags with and without a {unit} are not tied together")


def _points_in_words(found: Evidence) -> str:
    n, given = found.path.n_points, found.inputs.n_given
    known = "with true labels" if found.inputs.columns is not None else "without true labels"
    return f"{n:,}, {known}" + ("" if n == given else f", drawn at random from {given:,}")


def _short(thing: Any) -> str:
    text = " ".join(repr(thing).split())
    return text if len(text) <= 400 else text[:397] + "..."


def _written() -> str:
    """Return the day and time, which SOURCE_DATE_EPOCH fixes for files that have to come out the same."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    return now.strftime("%Y-%m-%d %H:%M UTC")


def _versions() -> str:
    packages = ("steadyset", "numpy", "scipy", "scikit-learn", "plotly", "jinja2")
    known = (f"{name} {version(name)}" for name in packages)
    return ", ".join((f"Python {platform.python_version()}", *known, f"{sys.platform} {platform.machine()}"))


def live(found: Evidence, numbers: dict[str, Any]) -> dict[str, tuple[str, float | None]]:
    """Return the texts that the slider moves, at its first place, each with its number where it is one."""
    audit = numbers["inflated_argmax"]
    rules = {line["rule"]: line for line in numbers["rules"]}
    shown: dict[str, tuple[Callable[[Any], str], float]] = {
        "epsilon": (_formats.epsilon, numbers["epsilon"]),
        "set-size": (_formats.fixed, rules[INFLATED]["size"]["value"]),
        "conflicts": (_formats.count, audit["conflicts"]),
        "conflict-share": (_formats.percent, audit["mean_instability"]),
        "points-in-conflict": (_formats.count, audit["points_in_conflict"]),
        "max-instability": (_formats.share, audit["max_instability"]),
        "max-rows": (_formats.count, audit["max_rows"]),
        "ambiguous": (_formats.count, numbers["ambiguous"]),
    }
    proved = numbers["certificates"]
    if found.inputs.moves and not isinstance(proved, str):
        shown |= {
            "cert-none": (_formats.percent, proved["no_row"]),
            "cert-vacuous": (_formats.percent, proved["vacuous"]),
            "cert-median": (_formats.share, proved["median"]),
        }
        if found.certain_at:
            shown |= {
                "cert-from": (_formats.epsilon, numbers["epsilon"]),
                "cert-once-none": (_formats.percent, proved["all_at_once_no_row"]),
                "cert-once-vacuous": (_formats.percent, proved["all_at_once_vacuous"]),
                "cert-cleared": (_formats.percent, proved["cleared_points"]),
                "cert-rows": (_formats.percent, proved["cleared_rows"]),
                "cert-poisoning": (_formats.count, proved["poisoning"]),
                "cert-most": (_formats.count, proved["most_poisoning"]),
            }
    texts: dict[str, tuple[str, float | None]] = {name: (words(value), value) for name, (words, value) in shown.items()}
    texts["margin-instability"] = f"≤ {_formats.share(audit['max_instability'])}", None
    for short, name in (("inflated", INFLATED), ("margin", MARGIN)):
        for column in SCORES:
            if column in rules[name]:
                texts[f"{short}-{column}"] = (estimate(rules[name][column]), rules[name][column]["value"])
    if found.inputs.moves and not isinstance(numbers["guarantee"], str):
        texts |= bound_texts(numbers["guarantee"])
    return texts


def bound_texts(told: dict[str, Any]) -> dict[str, tuple[str, float | None]]:
    """Return a guarantee in the words of the page: parts of a sentence, which page.js writes too."""
    vacuous, limit = told["vacuous"], told["limit_delta"]
    event = "Nothing: the bound on the probability" if vacuous else "The probability"
    unit = told["unit"]
    scope = f"for every {unit}, on average" if told["every_row"] and not vacuous else f"on average over the {unit}s and"
    drawn = f"{scope} over the draw of bags"
    if told["n_bags"] is None:
        drawn = scope.removesuffix(", on average").removesuffix(" and")
    shown = _formats.bound(told["delta"])
    return {
        "bound-event": (f"{event} of a contradiction at a point (label sets that share no label) is", None),
        "bound-words": ("" if vacuous else f", {out_of_a_hundred(told['delta'])}", None),
        "bound": (f"{shown} (vacuous)" if vacuous else f"at most {shown}", told["delta"]),
        "bound-rows": (f", {drawn}", None),
        "bound-theorem": ("every theorem" if vacuous else f"the {TITLES[told['theorem']]}", None),
        "bound-limit": (_formats.bound(limit) + (" (vacuous)" if told["limit_vacuous"] else ""), limit),
    }


def estimate(cell: dict[str, Any]) -> str:
    """Return a measured number with its standard error in parentheses."""
    if cell["value"] is None:
        return _formats.DASH
    error = cell["standard_error"]
    return f"{_formats.fixed(cell['value'])} ({_formats.DASH if error is None else _formats.fixed(error)})"
