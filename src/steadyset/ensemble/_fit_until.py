"""How many bags a fit that goes on until points are certified looks at, and when it stops."""

import itertools
from dataclasses import dataclass
from typing import Any

from steadyset._base import validation
from steadyset.audit import Certificates


@dataclass(frozen=True)
class Goal:
    """The share of points to certify at `delta`, and the number of bags of each look."""

    delta: float
    share: float
    numbers_of_bags: tuple[int, ...]

    def is_reached(self, certificates: Certificates) -> bool:
        """Return whether enough points are certified."""
        return bool(certificates.certified(self.delta).mean() >= self.share)


def goal(n_estimators: Any, delta: Any, max_estimators: Any, share: Any) -> Goal:
    """Return the goal, checked: each look has twice the bags of the last one, up to the limit."""
    limit = validation.count(max_estimators, "max_estimators")
    wanted = validation.number(share, "share", "a number above 0 and at most 1", lambda x: 0 < x <= 1)
    validation.delta(delta)
    first = validation.count(n_estimators, "n_estimators", 4)
    doubled = itertools.takewhile(lambda n_bags: n_bags < limit, (first << look for look in itertools.count()))
    return Goal(delta, wanted, (*doubled, limit))
