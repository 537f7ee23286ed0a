"""Set-valued Bayes-optimal prediction for utilities that discount by the size of the set."""

from dataclasses import dataclass
from typing import Any, final

from steadyset._base import validation
from steadyset.selection import _arrays, _kernels
from steadyset.selection._kernels import RuleId
from steadyset.selection._rule import Rule


def svbop(proba: Any, utility: str | tuple[float, float] = "u65") -> Any:
    """Select the smallest set that maximises the expected utility, g(size of S) P(label in S).

    g(k) = alpha/k - beta/k^2: a correct single label is worth alpha - beta, a correct pair alpha/2 - beta/4.

    Parameters
    ----------
    proba : array of shape (..., n_classes)
        Probabilities: none negative, each row summing to 1 within 1e-6 (float64), 1e-4 (float32) or 0.05 (16 bits).
    utility : "u65", "u80" or (alpha, beta), default "u65"
        "u65" is (1.6, 0.6) and "u80" is (2.2, 1.2); any pair with alpha > beta and alpha > 0 will do.

    Returns
    -------
    bool array of shape (..., n_classes)

    Notes
    -----
    The optimum may have to take one of two labels that tie: the one with the lower index. There the rule is not
    permutation invariant, and no theorem makes it compatible.

    Theory: :doc:`/theory/selection`.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.svbop([0.6, 0.2, 0.2], utility="u80")
    array([ True,  True, False])
    """
    alpha, discount = validation.utility(utility)
    if not _arrays.is_foreign(proba):
        return _kernels.select(proba, RuleId.SVBOP, alpha, discount)
    scores = _arrays.foreign_scores(proba, probabilities=True)
    xp, w = scores.xp, _arrays.descending(scores, scores.w)
    mass, k = xp.cumulative_sum(w, axis=-1), scores.counts()
    here = (alpha * k - discount) * ((k + 1) * (k + 1)) * mass
    ahead = (alpha * (k + 1) - discount) * (k * k) * xp.concat([mass[..., 1:], mass[..., -1:]], axis=-1)
    no_better = (ahead <= here * (1 + 4 * scores.ulp)) | (k == scores.n_labels)
    return _arrays.ranks(scores) <= _arrays.first_true(scores, no_better)


@final
@dataclass(frozen=True)
class SVBOP(Rule):
    """The rule :func:`steadyset.svbop` as an object; no theorem makes it compatible.

    Parameters
    ----------
    utility : "u65", "u80" or (alpha, beta), default "u65"

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.SVBOP(utility="u80")([0.6, 0.2, 0.2])
    array([ True,  True, False])
    """

    utility: str | tuple[float, float] = "u65"

    _title, _kernel_id = "SVBOP {utility}", RuleId.SVBOP

    def __post_init__(self) -> None:
        validation.utility(self.utility)

    def __call__(self, proba: Any) -> Any:
        return svbop(proba, self.utility)

    def compatible_epsilon(self, n_classes: int | None) -> None:
        """Return None: no theorem applies."""
        return

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return validation.utility(self.utility)
