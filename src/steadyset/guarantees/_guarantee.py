"""The promise: a frozen result that says by which theorem it holds and what that theorem assumes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from steadyset._base import notebook, validation
from steadyset._base.words import counted
from steadyset.guarantees._setting import SelectionRule, common_labels, epsilon_of_rule

#: The theorems as sentences name them, after "the".
TITLES = {
    "paper": "theorem of the paper",
    "second-moment": "second-moment theorem",
    "exact-second-moment": "exact second-moment theorem",
    "exponential": "exponential theorem",
    "small-bags": "small-bag theorem",
    "two-labels": "two-label theorem",
    "another-seed": "another-seed theorem",
    "another-seed-exponential": "exponential another-seed theorem",
    "tail-stability": "tail stability of the learner and the compatibility of the rule",
}


#: From here on a bound is vacuous: "disjoint in at most 995 of 1,000 cases" tells nobody anything.
VACUOUS = 0.995


@dataclass(frozen=True)
class Guarantee:
    """A promise of selection stability, with the theorem it comes from and what that theorem assumes.

    Parameters
    ----------
    delta : float
        The bound on the probability that two label sets are disjoint. From 0.995 on it is vacuous. The formula of a
        named theorem may be above 1.
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
    n_added : int, default=0
        How many rows are added to the `n_samples`; where there are any, none is dropped.
    every_row : bool, default=False
        True where `delta` holds for each row, False where it holds on average over the rows.
    sigma2 : float or None, default=None
        The spread of the bags' predictions that `delta` rests on, where one was used.
    assumptions : tuple of str, default=()
        What has to be true for the promise to hold.
    unit : {"row", "group"}, default="row"
        What is dropped: a row, or a group of rows that belong together. Then `n_samples` and `bag_size` count groups.
    n_common : int, default=1
        How many labels the two sets have to share, as the rule has it; with 1 the bad event is disjoint sets.

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
    (0.36, False, 'exact-second-moment')
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
    n_added: int = 0
    every_row: bool = False
    sigma2: float | None = None
    assumptions: tuple[str, ...] = ()
    unit: str = "row"
    n_common: int = 1

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing to a person: `delta` is 0.995 or more."""
        return self.delta >= VACUOUS

    @classmethod
    def from_tail_stability(
        cls, epsilon: float, delta: float, rule: SelectionRule, *, n_classes: int | None = None
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
        epsilon = epsilon_of_rule(rule, n_classes, epsilon)
        return cls(
            delta,
            "tail-stability",
            epsilon,
            n_classes=n_classes,
            assumptions=(f"the learner is tail stable at ({epsilon:g}, {delta:g})", f"the rule is {rule!r}"),
            n_common=common_labels(rule),
        )

    def about(self, unit: str) -> Guarantee:
        """Return the same promise of another unit: of groups of rows, where bags were drawn over groups.

        Parameters
        ----------
        unit : {"row", "group"}

        Returns
        -------
        Guarantee
        """
        assumed = tuple(words.replace(f"{self.unit} ids", f"{unit} ids") for words in self.assumptions)
        return replace(self, unit=unit, assumptions=assumed)

    def __str__(self) -> str:
        start = f"Vacuous, since the bound {self.delta:.3g} is not below {VACUOUS:g}: " if self.vacuous else ""
        sentence = (
            f"{start}{self._event()} with probability at most {_probability(self.delta)} "
            f"at epsilon = {self.epsilon:g}, "
            f"{self._scope()}by the {TITLES[self.theorem]}; it assumes that {'; that '.join(self.assumptions)}."
        )
        return sentence[0].upper() + sentence[1:]

    def _repr_html_(self) -> str:
        heading = "Vacuous" if self.vacuous else f"At most {_probability(self.delta)}"
        return notebook.card(heading, [str(self)])

    def _event(self) -> str:
        if self._reseeds:
            sets = "disjoint label sets" if self.n_common == 1 else f"sets with {self._too_few}"
            return f"two runs on the same data with independent seeds give {sets} at a point"
        rows, unit = self.n_added or self.n_dropped, self.unit
        number = f"{'any ' if self.every_row else ''}{'one' if rows == 1 else f'{rows:,}'}"
        gives = f"gives a {'disjoint label set' if self.n_common == 1 else f'set with {self._too_few}'} at a point"
        if self.n_added:
            return f"adding {number} {unit}{'' if rows == 1 else 's'} to {self.n_samples:,} training {unit}s {gives}"
        of = "" if self.n_samples is None else f" of {self.n_samples:,}"
        return f"dropping {number}{of} training {unit if rows == 1 and not of else unit + 's'} {gives}"

    @property
    def _too_few(self) -> str:
        return f"fewer than {self.n_common} labels in common"

    @property
    def _reseeds(self) -> bool:
        return self.theorem.startswith("another-seed")

    def _scope(self) -> str:
        rows = "over the data" if self.n_added else f"over the {self.unit}s dropped"
        over = [] if self.every_row or self._reseeds else [rows]
        over += [] if self.n_bags is None else ["over the draw of bags"]
        average = f"on average {' and '.join(over)}, " if over else ""
        if self.theorem == "tail-stability":
            return average
        bags = "in the limit of infinitely many bags" if self.n_bags is None else f"with {counted(self.n_bags, 'bag')}"
        kind = "" if self.bag_size is None else f" of {counted(self.bag_size, self.unit)} ({self.resampling})"
        return f"{average}{bags}{kind}, "


def _probability(delta: float) -> str:
    rounded = f"{delta:.3g}"
    return "1 (to three digits)" if delta < 1 <= float(rounded) else rounded
