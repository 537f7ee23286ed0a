"""Models that were trained without a row, audited against the model on all rows."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit._decision import decision
from steadyset.audit._left_out import LeftOut
from steadyset.audit._models import ReferenceModel
from steadyset.audit._stability_audit import StabilityAudit
from steadyset.audit._tally import MonteCarlo, Subject, Tally
from steadyset.selection import rule_name

_SHIFT_ERROR = float(2.0**-23 * np.sqrt(2))  # shifts are kept as 32-bit numbers of at most sqrt(2)


def audit_models(
    reference: NDArray[np.float64],
    models: Iterable[tuple[int, NDArray[np.float64]]],
    rule: Any,
    left_out: LeftOut,
    *,
    algorithm: str,
    n_samples: int,
    n_bags: int = 1,
    seed: int = 0,
    noise: MonteCarlo | None = None,
) -> StabilityAudit:
    """Measure how many of the rows that were left out turn a point's set into a disjoint one.

    `reference` is what the model on all rows predicts, `models` gives positions in `left_out.rows`, in any order, each
    with what the model without that row predicts; `algorithm` says in words which models these are. A rule that takes
    `random_state` gets the seed. `noise` is what is known of Monte Carlo error, where the models are means of bags.
    """
    how = decision(rule, seed)
    n_points, n_units = len(reference), len(left_out.rows)
    tally, own = Tally(noise or MonteCarlo.none(n_points, n_units)), ReferenceModel(reference, how)
    shifts = np.zeros((n_points, n_units), np.float32)
    for unit, model in models:
        found = own.compared(model)
        shifts[:, unit] = found.shift
        tally.add_model(unit, found)
    tally.add_shifts(np.arange(n_points), shifts, _SHIFT_ERROR)
    rows, epsilon = left_out.rows, how.path_epsilon
    unanswered = left_out.unanswered
    subject = Subject(algorithm, rule_name(rule), epsilon, n_samples, n_bags, rows, unanswered, left_out.sampled)
    return tally.audit(subject)
