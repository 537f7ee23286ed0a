"""An audit in words for those who look rows up in a table: rows are counted from 1, as in every command."""

import math

import numpy as np
from numpy.typing import NDArray

from steadyset.audit import StabilityAudit


def in_words(found: StabilityAudit, rows: NDArray[np.intp]) -> str:
    """Return what was measured and found; `rows` are the positions of the points in their table."""
    n_units, instability, unit = found.n_units, found.instability, found.unit
    largest = f"largest {found.max_instability:.4g}"
    if found.max_instability > 0:
        largest += f" (row {rows[np.argmax(instability)] + 1:,})"
    lines = [
        found.algorithm,
        f"Rule: {found.rule}. {found.n_points:,} rows of the table, {n_units:,} training {unit}s left out"
        + (f" (drawn at random from {found.n_samples:,})." if found.sampled else "."),
        f"Instability: {largest}, mean {instability.mean():.4g}; {int((instability > 0).sum()):,} rows of the table "
        f"are ever contradicted. Mean Jaccard index {found.jaccard.mean():.4g}.",
        f"{int(found.settled.sum()):,} are settled: a bound proves that no training {unit} can change their sets.",
    ]
    if len(found.unanswered):
        named = ", ".join(str(u) if unit == "group" else f"{u + 1:,}" for u in found.unanswered[:5])
        more = ", ..." if len(found.unanswered) > 5 else ""
        lines.append(f"No answer for {len(found.unanswered):,} training {unit}s that every bag holds: {named}{more}.")
    lines.append(_influence_in_words(found))
    return "\n".join(lines)


def _influence_in_words(found: StabilityAudit) -> str:
    clear, limits = found.influential(), found.score_limit()
    least = float(limits.min(initial=math.inf)) if len(clear) == 0 else float(limits[clear[0]])
    rule = f"shift above {least:.1f} standard errors, which noise alone reaches anywhere with probability at most 0.05"
    if len(clear) == 0:
        return f"No training {found.unit} stands clear of Monte Carlo noise ({rule})."
    stand = f"training {found.unit} stands" if len(clear) == 1 else f"training {found.unit}s stand"
    return f"{len(clear):,} {stand} clear of Monte Carlo noise ({rule})."
