"""The Fashion-MNIST experiment as a Markdown page: our numbers beside the paper's."""

from collections.abc import Callable, Mapping, Sequence
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
    count = results["configuration"]["left_out"]
    n = results["configuration"]["n_samples"]
    header = (
        "rule",
        "algorithm",
        "correct single ↑",
        "set size ↓",
        f"max instability, {count:,} rows ↓",
        f"max instability, all {n:,} rows ↓",
    )
    rows = []
    for row in results["main_table"]:
        instability = row["max_instability"]
        every = row.get("max_instability_all_rows")
        rows.append(
            (
                row["rule"],
                row["algorithm"],
                _beside(row["correct_single"]),
                _beside(row["set_size"]),
                f"{instability['value']:.3f} / {instability['paper']:.3f}",
                "–" if every is None else f"{every:.4f}",
            )
        )
    return _table(header, rows)


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
        _extended(results["extended_table"]),
        "The standard error of superfluous inflation is that of a ratio; the paper divides by all test points instead "
        "of those with two labels or more, which makes its own too small.",
        "## Differences in standard errors",
        "Ours less the paper's, over our standard error. Both have the same test set, so that the test points' noise "
        "is shared and a difference comes from training alone.",
        _differences(results["extended_table"]),
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


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(["---"] * len(header)) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _times(times: Mapping[str, Any]) -> str:
    rows = [
        (stage, f"{part['wall_seconds'] / 60:.1f}", f"{part['cpu_seconds'] / 60:.1f}")
        for stage, part in times["stages"].items()
    ]
    rows.append(("**all**", f"**{times['wall_minutes']:.1f}**", f"**{times['cpu_minutes']:.1f}**"))
    intro = f"On {times['threads']} threads, {times['cpu']} (the paper: {times['paper']}):"
    part = times["wall_minutes_of_the_papers_part"]
    without = f"Without the fits with independent seeds, which the paper has not: {part:.1f} minutes."
    parts = [intro, _table(("stage", "wall minutes", "CPU minutes"), rows)]
    return "\n\n".join([*parts, without] if part < times["wall_minutes"] else parts)


def _instability(rows: Sequence[Mapping[str, Any]]) -> str:
    header = (
        "rule",
        "algorithm",
        "audit",
        "rows left out",
        "largest",
        "mean",
        "points ever in conflict",
        "conflicting pairs",
    )
    cells = [
        (
            row["rule"],
            row["algorithm"],
            row["audit"],
            f"{row['rows_left_out']:,}",
            f"{row['max_instability']:.4f}",
            f"{row['mean_instability']:.6f}",
            f"{row['points_ever_in_conflict']:,} of {row['points']:,}",
            f"{row['conflicting_pairs']:,} of {row['pairs']:,}",
        )
        for row in rows
    ]
    return _table(header, cells)


def _extended(rows: Sequence[Mapping[str, Any]]) -> str:
    return _metrics_table(rows, _beside)


def _metrics_table(rows: Sequence[Mapping[str, Any]], cell: Callable[[Mapping[str, Any] | None], str]) -> str:
    header = ("rule", "algorithm", *_NAMES.values())
    return _table(header, [(r["rule"], r["algorithm"], *(cell(r[name]) for name in _NAMES)) for r in rows])


def _differences(rows: Sequence[Mapping[str, Any]]) -> str:
    def cell(found: Mapping[str, Any] | None) -> str:
        apart = None if found is None else found["difference_in_standard_errors"]
        return "–" if apart is None else f"{apart:+.1f}"

    return _metrics_table(rows, cell)


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
    header = ("rule", *_NAMES.values())
    rows = [(rule, *(cell(entry[name]) for name in _NAMES)) for rule, entry in fits["rules"].items()]
    return intro + "\n\n" + _table(header, rows)


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        ("held" if claim["held"] else "**did not hold**", claim["claim"], claim["test"], _figures(claim["figures"]))
        for claim in claims
    ]
    return _table(("", "claim", "put to the test as", "our figures"), rows)


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
        ]
    )


def _disagreements(rows: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        f"- {row['what']}: {row['first_table']} in the first, {row['extended_table']} in the extended table. "
        f"Compared: {row['compared_with']}."
        for row in rows
    )
