"""The plain argmax, with all its ties."""

from dataclasses import dataclass
from typing import Any, final

from steadyset.selection import _arrays, _kernels
from steadyset.selection._fixed_margin import within_margin
from steadyset.selection._kernels import RuleId
from steadyset.selection._radius import margin_radius
from steadyset.selection._rule import Rule


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
        scores = _arrays.foreign_scores(proba, own_width=True)
        return within_margin(scores, _arrays.shifted(scores), 0.0)
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
    compares_entries = True
    lone_margin = path_epsilon = 0.0  # any lead leaves a label alone; the epsilon-path starts here

    def __call__(self, proba: Any) -> Any:
        return argmax_set(proba)

    def compatible_epsilon(self, n_classes: int | None) -> None:
        """Return None: the argmax can flip however little the probabilities move."""
        return

    def stability_radius(self, proba: Any) -> Any:
        """Return g / sqrt(2), g the lead over the second label; with k tied leaders g sqrt(k / (k + 1)). Exact."""
        return margin_radius(proba, self, 0.0)
