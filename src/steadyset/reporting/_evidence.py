"""Everything a report says, computed by the library at the rule and epsilon asked for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset._base.label_sets import label_pairs
from steadyset.audit import AuditOptions, CertificateOverview, Certificates, CertifyRun, StabilityAudit
from steadyset.bags import BagPredictions
from steadyset.guarantees import Guarantee
from steadyset.metrics import ScoreTable, by_pair, mean_set_size, set_report
from steadyset.reporting import _slider
from steadyset.reporting._coverage import Covering, CoveringPass
from steadyset.reporting._inputs import Inputs
from steadyset.selection import FixedMargin, InflatedArgmax, Rule, rule_name, rules_side_by_side

_PAIRS_PER_RULE = 1_000_000  # pairs of a point and a row up to which rules without an epsilon-path are audited too
_PAIRS_CERTIFIED = 30_000_000  # seconds for 1,000 bags
_CERTIFIED_POINTS = (100, 1_000)  # at least, whatever the rows; at most
_SAMPLE_SEED = 1
_OTHER_EPSILONS = (0.25, 0.5, 2.0, 4.0)  # times the rule's own: where the certain statements are worked out too


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
    leading: NDArray[np.intp]  # the rows to look at first, as numbers of the audit's units
    certain_at: dict[float, CertificateOverview]  # what is proved at several epsilons, the rule's own among them
    covering: Covering | None  # where a coverage was asked for


#: The two rules that the slider moves, by their names on the page.
INFLATED, MARGIN = InflatedArgmax().display_name, FixedMargin().display_name
_OWN = "in use"  # the audit of the rule in use, where it is not the inflated argmax


def collect(inputs: Inputs, alpha: float, n_jobs: int | None, coverage: float | None = None) -> Evidence:
    """Audit, measure and certify, in one pass over the points."""
    epsilon, source, n_classes = inputs.epsilon, inputs.source, len(inputs.classes)
    rules = _rules(inputs)
    runs = _audit_runs(rules, inputs, n_jobs)
    proofs = _Proofs(inputs, alpha)
    covering = None if coverage is None else CoveringPass(inputs, coverage, n_jobs)
    means, first = [], 0
    for block in inputs.blocks():
        means.append(block.mean())
        for run in runs.values():
            run.add(block)
        proofs.add(block, first)
        if covering is not None:
            covering.add(block)
        first += block.n_points
    audits = {name: run.result() for name, run in runs.items()}
    proba, path = np.concatenate(means), audits[INFLATED]
    own = path if inputs.moves else audits[_OWN]
    sets = validation.rule_mask(inputs.rule, proba)
    rules = {name: sets if rule is None else rule for name, rule in rules.items()}
    entries, last = _slider.entries(proba, epsilon), _slider.last_conflicts(path)
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
        instability={name: _instability(name, rule, audits, inputs) for name, rule in rules.items()},
        pairs=_pairs(InflatedArgmax(epsilon)(proba), inputs),
        guarantee=source.guarantee(inputs.rule, n_classes),
        limit=source.guarantee(inputs.rule, n_classes, limit=True),
        certificates=proofs.result(),
        certified=proofs.points,
        leading=source.leading_rows(path, epsilon),
        certain_at=proofs.at_epsilons(),
        covering=None if covering is None else covering.result(sets, proba, inputs),
    )


def _rules(inputs: Inputs) -> dict[str, Any]:
    """Return the rules side by side, by the names that the page gives them; the one in use has its own line.

    None stands for a rule in use that is none of the others.
    """
    rules: dict[str, Any] = {rule.display_name: rule for rule in rules_side_by_side(inputs.epsilon)}
    if not inputs.moves and inputs.rule not in rules.values():
        rules[f"in use: {rule_name(inputs.rule)}"] = None
    return rules


def _audit_runs(rules: dict[str, Any], inputs: Inputs, n_jobs: int | None) -> dict[str, Any]:
    """Return the audits to make: of the inflated argmax, of the rule in use, and of others where they are cheap.

    The fixed margin's is never made: its sets hold those of the inflated argmax, so that theirs bounds it.
    """
    options = AuditOptions(random_state=0, n_jobs=n_jobs)
    asked: dict[str, Any] = {INFLATED: InflatedArgmax(inputs.epsilon)}
    if not inputs.moves:
        asked[_OWN] = inputs.rule
    if inputs.n_points * inputs.bags.n_samples <= _PAIRS_PER_RULE:
        for name, rule in rules.items():
            if rule is not None and rule.path_epsilon is None and name != MARGIN and rule != inputs.rule:
                asked[name] = rule
    return {name: inputs.source.audit_run(rule, inputs.n_points, options) for name, rule in asked.items()}


def _scores(rules: dict[str, Any], proba: NDArray[np.float64], inputs: Inputs) -> ScoreTable:
    masks = {name: rule(proba) if isinstance(rule, Rule) else rule for name, rule in rules.items()}
    if inputs.columns is not None:
        return set_report(inputs.columns, masks, proba)
    rows = tuple((name, mean_set_size(mask)) for name, mask in masks.items())
    return ScoreTable(("rule", "size"), rows, ("", "lower"))


def _instability(name: str, rule: Any, audits: dict[str, StabilityAudit], inputs: Inputs) -> float | None:
    """Return a rule's largest instability, None where it was not measured."""
    path = audits[INFLATED]
    if name == INFLATED:
        return path.max_instability
    if isinstance(rule, Rule) and rule.path_epsilon is not None:
        on_path = rule.path_epsilon >= path.epsilon_floor
        return float(path.at(rule.path_epsilon).max()) if on_path else None
    if not isinstance(rule, Rule) or rule == inputs.rule:
        return audits[_OWN].max_instability
    return audits[name].max_instability if name in audits else None


