"""Models that were trained without a row, audited against the model on all rows."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset.audit._decision import decision
from steadyset.audit._models import ReferenceModel
from steadyset.audit._stability_audit import StabilityAudit
from steadyset.audit._tally import MonteCarlo, Subject, Tally
from steadyset.selection import rule_name

_SHIFT_ERROR = float(2.0**-23 * np.sqrt(2))  # shifts are kept as 32-bit numbers of at most sqrt(2)


def audit_models(
    reference: NDArray[np.float64],
    models: Iterable[tuple[int, NDArray[np.float64]]],
    rule: Any,
    left_out: NDArray[np.intp],
    *,
    algorithm: str,
    n_samples: int,
    n_bags: int = 1,
    sampled: bool = False,
    seed: int = 0,
) -> StabilityAudit:
    """Measure how many of the rows that were left out turn a point's set into a disjoint one.

    Parameters
    ----------
    reference : ndarray of shape (n_points, n_classes)
        What the model on all rows predicts.
    models : iterable of (int, ndarray)
        Positions in `left_out`, in any order, each with what the model without that row predicts.
    rule : Rule or callable
        As for :func:`steadyset.audit_bags`.
    left_out : ndarray of shape (n_units,)
        The rows that were left out.
    algorithm : str
        Which models are compared, in words.
    n_samples : int
        Number of training rows.
    n_bags : int, default=1
        Number of bags in each model.
    sampled : bool, default=False
        Whether the rows were drawn at random from all rows.
    seed : int, default=0
        What a callable that takes `random_state` gets.

    Returns
    -------
    StabilityAudit
    """
    how = decision(rule, seed)
    n_points, n_units = len(reference), len(left_out)
    tally, own = Tally(MonteCarlo.none(n_points, n_units)), ReferenceModel(reference, how)
    shifts = np.zeros((n_points, n_units), np.float32)
    for unit, model in models:
        found = own.compared(model)
        shifts[:, unit] = found.shift
        tally.add_model(unit, found)
    tally.add_shifts(np.arange(n_points), shifts, _SHIFT_ERROR)
    return tally.audit(
        Subject(
            algorithm=algorithm,
            rule=rule_name(rule),
            unit="row",
            epsilon=how.path_epsilon,
            n_samples=n_samples,
            n_bags=n_bags,
            sampled=sampled,
            left_out=left_out,
            unanswered=left_out[:0],
        )
    )
