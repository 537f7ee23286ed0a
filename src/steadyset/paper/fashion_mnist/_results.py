"""The numbers of the Fashion-MNIST experiment, from what its networks predict."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import Certificates, LeftOut, StabilityAudit, audit_bags, audit_models
from steadyset.bags import BagPredictions
from steadyset.guarantees import selection_stability, solve_stability
from steadyset.metrics import Estimate, set_report
from steadyset.paper.fashion_mnist import _printed as printed
from steadyset.paper.fashion_mnist._certified import proved
from steadyset.paper.fashion_mnist._networks import Predictions
from steadyset.plot import compute_epsilon_tradeoff
from steadyset.selection import Argmax, FixedMargin, InflatedArgmax, Rule, rules_side_by_side


def rules(epsilon: float) -> dict[str, Rule]:
    """Return the paper's seven rules, by the names used in every table."""
    printed_names = {name for name, _ in printed.EXTENDED}
    return {rule.display_name: rule for rule in rules_side_by_side(epsilon) if rule.display_name in printed_names}


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that the tables, claims and figures are made of."""

    epsilon: float
    y_test: NDArray[np.intp]
    proba: Mapping[str, NDArray[np.float64]]  # by algorithm: the first base fit, and the mean over bags
    base: NDArray[np.float64]
    sampled: Mapping[tuple[str, str], StabilityAudit]  # by rule and algorithm, over the rows that were drawn
    independent: Mapping[str, StabilityAudit]  # by rule: base fits with a seed of their own
    complete: Mapping[str, StabilityAudit]  # by rule: subbagged, over all rows
    equal: Mapping[str, StabilityAudit]  # by rule: subbagged, equally many bags in every model, over the drawn rows
    certificates: Mapping[str, Certificates]  # by rule: of every test point


def find(
    predictions: Predictions, y_test: NDArray[np.intp], epsilon: float, n_jobs: int | None, kept: Path
) -> Findings:
    """Audit, and certify, what was trained; certificates are kept in a folder."""
    bags, rows = predictions.bags, predictions.rows
    sampled, independent, complete, equal = {}, {}, {}, {}
    for rule in (Argmax(), InflatedArgmax(epsilon)):
        name = rule.display_name
        words = "Fits without each of the drawn rows, with the seed of the fit on all rows."
        sampled[name, "base"] = _refits(predictions, predictions.left_out, rule, words)
        sampled[name, "subbagged"] = audit_bags(bags, rule, left_out=rows, n_jobs=n_jobs)
        complete[name] = audit_bags(bags, rule, n_jobs=n_jobs)
        equal[name] = audit_bags(bags, rule, left_out=rows, averaging="equal", random_state=0, n_jobs=n_jobs)
        if predictions.left_out_independent is not None:
            models = predictions.left_out_independent
            words = f"Fits without each of the first {len(models)} of the drawn rows, each with a seed of its own."
            independent[name] = _refits(predictions, models, rule, words)
    return Findings(
        epsilon,
        y_test,
        {"base": predictions.base[0], "subbagged": bags.mean()},
        predictions.base,
        sampled,
        independent,
        complete,
        equal,
        certified(bags, epsilon, kept),
    )


def certified(bags: BagPredictions, epsilon: float, kept: Path) -> dict[str, Certificates]:
    """Return the certificates of every test point, by rule; they are kept in a folder."""
    return proved(kept, bags, (Argmax(), InflatedArgmax(epsilon), FixedMargin(epsilon)))


def _refits(predictions: Predictions, models: NDArray[np.float64], rule: Rule, words: str) -> StabilityAudit:
    """Audit fits without each of the first rows that were drawn against the first base fit."""
    rows, n = predictions.rows[: len(models)], predictions.bags.bags.n_samples
    left_out = LeftOut(rows, len(rows) < n)
    return audit_models(predictions.base[0], enumerate(models), rule, left_out, algorithm=words, n_samples=n)


def main_table(found: Findings) -> list[dict[str, Any]]:
    """Return the four rows of the first table."""
    rows = []
    for (rule, algorithm), theirs in printed.MAIN.items():
        ours = _measured(found, rule, found.proba[algorithm])
        ours["max_instability"] = Estimate(found.sampled[rule, algorithm].max_instability)
        row: dict[str, Any] = {"rule": rule, "algorithm": algorithm}
        row |= {name: compared(ours[name], *paper) for name, paper in zip(printed.MAIN_COLUMNS, theirs, strict=True)}
        if algorithm == "subbagged":
            row["max_instability_all_rows"] = found.complete[rule].max_instability
        elif rule in found.independent:
            row["max_instability_independent_seeds"] = found.independent[rule].max_instability
        rows.append(row)
    return rows


def extended_table(found: Findings) -> list[dict[str, Any]]:
    """Return the fourteen rows of the extended table."""
    rows = []
    for (rule, algorithm), theirs in printed.EXTENDED.items():
        ours = _measured(found, rule, found.proba[algorithm])
        row: dict[str, Any] = {"rule": rule, "algorithm": algorithm}
        for name, value in zip(printed.COLUMNS, theirs, strict=True):
            row[name] = None if value is None else compared(ours[name], value)
        if row["superfluous_inflation"] is not None:
            by_paper = _measured(found, rule, found.proba[algorithm], "paper")["superfluous_inflation"]
            row["superfluous_inflation"]["standard_error_by_the_papers_formula"] = number(by_paper.standard_error)
        rows.append(row)
    return rows


def _measured(found: Findings, rule: str, proba: NDArray[np.float64], errors: str = "ratio") -> dict[str, Estimate]:
    report = set_report(found.y_test, {rule: rules(found.epsilon)[rule]}, proba, standard_error=errors)
    return {name: report["size" if name == "set_size" else name][0] for name in printed.COLUMNS}


def number(value: float) -> float | None:
    """Return a float that JSON can hold: NaN is null."""
    return float(value) if math.isfinite(value) else None


def compared(ours: Estimate, paper: float, paper_error: float | None = None) -> dict[str, float | None]:
    """Return our value beside the paper's, the difference also in standard errors of ours."""
    difference, error = float(ours) - paper, ours.standard_error
    return {
        "value": number(ours),
        "standard_error": number(error),
        "paper": paper,
        "paper_standard_error": paper_error,
        "difference": number(difference),
        "difference_in_standard_errors": number(difference / error) if error and error > 0 else None,
    }


