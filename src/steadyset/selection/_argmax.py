"""The plain argmax, with all its ties."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from steadyset.selection import _arrays, _kernels
from steadyset.selection._kernels import RuleId
from steadyset.selection._radius import INV_SQRT2, leading_gap
from steadyset.selection._rule import Rule, lead


def argmax_set(proba: Any) -> Any:
    """Select every label whose score is the largest.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities or any finite scores.

    Returns
    -------
    bool array of shape (..., n_classes)
        True at all maximisers: several, where they tie.

    Notes
    -----
    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.argmax_set([[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]])
    array([[ True,  True, False],
           [False, False,  True]])
    """
    if _arrays.is_foreign(proba):
        scores = _arrays.foreign_scores(proba)
        return _arrays.shifted(scores) == 0
    return _kernels.select(proba, RuleId.ARGMAX)


@final
@dataclass(frozen=True)
class Argmax(Rule):
    """The rule :func:`steadyset.argmax_set` as an object; no theorem makes it compatible.

    Examples
    --------
    >>> import steadyset as ss
    >>> rule = ss.Argmax()
    >>> rule([0.2, 0.5, 0.3])
    array([False,  True, False])
    >>> rule.compatible_epsilon(3) is None
    True
    """

    _title, _kernel_id = "argmax", RuleId.ARGMAX
    lone_margin = path_epsilon = 0.0  # any lead leaves a label alone; the epsilon-path starts here

    def __call__(self, proba: Any) -> Any:
        return argmax_set(proba)

    def compatible_epsilon(self, n_classes: int | None) -> None:
        """Return None: the argmax can flip however little the probabilities move."""
        return

    def stability_radius(self, proba: Any) -> Any:
        """Return g / sqrt(2), g the gap between the two largest scores."""
        return leading_gap(proba) * INV_SQRT2

    def stays_selected(
        self, sums: NDArray[np.float64], labels: NDArray[np.intp], c: float, n_bags: int
    ) -> NDArray[np.bool_]:
        """Return where all c votes for one other label cannot overtake the label."""
        return np.asarray(lead(sums, labels) >= c)
