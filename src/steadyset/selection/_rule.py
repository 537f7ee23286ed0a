"""What every selection rule is."""

from abc import ABC, abstractmethod
from typing import Any


class Rule(ABC):
    """A selection rule: probabilities in, label sets out.

    Rules are frozen, compare by their parameters and are callable on arrays of shape (..., n_classes).

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
    """

    @abstractmethod
    def __call__(self, proba: Any) -> Any:
        """Return the bool mask of the selected labels, of the same shape as `proba`."""

    @abstractmethod
    def compatible_epsilon(self, n_classes: int | None) -> float | None:
        """Return the largest known epsilon such that probabilities closer than it always share a label.

        None where no theorem applies; infinity where any two sets share a label.
        """

    @abstractmethod
    def stability_radius(self, proba: Any) -> Any:
        """Return how far each row may move before its set can turn disjoint; see :func:`steadyset.stability_radius`."""