def base_over_seeds(found: Findings) -> dict[str, Any]:
    """Return what the seed alone does to a base fit: mean and standard deviation over the fits."""
    table: dict[str, Any] = {"n_fits": len(found.base), "rules": {}}
    for rule in rules(found.epsilon):
        fits = [_measured(found, rule, proba) for proba in found.base]
        theirs = zip(printed.COLUMNS, printed.EXTENDED[rule, "base"], strict=True)
        table["rules"][rule] = {
            name: _over_seeds(np.array([float(fit[name]) for fit in fits]), paper) for name, paper in theirs
        }
    return table


def _over_seeds(values: NDArray[np.float64], paper: float | None) -> dict[str, float | None] | None:
    if np.isnan(values).all():
        return None
    mean, deviation = float(values.mean()), float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    away = math.nan if paper is None or not deviation > 0 else (paper - mean) / deviation
    return {
        "mean": mean,
        "standard_deviation": number(deviation),
        "least": float(values.min()),
        "most": float(values.max()),
        "paper": paper,
        "paper_in_standard_deviations_from_the_mean": number(away),
    }


def instability(found: Findings) -> list[dict[str, Any]]:
    """Return what each audit found."""
    how = {"base": "refits with the seed of the fit on all rows", "subbagged": "bags reused"}
    rows = [_audited(rule, algorithm, how[algorithm], audit) for (rule, algorithm), audit in found.sampled.items()]
    for algorithm, words, audits in (
        ("base", "refits, each with its own seed", found.independent),
        ("subbagged", "bags reused", found.complete),
        ("subbagged", "bags reused, the same number in every model", found.equal),
    ):
        rows += [_audited(rule, algorithm, words, audit) for rule, audit in audits.items()]
    return rows


def _audited(rule: str, algorithm: str, words: str, audit: StabilityAudit) -> dict[str, Any]:
    upper = audit.interval(0.95, side="upper", simultaneous=True)[1]
    return {
        "rule": rule,
        "algorithm": algorithm,
        "audit": words,
        "rows_left_out": audit.n_units,
        "points": audit.n_points,
        "max_instability": audit.max_instability,
        "max_instability_upper_95": float(upper.max()),
        "mean_instability": float(audit.instability.mean()),
        "points_ever_in_conflict": int((audit.instability > 0).sum()),
        "points_above_one_half": int((audit.instability > 0.5).sum()),
        "conflicting_pairs": int(audit.n_conflicts.sum()),
        "pairs": audit.n_units * audit.n_points,
        "mean_jaccard": float(audit.jaccard.mean()),
    }


