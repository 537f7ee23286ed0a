"""The promise: a frozen result that says by which theorem it holds and what that theorem assumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from steadyset._base import validation

#: The theorems as sentences name them, after "the".
TITLES = {
    "paper": "theorem of the paper",
    "second-moment": "second-moment theorem",
    "small-bags": "small-bag theorem",
    "another-seed": "another-seed theorem",
    "tail-stability": "tail stability of the learner and the compatibility of the rule",
}


class _CompatibleRule(Protocol):
    def compatible_epsilon(self, n_classes: int | None) -> float | None: ...


@dataclass(frozen=True)
class Guarantee:
    """A promise of selection stability, with the theorem it comes from and what that theorem assumes.

    Parameters
    ----------
    delta : float
        The bound on the probability that two label sets are disjoint.
    theorem : str
        The theorem that gives `delta`.
    epsilon : float
        How far apart two probability vectors must be before the rule may give disjoint sets.
    n_samples, bag_size, n_bags, n_classes : int or None, default=None
        The setting. `n_bags` is None in the limit of infinitely many bags, `n_classes` where it is not known.
    resampling, coupling : str or None, default=None
        How bags are drawn, and how the bags of two data sets that differ in a row are tied together.
    n_dropped : int, default=1
        How many training rows are dropped at once.
    every_row : bool, default=False
        True where `delta` holds for each row, False where it holds on average over the rows.
    sigma2 : float or None, default=None
        The spread of the bags' predictions that `delta` rests on, where one was used.
    assumptions : tuple of str, default=()
        What has to be true for the promise to hold.

    See Also
    --------
    selection_stability : The guarantee of a setting.
    solve_stability : The setting that reaches a guarantee.

    Notes
    -----
    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import steadyset as ss
    >>> guarantee = ss.selection_stability(n_samples=60_000, bag_size=0.5, epsilon=0.05, n_classes=10, n_bags=1000)
    >>> round(guarantee.delta, 3), guarantee.vacuous, guarantee.theorem
    (0.366, False, 'second-moment')
    """

    delta: float
    theorem: str
    epsilon: float
    n_samples: int | None = None
    bag_size: int | None = None
    n_bags: int | None = None
    n_classes: int | None = None
    resampling: str | None = None
    coupling: str | None = None
    n_dropped: int = 1
    every_row: bool = False
    sigma2: float | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: no probability is above 1."""
        return self.delta >= 1

    @classmethod
    def from_tail_stability(
        cls, epsilon: float, delta: float, rule: _CompatibleRule, *, n_classes: int | None = None
    ) -> Guarantee:
        """Turn the tail stability of a learner into the selection stability of its label sets.

        Parameters
        ----------
        epsilon, delta : float
            The learner moves by `epsilon` or more, in Euclidean norm, with probability at most `delta` on
            average over the dropped row.
        rule : selection rule
            A rule object. Its ``compatible_epsilon(n_classes)`` has to be at least `epsilon`: vectors less
            than that far apart get overlapping sets, so only the larger moves can do harm.
        n_classes : int or None, default=None
            The number of classes, for rules whose compatibility depends on it.

        Returns
        -------
        Guarantee
            Selection stability `delta`.

        Examples
        --------
        >>> import steadyset as ss
        >>> ss.Guarantee.from_tail_stability(0.05, 0.01, ss.InflatedArgmax(epsilon=0.05)).delta
        0.01
        """
        epsilon = validation.positive(epsilon, "epsilon")
        delta = validation.delta(delta, vacuous=True)
        if n_classes is not None:
            n_classes = validation.label_count(n_classes)
        compatible = rule.compatible_epsilon(n_classes)
        if compatible is None or compatible < epsilon:
            allowed = "no epsilon" if compatible is None else f"epsilon up to {compatible:g}"
            raise ValueError(f"rule must be compatible with epsilon={epsilon:g}, but {rule!r} allows {allowed}.")
        return cls(
            delta,
            "tail-stability",
            epsilon,
            n_classes=n_classes,
            assumptions=(f"the learner is tail stable at ({epsilon:g}, {delta:g})", f"the rule is {rule!r}"),
        )

    def __str__(self) -> str:
        start = f"Vacuous, since the bound {self.delta:.3g} is not below 1: " if self.vacuous else ""
        sentence = (
            f"{start}{self._event()} with probability at most {_probability(self.delta)} "
            f"at epsilon = {self.epsilon:g}, "
            f"{self._scope()}by the {TITLES[self.theorem]}; it assumes that {'; that '.join(self.assumptions)}."
        )
        return sentence[0].upper() + sentence[1:]

    def _event(self) -> str:
        if self.theorem == "another-seed":
            return "two runs on the same data with independent seeds give disjoint label sets at a point"
        rows = f"{'any ' if self.every_row else ''}{'one' if self.n_dropped == 1 else f'{self.n_dropped:,}'}"
        of = "" if self.n_samples is None else f" of {self.n_samples:,}"
        return f"dropping {rows}{of} training rows gives a disjoint label set at a point"

    def _scope(self) -> str:
        over = [] if self.every_row or self.theorem == "another-seed" else ["over the rows dropped"]
        over += [] if self.n_bags is None else ["over the draw of bags"]
        average = f"on average {' and '.join(over)}, " if over else ""
        if self.theorem == "tail-stability":
            return average
        bags = "in the limit of infinitely many bags" if self.n_bags is None else f"with {_number(self.n_bags, 'bag')}"
        kind = "" if self.bag_size is None else f" of {_number(self.bag_size, 'row')} ({self.resampling})"
        return f"{average}{bags}{kind}, "


def _probability(delta: float) -> str:
    rounded = f"{delta:.3g}"
    return "1 (to three digits)" if delta < 1 <= float(rounded) else rounded


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
