"""Bags that vote for one of many outcomes: every leave-one-out share from the votes alone, never as a dense table."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.audit import _taken_bags
from steadyset.audit._left_out import drawn_rows
from steadyset.audit._refits import audit_models
from steadyset.audit._stability_audit import StabilityAudit
from steadyset.audit._tally import MonteCarlo
from steadyset.bags import Bags


def audit_votes(
    codes: NDArray[np.intp], bags: Bags, rule: Any, *, left_out: Any = "all", random_state: int | None = None
) -> StabilityAudit:
    """Measure how many rows turn the set of outcomes into a disjoint one when left out, by reuse of bags.

    `codes` numbers the outcome of each bag from 0 on. The last column that the rule sees stands for outcomes that no
    bag chose: two sets that both hold it have an outcome in common.
    """
    asked = drawn_rows(left_out, bags.n_samples, validation.random_seed(random_state))
    taken, n_outcomes = _taken_bags.all_free(bags, asked.rows), int(codes.max()) + 1
    if not taken.counts.any():
        raise ValueError(
            f"bags must leave out some row that is asked for; got {len(bags)} that hold all of them: draw more or "
            "smaller bags."
        )
    answered = np.flatnonzero(taken.counts)

    def shares(votes: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.append(np.bincount(votes, minlength=n_outcomes) / len(votes), 0.0)[None]

    def models() -> Iterator[tuple[int, NDArray[np.float64]]]:
        for place, unit in enumerate(answered):
            yield place, shares(codes[taken.taken(int(unit))])

    full = shares(codes)
    spread = np.array([(1 - float((full**2).sum())) * len(bags) / max(len(bags) - 1, 1)])
    noise = MonteCarlo(spread, np.zeros(1, np.bool_), taken.noise[answered], taken.tail[answered])
    algorithm = (
        f"Leave-one-out choices by reuse of bags, each from those of the {len(bags):,} bags that do not hold the row, "
        "compared with the choice of all bags."
    )
    return audit_models(
        full,
        models(),
        rule,
        asked.answered(answered),
        algorithm=algorithm,
        n_samples=bags.n_samples,
        n_bags=len(bags),
        noise=noise,
    )
