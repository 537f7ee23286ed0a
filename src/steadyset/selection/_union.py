"""The union of several rules: steady wherever one of them is."""

import itertools
from dataclasses import dataclass
from typing import Any, final

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.selection import _arrays
from steadyset.selection._inflated_argmax import inflated_argmax, with_epsilon
from steadyset.selection._kernels import KernelArguments
from steadyset.selection._radius import array_like
from steadyset.selection._rule import Rule


def unite(mask: Any, proba: Any, epsilon: float) -> Any:
    """Return anybody's label sets made stable: each united with the inflated argmax of its probabilities.

    Any superset of an epsilon-compatible set is epsilon-compatible: the union keeps what the given sets promise, such
    as their coverage, and shares a label with the union at any probabilities closer than epsilon.

    Parameters
    ----------
    mask : bool array of shape (..., n_classes)
        The label sets, of any origin; they may be empty.
    proba : array of shape (..., n_classes)
        The probabilities whose inflated argmax is added.
    epsilon : float
        At least 0.

    Returns
    -------
    bool array of shape (..., n_classes)

    See Also
    --------
    Union : The same for rules.

    Notes
    -----
    Theory: :doc:`/theory/coverage`.

    Examples
    --------
    >>> import steadyset as ss
    >>> proba = [[0.50, 0.48, 0.02], [0.70, 0.20, 0.10]]
    >>> ss.unite([[False, False, True], [False, False, False]], proba, epsilon=0.1)
    array([[ True,  True,  True],
           [ True, False, False]])
    """
    sets = inflated_argmax(proba, epsilon)
    if _arrays.is_of_other_library(sets) and _arrays.is_of_other_library(mask):
        if tuple(mask.shape) != tuple(sets.shape):
            raise ValueError(f"mask must have the shape of proba, {tuple(sets.shape)}; got {tuple(mask.shape)}.")
        return mask | sets
    given = validation.bool_mask(mask)
    if given.shape != tuple(sets.shape):
        raise ValueError(f"mask must have the shape of proba, {tuple(sets.shape)}; got {given.shape}.")
    if _arrays.is_of_other_library(sets):
        return sets | _arrays.namespace(sets).asarray(given, device=array_api_compat.device(sets))
    return sets | given


@final
@dataclass(frozen=True, init=False, repr=False)
class Union(Rule):
    """A rule whose set is the union of the sets of several rules.

    It is compatible wherever one of them is, since any superset of a compatible set is, and its radius is the largest
    of theirs. A guarantee is the smallest of the guarantees of its parts.

    Parameters
    ----------
    *rules : Rule
        At least one.

    Notes
    -----
    Where a part asks for several common labels (:class:`InflatedTopK`), so does the union, and only the parts that ask
    for as many make it compatible.

    Theory: :doc:`/theory/coverage`.

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.Union(ss.TopK(2), ss.InflatedArgmax(0.1))
    >>> rule([0.90, 0.07, 0.03])
    array([ True,  True, False])
    >>> rule.compatible_epsilon(10), ss.TopK(2).compatible_epsilon(10)
    (0.1, None)
    """

    rules: tuple[Rule, ...]

    def __init__(self, *rules: Rule) -> None:
        if not rules:
            raise TypeError("Union must have at least one rule; got none.")
        for rule in rules:
            if not isinstance(rule, Rule):
                raise TypeError(f"Union must be of steadyset's rule objects; got {validation.shown(rule)}.")
        object.__setattr__(self, "rules", rules)

    def __repr__(self) -> str:
        return f"Union({', '.join(map(repr, self.rules))})"

    def __call__(self, proba: Any) -> Any:
        first, *others = self.rules
        mask = first(proba)
        for rule in others:
            mask = mask | rule(proba)
        return mask

    @property
    def display_name(self) -> str:
        """The names of the parts, each but the first behind a plus sign."""
        return " + ".join(rule.display_name for rule in self.rules)

    @property
    def kernels(self) -> tuple[KernelArguments, ...]:
        """Those of all parts, where the native kernels know every one."""
        each = [rule.kernels for rule in self.rules]
        return tuple(itertools.chain.from_iterable(each)) if all(each) else ()

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The parts that ask for as many common labels as the union does."""
        return tuple(part for rule in self.rules for part in rule.parts if part.n_common == self.n_common)

    @property
    def n_common(self) -> int:
        """The most that a part asks for."""
        return max(rule.n_common for rule in self.rules)

    @property
    def may_be_empty(self) -> bool:
        """Whether every part may be."""
        return all(rule.may_be_empty for rule in self.rules)

    @property
    def by_row(self) -> bool:
        """Whether every part looks at rows one by one."""
        return all(rule.by_row for rule in self.rules)

    @property
    def has_epsilon(self) -> bool:
        """Whether a part has a parameter `epsilon`."""
        return any(rule.has_epsilon for rule in self.rules)

    def at_epsilon(self, epsilon: float) -> "Union":
        """Return the union with its parts that have an epsilon at another one; with the inflated argmax if none has."""
        if not self.has_epsilon:
            return Union(*self.rules, with_epsilon(None, epsilon))
        return Union(*(with_epsilon(rule, epsilon) if rule.has_epsilon else rule for rule in self.rules))

    def compatible_epsilon(self, n_classes: int | None) -> float | None:
        """Return the largest epsilon of a part, None where no part has one."""
        return max((e for part in self.parts if (e := part.compatible_epsilon(n_classes)) is not None), default=None)

    def stability_radius(self, proba: Any) -> Any:
        """Return the largest radius of a part, infinite where the union holds all labels."""
        radii: list[NDArray[np.float64]] = []
        refused: ValueError | None = None
        for part in self.parts:
            try:
                radii.append(_arrays.as_numpy(part.stability_radius(proba)))
            except ValueError as error:  # of a part that no theorem makes compatible, or of rows that no rule takes
                refused = error
        if not radii and refused is not None:
            raise refused
        full = _arrays.as_numpy(self(proba)).all(axis=-1)
        return array_like(proba, np.where(full, np.inf, np.maximum.reduce(radii)))