def _pairs(sets: NDArray[np.bool_], inputs: Inputs) -> list[dict[str, Any]]:
    """Return the pairs of labels that share sets, as columns, the most common first."""
    if inputs.columns is not None:
        table = by_pair(inputs.columns, sets)
        return [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    counts, pairs = label_pairs(sets)
    return [{"pair": pair, "n_sets": int(counts[pair])} for pair in pairs]


class _Proofs:
    """The certificates of the points, or of a sample of them where there are many; or why there are none."""

    def __init__(self, inputs: Inputs, alpha: float) -> None:
        n, (least, most) = inputs.n_points, _CERTIFIED_POINTS
        wanted = min(n, max(least, min(most, _PAIRS_CERTIFIED // inputs.bags.n_samples)))
        self.points = np.arange(n)
        if wanted < n:
            self.points = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(n, wanted, replace=False))
        self._run: CertifyRun | str
        self._others: dict[float, CertifyRun] = {}
        try:
            self._run = inputs.source.certify_run(inputs.rule, alpha, wanted)
            if inputs.moves and inputs.bags.coupling == "hash" and inputs.epsilon > 0:
                top = _slider.slider_top(inputs.epsilon)
                for epsilon in (factor * inputs.epsilon for factor in _OTHER_EPSILONS):
                    if epsilon <= top:
                        rule = InflatedArgmax(epsilon)
                        self._others[epsilon] = CertifyRun(inputs.bags, rule, alpha, wanted)
        except (TypeError, ValueError) as error:
            self._run = f"No certificates: {error}"
        self._own_epsilon = inputs.epsilon

    def add(self, block: BagPredictions, first: int) -> None:
        """Certify those of the points that are in the block, whose first point has this number."""
        here = self.points[(self.points >= first) & (self.points < first + block.n_points)] - first
        if isinstance(self._run, str) or len(here) == 0:
            return
        some = block if len(here) == block.n_points else block.at_points(here)
        try:
            for run in (self._run, *self._others.values()):
                run.add(some)
        except (TypeError, ValueError) as error:
            self._run = f"No certificates: {error}"

    def at_epsilons(self) -> dict[float, CertificateOverview]:
        """Return what is proved at the rule's own epsilon and at others, the smallest first."""
        if isinstance(self._run, str) or not self._others:
            return {}
        runs = {**self._others, self._own_epsilon: self._run}
        return {epsilon: runs[epsilon].result().overview for epsilon in sorted(runs)}

    def result(self) -> Certificates | str:
        """Return the certificates, or in a sentence why there are none."""
        return self._run if isinstance(self._run, str) else self._run.result()


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
