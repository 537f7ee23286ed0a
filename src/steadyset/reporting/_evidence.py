"""Everything a report says, computed by the library at the rule and epsilon asked for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.label_sets import label_pairs
from steadyset.audit import Certificates, StabilityAudit, audit_bags, certify
from steadyset.bags import BagPredictions
from steadyset.guarantees import Guarantee
from steadyset.metrics import ScoreTable, by_pair, mean_set_size, set_report
from steadyset.reporting import _bound, _slider
from steadyset.reporting._inputs import Inputs
from steadyset.selection import (
    Argmax,
    FixedMargin,
    InflatedArgmax,
    Rule,
    rule_name,
    rules_side_by_side,
    stability_radius,
)

_PAIRS_PER_RULE = 1_000_000  # pairs of a point and a row up to which rules without an epsilon-path are audited too
_PAIRS_CERTIFIED = 3_000_000
_CERTIFIED_POINTS = (100, 1_000)  # at least, whatever the rows; at most
_SAMPLE_SEED = 1


@dataclass(frozen=True)
class Evidence:
    """What was found; `path` is the audit of the inflated argmax, `own` that of the rule in use, often the same."""

    inputs: Inputs
    proba: NDArray[np.float64]
    sets: NDArray[np.bool_]
    path: StabilityAudit
    own: StabilityAudit
    entries: _slider.Entries
    last: NDArray[np.float64]
    steps: _slider.Steps
    rules: dict[str, Any]
    scores: ScoreTable
    instability: dict[str, float | None]
    pairs: list[dict[str, Any]]
    guarantee: Guarantee | str
    limit: Guarantee | str
    certificates: Certificates | str
    certified: NDArray[np.intp]
    lead: NDArray[np.float64]


#: The two rules that the slider moves, by their names on the page.
INFLATED, MARGIN = InflatedArgmax().display_name, FixedMargin().display_name


def collect(inputs: Inputs, alpha: float, n_jobs: int | None) -> Evidence:
    """Audit, measure and certify."""
    predictions, epsilon = inputs.predictions, inputs.epsilon
    proba = predictions.mean()
    path = audit_bags(predictions, InflatedArgmax(epsilon), random_state=0, n_jobs=n_jobs)
    own = path if inputs.moves else audit_bags(predictions, inputs.rule, random_state=0, n_jobs=n_jobs)
    sets = validation.rule_mask(inputs.rule, proba)
    entries, last = _slider.entries(proba, epsilon), _slider.last_conflicts(path)
    rules = _rules(inputs, sets)
    bags, n_classes = predictions.bags, predictions.n_classes
    certificates, certified = _certify(predictions, inputs.rule, alpha)
    return Evidence(
        inputs=inputs,
        proba=proba,
        sets=sets,
        path=path,
        own=own,
        entries=entries,
        last=last,
        steps=_slider.steps(entries, path, last, epsilon),
        rules=rules,
        scores=_scores(rules, proba, inputs),
        instability=_instabilities(rules, path, own, inputs, n_jobs),
        pairs=_pairs(InflatedArgmax(epsilon)(proba), inputs),
        guarantee=_bound.guarantee(bags, inputs.rule, n_classes),
        limit=_bound.guarantee(bags, inputs.rule, n_classes, limit=True),
        certificates=certificates,
        certified=certified,
        lead=np.asarray(stability_radius(proba, Argmax())),
    )


def _rules(inputs: Inputs, sets: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the rules side by side, by the names that the page gives them; the one in use has its own line."""
    rules: dict[str, Any] = {rule.display_name: rule for rule in rules_side_by_side(inputs.epsilon)}
    if not inputs.moves and inputs.rule not in rules.values():
        rules[f"in use: {rule_name(inputs.rule)}"] = sets
    return rules


def _scores(rules: dict[str, Any], proba: NDArray[np.float64], inputs: Inputs) -> ScoreTable:
    masks = {name: rule(proba) if isinstance(rule, Rule) else rule for name, rule in rules.items()}
    if inputs.columns is not None:
        return set_report(inputs.columns, masks, proba)
    rows = tuple((name, mean_set_size(mask)) for name, mask in masks.items())
    return ScoreTable(("rule", "size"), rows, ("", "lower"))


def _instabilities(
    rules: dict[str, Any], path: StabilityAudit, own: StabilityAudit, inputs: Inputs, n_jobs: int | None
) -> dict[str, float | None]:
    """Return each rule's largest instability, None where it was not measured.

    The fixed margin's is not: its sets hold those of the inflated argmax, so that theirs bounds it.
    """
    cheap = path.n_points * path.n_units <= _PAIRS_PER_RULE
    found: dict[str, float | None] = {}
    for name, rule in rules.items():
        if name == INFLATED:
            found[name] = path.max_instability
        elif isinstance(rule, Rule) and rule.path_epsilon is not None:
            on_path = rule.path_epsilon >= path.epsilon_floor
            found[name] = float(path.at(rule.path_epsilon).max()) if on_path else None
        elif not isinstance(rule, Rule) or rule == inputs.rule:
            found[name] = own.max_instability
        elif name == MARGIN or not cheap:
            found[name] = None
        else:
            found[name] = audit_bags(inputs.predictions, rule, random_state=0, n_jobs=n_jobs).max_instability
    return found


def _pairs(sets: NDArray[np.bool_], inputs: Inputs) -> list[dict[str, Any]]:
    """Return the pairs of labels that share sets, as columns, the most common first."""
    if inputs.columns is not None:
        table = by_pair(inputs.columns, sets)
        return [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    counts, pairs = label_pairs(sets)
    return [{"pair": pair, "n_sets": int(counts[pair])} for pair in pairs]


def _certify(predictions: BagPredictions, rule: Any, alpha: float) -> tuple[Certificates | str, NDArray[np.intp]]:
    """Return the certificates of the points, or of a sample of them where there are many; or why there are none."""
    n = predictions.n_points
    least, most = _CERTIFIED_POINTS
    wanted = min(n, max(least, min(most, _PAIRS_CERTIFIED // predictions.bags.n_samples)))
    points = np.arange(n)
    if wanted < n:
        points = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(n, wanted, replace=False))
        predictions = predictions.at_points(points)
    try:
        return certify(predictions, rule, alpha), points
    except (TypeError, ValueError) as error:
        return f"No certificates: {error}", points


def conflict_numbers(audit: StabilityAudit, epsilon: float | None = None) -> dict[str, Any]:
    """Return an audit in plain numbers, at its own epsilon or at another."""
    found = audit.instability if epsilon is None else audit.at(epsilon)
    counts = audit.n_conflicts if epsilon is None else np.rint(found * audit.n_units).astype(np.int64)
    return {
        "conflicts": int(counts.sum()),
        "pairs": audit.n_points * audit.n_units,
        "points_in_conflict": int((counts > 0).sum()),
        "max_instability": float(found.max()),
        "max_rows": int(counts.max()),
        "mean_instability": float(found.mean()),
    }
