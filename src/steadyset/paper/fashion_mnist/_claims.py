"""The claims of the paper's Results paragraphs, each held against our numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steadyset.paper.fashion_mnist._results import Findings, number, rules

Row = Mapping[str, Any]


def claims(found: Findings, main: Sequence[Row], extended: Sequence[Row], delta: float) -> list[dict[str, Any]]:
    """Return every claim with the test it is put to, our figures, and whether it held."""
    sections = (
        ("Experiments", _stability(found)),
        ("Additional experiments", [_bound(found, delta)]),
        ("Experiments", _cost(found, main)),
        ("Additional experiments", _rivals(extended)),
    )
    return [{"section": section, **claim} for section, made in sections for claim in made]


def _claim(claim: str, test: str, figures: Mapping[str, Any], held: bool) -> dict[str, Any]:
    finite = {k: number(v) if isinstance(v, float) else v for k, v in figures.items()}
    return {"claim": claim, "test": test, "figures": finite, "held": bool(held)}


def _stability(found: Findings) -> list[dict[str, Any]]:
    of = {key: audit.instability for key, audit in found.sampled.items()}
    curves = {key: audit.survival(np.arange(100) / 100)[1] for key, audit in found.sampled.items()}
    means = {f"{rule}, {algorithm}": float(values.mean()) for (rule, algorithm), values in of.items()}
    base, bagged, both = of["argmax", "base"], of["argmax", "subbagged"], of["inflated argmax", "subbagged"]
    kept, cut = (
        float(values.mean() / base.mean()) if base.any() else 1.0 for values in (of["inflated argmax", "base"], bagged)
    )
    slack = 0.001
    above = max(float((curve - curves["argmax", "base"]).max()) for curve in curves.values())
    over = float((curves["argmax", "subbagged"] - curves["inflated argmax", "base"]).max())
    return [
        _claim(
            "The argmax of the base algorithm has the longest tail of instability.",
            f"no other survival curve exceeds its own by more than {slack} at any threshold",
            {"largest_excess_of_another_curve": above, "mean_instability": means},
            above <= slack,
        ),
        _claim(
            "The inflated argmax of the base algorithm is only a very small improvement.",
            "at least three quarters of the base argmax's mean instability remain",
            {"share_that_remains": kept},
            0.75 <= kept <= 1,
        ),
        _claim(
            "The argmax of the subbagged algorithm is a much more substantial improvement.",
            f"less than half of the mean instability remains, and its curve is below both of the base algorithm's "
            f"within {slack}",
            {"share_that_remains": cut, "largest_excess_over_the_base_inflated_argmax": over},
            cut < 0.5 and over <= slack,
        ),
        _claim(
            "Some of the largest instabilities of the subbagged argmax are near 1.",
            "the largest is above 0.9",
            {
                "largest": float(bagged.max()),
                "over_all_rows": found.complete["argmax"].max_instability,
                "with_the_same_number_of_bags_in_every_model": found.equal["argmax"].max_instability,
            },
            bagged.max() > 0.9,
        ),
        _claim(
            "The subbagged inflated argmax has instability 0 at every test point.",
            "no conflict over the rows that were drawn",
            {
                "largest": float(both.max()),
                "conflicting_pairs": len(found.sampled["inflated argmax", "subbagged"].conflicts()[0]),
            },
            not both.any(),
        ),
    ]


def _bound(found: Findings, delta: float) -> dict[str, Any]:
    largest = found.complete["inflated argmax"].max_instability
    return _claim(
        "The theorem bounds the instability of every test point by about 0.006 (infinitely many bags).",
        "the largest instability of the subbagged inflated argmax, over all rows, is at most the bound",
        {"bound": delta, "largest_over_all_rows": largest},
        largest <= delta,
    )


def _cost(found: Findings, main: Sequence[Row]) -> list[dict[str, Any]]:
    right, size = (
        {(row["rule"], row["algorithm"]): float(row[metric]["value"]) for row in main}
        for metric in ("correct_single", "set_size")
    )
    lost = {a: right["argmax", a] - right["inflated argmax", a] for a in ("base", "subbagged")}
    grown = {a: size["inflated argmax", a] - 1 for a in ("base", "subbagged")}
    ours, original = right["inflated argmax", "subbagged"], right["argmax", "base"]
    fits = [float((proba.argmax(axis=1) == found.y_test).mean()) for proba in found.base]
    singles = float((rules(found.epsilon)["inflated argmax"](found.proba["subbagged"]).sum(axis=1) == 1).mean())
    return [
        _claim(
            "The inflated argmax costs little: in correct-single and in set size, for both algorithms.",
            "less than 0.02 of correct-single is lost, and the mean size grows by less than 0.04, but both do change",
            {"correct_single_lost": lost, "set_size_gained": grown},
            all(0 < x < 0.02 for x in lost.values()) and all(0 < x < 0.04 for x in grown.values()),
        ),
        _claim(
            "With subbagging, the inflated argmax improves upon the correct-single of the original method.",
            "its correct-single is above that of the base argmax",
            {
                "subbagged_inflated_argmax": ours,
                "base_argmax": original,
                "mean_over_base_fits": float(np.mean(fits)),
                "share_of_base_fits_below": float(np.mean(np.less(fits, ours))),
            },
            ours > original,
        ),
        _claim(
            "The subbagged inflated argmax returns a single label in the vast majority of cases.",
            "more than 0.95 of the sets have one label",
            {"share": singles},
            singles > 0.95,
        ),
    ]


def _rivals(extended: Sequence[Row]) -> list[dict[str, Any]]:
    rows = {(row["rule"], row["algorithm"]): row for row in extended}
    others = sorted({rule for rule, _ in rows} - {"argmax", "inflated argmax"})
    better, smaller, lowest = [], [], []
    for algorithm in ("base", "subbagged"):
        ours = rows["inflated argmax", algorithm]
        for other in others:
            theirs = rows[other, algorithm]
            better.append(_clear(ours["correct_single"], theirs["correct_single"]))
            smaller.append(_clear(theirs["set_size"], ours["set_size"]))
            lowest.append(_above(theirs["superfluous_inflation"], ours["superfluous_inflation"]))
    bagged = rows["inflated argmax", "subbagged"]
    u65, best65 = bagged["u65"], rows["SVBOP u65", "subbagged"]["u65"]
    apart = abs(best65["value"] - u65["value"]) / u65["standard_error"] if u65["standard_error"] else 0.0
    below = [other for other in others if _clear(rows[other, "subbagged"]["u80"], bagged["u80"]) > 2]
    return [
        *(
            _claim(
                f"The inflated argmax has significantly {what} than every other set-valued rule.",
                "by more than two standard errors, for both algorithms",
                {"least_difference_in_standard_errors": least},
                least > 2,
            )
            for what, least in (("higher precision (correct-single)", min(better)), ("smaller sets", min(smaller)))
        ),
        _claim(
            "The inflated argmax has the lowest superfluous inflation.",
            "lower than each other rule's, for both algorithms",
            {"least_difference": min(lowest)},
            min(lowest) > 0,
        ),
        _claim(
            "The u65 of the subbagged inflated argmax is within two standard errors of SVBOP's, which optimises it.",
            "the two differ by at most two standard errors",
            {"difference_in_standard_errors": apart},
            apart <= 2,
        ),
        _claim(
            "The inflated argmax has a significantly lower u80 than many of the competing methods.",
            "by more than two standard errors than at least three of the five, for the subbagged algorithm",
            {"rules_with_a_higher_u80": below},
            len(below) >= 3,
        ),
    ]


def _clear(higher: Row, lower: Row) -> float:
    """Return by how many standard errors one value exceeds another, as if they were independent."""
    error = np.hypot(higher["standard_error"] or 0.0, lower["standard_error"] or 0.0)
    difference = higher["value"] - lower["value"]
    return float(difference / error) if error > 0 else float(np.copysign(1e9, difference))


def _above(higher: Row, lower: Row) -> float:
    if higher["value"] is None or lower["value"] is None:
        return float("-inf")
    return float(higher["value"] - lower["value"])
