"""What every selection rule is, and every answer about itself that other rooms ask for."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from steadyset._base import validation
from steadyset._base.inflation import INV_SQRT2, left_out_gap
from steadyset.selection._kernels import KernelArguments, RuleId
from steadyset.selection._radius import constant_radius


class Rule(ABC):
    """A selection rule: probabilities in, label sets out.

    Rules are frozen, compare by their parameters and are callable on arrays of shape (..., n_classes). To write a rule
    of your own, subclass this class; the rules of this library are final.

    Notes
    -----
    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> isinstance(ss.InflatedArgmax(0.1), ss.Rule), ss.TopK(2) == ss.TopK(2)
    (True, True)
    >>> [rule.compatible_epsilon(3) for rule in (ss.Argmax(), ss.FixedMargin(0.1), ss.TopK(2))]
    [None, 0.1, inf]
    >>> [rule.display_name for rule in (ss.Argmax(), ss.FixedMargin(0.1), ss.TopK(2))]
    ['argmax', 'fixed margin', 'top 2']
    """

    def __init_subclass__(cls) -> None:
        # An audit applies a rule of this library natively: a subclass that selects otherwise would be audited wrongly.
        final = [base.__name__ for base in cls.__mro__[1:] if base.__dict__.get("__final__")]
        if final:
            raise TypeError(f"a rule of your own must be a subclass of steadyset.Rule itself; got one of {final[0]}.")

    @abstractmethod
    def __call__(self, proba: Any) -> Any:
        """Return the bool mask of the selected labels, of the same shape as `proba`."""

    @abstractmethod
    def compatible_epsilon(self, n_classes: int | None) -> float | None:
        """Return the largest known epsilon such that probabilities closer than it always share a label.

        None where no theorem applies; infinity where any two sets share a label.
        """

    def stability_radius(self, proba: Any) -> Any:
        """Return how far each row may move before its set can turn disjoint; see :func:`steadyset.stability_radius`.

        Unless a rule knows better, the compatible epsilon for every row; an error where there is none.
        """
        return constant_radius(self, proba)

    _title: ClassVar[str] = ""
    _kernel_id: ClassVar[RuleId | None] = None

    @property
    def display_name(self) -> str:
        """The rule's name in tables and figures; its epsilon, which those vary, is not part of it."""
        return self._title.format(**vars(self)) or repr(self)

    @property
    def has_epsilon(self) -> bool:
        """Whether the rule has a parameter `epsilon`."""
        return hasattr(self, "epsilon")

    @property
    def kernel(self) -> KernelArguments | None:
        """What the native kernels take for this rule; None for a rule that they do not know."""
        return None if self._kernel_id is None else KernelArguments(self._kernel_id, *self._kernel_parameters())

    @property
    def by_row(self) -> bool:
        """Whether a point's set depends on its own row alone, whatever other rows are in the call.

        Of a rule that the native kernels do not know this is not known, unless it says so itself.
        """
        return self.kernel is not None

    @property
    def kernels(self) -> tuple[KernelArguments, ...]:
        """The rules that the native kernels know whose union this one is: itself, as a rule; none where they do not."""
        return () if self.kernel is None else (self.kernel,)

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return tuple(float(value) for value in vars(self).values())

    @property
    def lone_margin(self) -> float | None:
        """The lead from which on a label is alone in its set, whatever the others; None where there is no such lead."""
        return None

    @property
    def path_epsilon(self) -> float | None:
        """The rule's place on the epsilon-path of the inflated argmax, 0 for the argmax; None off the path."""
        return None

    @property
    def n_common(self) -> int:
        """How many labels two sets must have in common not to conflict: 1, for all rules but the inflated top k."""
        return 1

    @property
    def parts(self) -> tuple["Rule", ...]:
        """The rules each of which, by itself, makes the sets steady: the rule itself, for all but a union."""
        return (self,)

    @property
    def may_be_empty(self) -> bool:
        """Whether a set may hold no label, which then conflicts with every other."""
        return False

    @property
    def holds_inflated_argmax(self) -> bool:
        """Whether the sets always hold those of the inflated argmax at the compatible epsilon."""
        return False

    def left_out_gap(self, n_classes: int | None) -> float | None:
        """Return how far below the largest a label is at least that the rule leaves out, in compatible epsilons.

        None where a theorem cannot use it: then nothing but the compatible epsilon counts.
        """
        return left_out_gap(n_classes) if self.holds_inflated_argmax else None

    @property
    def compares_entries(self) -> bool:
        """Whether only the order of entries counts, of which one vote moves none by more than 1."""
        return False


@dataclass(frozen=True)
class EpsilonRule(Rule):
    """What the two rules with an epsilon share: both are compatible at it, and hold the inflated argmax."""

    epsilon: float = 0.05

    holds_inflated_argmax = True

    def __post_init__(self) -> None:
        validation.epsilon(self.epsilon)

    def compatible_epsilon(self, n_classes: int | None = None) -> float:
        """Return epsilon, for any number of labels and off the simplex too."""
        return float(self.epsilon)

    @property
    def lone_margin(self) -> float:
        """The margin by which a label leads in R_j, epsilon / sqrt(2)."""
        return float(self.epsilon) * INV_SQRT2


def rule_name(rule: Any) -> str:
    """Return how a result names the rule it comes from: the name of a function, else how the rule prints."""
    name = getattr(rule, "__name__", None)
    return name if isinstance(name, str) and not isinstance(rule, type) else validation.shown(rule)
