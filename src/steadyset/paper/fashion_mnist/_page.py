"""The Fashion-MNIST experiment as a Markdown page: our numbers beside the paper's."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_NAMES = {
    "correct_single": "correct single ↑",
    "set_size": "set size ↓",
    "u65": "u65 ↑",
    "u80": "u80 ↑",
    "superfluous_inflation": "superfluous inflation ↓",
}


_REASONS = (
    "Two numbers depend on choices that the paper leaves open. The largest instability of the subbagged "
    "argmax: where every model averages all bags that it may, the models with and without a row share about "
    "half of their bags, and a near tie falls the other way for about half of the rows at most; where the full "
    "model averages fewer bags, its own draw can be the odd one out, and nearly every row then seems to flip "
    "it. The base model is one fit: the table over seeds shows what its seed does."
)


def main_table(results: Mapping[str, Any]) -> str:
    """Return the first table: ours (standard error), and the paper's after a slash."""
    count, n = results["configuration"]["left_out"], results["configuration"]["n_samples"]
    rows = []
    for row in results["main_table"]:
        every = row.get("max_instability_all_rows")
        rows.append(
            {
                "rule": row["rule"],
                "algorithm": row["algorithm"],
                "correct single ↑": _beside(row["correct_single"]),
                "set size ↓": _beside(row["set_size"]),
                f"max instability, {count:,} rows ↓": _beside(row["max_instability"]),
                f"max instability, all {n:,} rows ↓": "–" if every is None else f"{every:.4f}",
            }
        )
    return _table(rows)


def page(results: Mapping[str, Any]) -> str:
    """Return the whole page."""
    setting, times = results["configuration"], results["times"]
    parts = [
        "# Fashion-MNIST: the paper's experiment, run again",
        f"{setting['n_bags']:,} bags of {setting['bag_size']:,} of {setting['n_samples']:,} rows, "
        f"{setting['left_out']:,} left-out fits, {setting['base_fits']} base fits, {setting['epochs']} epochs, "
        f"batch {setting['batch_size']}, learning rate {setting['learning_rate']:g}, momentum {setting['momentum']:g}, "
        f"epsilon {setting['epsilon']:g}, seed {setting['seed']}. Made by `{results['command']}`.",
        _times(times),
        "Every cell is ours (standard error) / the paper's.",
        "## The first table",
        main_table(results),
        _instability(results["instability"]),
        _REASONS,
        "## The extended table",
        _metrics_table(results["extended_table"], _beside),
        "The standard error of superfluous inflation is that of a ratio; the paper divides by all test points instead "
        "of those with two labels or more, which makes its own too small.",
        "## Differences in standard errors",
        "Ours less the paper's, over our standard error. Both have the same test set, so that the test points' noise "
        "is shared and a difference comes from training alone.",
        _metrics_table(results["extended_table"], _difference),
        "## The base model over its seeds",
        _over_seeds(results["base_fits"]),
        "## Claims of the paper",
        _claims(results["claims"]),
        "## What is proved",
        _promises(results["promises"]),
        "## Where the paper's two tables disagree",
        _disagreements(results["disagreements"]),
    ]
    return "\n\n".join(parts) + "\n"


def _beside(cell: Mapping[str, Any] | None) -> str:
    if cell is None or cell["value"] is None:
        return "–"
    error = "" if cell["standard_error"] is None else f" ({cell['standard_error']:.3f})"
    return f"{cell['value']:.3f}{error} / {cell['paper']:.3f}"


def _table(rows: Iterable[Mapping[str, str]]) -> str:
    """Return rows by the names of their columns as a table."""
    cells = list(rows)
    lines = ["| " + " | ".join(cells[0]) + " |", "|" + "|".join(["---"] * len(cells[0])) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row.values()) + " |" for row in cells)])


def _times(times: Mapping[str, Any]) -> str:
    rows = [
        (stage, f"{part['wall_seconds'] / 60:.1f}", f"{part['cpu_seconds'] / 60:.1f}")
        for stage, part in times["stages"].items()
    ]
    rows.append(("**all**", f"**{times['wall_minutes']:.1f}**", f"**{times['cpu_minutes']:.1f}**"))
    table = _table(dict(zip(("stage", "wall minutes", "CPU minutes"), row, strict=True)) for row in rows)
    intro = f"On {times['threads']} threads, {times['cpu']} (the paper: {times['paper']}):"
    part = times["wall_minutes_of_the_papers_part"]
    without = f"Without the fits with independent seeds, which the paper has not: {part:.1f} minutes."
    return "\n\n".join([intro, table, *([without] if part < times["wall_minutes"] else [])])


