"""Votes for anything: the outcomes that hold steady when a training row is dropped."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import notebook, optional, validation
from steadyset.audit import StabilityAudit, audit_votes
from steadyset.bags import Bags, guarantee_of_rule
from steadyset.choices._votes import counted
from steadyset.guarantees import Guarantee
from steadyset.selection import InflatedArgmax, entry_epsilons, inflated_argmax

_SHOWN = 5  # outcomes that a sentence names


def stable_choice(votes: Any, epsilon: float, bags: Bags | None = None) -> "StableChoice":
    """Choose among anything hashable by the votes of bags: the set of outcomes that hold steady.

    The set is the inflated argmax of the shares of bags that chose each outcome. How many outcomes there could be need
    not be known: those that no bag chose have share 0, and belong to the set where 0 is above its bound.

    Parameters
    ----------
    votes : sequence of hashable
        What each bag chose: a tuple of features, a number of clusters, a setting. Equal ones are one outcome, as keys
        of a dict are; 1, 1.0 and True are equal.
    epsilon : float
        At least 0. Sets grow with epsilon.
    bags : Bags, optional
        The bags that voted, in the same order: what a guarantee and an audit need.

    Returns
    -------
    StableChoice

    Notes
    -----
    Theory: :doc:`/theory/choices`.

    Examples
    --------
    >>> import steadyset as ss
    >>> votes = [(0, 2)] * 55 + [(1, 2)] * 43 + [(0, 3)] * 2
    >>> choice = ss.stable_choice(votes, epsilon=0.2)
    >>> choice.candidates
    ((0, 2), (1, 2))
    >>> print(choice.summary())
    2 of 3 outcomes hold steady at epsilon = 0.2: (0, 2) (share 0.55), (1, 2) (share 0.43). 100 bags voted.
    """
    epsilon = validation.epsilon(epsilon)
    found = counted(votes)
    if bags is not None and not isinstance(bags, Bags):
        raise TypeError(f"bags must be Bags, as steadyset.draw_bags makes them; got {validation.shown(bags)}.")
    if bags is not None and len(bags) != len(found.codes):
        raise ValueError(f"votes must have one outcome for each of the {len(bags)} bags; got {len(found.codes)}.")
    return StableChoice(epsilon, found.outcomes, found.shares, found.codes, bags)


@dataclass(frozen=True, eq=False, repr=False)
class StableChoice:
    """Which outcomes of a vote hold steady.

    Made by :func:`steadyset.stable_choice`.

    Attributes
    ----------
    epsilon : float
    outcomes : tuple
        Every outcome that a bag chose, the largest share first.
    shares : ndarray of shape (n_outcomes,)
        The share of bags that chose each.
    codes : ndarray of shape (n_bags,)
        The place in `outcomes` of each bag's vote.
    bags : Bags or None

    Examples
    --------
    >>> import steadyset as ss
    >>> choice = ss.stable_choice([3, 3, 3, 4, 5], epsilon=0.4)
    >>> choice.candidates, choice.any_outcome
    ((3,), False)
    >>> choice.entry_epsilons.round(2)
    array([0.  , 0.57, 0.57])
    """

    epsilon: float
    outcomes: tuple[Hashable, ...]
    shares: NDArray[np.float64]
    codes: NDArray[np.intp]
    bags: Bags | None = None
    _mask: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        # Appending zeros does not change the sign of t: the last entry stands for every outcome that nobody chose.
        object.__setattr__(self, "_mask", np.asarray(inflated_argmax(np.append(self.shares, 0.0), self.epsilon)))

    @property
    def n_bags(self) -> int:
        """Number of bags that voted."""
        return len(self.codes)

    @property
    def candidates(self) -> tuple[Hashable, ...]:
        """The outcomes of the set that some bag chose, the largest share first."""
        return tuple(outcome for outcome, chosen in zip(self.outcomes, self._mask[:-1], strict=True) if chosen)

    @property
    def any_outcome(self) -> bool:
        """Whether outcomes that no bag chose belong to the set too: then the votes tell none from any other."""
        return bool(self._mask[-1])

    @property
    def entry_epsilons(self) -> NDArray[np.float64]:
        """The epsilon beyond which each of `outcomes` is in the set."""
        return self._entries()[:-1]

    @property
    def any_epsilon(self) -> float:
        """The epsilon beyond which any outcome at all is in the set."""
        return float(self._entries()[-1])

    def guarantee(self, theorem: str = "best") -> Guarantee:
        """Return how likely a dropped row is to make the sets disjoint, for any number of outcomes.

        Parameters
        ----------
        theorem : str, default="best"
            As in :func:`steadyset.selection_stability`.

        Returns
        -------
        Guarantee
        """
        return guarantee_of_rule(self._known_bags("a guarantee"), InflatedArgmax(self.epsilon), None, theorem=theorem)

    def audit(self, left_out: Any = "all", random_state: int | None = None) -> StabilityAudit:
        """Measure how many training rows turn the set into a disjoint one when left out, by reuse of bags.

        Parameters
        ----------
        left_out, random_state
            As in :func:`steadyset.audit_bags`.

        Returns
        -------
        StabilityAudit
            Of one point, the choice.
        """
        bags = self._known_bags("an audit")
        return audit_votes(self.codes, bags, InflatedArgmax(self.epsilon), left_out=left_out, random_state=random_state)

    def summary(self) -> str:
        """Return the choice in a sentence or two."""
        found = self.candidates
        named = [f"{outcome} (share {share:.3g})" for outcome, share in zip(found, self.shares, strict=False)]
        more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
        listed = ", ".join(named[:_SHOWN]) + more
        voted = f"{self.n_bags:,} bag{'' if self.n_bags == 1 else 's'} voted."
        at = f"at epsilon = {self.epsilon:g}"
        if self.any_outcome:
            return f"Any outcome may hold {at}, those that no bag chose included; most votes: {listed}. {voted}"
        if len(found) == 1:
            return f"One of {len(self.outcomes):,} outcomes holds steady {at}: {listed}. {voted}"
        return f"{len(found):,} of {len(self.outcomes):,} outcomes hold steady {at}: {listed}. {voted}"

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each outcome that a bag chose.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = optional.require("pandas", "data")
        columns = {"share": self.shares, "entry_epsilon": self.entry_epsilons, "in_set": self._mask[:-1]}
        named = pandas.Series(list(self.outcomes), dtype=object, name="outcome")
        return pandas.DataFrame({"outcome": named, **columns})

    def _entries(self) -> NDArray[np.float64]:
        return np.asarray(entry_epsilons(np.append(self.shares, 0.0)))

    def _known_bags(self, wanted: str) -> Bags:
        if self.bags is None:
            raise ValueError(f"bags must be given to stable_choice for {wanted}; got None.")
        return self.bags

    def _repr_html_(self) -> str:
        body = [
            (str(outcome), f"{share:.3g}", f"{entry:.3g}", "in" if chosen else "out")
            for outcome, share, entry, chosen in zip(
                self.outcomes[:_SHOWN], self.shares, self.entry_epsilons, self._mask, strict=False
            )
        ]
        numbers = notebook.table(("outcome", "share of bags", "enters at epsilon", "in the set"), body)
        return notebook.card("A choice that holds steady", [self.summary()], numbers)

    def __repr__(self) -> str:
        chosen = "any outcome" if self.any_outcome else f"{len(self.candidates)} of {len(self.outcomes)} outcomes"
        return f"StableChoice({chosen}, epsilon={self.epsilon:g}, n_bags={self.n_bags})"
