"""How many bags a fit that goes on until points are certified looks at, and when it stops."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from steadyset._base import validation
from steadyset.audit import Certificates


@dataclass(frozen=True)
class Goal:
    """The share of points to certify at `delta`, and the numbers of bags to try."""

    delta: float
    share: float
    first: int
    limit: int

    def numbers_of_bags(self) -> Iterator[int]:
        """Yield the number of bags of each look: twice that of the last one, up to the limit."""
        n_bags = self.first
        while n_bags < self.limit:
            yield n_bags
            n_bags *= 2
        yield self.limit

    def is_reached(self, certificates: Certificates) -> bool:
        """Return whether enough points are certified."""
        return bool(certificates.certified(self.delta).mean() >= self.share)


def goal(n_estimators: Any, delta: Any, max_estimators: Any, share: Any) -> Goal:
    """Return the goal, checked."""
    limit = validation.count(max_estimators, "max_estimators")
    wanted = validation.real_number(share, "share", "a number above 0 and at most 1")
    if not 0 < wanted <= 1:
        raise ValueError(f"share must be a number above 0 and at most 1; got {share!r}.")
    validation.delta(delta)
    return Goal(delta, wanted, validation.count(n_estimators, "n_estimators", 4), limit)