def promises(
    bags: BagPredictions, epsilon: float, certificates: Mapping[str, Certificates], complete: StabilityAudit
) -> dict[str, Any]:
    """Return what is proved, beside what the audit of the inflated argmax over all rows observed."""
    n_bags = bags.n_bags
    setting: dict[str, Any] = {
        "n_samples": bags.bags.n_samples,
        "epsilon": epsilon,
        "bag_size": bags.bags.bag_size,
        "n_classes": len(bags.classes),
    }
    limit = selection_stability(**setting, theorem="paper")
    paper_finite = selection_stability(**setting, n_bags=n_bags, theorem="paper")
    best = selection_stability(**setting, n_bags=n_bags)
    own = certificates["inflated argmax"]
    shares = own.overview
    return {
        "infinitely_many_bags": {"delta": limit.delta, "theorem": limit.theorem, "paper": printed.GUARANTEE},
        "these_bags": {"delta": best.delta, "vacuous": best.vacuous, "theorem": best.theorem, "words": str(best)},
        "these_bags_by_the_paper": {"delta": paper_finite.delta, "vacuous": paper_finite.vacuous},
        "bags_that_reach_delta": {f"{delta:g}": _bags_for(delta, setting) for delta in (0.05, 0.1)},
        "observed_max_instability_all_rows": complete.max_instability,
        "certificates": {
            "points": own.n_points,
            "alpha": own.alpha,
            "no_row_conflicts": shares.no_row,
            "vacuous": shares.vacuous,
            "median_bound": shares.median,
            "no_row_conflicts_at_all_points_at_once": shares.no_row_at_once,
            "theorem_6_no_row_conflicts": shares.cleared_points,
            "theorem_6_rows_cleared": shares.cleared_rows,
            "words": own.summary(),
        },
        "proved": [_proved(rule, proofs) for rule, proofs in certificates.items()],
    }


def _proved(rule: str, certificates: Certificates) -> dict[str, Any]:
    """Return the shares of points, and of rows at a point, of which something is proved under a rule."""
    shares = certificates.overview
    return {
        "rule": rule,
        "points": certificates.n_points,
        "rows": certificates.n_samples,
        "confidence": 1 - certificates.alpha,
        "theorem_4_points_without_a_conflict": shares.no_row,
        "theorem_4_points_without_a_conflict_all_at_once": shares.no_row_at_once,
        "theorem_4_rows_cleared": float(1 - certificates.bound.mean()),
        "theorem_4_points_vacuous": shares.vacuous,
        "theorem_6_points_without_a_conflict": shares.cleared_points,
        "theorem_6_rows_cleared": shares.cleared_rows,
        "rows_that_may_change_at_the_median_point": shares.median_poisoning,
        "rows_that_may_change_at_the_most_robust_point": shares.most_poisoning,
    }


def _bags_for(delta: float, setting: Mapping[str, Any]) -> int | None:
    try:
        return int(solve_stability("n_bags", delta=delta, **setting))
    except ValueError:  # no number of bags reaches it: what is left is the influence of a row
        return None


def epsilon_grid(found: Findings) -> list[float]:
    """Return where the trade-off over epsilon is looked at."""
    grid: list[float] = np.geomspace(max(found.complete["argmax"].epsilon_floor, 1e-3), 0.5, 60).tolist()
    return grid


def along_epsilon(found: Findings, look: Callable[..., Any], **options: Any) -> Any:
    """Compute, or draw, the trade-off over epsilon of the subbagged inflated argmax, audited over all rows."""
    proba, audit = found.proba["subbagged"], found.complete["argmax"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs within rounding of a grid point: the curve does not show one pair
        return look(proba, found.y_test, audit=audit, epsilons=epsilon_grid(found), **options)


def tradeoff(found: Findings) -> dict[str, Any]:
    """Return the subbagged inflated argmax over epsilon: accuracy, size and instability over all rows."""
    curve = along_epsilon(found, compute_epsilon_tradeoff)
    return {
        "epsilon": curve.epsilons.tolist(),
        "set_size": curve.set_size.tolist(),
        "correct_single": curve.correct_single.tolist(),
        "max_instability": [number(value) for value in curve.instability],
    }