def _instability(rows: Sequence[Mapping[str, Any]]) -> str:
    return _table(
        {
            "rule": row["rule"],
            "algorithm": row["algorithm"],
            "audit": row["audit"],
            "rows left out": f"{row['rows_left_out']:,}",
            "largest": f"{row['max_instability']:.4f}",
            "mean": f"{row['mean_instability']:.6f}",
            "points ever in conflict": f"{row['points_ever_in_conflict']:,} of {row['points']:,}",
            "conflicting pairs": f"{row['conflicting_pairs']:,} of {row['pairs']:,}",
        }
        for row in rows
    )


def _metrics_table(rows: Iterable[Mapping[str, Any]], cell: Callable[[Mapping[str, Any] | None], str]) -> str:
    """Return what `cell` says of each metric, after the columns that name the row."""
    return _table(
        {name: row[name] for name in ("rule", "algorithm") if name in row}
        | {shown: cell(row[name]) for name, shown in _NAMES.items()}
        for row in rows
    )


def _difference(cell: Mapping[str, Any] | None) -> str:
    apart = None if cell is None else cell["difference_in_standard_errors"]
    return "–" if apart is None else f"{apart:+.1f}"


def _over_seeds(fits: Mapping[str, Any]) -> str:
    def cell(found: Mapping[str, Any] | None) -> str:
        if found is None:
            return "–"
        deviation = found["standard_deviation"]
        paper = "–" if found["paper"] is None else f"{found['paper']:.3f}"
        return f"{found['mean']:.3f} ± {0 if deviation is None else deviation:.3f} / {paper}"

    intro = (
        f"Mean ± standard deviation over {fits['n_fits']} fits that differ in their seed only / the paper's one fit."
    )
    rows = ({"rule": rule, **entry} for rule, entry in fits["rules"].items())
    return intro + "\n\n" + _metrics_table(rows, cell)


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    return _table(
        {
            "": "held" if claim["held"] else "**did not hold**",
            "claim": claim["claim"],
            "put to the test as": claim["test"],
            "our figures": _figures(claim["figures"]),
        }
        for claim in claims
    )


def _figures(figures: Mapping[str, Any]) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, Mapping):
            return "; ".join(f"{name} {shown(part)}" for name, part in value.items())
        if isinstance(value, list):
            return ", ".join(map(str, value)) or "none"
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    return "; ".join(f"{name.replace('_', ' ')} {shown(value)}" for name, value in figures.items())


def _promises(promises: Mapping[str, Any]) -> str:
    limit, now, proved = promises["infinitely_many_bags"], promises["these_bags"], promises["certificates"]
    paper = promises["these_bags_by_the_paper"]
    needed = ", ".join(
        f"{'no number' if count is None else f'{count:,}'} for {delta}"
        for delta, count in promises["bags_that_reach_delta"].items()
    )
    vacuous = " (vacuous)" if paper["vacuous"] else ""
    return "\n".join(
        [
            f"- In the limit of infinitely many bags: delta = {limit['delta']:.4f} (printed: {limit['paper']}).",
            f"- For these bags, on average over their draw: {now['words']}",
            f"- The paper's own theorem for these bags: delta = {paper['delta']:.3g}{vacuous}. Bags that reach a delta "
            f"by the sharpest theorem: {needed}.",
            f"- Observed over all rows: {promises['observed_max_instability_all_rows']:.4g}.",
            *(f"- {line}" for line in proved["words"].splitlines()),
            "",
            _proved(promises["proved"]),
        ]
    )


def _proved(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the shares of points and rows of which it is proved that nothing makes the sets disjoint."""
    first = rows[0]
    words = (
        f"Of all {first['points']:,} test points, and of the {first['rows']:,} rows at a point on average, the share "
        f"of which it is proved that leaving out a row makes no disjoint set: with confidence {first['confidence']:g} "
        "at each point against infinitely many bags (Theorem 4), and for certain against the refitted ensemble "
        "(Theorem 6)."
    )
    return "\n\n".join(
        [
            words,
            _table(
                {
                    "rule": row["rule"],
                    "Theorem 4: points": _percent(row["theorem_4_points_without_a_conflict"]),
                    "all points at once": _percent(row["theorem_4_points_without_a_conflict_all_at_once"]),
                    "rows": _percent(row["theorem_4_rows_cleared"]),
                    "nothing said": _percent(row["theorem_4_points_vacuous"]),
                    "Theorem 6: points": _percent(row["theorem_6_points_without_a_conflict"]),
                    "rows ": _percent(row["theorem_6_rows_cleared"]),
                    "rows that may change, median and most": f"{row['rows_that_may_change_at_the_median_point']:,} and "
                    f"{row['rows_that_may_change_at_the_most_robust_point']:,}",
                }
                for row in rows
            ),
        ]
    )


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _disagreements(rows: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        f"- {row['what']}: {row['first_table']} in the first, {row['extended_table']} in the extended table. "
        f"Compared: {row['compared_with']}."
        for row in rows
    )
